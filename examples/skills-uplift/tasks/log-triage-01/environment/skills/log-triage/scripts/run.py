"""Errors per service in app.log, within the hours that the task names."""

import re
import sys
from collections import Counter
from pathlib import Path

first, last = map(int, re.search(r"hour (\d+) (?:to|and) hour (\d+)", sys.stdin.read()).groups())
counts = Counter()
for line in Path("app.log").read_text(encoding="utf-8").splitlines():
    match = re.match(r"\S+T(\d\d):\S+ ERROR \[(\w+)\]", line)
    if match and first <= int(match[1]) <= last:
        counts[match[2]] += 1
ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
Path("answer.txt").write_text("".join(f"{name} {count}\n" for name, count in ranked), encoding="utf-8")
