"""The sizes of images, read from their own headers; the whole structure is checked, no pixel decoded."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable

from .verdicts import Failed

__all__ = ["IMAGES", "image_size"]

_MAX_SIDE = 1_000_000


def _png(data: bytes) -> tuple[int, int]:
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        raise Failed("has no PNG signature")
    at, size, ended, seen_data = 8, (0, 0), False, False
    while at + 12 <= len(data) and not ended:
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        check = data[at + 8 + length : at + 12 + length]
        if len(check) != 4 or zlib.crc32(kind + body) != struct.unpack(">I", check)[0]:
            raise Failed("has a damaged PNG chunk")
        if at == 8:
            if kind != b"IHDR" or length != 13:
                raise Failed("does not begin with a PNG header")
            size = struct.unpack(">II", body[:8])
        seen_data |= kind == b"IDAT"
        ended = kind == b"IEND"
        at += 12 + length
    if not ended or not seen_data:
        raise Failed("is a PNG that was cut short")
    return size


def _jpeg(data: bytes) -> tuple[int, int]:
    if data[:2] != b"\xff\xd8":
        raise Failed("has no JPEG signature")
    at, size = 2, None
    while at + 4 <= len(data) and data[at] == 0xFF:
        marker, (length,) = data[at + 1], struct.unpack(">H", data[at + 2 : at + 4])
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC) and at + 9 <= len(data):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            size = (width, height)
        if marker == 0xDA:
            break
        at += 2 + length
    if size is None or data.rstrip(b"\0")[-2:] != b"\xff\xd9":
        raise Failed("is a JPEG that was cut short")
    return size


def _gif(data: bytes) -> tuple[int, int]:
    if data[:6] not in (b"GIF87a", b"GIF89a"):
        raise Failed("has no GIF signature")
    if len(data) < 14 or data[-1:] != b"\x3b":
        raise Failed("is a GIF that was cut short")
    width, height = struct.unpack("<HH", data[6:10])
    return width, height


def _tiff(data: bytes) -> tuple[int, int]:
    order = {b"II*\0": "<", b"MM\0*": ">"}.get(data[:4])
    if order is None:
        raise Failed("has no TIFF signature")
    (at,) = struct.unpack(f"{order}I", data[4:8]) if len(data) >= 8 else (0,)
    if not 8 <= at <= len(data) - 2:
        raise Failed("is a TIFF without a directory")
    (count,) = struct.unpack(f"{order}H", data[at : at + 2])
    if at + 2 + 12 * count + 4 > len(data):
        raise Failed("is a TIFF that was cut short")
    found: dict[int, int] = {}
    for entry in range(count):
        field = data[at + 2 + 12 * entry : at + 14 + 12 * entry]
        tag, kind = struct.unpack(f"{order}HH", field[:4])
        (value,) = struct.unpack(f"{order}{'H' if kind == 3 else 'I'}", field[8 : 10 if kind == 3 else 12])
        found[tag] = value
    if 256 not in found or 257 not in found:
        raise Failed("is a TIFF without a size")
    return found[256], found[257]


IMAGES: dict[str, Callable[[bytes], tuple[int, int]]] = {
    "png": _png,
    "jpeg": _jpeg,
    "gif": _gif,
    "tiff": _tiff,
}


def image_size(data: bytes, form: str | None = None) -> tuple[int, int]:
    """Width and height of an image in pixels.

    Args:
        data: The file's bytes.
        form: One of ``IMAGES``; None tries all.

    Raises:
        Failed: It is no such image, or it was cut short.
    """
    if form is None:
        for reader in IMAGES.values():
            try:
                return image_size_checked(reader(data))
            except Failed:
                continue
        raise Failed("is no image that is known here")
    return image_size_checked(IMAGES[form](data))


def image_size_checked(size: tuple[int, int]) -> tuple[int, int]:
    """The size, if an image can have it.

    Raises:
        Failed: A side is zero or absurd.
    """
    if not all(0 < side <= _MAX_SIDE for side in size):
        raise Failed("is an image without a sensible size")
    return size
