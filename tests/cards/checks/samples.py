"""The smallest whole file of each format, made by hand or by the package that owns it."""

from __future__ import annotations

import gzip
import io
import struct
import zipfile
import zlib

__all__ = ["damaged", "sample"]


def _png(width: int = 3, height: int = 2) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + b"\x7f" * width for _ in range(height)))
    parts = [chunk(b"IHDR", header), chunk(b"IDAT", pixels), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def _jpeg() -> bytes:
    frame = b"\xff\xc0" + struct.pack(">HBHHB", 11, 8, 2, 3, 1) + b"\x01\x11\x00"
    scan = b"\xff\xda" + struct.pack(">H", 8) + b"\x01\x01\x00\x00\x3f\x00" + b"\x12\x34"
    return b"\xff\xd8" + b"\xff\xe0" + struct.pack(">H", 4) + b"ab" + frame + scan + b"\xff\xd9"


def _gif() -> bytes:
    return b"GIF89a" + struct.pack("<HHBBB", 3, 2, 0, 0, 0) + b"," + b"\0" * 9 + b"\x02\x02\x44\x01\0\x3b"


def _tiff() -> bytes:
    entries = [(256, 4, 1, 3), (257, 3, 1, 2)]
    body = struct.pack("<H", len(entries))
    for tag, kind, count, value in entries:
        body += struct.pack("<HHI", tag, kind, count) + struct.pack("<I", value)
    return b"II*\0" + struct.pack("<I", 8) + body + struct.pack("<I", 0)


def _pdf() -> bytes:
    return b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\nxref\n0 1\ntrailer<<>>\nstartxref\n44\n%%EOF\n"


def _hdf5(version: int = 0) -> bytes:
    size = 96
    if version < 2:
        head = b"\x89HDF\r\n\x1a\n" + bytes([version, 0, 0, 0, 0, 8, 8, 0]) + b"\0" * 8
        head += b"\0" * 4 * version + struct.pack("<QQQQ", 0, 2**64 - 1, size, 2**64 - 1)
    else:
        head = b"\x89HDF\r\n\x1a\n" + bytes([version, 8, 8, 0]) + struct.pack("<QQQ", 0, 2**64 - 1, size)
    return head.ljust(size, b"\0")


def _zip() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.txt", "hello " * 20)
    return out.getvalue()


def _xlsx() -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    for row in (["id", "value"], ["a", 1.5], ["b", 2.5]):
        book.active.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def _parquet() -> bytes:
    import polars

    out = io.BytesIO()
    polars.DataFrame({"id": ["a", "b"], "value": [1.5, 2.5]}).write_parquet(out)
    return out.getvalue()


_MADE = {
    "text": lambda: "naïve text\n".encode(),
    "csv": lambda: b"id,value\na,1.5\nb,2.5\n",
    "tsv": lambda: b"id\tvalue\na\t1.5\nb\t2.5\n",
    "json": lambda: b'[{"id": "a", "value": 1.5}, {"id": "b", "value": 2.5}]',
    "jsonl": lambda: b'{"id": "a", "value": 1.5}\n{"id": "b", "value": 2.5}\n',
    "bed": lambda: b"track name=x\nchr1\t0\t10\tpeak\nchr1\t10\t10\n",
    "parquet": _parquet,
    "xlsx": _xlsx,
    "png": _png,
    "jpeg": _jpeg,
    "gif": _gif,
    "tiff": _tiff,
    "pdf": _pdf,
    "gzip": lambda: gzip.compress(b"hello\n", mtime=0) + gzip.compress(b"again\n", mtime=0),
    "zip": _zip,
    "hdf5": _hdf5,
}


def sample(form: str) -> bytes:
    """A whole file of ``form``."""
    return _MADE[form]()


def hdf5(version: int) -> bytes:
    """An HDF5 file with a superblock of ``version``."""
    return _hdf5(version)


def damaged(form: str) -> list[bytes]:
    """Files that a look at the first bytes would take for ``form``, and that are none."""
    whole = sample(form)
    made: dict[str, list[bytes]] = {
        "text": [b"abc\0def", b"\xff\xfe\x41\x00"],
        "csv": [
            b"id;value\na;1\n",
            b"a,b\n1\n",
            b'a,b\n"1,2\n',
            b"a,b\n\xff,1\n",
            b"one\ncolumn\n",
            b"a,\0\n",
        ],
        "tsv": [b"id,value\na,1\n", b"a\tb\n1\n", b"one\ncolumn\n"],
        "json": [b'{"a": NaN}', b"{", b'{"a": 1, "a": 2}', b"[" * 100_000, b"a,b\n1,2\n"],
        "jsonl": [b'{"a": 1}\n{', b"1\n2\n", b"\n\n"],
        "bed": [
            b"chr1\t10\t0\n",
            b"chr1\t0\n",
            b"chr1\t-1\t5\n",
            b"#only\n",
            b"chr1,0,1\n",
            "chr1\t٠\t1\n".encode(),
        ],
    }
    return [b"", *made.get(form, [whole[:-3], whole[:10], b"A" + whole[1:]])]
