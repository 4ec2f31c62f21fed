"""Cases of files as they are: whether they exist, their format, a text in them."""

from __future__ import annotations

from tests.cards.checks.cases.base import add
from tests.cards.checks.samples import damaged, hdf5, sample

# --- file_exists
add("file_exists", "the file is there", "pass", {"a.csv": b"x"}, path="a.csv")
add("file_exists", "an empty file is a file", "pass", {"a.csv": b""}, path="a.csv")
add("file_exists", "it is not there", "fail", {"b.csv": b"x"}, path="a.csv")
add("file_exists", "a folder is no file", "fail", {"a.csv/x": b"x"}, path="a.csv")
add("file_exists", "large enough", "pass", {"a.csv": b"12345"}, path="a.csv", min_bytes=5)
add("file_exists", "too small", "fail", {"a.csv": b"1234"}, path="a.csv", min_bytes=5)
add("file_exists", "a pattern finds one", "pass", {"x.txt": b"", "run/a.csv": b"x"}, path="run/*.csv")
add("file_exists", "a pattern finds none", "fail", {"a.csv": b"x"}, path="run/*.csv")
add("file_exists", "a star stays in its folder", "fail", {"run/a.csv": b"x"}, path="*.csv")
add("file_exists", "two stars do not", "pass", {"run/deep/a.csv": b"x"}, path="**/*.csv")
add("file_exists", "one of several is large enough", "pass", {"a": b"1", "b": b"12"}, path="*", min_bytes=2)
add("file_exists", "names are told apart by case", "fail", {"A.csv": b"x"}, path="a.csv")

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
    add(
        "file_format_is",
        f"{_form}, whatever its name",
        "pass",
        {"a.dat": sample(_form)},
        path="a.dat",
        format=_form,
        part=_form,
    )
    for _n, _data in enumerate(damaged(_form)):
        add(
            "file_format_is",
            f"no {_form} ({_n})",
            "fail",
            {"a.dat": _data},
            path="a.dat",
            format=_form,
            part=_form,
        )
for _version in (1, 2, 3):
    add(
        "file_format_is",
        f"HDF5 with superblock {_version}",
        "pass",
        {"a": hdf5(_version)},
        path="a",
        format="hdf5",
        part="hdf5",
    )
    add(
        "file_format_is",
        f"cut HDF5 with superblock {_version}",
        "fail",
        {"a": hdf5(_version)[:80]},
        path="a",
        format="hdf5",
        part="hdf5",
    )
add(
    "file_format_is",
    "an archive is no workbook",
    "fail",
    {"a": sample("zip")},
    path="a",
    format="xlsx",
    part="xlsx",
)
add("file_format_is", "a missing file has no format", "fail", {}, path="a.csv", format="csv")
add("file_format_is", "an unknown format decides nothing", "error", {"a": b"x"}, path="a", format="magic")

# --- contains_substring
_T = {"log.txt": "Fit: 12 rows\nR² = 0.625\n".encode()}
add("contains_substring", "the text is there", "pass", _T, path="log.txt", value="R² = 0.625")
add("contains_substring", "it is not", "fail", _T, path="log.txt", value="0.626")
add("contains_substring", "case counts", "fail", _T, path="log.txt", value="FIT")
add("contains_substring", "unless it does not", "pass", _T, path="log.txt", value="FIT", ignore_case=True)
add("contains_substring", "negated and absent", "pass", _T, path="log.txt", value="Error", negate=True)
add("contains_substring", "negated and present", "fail", _T, path="log.txt", value="Fit", negate=True)
add("contains_substring", "negated and no file", "fail", {}, path="log.txt", value="Error", negate=True)
add(
    "contains_substring",
    "negated and empty",
    "fail",
    {"log.txt": b" \n"},
    path="log.txt",
    value="x",
    negate=True,
)
add("contains_substring", "no text", "fail", {"log.txt": b"\xff\xfe"}, path="log.txt", value="a")
