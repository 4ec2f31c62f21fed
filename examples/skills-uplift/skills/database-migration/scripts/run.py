"""Load each dump and report its tables."""

import sqlite3
from pathlib import Path

database = sqlite3.connect(":memory:")
for path in sorted(Path().glob("*.sql")):
    database.executescript(path.read_text(encoding="utf-8"))
names = [name for (name,) in database.execute("SELECT name FROM sqlite_master ORDER BY 1")]
Path("answer.txt").write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
