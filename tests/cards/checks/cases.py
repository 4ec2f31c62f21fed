"""What each kind of check must say: the examples that define it, and that catch an evaluator that lies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sipbench.cards.checks.grader.kinds import Folders
from sipbench.cards.checks.grader.places import Place
from tests.cards.checks.samples import damaged, hdf5, sample

__all__ = ["CASES", "Case", "lay_out"]


@dataclass(frozen=True)
class Case:
    """A check, the files it looks at, and its outcome."""

    name: str
    outcome: str
    check: Mapping[str, Any]
    files: Mapping[str, bytes] = field(default_factory=dict)
    references: Mapping[str, bytes] = field(default_factory=dict)
    part: str = ""

    def __str__(self) -> str:
        return f"{self.check['kind']}: {self.name}"


def lay_out(case: Case, root: Path) -> Folders:
    """Write the files of a case."""
    for folder, files in (("submission", case.files), ("references", case.references)):
        (root / folder).mkdir()
        for name, data in files.items():
            path = root / folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    return Folders(Place(str(root / "submission")), Place(str(root / "references")))


CASES: list[Case] = []


def _add(
    kind: str,
    name: str,
    outcome: str,
    files: Mapping[str, bytes],
    *,
    part: str = "",
    references: Mapping[str, bytes] | None = None,
    **check: Any,
) -> None:
    CASES.append(Case(name, outcome, {"kind": kind, **check}, files, references or {}, part))


# --- file_exists
_add("file_exists", "the file is there", "pass", {"a.csv": b"x"}, path="a.csv")
_add("file_exists", "an empty file is a file", "pass", {"a.csv": b""}, path="a.csv")
_add("file_exists", "it is not there", "fail", {"b.csv": b"x"}, path="a.csv")
_add("file_exists", "a folder is no file", "fail", {"a.csv/x": b"x"}, path="a.csv")
_add("file_exists", "large enough", "pass", {"a.csv": b"12345"}, path="a.csv", min_bytes=5)
_add("file_exists", "too small", "fail", {"a.csv": b"1234"}, path="a.csv", min_bytes=5)
_add("file_exists", "a pattern finds one", "pass", {"x.txt": b"", "run/a.csv": b"x"}, path="run/*.csv")
_add("file_exists", "a pattern finds none", "fail", {"a.csv": b"x"}, path="run/*.csv")
_add("file_exists", "a star stays in its folder", "fail", {"run/a.csv": b"x"}, path="*.csv")
_add("file_exists", "two stars do not", "pass", {"run/deep/a.csv": b"x"}, path="**/*.csv")
_add("file_exists", "one of several is large enough", "pass", {"a": b"1", "b": b"12"}, path="*", min_bytes=2)
_add("file_exists", "names are told apart by case", "fail", {"A.csv": b"x"}, path="a.csv")

# --- file_format_is
for _form in (
    "text",
    "csv",
    "tsv",
    "json",
    "jsonl",
    "bed",
    "parquet",
    "xlsx",
    "png",
    "jpeg",
    "gif",
    "tiff",
    "pdf",
    "gzip",
    "zip",
    "hdf5",
):
    _add(
        "file_format_is",
        f"{_form}, whatever its name",
        "pass",
        {"a.dat": sample(_form)},
        path="a.dat",
        format=_form,
        part=_form,
    )
    for _n, _data in enumerate(damaged(_form)):
        _add(
            "file_format_is",
            f"no {_form} ({_n})",
            "fail",
            {"a.dat": _data},
            path="a.dat",
            format=_form,
            part=_form,
        )
for _version in (1, 2, 3):
    _add(
        "file_format_is",
        f"HDF5 with superblock {_version}",
        "pass",
        {"a": hdf5(_version)},
        path="a",
        format="hdf5",
        part="hdf5",
    )
    _add(
        "file_format_is",
        f"cut HDF5 with superblock {_version}",
        "fail",
        {"a": hdf5(_version)[:80]},
        path="a",
        format="hdf5",
        part="hdf5",
    )
_add(
    "file_format_is",
    "an archive is no workbook",
    "fail",
    {"a": sample("zip")},
    path="a",
    format="xlsx",
    part="xlsx",
)
_add("file_format_is", "a missing file has no format", "fail", {}, path="a.csv", format="csv")
_add("file_format_is", "an unknown format decides nothing", "error", {"a": b"x"}, path="a", format="magic")

# --- contains_substring
_T = {"log.txt": "Fit: 12 rows\nR² = 0.625\n".encode()}
_add("contains_substring", "the text is there", "pass", _T, path="log.txt", value="R² = 0.625")
_add("contains_substring", "it is not", "fail", _T, path="log.txt", value="0.626")
_add("contains_substring", "case counts", "fail", _T, path="log.txt", value="FIT")
_add("contains_substring", "unless it does not", "pass", _T, path="log.txt", value="FIT", ignore_case=True)
_add("contains_substring", "negated and absent", "pass", _T, path="log.txt", value="Error", negate=True)
_add("contains_substring", "negated and present", "fail", _T, path="log.txt", value="Fit", negate=True)
_add("contains_substring", "negated and no file", "fail", {}, path="log.txt", value="Error", negate=True)
_add(
    "contains_substring",
    "negated and empty",
    "fail",
    {"log.txt": b" \n"},
    path="log.txt",
    value="x",
    negate=True,
)
_add("contains_substring", "no text", "fail", {"log.txt": b"\xff\xfe"}, path="log.txt", value="a")

# --- field_present
_C = {"t.csv": b"id, value ,note\na,1,x\n"}
_add("field_present", "all columns", "pass", _C, path="t.csv", fields=["id", "value"], part="csv")
_add("field_present", "one is missing", "fail", _C, path="t.csv", fields=["id", "depth"], part="csv")
_add("field_present", "no part of a name", "fail", _C, path="t.csv", fields=["val"], part="csv")
_add("field_present", "a cell is no column", "fail", _C, path="t.csv", fields=["x"], part="csv")
_J = {"t.json": b'{"fit": {"r2": 0.6, "a/b": 1}, "n": [1, {"k": null}]}'}
_add("field_present", "a key", "pass", _J, path="t.json", fields=["fit"], part="json")
_add("field_present", "no key of the root", "fail", _J, path="t.json", fields=["r2"], part="json")
_add(
    "field_present",
    "pointers",
    "pass",
    _J,
    path="t.json",
    fields=["/fit/r2", "/fit/a~1b", "/n/1/k"],
    part="json",
)
_add("field_present", "a pointer to nothing", "fail", _J, path="t.json", fields=["/fit/r3"], part="json")
_add("field_present", "a pointer past the end", "fail", _J, path="t.json", fields=["/n/2"], part="json")
_R = {"t.json": b'[{"id": 1, "v": 2}, {"id": 2}]'}
_add("field_present", "in every record", "pass", _R, path="t.json", fields=["id"], part="json")
_add("field_present", "not in every record", "fail", _R, path="t.json", fields=["v"], part="json")
_add(
    "field_present", "no record at all", "fail", {"t.json": b"[]"}, path="t.json", fields=["id"], part="json"
)
for _form in ("tsv", "jsonl", "parquet", "xlsx"):
    _add(
        "field_present",
        f"columns of {_form}",
        "pass",
        {"t": sample(_form)},
        path="t",
        fields=["id", "value"],
        container=_form,
        part=_form,
    )
    _add(
        "field_present",
        f"no such column of {_form}",
        "fail",
        {"t": sample(_form)},
        path="t",
        fields=["id", "depth"],
        container=_form,
        part=_form,
    )
_add(
    "field_present",
    "a name that tells no container",
    "error",
    {"t.dat": b"a,b\n"},
    path="t.dat",
    fields=["a"],
)

# --- row_count_equals
_add("row_count_equals", "as many", "pass", {"t.csv": b"a,b\n1,2\n3,4\n"}, path="t.csv", count=2)
_add("row_count_equals", "one too many", "fail", {"t.csv": b"a,b\n1,2\n3,4\n"}, path="t.csv", count=1)
_add("row_count_equals", "one too few", "fail", {"t.csv": b"a,b\n1,2\n3,4\n"}, path="t.csv", count=3)
_add(
    "row_count_equals",
    "without a header",
    "pass",
    {"t.csv": b"1,2\n3,4\n"},
    path="t.csv",
    count=2,
    header=False,
)
_add(
    "row_count_equals", "at least, reached", "pass", {"t.csv": b"a,b\n1,2\n"}, path="t.csv", count=1, op="ge"
)
_add("row_count_equals", "at least, missed", "fail", {"t.csv": b"a,b\n"}, path="t.csv", count=1, op="ge")
_add("row_count_equals", "at most, kept", "pass", {"t.csv": b"a,b\n1,2\n"}, path="t.csv", count=1, op="le")
_add(
    "row_count_equals",
    "at most, exceeded",
    "fail",
    {"t.csv": b"a,b\n1,2\n1,2\n"},
    path="t.csv",
    count=1,
    op="le",
)
_add(
    "row_count_equals",
    "a quoted line end is no row",
    "pass",
    {"t.csv": b'a,b\n"1\n2",3\n'},
    path="t.csv",
    count=1,
)
_add(
    "row_count_equals", "blank lines are no rows", "pass", {"t.csv": b"a,b\n\n1,2\n\n"}, path="t.csv", count=1
)
_add("row_count_equals", "an empty file", "fail", {"t.csv": b""}, path="t.csv", count=0)
_add("row_count_equals", "an unknown op", "error", {"t.csv": b"a,b\n1,2\n"}, path="t.csv", count=1, op="ne")
for _form in ("tsv", "json", "jsonl", "parquet", "xlsx"):
    for _count, _outcome in ((2, "pass"), (3, "fail")):
        _add(
            "row_count_equals",
            f"{_count} rows of {_form}",
            _outcome,
            {"t": sample(_form)},
            path="t",
            count=_count,
            container=_form,
            part=_form,
        )


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
    _add("value_in_range", name, outcome, files, path=path, selector=selector, part=part, **bounds)


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


# --- output_matches_reference
def _match(name: str, outcome: str, found: bytes, wanted: bytes, comparator: str, **more: Any) -> None:
    _add(
        "output_matches_reference",
        name,
        outcome,
        {"out": found},
        references={"ref": wanted},
        path="out",
        reference="ref",
        comparator=comparator,
        part=comparator,
        **more,
    )


_match("the same bytes", "pass", b"\0\1\2", b"\0\1\2", "bytes")
_match("another byte", "fail", b"\0\1\3", b"\0\1\2", "bytes")
_match("a byte less", "fail", b"\0\1", b"\0\1\2", "bytes")
_match("line ends and trailing blanks", "pass", b"a \r\nb\r\n\r\n", b"a\nb", "text")
_match("another line", "fail", b"a\nc\n", b"a\nb\n", "text")
_match("a line more", "fail", b"a\nb\nc\n", b"a\nb\n", "text")
_match("a line less", "fail", b"a\n", b"a\nb\n", "text")
_match("leading blanks count", "fail", b" a\n", b"a\n", "text")
for _found, _more, _outcome in (
    ("0.625", {}, "pass"),
    ("0.6250001", {}, "fail"),
    ("0.63", {"atol": 0.005}, "pass"),
    ("0.6301", {"atol": 0.005}, "fail"),
    ("0.64", {"rtol": 0.03}, "pass"),
    ("0.65", {"rtol": 0.03}, "fail"),
    ("0.62", {"atol": 0.004, "rtol": 0.002}, "pass"),
    ("0.6254", {"digits": 3}, "pass"),
    ("0.6256", {"digits": 3}, "fail"),
    ("0.6", {"digits": 1}, "pass"),
    ("0.67", {"digits": 1}, "pass"),
    ("0.68", {"digits": 1}, "fail"),
    ("-0.625", {"digits": 1}, "fail"),
    ("nan", {"atol": 1.0}, "fail"),
    ("", {"atol": 1.0}, "fail"),
    ("0.625", {"atol": float("nan")}, "error"),
    ("9", {"rtol": float("inf")}, "error"),
    ("9", {"atol": -1.0}, "error"),
    ("0.625", {"digits": 0}, "error"),
):
    _match(f"{_found} for 0.625 within {_more}", _outcome, _found.encode(), b"0.625", "number", **_more)
_match("zero to a digit is zero", "pass", b"0", b"0.0", "number", digits=3)
_match("nothing else is zero to a digit", "fail", b"1e-9", b"0", "number", digits=3)
_match("a large number to two digits", "pass", b"12490", b"12000", "number", digits=2)
_match(
    "a column of numbers",
    "pass",
    b"v,w\n1,2\n3,4\n",
    b"v,w\n1.01,2\n3,9\n",
    "number",
    rtol=0.02,
    selector={"by": "column", "column": "v", "container": "csv"},
)
_match(
    "a column of other length",
    "fail",
    b"v,w\n1,2\n",
    b"v,w\n1,2\n3,4\n",
    "number",
    selector={"by": "column", "column": "v", "container": "csv"},
)
_match("the reference is no number", "error", b"1", b"one", "number")
_match("the same document", "pass", b'{"a": [1, 2.0], "b": "x"}', b'{"b": "x", "a": [1.0, 2]}', "json")
_match("another number", "fail", b'{"a": [1, 2.1]}', b'{"a": [1, 2]}', "json")
_match("another number within the tolerance", "pass", b'{"a": [1, 2.1]}', b'{"a": [1, 2]}', "json", atol=0.11)
_match("another text", "fail", b'{"a": "x"}', b'{"a": "y"}', "json")
_match("a key more", "fail", b'{"a": 1, "b": 2}', b'{"a": 1}', "json")
_match("a key less", "fail", b'{"a": 1}', b'{"a": 1, "b": 2}', "json")
_match("an item more", "fail", b"[1, 2]", b"[1]", "json")
_match("true is not 1", "fail", b"[true]", b"[1]", "json")
_match("null is not false", "fail", b"[null]", b"[false]", "json")
_match("a list is no object", "fail", b"[]", b"{}", "json")
_match("no document", "fail", b"[", b"[]", "json")
_match("no reference document", "error", b"[]", b"[", "json")
_REF = b"id,v,s\na,1.0,x\nb,2.0,y\n"
_K = {"container": "csv", "key_columns": ["id"]}
_match("the same table", "pass", _REF, _REF, "table", container="csv")
_match("rows in another order, with a key", "pass", b"id,v,s\nb,2,y\na,1,x\n", _REF, "table", **_K)
_match(
    "rows in another order, without a key", "fail", b"id,v,s\nb,2,y\na,1,x\n", _REF, "table", container="csv"
)
_match("columns in another order", "pass", b"s,id,v\nx,a,1\ny,b,2\n", _REF, "table", **_K)
_match("a column more", "pass", b"id,v,s,z\na,1,x,0\nb,2,y,0\n", _REF, "table", **_K)
_match("a column less", "fail", b"id,v\na,1\nb,2\n", _REF, "table", **_K)
_match("a row less", "fail", b"id,v,s\na,1,x\n", _REF, "table", **_K)
_match("a row more", "fail", _REF + b"c,3,z\n", _REF, "table", **_K)
_match("another key", "fail", b"id,v,s\na,1,x\nc,2,y\n", _REF, "table", **_K)
_match("a key twice", "fail", b"id,v,s\na,1,x\na,1,x\n", _REF, "table", **_K)
_match("a cell outside of the tolerance", "fail", b"id,v,s\na,1,x\nb,2.2,y\n", _REF, "table", rtol=0.05, **_K)
_match("a cell inside of the tolerance", "pass", b"id,v,s\na,1,x\nb,2.05,y\n", _REF, "table", rtol=0.05, **_K)
_match("another text in a cell", "fail", b"id,v,s\na,1,x\nb,2,z\n", _REF, "table", **_K)
_match("missing where a value is", "fail", b"id,v,s\na,1,x\nb,NA,y\n", _REF, "table", atol=1e9, **_K)
_match("missing in both", "pass", b"id,v\na,\n", b"id,v\na,NaN\n", "table", **_K)
_match("a value where it is missing", "fail", b"id,v\na,1\n", b"id,v\na,NaN\n", "table", atol=1e9, **_K)
_match("the reference has a key twice", "error", _REF, b"id,v,s\na,1,x\na,1,x\n", "table", **_K)
_match("no table", "fail", b"\xff", _REF, "table", **_K)
_match("an unknown comparator", "error", b"1", b"1", "magic")
_add(
    "output_matches_reference",
    "no output",
    "fail",
    {},
    references={"ref": b"1"},
    path="out",
    reference="ref",
    comparator="bytes",
)
_add(
    "output_matches_reference",
    "no reference",
    "error",
    {"out": b"1"},
    path="out",
    reference="ref",
    comparator="bytes",
)
for _form in ("tsv", "json", "jsonl", "parquet", "xlsx"):
    _match(
        f"tables of {_form}",
        "pass",
        sample(_form),
        sample(_form),
        "table",
        container=_form,
        key_columns=["id"],
    )
_match(
    "an object of columns",
    "pass",
    json.dumps({"id": ["a"], "v": [1]}).encode(),
    b'[{"id": "a", "v": 1}]',
    "table",
    container="json",
)
_match(
    "columns of other lengths",
    "fail",
    b'{"id": ["a"], "v": []}',
    b'[{"id": "a", "v": 1}]',
    "table",
    container="json",
)
