"""Paths of paths.txt that match the first pattern of the task and not the second."""

import re
import sys
from fnmatch import fnmatchcase
from pathlib import Path

wanted, unwanted = re.findall("`([^`]+)`", sys.stdin.read())[:2]
paths = Path("paths.txt").read_text(encoding="utf-8").split()
kept = sorted(path for path in paths if fnmatchcase(path, wanted) and not fnmatchcase(path, unwanted))
Path("answer.txt").write_text("".join(f"{path}\n" for path in kept), encoding="utf-8")
