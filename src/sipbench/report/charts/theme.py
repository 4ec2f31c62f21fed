"""Colours, dashes and shapes of the charts, and how a specification becomes an inline SVG.

A chart is drawn once, in the colours below; on a dark page it is re-coloured by rules that go by these very
values (``[fill="#0072b2"]``), so each role has a value of its own. What a colour says, a shape, a label or a
place says as well: charts must be readable in grey.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sipbench.errors import MissingExtraError

__all__ = [
    "AXIS",
    "CAUSES",
    "CONTROL",
    "GIVEN",
    "GRID",
    "INK",
    "MUTED",
    "OPENED",
    "PALE",
    "RAMP",
    "Drawing",
    "Look",
    "altair",
    "looks",
    "render",
    "style_sheet",
]

INK = "#1f2933"
MUTED = "#52606d"
GRID = "#e4e7eb"
AXIS = "#9aa5b1"
PALE = "#b8c4ce"
CONTROL = "#616e7c"

# Okabe & Ito's palette, which people of all kinds of colour vision can tell apart, without its yellow.
_ARMS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")

RAMP = ("#eceff3", "#d6e6f4", "#abcfe6", "#6aaed6", "#3787c0", "#10437c")
"""Scores from 0 to 1: 0, up to 1/4, 1/2, 3/4, under 1, and 1; ever darker."""

CAUSES = {
    "graded": "#3a86be",
    "agent error, counts 0": "#f2c46b",
    "verifier error": "#e5854a",
    "infrastructure error": "#5c1616",
    "cancelled": "#6a52a0",
    "not run": "#dfe4e9",
}
"""What became of planned attempts."""

GIVEN, OPENED = "#b9c5cf", "#0b6fa8"
"""Skills that were given and opened."""

_DARK = {
    INK: "#e8ecf1",
    MUTED: "#a9b5c1",
    GRID: "#2b333c",
    AXIS: "#66727f",
    PALE: "#5a6875",
    CONTROL: "#aab6c2",
    **dict(zip(_ARMS, ("#55aef0", "#ff8f4a", "#3fcf9f", "#eaa0c8", "#f4bb45", "#9ad8ff"), strict=True)),
    **dict(zip(RAMP, ("#242c35", "#26445e", "#2b5f89", "#3c82b9", "#6cb0e4", "#cfe8fc"), strict=True)),
    **dict(
        zip(
            CAUSES.values(),
            ("#4a98d2", "#f2d595", "#e59a68", "#b04848", "#8f7fc6", "#3d4751"),
            strict=True,
        )
    ),
    GIVEN: "#5c6a77",
    OPENED: "#58b0ee",
}


def style_sheet() -> str:
    """The rules that re-colour every chart where the page is dark; the colours stand nowhere else."""
    rules = [
        f'.chart [{name}="{colour}"]{{{name}:var(--{colour[1:]},{colour})}}'
        for colour in _DARK
        for name in ("fill", "stroke")
    ]
    dark = "".join(f"--{light[1:]}:{colour};" for light, colour in _DARK.items())
    return "\n".join(
        [
            *rules,
            f"@media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}",
            f"@media screen{{:root[data-theme=dark]{{{dark}}}}}",
        ]
    )


_FONT = "Liberation Sans, Arial, Helvetica, sans-serif"


class Look:
    """How one arm is drawn: the same in every chart.

    Attributes:
        colour: Of its lines and marks.
        shape: Of its points.
    """

    def __init__(self, colour: str, shape: str) -> None:
        self.colour, self.shape = colour, shape


def looks(path_types: Sequence[str]) -> list[Look]:
    """A look for each arm, by its path type: grey for controls, ink for oracles, colours for the rest."""
    found, adapted = [], 0
    for path in path_types:
        if path == "frozen":
            found.append(Look(CONTROL, "circle"))
        elif path == "oracle":
            found.append(Look(INK, "diamond"))
        else:
            # When the colours are used up, another shape says that it is another arm.
            shape = _SHAPES[(adapted + adapted // len(_ARMS)) % len(_SHAPES)]
            found.append(Look(_ARMS[adapted % len(_ARMS)], shape))
            adapted += 1
    return found


def altair() -> Any:
    """The module altair.

    Raises:
        MissingExtraError: It is not installed.
    """
    try:
        import altair as alt
    except ImportError:
        raise MissingExtraError("drawing charts", "report") from None
    return alt


_CONFIG: Mapping[str, Any] = {
    "background": None,
    "font": _FONT,
    "aria": False,
    "padding": {"left": 24, "right": 10, "top": 6, "bottom": 6},
    "view": {"stroke": None},
    "axis": {
        "labelColor": MUTED,
        "titleColor": INK,
        "titleFontWeight": "normal",
        "labelFontSize": 11,
        "titleFontSize": 12,
        "gridColor": GRID,
        "domainColor": AXIS,
        "tickColor": AXIS,
        "labelLimit": 220,
    },
    "header": {
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": 12,
        "labelFontWeight": "bold",
        "labelLimit": 240,
    },
    "legend": {"labelColor": INK, "titleColor": INK, "labelFontSize": 11, "titleFontWeight": "normal"},
    "text": {"color": INK, "fontSize": 11},
    "title": {"color": INK, "fontSize": 12, "anchor": "start"},
}

_SVG = "http://www.w3.org/2000/svg"


@dataclass(frozen=True, slots=True)
class Drawing:
    """An Altair chart, and the marks of the data sets that it names.

    The marks are kept apart, since Altair would check each of them against a schema.
    """

    chart: Any
    marks: Mapping[str, Sequence[Mapping[str, Any]]]


def render(drawing: Drawing, prefix: str = "chart") -> str:
    """Draw a chart: an ``<svg>`` element for a page, without namespaces and white ground.

    A mark's description may begin with ``@row 12@`` or ``@task 3@``: it becomes ``data-row`` or
    ``data-task`` of the mark, by which the page knows what was chosen.

    Args:
        drawing: What to draw.
        prefix: What ids in it begin with: on one page each drawing needs its own.

    Raises:
        MissingExtraError: vl-convert-python is not installed.
    """
    try:
        import vl_convert
    except ImportError:
        raise MissingExtraError("drawing charts", "report") from None
    spec = drawing.chart.to_dict()
    spec["datasets"] = {name: list(marks) for name, marks in drawing.marks.items()}
    spec["config"] = {**_CONFIG}
    return _inline(vl_convert.vegalite_to_svg(spec), prefix)


_LINKED = re.compile(r"^@(row|task) (\d+)@\s*")
_NOISE = ("role", "aria-roledescription", "aria-hidden", "pointer-events", "stroke-miterlimit", "class")
_USUAL = {"opacity": "1", "font-weight": "normal", "font-family": _FONT, "fill-opacity": "1"}


def _inline(text: str, prefix: str) -> str:
    root = ET.fromstring(text)
    width, height = root.get("width", "0"), root.get("height", "0")
    made = ET.Element("svg")
    made.attrib.update(
        {"class": "chart", "viewBox": f"0 0 {width} {height}", "width": width, "height": height}
    )
    made.attrib.update({"font-family": _FONT, "fill": "none"})
    for child in root:
        _copy(child, made, prefix)
    return ET.tostring(made, encoding="unicode")


def _copy(element: ET.Element, parent: ET.Element, prefix: str) -> None:
    """Copy what can be seen. Vega writes many groups that hold one group, and frames without a line."""
    tag = str(element.tag).removeprefix(f"{{{_SVG}}}")
    kept = {
        name: value
        for name, value in element.attrib.items()
        if name not in _NOISE and _USUAL.get(name) != value and not name.startswith("{")
    }
    if "id" in kept:
        kept["id"] = f"{prefix}-{kept['id']}"
    if "clip-path" in kept:
        kept["clip-path"] = kept["clip-path"].replace("url(#", f"url(#{prefix}-")
    label = kept.pop("aria-label", None)
    if kept.pop("display", None) == "none":
        return
    if tag == "path" and not ({"fill", "stroke"} & kept.keys() and kept.get("d")):
        return
    if tag == "g":
        kept.pop("fill", None)
        if not kept:
            for child in element:
                _copy(child, parent, prefix)
            return
        label = None
    made = ET.SubElement(parent, tag, kept)
    made.text = element.text
    if label is not None:
        _describe(made, label)
    for child in element:
        _copy(child, made, prefix)


def _describe(element: ET.Element, label: str) -> None:
    found = _LINKED.match(label)
    if found:
        element.set(f"data-{found[1]}", found[2])
        label = label[found.end() :]
    element.set("data-tip", label)
