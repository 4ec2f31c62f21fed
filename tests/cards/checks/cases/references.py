"""Cases of what matches a reference."""

from __future__ import annotations

import json
from typing import Any

from tests.cards.checks.cases.base import add
from tests.cards.checks.samples import sample


# --- output_matches_reference
def _match(name: str, outcome: str, found: bytes, wanted: bytes, comparator: str, **more: Any) -> None:
    add(
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
add(
    "output_matches_reference",
    "no output",
    "fail",
    {},
    references={"ref": b"1"},
    path="out",
    reference="ref",
    comparator="bytes",
)
add(
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
