"""Say which logs would be rotated."""

from pathlib import Path

logs = sorted(path.name for path in Path().glob("*.log"))
Path("answer.txt").write_text("".join(f"{name} -> {name}.1\n" for name in logs), encoding="utf-8")
