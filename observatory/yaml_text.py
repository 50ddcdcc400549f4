"""YAML that people write: plain data, every field once, and whatever is wrong with it in one sentence."""

from __future__ import annotations

from typing import Any

import yaml

from observatory.errors import InputError

MOST = 2**16
"""Characters. PyYAML reads about 50,000 in a second, and a page or a list of jobs waits for it."""
MEND = "write one 'field: value' a line"


class _Twice(yaml.MarkedYAMLError):
    """One mapping holds a field twice: PyYAML would keep the last and drop the first without a word."""


class _Once(yaml.SafeLoader):
    """The safe loader, for mappings whose keys differ. Merged fields (``<<``) may be overridden: that is their use."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                if (key.tag, key.value) in seen:
                    raise _Twice(problem=key.value, problem_mark=key.start_mark)
                seen.add((key.tag, key.value))
        return node


def load(text: str, subject: str, most: int = MOST) -> Any:
    """The one document of ``text`` as plain data. InputError where it is none, is longer than ``most``, or says a field twice."""
    if len(text) > most:
        raise InputError(f"is longer than {most:,} characters", file=subject, mend="name a small YAML file")
    try:
        return _Once(text).get_single_data()
    except _Twice as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise InputError("stands twice", file=subject, line=line, field=error.problem, mend="keep one of the two") from error
    # A tag on a text that it does not fit (!!bool maybe) makes PyYAML's constructors fail in all of these ways.
    except (yaml.YAMLError, RecursionError, ValueError, LookupError, AttributeError, TypeError, OverflowError) as error:
        where = getattr(error, "problem_mark", None)
        raise InputError("is not valid YAML", file=subject, line=where.line + 1 if where else None, mend=MEND) from error
