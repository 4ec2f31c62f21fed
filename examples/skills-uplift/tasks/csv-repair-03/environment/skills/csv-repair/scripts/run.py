"""Clean the broken table people.csv."""

import re
from pathlib import Path

rows = set()
for line in Path("people.csv").read_text(encoding="utf-8").splitlines():
    cells = tuple(cell.strip() for cell in re.split("[,;\t]", line))
    if all(cells):
        rows.add(cells)
ordered = sorted(rows, key=lambda row: int(row[0]))
Path("answer.txt").write_text("".join(",".join(row) + "\n" for row in ordered), encoding="utf-8")
