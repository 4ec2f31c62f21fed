"""Cases of fields and rows."""

from __future__ import annotations

from tests.cards.checks.cases.base import add
from tests.cards.checks.samples import sample

# --- field_present
_C = {"t.csv": b"id, value ,note\na,1,x\n"}
add("field_present", "all columns", "pass", _C, path="t.csv", fields=["id", "value"], part="csv")
add("field_present", "one is missing", "fail", _C, path="t.csv", fields=["id", "depth"], part="csv")
add("field_present", "no part of a name", "fail", _C, path="t.csv", fields=["val"], part="csv")
add("field_present", "a cell is no column", "fail", _C, path="t.csv", fields=["x"], part="csv")
_J = {"t.json": b'{"fit": {"r2": 0.6, "a/b": 1}, "n": [1, {"k": null}]}'}
add("field_present", "a key", "pass", _J, path="t.json", fields=["fit"], part="json")
add("field_present", "no key of the root", "fail", _J, path="t.json", fields=["r2"], part="json")
add(
    "field_present",
    "pointers",
    "pass",
    _J,
    path="t.json",
    fields=["/fit/r2", "/fit/a~1b", "/n/1/k"],
    part="json",
)
add("field_present", "a pointer to nothing", "fail", _J, path="t.json", fields=["/fit/r3"], part="json")
add("field_present", "a pointer past the end", "fail", _J, path="t.json", fields=["/n/2"], part="json")
_R = {"t.json": b'[{"id": 1, "v": 2}, {"id": 2}]'}
add("field_present", "in every record", "pass", _R, path="t.json", fields=["id"], part="json")
add("field_present", "not in every record", "fail", _R, path="t.json", fields=["v"], part="json")
add("field_present", "no record at all", "fail", {"t.json": b"[]"}, path="t.json", fields=["id"], part="json")
for _form in ("tsv", "jsonl", "parquet", "xlsx"):
    add(
        "field_present",
        f"columns of {_form}",
        "pass",
        {"t": sample(_form)},
        path="t",
        fields=["id", "value"],
        container=_form,
        part=_form,
    )
    add(
        "field_present",
        f"no such column of {_form}",
        "fail",
        {"t": sample(_form)},
        path="t",
        fields=["id", "depth"],
        container=_form,
        part=_form,
    )
add(
    "field_present",
    "a name that tells no container",
    "error",
    {"t.dat": b"a,b\n"},
    path="t.dat",
    fields=["a"],
)

# --- row_count_equals
add("row_count_equals", "as many", "pass", {"t.csv": b"a,b\n1,2\n3,4\n"}, path="t.csv", count=2)
add("row_count_equals", "one too many", "fail", {"t.csv": b"a,b\n1,2\n3,4\n"}, path="t.csv", count=1)
add("row_count_equals", "one too few", "fail", {"t.csv": b"a,b\n1,2\n3,4\n"}, path="t.csv", count=3)
add(
    "row_count_equals",
    "without a header",
    "pass",
    {"t.csv": b"1,2\n3,4\n"},
    path="t.csv",
    count=2,
    header=False,
)
add("row_count_equals", "at least, reached", "pass", {"t.csv": b"a,b\n1,2\n"}, path="t.csv", count=1, op="ge")
add("row_count_equals", "at least, missed", "fail", {"t.csv": b"a,b\n"}, path="t.csv", count=1, op="ge")
add("row_count_equals", "at most, kept", "pass", {"t.csv": b"a,b\n1,2\n"}, path="t.csv", count=1, op="le")
add(
    "row_count_equals",
    "at most, exceeded",
    "fail",
    {"t.csv": b"a,b\n1,2\n1,2\n"},
    path="t.csv",
    count=1,
    op="le",
)
add(
    "row_count_equals",
    "a quoted line end is no row",
    "pass",
    {"t.csv": b'a,b\n"1\n2",3\n'},
    path="t.csv",
    count=1,
)
add(
    "row_count_equals", "blank lines are no rows", "pass", {"t.csv": b"a,b\n\n1,2\n\n"}, path="t.csv", count=1
)
add("row_count_equals", "an empty file", "fail", {"t.csv": b""}, path="t.csv", count=0)
add("row_count_equals", "an unknown op", "error", {"t.csv": b"a,b\n1,2\n"}, path="t.csv", count=1, op="ne")
for _form in ("tsv", "json", "jsonl", "parquet", "xlsx"):
    for _count, _outcome in ((2, "pass"), (3, "fail")):
        add(
            "row_count_equals",
            f"{_count} rows of {_form}",
            _outcome,
            {"t": sample(_form)},
            path="t",
            count=_count,
            container=_form,
            part=_form,
        )
