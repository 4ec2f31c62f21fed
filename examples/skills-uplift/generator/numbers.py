"""Numbers: working days between dates, measurements in other units."""

from __future__ import annotations

from datetime import date, timedelta
from random import Random

from generator.base import Made

METRES = {"km": 1000.0, "m": 1.0, "cm": 0.01, "mi": 1609.344, "ft": 0.3048, "in": 0.0254}
KILOGRAMS = {"kg": 1.0, "g": 0.001, "lb": 0.45359237, "oz": 0.028349523125, "t": 1000.0}


def date_arithmetic(rng: Random, number: int) -> Made:
    """Working days from one day to another, with holidays."""
    begin = date(2024, 1, 1)
    holidays = sorted({begin + timedelta(days=rng.randint(0, 360)) for _ in range(10)})
    lines, answers = [], []
    for _ in range(8):
        first = begin + timedelta(days=rng.randint(0, 300))
        last = first + timedelta(days=rng.randint(1, 60))
        days = [first + timedelta(days=offset) for offset in range((last - first).days + 1)]
        working = [day for day in days if day.weekday() < 5 and day not in holidays]
        lines.append(f"{first} {last}")
        answers.append(str(len(working)))
    asked = (
        "For each pair of dates in spans.txt count the business days from the first to the second",
        "How many working days lie between the dates on each line of spans.txt",
        "Count the days that are no weekend and no holiday for every span of dates in spans.txt",
    )
    text = (
        f"{asked[number % 3]}, both included: Monday to Friday, without the holidays in holidays.txt. One "
        "number per line, in the order of the file."
    )
    data = {"spans.txt": "\n".join(lines) + "\n", "holidays.txt": "\n".join(map(str, holidays)) + "\n"}
    return Made(text, data, tuple(answers))


def unit_conversion(rng: Random, number: int) -> Made:
    """Lengths in metres or masses in kilograms."""
    units, base = rng.choice([(METRES, "metres"), (KILOGRAMS, "kilograms")])
    lines, answers = [], []
    for index in range(10):
        unit, amount = rng.choice(sorted(units)), rng.randint(1, 9999) / rng.choice([1, 10, 100])
        lines.append(f"sample-{index} {amount:g} {unit}")
        answers.append(f"sample-{index} {amount * units[unit]:.3f}")
    asked = (
        f"Convert the measurements in samples.txt to {base}",
        f"The samples in samples.txt are given in several units. Express each of them in {base}",
        f"What are the values in samples.txt in {base}",
    )
    text = f"{asked[number % 3]}, three decimals, one `name value` per line, in the order of the file."
    return Made(text, {"samples.txt": "\n".join(lines) + "\n"}, tuple(answers))
