"""Working days in each span of spans.txt."""

from datetime import date, timedelta
from pathlib import Path

holidays = {date.fromisoformat(line) for line in Path("holidays.txt").read_text(encoding="utf-8").split()}
counts = []
for line in Path("spans.txt").read_text(encoding="utf-8").splitlines():
    day, last = map(date.fromisoformat, line.split())
    count = 0
    while day <= last:
        count += day.weekday() < 5 and day not in holidays
        day += timedelta(days=1)
    counts.append(count)
Path("answer.txt").write_text("".join(f"{count}\n" for count in counts), encoding="utf-8")
