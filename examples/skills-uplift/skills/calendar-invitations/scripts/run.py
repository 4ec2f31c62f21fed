"""An invitation for each span."""

from pathlib import Path

spans = Path("spans.txt")
lines = spans.read_text(encoding="utf-8").splitlines() if spans.exists() else []
Path("answer.txt").write_text("".join(f"INVITE {line}\n" for line in lines), encoding="utf-8")
