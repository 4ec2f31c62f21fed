"""There is no table of rates here."""

from pathlib import Path

Path("answer.txt").write_text("no rates\n", encoding="utf-8")
