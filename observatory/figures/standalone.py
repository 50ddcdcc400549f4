"""Figures in a file of their own: as JSON that may stand inside an HTML script element, and the one library that draws them."""

from __future__ import annotations

import json
import re
from typing import Any

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

_MARKUP = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})
_DIRECTION = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def spec(figure: go.Figure) -> str:
    """``data`` and ``layout`` as JSON in which no character can end a script element or turn the direction of a line.

    Axes may be zoomed and legend entries switched here: on the screens a click means something else.
    """
    figure = go.Figure(figure)
    figure.update_xaxes(fixedrange=False)
    figure.update_yaxes(fixedrange=False)
    figure.update_layout(legend={"itemclick": "toggle", "itemdoubleclick": "toggleothers"})
    return in_script(json.dumps(_straight(json.loads(str(figure.to_json()))), ensure_ascii=True, allow_nan=False))


def _straight(value: Any) -> Any:
    """The same data with a space for each character that turns the direction of a line."""
    if isinstance(value, dict):
        return {key: _straight(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_straight(inner) for inner in value]
    return _DIRECTION.sub(" ", value) if isinstance(value, str) else value


def in_script(text: str) -> str:
    """JSON for a script element: the same JSON, with markup characters as escapes."""
    return text.translate(_MARKUP)


def library() -> str:
    """The source of plotly.js in the version that the figures are made for."""
    return str(get_plotlyjs())
