"""Totals per customer of the month that the task names, from the dump orders.sql."""

import re
import sqlite3
import sys
from pathlib import Path

month = re.search(r"\b(\d{4}-\d{2})\b", sys.stdin.read()).group(1)
database = sqlite3.connect(":memory:")
database.executescript(Path("orders.sql").read_text(encoding="utf-8"))
rows = database.execute(
    """
    SELECT customer, SUM(cents) FROM orders WHERE substr(day, 1, 7) = ?
    GROUP BY customer ORDER BY SUM(cents) DESC, customer
    """,
    [month],
)
Path("answer.txt").write_text("".join(f"{name},{total}\n" for name, total in rows), encoding="utf-8")
