"""State of each file that is listed in MANIFEST or lies beside it."""

import hashlib
from pathlib import Path

listed = {}
for line in Path("MANIFEST").read_text(encoding="utf-8").splitlines():
    digest, name = line.split()
    listed[name] = digest
there = {path.name: path for path in Path().glob("part-*.bin")}
states = []
for name in sorted({*listed, *there}):
    if name not in there:
        state = "missing"
    elif name not in listed:
        state = "unlisted"
    else:
        digest = hashlib.sha256(there[name].read_bytes()).hexdigest()
        state = "ok" if digest == listed[name] else "changed"
    states.append(f"{name} {state}\n")
Path("answer.txt").write_text("".join(states), encoding="utf-8")
