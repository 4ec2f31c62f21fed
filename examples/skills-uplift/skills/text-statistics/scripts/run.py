"""Letters, words and lines of each text file."""

from pathlib import Path

lines = []
for path in sorted(Path().glob("*.txt")):
    if path.name != "answer.txt":
        text = path.read_text(encoding="utf-8")
        lines.append(f"{path.name} {len(text)} {len(text.split())} {text.count(chr(10))}\n")
Path("answer.txt").write_text("".join(lines), encoding="utf-8")
