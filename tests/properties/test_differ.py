"""Word differences: the pieces joined are the text again, whatever the text is."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from observatory import differ
from observatory.differ import Segment, only_in, segments

TEXTS = st.one_of(st.text(max_size=80), st.lists(st.sampled_from(["The", "cat", "did", "not", "sit", ".", "<b>", "İ", "ß", "  "]), max_size=20).map(" ".join))


@given(TEXTS, TEXTS)
def test_the_pieces_joined_are_the_text(text: str, other: str) -> None:
    found = segments(text, other)
    assert "".join(s.text for s in found) == text
    assert all(a.differs != b.differs for a, b in pairwise(found)) and all(s.text for s in found)


@given(TEXTS)
def test_a_text_does_not_differ_from_itself(text: str) -> None:
    assert not any(s.differs for s in segments(text, text)) and only_in(text, text) == []


@given(TEXTS)
def test_everything_differs_from_nothing(text: str) -> None:
    assert all(s.differs or s.text.isspace() for s in segments(text, ""))


def test_marked_words() -> None:
    assert segments("The gate does not open.", "The gate opens.") == [
        Segment("The gate ", False), Segment("does not open", True), Segment(".", False)
    ]
    assert only_in("The gate opens.", "The gate does not open.") == ["opens"]
    assert only_in("Crest bought Lowland", "Lowland bought Crest") and not only_in("THE Gate", "the gate")


def test_long_texts_are_compared_as_bags(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(differ, "MOST", 3)
    assert only_in("one two three four five", "five four three two") == ["one"]
