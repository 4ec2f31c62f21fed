"""Cases of a value within bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.cards.checks.cases.base import add
from tests.cards.checks.samples import sample


# --- value_in_range
def _range(
    name: str,
    outcome: str,
    files: Mapping[str, bytes],
    path: str,
    selector: dict[str, Any],
    part: str,
    **bounds: Any,
) -> None:
    add("value_in_range", name, outcome, files, path=path, selector=selector, part=part, **bounds)


_N = {"by": "number"}
for _text, _outcome in (
    ("0.62", "pass"),
    ("0.6", "pass"),
    ("0.65", "pass"),
    ("0.5999", "fail"),
    ("0.6501", "fail"),
    (" 6.2e-1\n", "pass"),
    ("NaN", "fail"),
    ("inf", "fail"),
    ("", "fail"),
    ("0.62 or so", "fail"),
    ("0,62", "fail"),
    ("0.6_2", "fail"),
    ("٠.62", "fail"),
    ("0x1", "fail"),
    ("-0.62", "fail"),
):
    _range(
        f"{_text!r} in [0.60, 0.65]", _outcome, {"r": _text.encode()}, "r", _N, "number", min=0.60, max=0.65
    )
_range("an open bound itself", "fail", {"r": b"0.6"}, "r", _N, "number", min=0.6, max=0.65, inclusive=False)
_range("above an open bound", "pass", {"r": b"0.61"}, "r", _N, "number", min=0.6, inclusive=False)
_range("below an open bound", "fail", {"r": b"0.6"}, "r", _N, "number", max=0.6, inclusive=False)
_range("only a lower bound", "pass", {"r": b"1e300"}, "r", _N, "number", min=0.0)
_range("only an upper bound", "pass", {"r": b"-1e300"}, "r", _N, "number", max=0.0)
_range("no bound decides nothing", "error", {"r": b"1"}, "r", _N, "number")
_range("a NaN as bound decides nothing", "error", {"r": b"1"}, "r", _N, "number", min=float("nan"))
_L = {"log": b"n = 12\nslope: -0.31 (se 0.02)\nslope: 9\n"}
_range("after a label", "pass", _L, "log", {"by": "after", "label": "slope:"}, "after", min=-0.32, max=-0.30)
_range(
    "after another label", "fail", _L, "log", {"by": "after", "label": "n ="}, "after", min=-0.32, max=-0.30
)
_range("no such label", "fail", _L, "log", {"by": "after", "label": "r2:"}, "after", min=0.0)
_range(
    "no number on its line",
    "fail",
    {"log": b"slope:\n3\n"},
    "log",
    {"by": "after", "label": "slope:"},
    "after",
    min=0.0,
)
_P = {"r.json": b'{"a/b": [1, {"x": 0.625, "s": "0.625", "t": true, "n": null}]}'}
_range(
    "at a pointer",
    "pass",
    _P,
    "r.json",
    {"by": "pointer", "pointer": "/a~1b/1/x"},
    "pointer",
    min=0.6,
    max=0.65,
)
_range(
    "at another pointer",
    "fail",
    _P,
    "r.json",
    {"by": "pointer", "pointer": "/a~1b/0"},
    "pointer",
    min=0.6,
    max=0.65,
)
_range(
    "at a text that is a number",
    "pass",
    _P,
    "r.json",
    {"by": "pointer", "pointer": "/a~1b/1/s"},
    "pointer",
    min=0.6,
)
_range("at true", "fail", _P, "r.json", {"by": "pointer", "pointer": "/a~1b/1/t"}, "pointer", min=0.0)
_range("at null", "fail", _P, "r.json", {"by": "pointer", "pointer": "/a~1b/1/n"}, "pointer", min=0.0)
_range("at nothing", "fail", _P, "r.json", {"by": "pointer", "pointer": "/a~1b/-1"}, "pointer", min=0.0)
_range(
    "a huge integer",
    "fail",
    {"r.json": b"1" + b"0" * 400},
    "r.json",
    {"by": "pointer", "pointer": ""},
    "pointer",
    min=0.0,
)
_D = {"t.csv": b"basin,r2,n\na,0.5,1\nb,0.625,2\n07,0.9,3\n"}
_cell = {"by": "cell", "column": "r2"}
_range(
    "a cell by its row's key",
    "pass",
    _D,
    "t.csv",
    {**_cell, "where": {"basin": "b"}},
    "cell",
    min=0.6,
    max=0.65,
)
_range(
    "a cell of another row",
    "fail",
    _D,
    "t.csv",
    {**_cell, "where": {"basin": "a"}},
    "cell",
    min=0.6,
    max=0.65,
)
_range("a key as a number", "pass", _D, "t.csv", {**_cell, "where": {"basin": 7}}, "cell", min=0.9)
_range("a cell by its row's number", "pass", _D, "t.csv", {**_cell, "row": 1}, "cell", min=0.6, max=0.65)
_range("no row", "fail", _D, "t.csv", {**_cell, "where": {"basin": "z"}}, "cell", min=0.0)
_range("several rows", "fail", _D, "t.csv", dict(_cell), "cell", min=0.0)
_range("no such column", "fail", _D, "t.csv", {"by": "cell", "column": "r3", "row": 0}, "cell", min=0.0)
_range(
    "a column twice",
    "fail",
    {"t.csv": b"a,a\n1,2\n"},
    "t.csv",
    {"by": "cell", "column": "a", "row": 0},
    "cell",
    min=0.0,
)
_range(
    "a cell of Parquet",
    "pass",
    {"t": sample("parquet")},
    "t",
    {"by": "cell", "column": "value", "row": 1, "container": "parquet"},
    "cell",
    min=2.5,
    max=2.5,
)
for _take, _low, _high, _outcome in (
    ("all", 1.0, 4.0, "pass"),
    ("all", 1.5, 4.0, "fail"),
    ("all", 1.0, 3.5, "fail"),
    ("min", 1.0, 1.0, "pass"),
    ("max", 4.0, 4.0, "pass"),
    ("mean", 2.25, 2.25, "pass"),
    ("sum", 9.0, 9.0, "pass"),
    ("median", 2.0, 2.0, "pass"),
    ("mean", 9.0, 9.0, "fail"),
    ("min", 4.0, 4.0, "fail"),
    ("max", 1.0, 1.0, "fail"),
    ("median", 2.25, 2.25, "fail"),
    ("sum", 2.25, 2.25, "fail"),
):
    _range(
        f"{_take} of a column in [{_low}, {_high}]",
        _outcome,
        {"t.csv": b"v\n1\n2\n4\n2\n"},
        "t.csv",
        {"by": "column", "column": "v", "take": _take},
        "column",
        min=_low,
        max=_high,
    )
_range(
    "a column with a missing cell",
    "fail",
    {"t.csv": b"v,w\n1,2\n,3\n"},
    "t.csv",
    {"by": "column", "column": "v"},
    "column",
    min=0.0,
)
_range(
    "a column without rows",
    "fail",
    {"t.csv": b"v,w\n"},
    "t.csv",
    {"by": "column", "column": "v"},
    "column",
    min=0.0,
)
_range(
    "an unknown take",
    "error",
    {"t.csv": b"v,w\n1,2\n"},
    "t.csv",
    {"by": "column", "column": "v", "take": "mode"},
    "column",
    min=0.0,
)
for _form in ("png", "jpeg", "gif", "tiff"):
    _range(
        f"the width of a {_form}",
        "pass",
        {"p": sample(_form)},
        "p",
        {"by": "image", "take": "width"},
        "image",
        min=3,
        max=3,
    )
    _range(
        f"the height of a {_form}",
        "fail",
        {"p": sample(_form)},
        "p",
        {"by": "image", "take": "height"},
        "image",
        min=3,
        max=3,
    )
_range("no image", "fail", {"p": b"abc"}, "p", {"by": "image", "take": "width"}, "image", min=0)
_range("an unknown selector", "error", {"p": b"1"}, "p", {"by": "magic"}, "", min=0)
