"""The settings of base.ini with those of override.ini over them."""

import configparser
from pathlib import Path

merged = configparser.ConfigParser(interpolation=None)
merged.read(["base.ini", "override.ini"], encoding="utf-8")
settings = sorted(
    f"{section}.{key}={value}\n"
    for section in merged.sections()
    for key, value in merged[section].items()
    if value
)
Path("answer.txt").write_text("".join(settings), encoding="utf-8")
