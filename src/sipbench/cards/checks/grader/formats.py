"""Whether a file is what a check says, by its content and never by its name."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Callable
from functools import partial

from .images import IMAGES, image_size
from .places import Place, read
from .tables import MAX_INFLATED, parse_json, read_table, refuse_bomb
from .verdicts import Failed, Impossible, shown

__all__ = ["FORMATS", "check_format"]


def _text(place: Place, path: str) -> None:
    read(place, path)
    if "\0" in place.text(path):
        raise Failed(f"{shown(path)} holds a NUL, so it is no text")


def _separated(place: Place, path: str, form: str) -> None:
    table = read_table(place, path, form, header=False)
    if len(table.rows[0]) < 2:
        # One column has no separator to know the format by: any text would pass.
        raise Failed(f"{shown(path)} has one column, so nothing shows that it is {form.upper()}")


def _json(place: Place, path: str) -> None:
    read(place, path)
    parse_json(place.text(path), path)


def _jsonl(place: Place, path: str) -> None:
    read(place, path)
    lines = [line for line in place.text(path).split("\n") if line.strip()]
    if not lines:
        raise Failed(f"{shown(path)} has no line")
    for number, line in enumerate(lines, start=1):
        if not isinstance(parse_json(line, f"{path}, line {number},"), (dict, list)):
            raise Failed(f"{shown(path)}: line {number} is neither an object nor a list")


def _bed(place: Place, path: str) -> None:
    read(place, path)
    rows = 0
    for number, line in enumerate(place.text(path).split("\n"), start=1):
        if not line.strip() or line.startswith(("#", "track", "browser")):
            continue
        cells = line.rstrip("\r").split("\t")
        if len(cells) < 3 or not all(cell.isascii() and cell.isdigit() for cell in cells[1:3]):
            raise Failed(f"{shown(path)}: line {number} is no chrom, start, end")
        if int(cells[1]) > int(cells[2]):
            raise Failed(f"{shown(path)}: line {number} ends before it starts")
        rows += 1
    if not rows:
        raise Failed(f"{shown(path)} has no interval")


def _pdf(place: Place, path: str) -> None:
    data = read(place, path)
    tail = data[-2048:]
    if data[:5] != b"%PDF-" or b"%%EOF" not in tail or b"startxref" not in tail:
        raise Failed(f"{shown(path)} is no whole PDF")


def _gzip(place: Place, path: str) -> None:
    data = read(place, path)
    size = 0
    while data:
        inflater = zlib.decompressobj(wbits=31)
        try:
            block = inflater.decompress(data, 1 << 20)
            while True:
                size += len(block)
                if size > MAX_INFLATED:
                    raise Failed(f"{shown(path)} inflates to more than {MAX_INFLATED} bytes")
                if inflater.eof:
                    break
                rest = inflater.unconsumed_tail
                block = inflater.decompress(rest, 1 << 20)
                if not block and not inflater.eof and rest == inflater.unconsumed_tail:
                    raise Failed(f"{shown(path)} is gzip that was cut short")
        except zlib.error as error:
            raise Failed(f"{shown(path)} is not gzip: {shown(error)}") from None
        data = inflater.unused_data.lstrip(b"\0")


def _zip(place: Place, path: str) -> None:
    data = read(place, path)
    refuse_bomb(data, path)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            bad = archive.testzip()
    except Exception as error:
        raise Failed(f"{shown(path)} is a damaged archive: {shown(error)}") from None
    if bad is not None:
        raise Failed(f"{shown(path)}: its entry {shown(bad)} is damaged")


def _hdf5(place: Place, path: str) -> None:
    data = read(place, path)
    if data[:8] != b"\x89HDF\r\n\x1a\n" or len(data) < 64:
        raise Failed(f"{shown(path)} has no HDF5 signature")
    version = data[8]
    if version > 3:
        raise Failed(f"{shown(path)} has an unknown HDF5 version")
    # Superblock: versions 0 and 1 keep the addresses after 24 (28) bytes, 2 and 3 after 12.
    width, start = (data[13], 24 + 4 * version) if version < 2 else (data[9], 12)
    code = {4: "<I", 8: "<Q"}.get(width)
    field = data[start + 2 * width : start + 3 * width]
    if code is None or len(field) != width or struct.unpack(code, field)[0] > len(data):
        raise Failed(f"{shown(path)} is HDF5 that was cut short")


def _image(place: Place, path: str, form: str) -> None:
    data = read(place, path)
    try:
        image_size(data, form)
    except (Failed, struct.error) as error:
        raise Failed(f"{shown(path)} {error}") from None


def _table(form: str) -> Callable[[Place, str], None]:
    def check(place: Place, path: str) -> None:
        read_table(place, path, form)

    return check


FORMATS: dict[str, Callable[[Place, str], None]] = {
    "text": _text,
    "csv": partial(_separated, form="csv"),
    "tsv": partial(_separated, form="tsv"),
    "json": _json,
    "jsonl": _jsonl,
    "bed": _bed,
    "parquet": _table("parquet"),
    "xlsx": _table("xlsx"),
    "pdf": _pdf,
    "gzip": _gzip,
    "zip": _zip,
    "hdf5": _hdf5,
    **{form: partial(_image, form=form) for form in IMAGES},
}
"""What reads each format; it raises ``Failed`` where the file is not of it."""


def check_format(place: Place, path: str, form: str) -> None:
    """Read the whole file as ``form``, one of ``FORMATS``.

    Raises:
        Failed: It is something else, empty, or was cut short.
        Impossible: The format is not known here, or needs a package that is missing.
    """
    reader = FORMATS.get(form)
    if reader is None:
        raise Impossible(f"unknown format {shown(form)}")
    reader(place, path)
