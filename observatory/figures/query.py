"""One query: the scores of its reference positive and of each negative set's candidates, on one axis a scorer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from observatory.figures import numbers, theme
from observatory.figures.described import Described, labels
from observatory.figures.theme import Mode

ROW, HEAD = 62, 132


@dataclass(frozen=True)
class Candidate:
    """One negative of a query: its rank under the rule, its score, and the pairwise margin of the positive over it."""

    item_id: str
    text: str
    rank: int
    score: float
    margin: float
    relation: str
    hardest: bool

    @property
    def outcome(self) -> str:
        """What the positive does against this negative alone: by the sign of the pairwise margin."""
        return "win" if self.margin > 0 else "loss" if self.margin < 0 else "tie"


@dataclass(frozen=True)
class Answer:
    """One query under one negative set. Where it was not scored, margin and scores are None and ``reason`` says why."""

    set: Described
    query_id: str
    reference_id: str
    reference: str
    reference_score: float | None
    hardest_score: float | None
    margin: float | None
    n_negatives: int
    outcome: str
    reason: str
    candidates: tuple[Candidate, ...]


def by_scorer(answers: Sequence[Answer]) -> list[list[Answer]]:
    """Scored answers that share a scorer and the positive: one axis each, so that an axis never mixes units."""
    groups: dict[tuple[str, str, str, float], list[Answer]] = {}
    for a in answers:
        if a.reference_score is not None:
            key = (a.set.descriptor.scorer.space_id, a.set.metric, a.reference_id, a.reference_score)
            groups.setdefault(key, []).append(a)
    return list(groups.values())


def scores(answers: Sequence[Answer], names: dict[str, str], colours: Mode) -> go.Figure:
    """A row a set, a dot a negative (the hardest filled), and one line for the positive; right of it lie the losses."""
    if len({(a.set.metric, a.set.descriptor.scorer.space_id) for a in answers}) != 1 or len(by_scorer(answers)) != 1:
        raise ValueError("one axis for several scorers or positives")
    positive = answers[0].reference_score or 0.0
    figure = theme.blank(colours, HEAD + ROW * len(answers), bottom=66)
    looks = theme.styles([a.set for a in answers])
    every = [positive, *(c.score for a in answers for c in a.candidates)]
    pad = 0.06 * (max(every) - min(every) or abs(positive) or 1.0)
    low, high = min(every) - pad, max(max(every), positive) + pad
    figure.add_vrect(x0=positive, x1=high, fillcolor=colours.shade, line_width=0, layer="below")
    for y, a in enumerate(answers):
        _row(figure, a, looks[a.set.set_id].colour, names[a.set.set_id], y, colours)
    figure.add_vline(x=positive, line={"color": colours.ink, "width": 2.5}, layer="below")
    right = positive - low > 0.6 * (high - low)
    figure.add_annotation(
        x=positive, xref="x", y=1, yref="paper", yanchor="bottom", xanchor="right" if right else "left", showarrow=False,
        text=f"positive {positive:.4f} = tie", font={"size": theme.TEXT_SIZE, "color": colours.ink},
    )
    scorer = answers[0].set
    figure.update_xaxes(range=[low, high], title_text=f"score of {theme.safe(scorer.model)} ({theme.safe(scorer.metric)})")
    figure.update_yaxes(range=[len(answers) - 0.45, -0.75], showticklabels=False, showgrid=False, ticks="")
    figure.update_layout(showlegend=False, margin_t=34)
    return figure


def _row(figure: go.Figure, a: Answer, colour: str, name: str, y: int, colours: Mode) -> None:
    for hardest in (False, True):
        dots = [c for c in a.candidates if c.hardest is hardest]
        figure.add_trace(
            go.Scatter(
                x=[c.score for c in dots], y=[y + 0.12] * len(dots), mode="markers", showlegend=False,
                marker={
                    "size": 14 if hardest else 12, "color": colour if hardest else colours.paper,
                    "line": {"color": colour, "width": 2.5}, "opacity": 1 if hardest else 0.9,
                },
                text=[f"rank {c.rank}: {theme.safe(_short(c.text))}<br>pairwise margin {numbers.margin(c.margin)}" for c in dots],
                hovertemplate="%{text}<br>score %{x:.4f}" + ("<br>the hardest" if hardest else "") + "<extra></extra>",
            )
        )
    margin = "no margin" if a.margin is None else f"margin {numbers.margin(a.margin)}, {a.outcome}"
    figure.add_annotation(
        x=0, xref="paper", xanchor="left", y=y - 0.16, yref="y", yanchor="bottom", showarrow=False, align="left",
        text=f"<b>{theme.safe(name)}</b>  {margin}", font={"size": theme.TEXT_SIZE, "color": colours.ink},
        bgcolor=theme.rgba(colours.paper, 0.75),
    )


def footer(answers: Sequence[Answer]) -> str:
    """What one query supports, and what it does not."""
    names = labels([a.set for a in answers])
    parts = [f"{_beaten(a)} under {names[a.set.set_id]}" for a in answers]
    shown = "; ".join(parts[:4]) + (f"; and {len(parts) - 4} more below" if len(parts) > 4 else "")
    adjudication = " / ".join(dict.fromkeys(a.set.descriptor.label_quality.adjudication_method for a in answers))
    return (
        f"Supports: for this one query the reference positive scored above {shown}. Does not establish: how often that happens "
        f"over the other queries, or that each negative is a true one (labels: {adjudication})."
    )


def _beaten(a: Answer) -> str:
    wins = sum(c.outcome == "win" for c in a.candidates)
    return f"{wins} of {len(a.candidates)} negatives"


def _short(text: str) -> str:
    return text if len(text) <= 90 else text[:89] + "…"
