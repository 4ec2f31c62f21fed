"""References of the form that the task names, from mail.txt."""

import re
import sys
from pathlib import Path

prefix = re.search(r"([A-Z]+)-NNNNN", sys.stdin.read()).group(1)
text = Path("mail.txt").read_text(encoding="utf-8")
found = sorted(set(re.findall(rf"(?<![A-Za-z0-9]){prefix}-\d{{5}}(?![A-Za-z0-9])", text)))
Path("answer.txt").write_text("".join(f"{reference}\n" for reference in found), encoding="utf-8")
