"""Align the columns of each table."""

from pathlib import Path

lines = []
for path in sorted(Path().glob("*.csv")):
    lines += [" | ".join(line.split(",")) for line in path.read_text(encoding="utf-8").splitlines()]
Path("answer.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
