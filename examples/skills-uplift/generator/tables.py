"""Tables: a database dump to query, a broken CSV file to repair, nested JSON to flatten."""

from __future__ import annotations

import json
from collections import defaultdict
from random import Random

from generator.base import Made

NAMES = ("Abel", "Bruno", "Chen", "Dora", "Edda", "Farah", "Goran", "Hana", "Ines", "Jonas", "Kofi", "Lena")
CITIES = ("Basel", "Lyon", "Porto", "Turku", "Graz", "Gent", "Brno", "Split")


def sqlite_query(rng: Random, number: int) -> Made:
    """Sums by group of one month, from a dump."""
    month = rng.randint(1, 12)
    rows, totals = [], defaultdict(int)
    for order in range(rng.randint(30, 50)):
        name, at, cents = rng.choice(NAMES), rng.randint(1, 12), rng.randint(100, 99_999)
        at = month if rng.random() < 0.4 else at
        day = f"2024-{at:02d}-{rng.randint(1, 28):02d}"
        rows.append(f"INSERT INTO orders VALUES ({order}, '{name}', '{day}', {cents});")
        if at == month:
            totals[name] += cents
    schema = "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT, day TEXT, cents INTEGER);"
    ranked = sorted(totals.items(), key=lambda item: (-item[1], item[0]))
    asked = (
        f"The file orders.sql is the dump of an SQLite database. Query the total of cents per customer for "
        f"the month 2024-{month:02d}",
        f"Load the SQL dump orders.sql and report what each customer spent in 2024-{month:02d}, in cents",
        f"orders.sql holds a table of orders. Which customer bought for how many cents in 2024-{month:02d}",
    )
    text = f"{asked[number % 3]}, one `customer,total` per line, largest total first, ties by name."
    return Made(text, {"orders.sql": "\n".join([schema, *rows]) + "\n"}, tuple(f"{n},{t}" for n, t in ranked))


def csv_repair(rng: Random, number: int) -> Made:
    """Mixed separators, stray blanks, doubled and incomplete rows."""
    clean, seen, lines = [], set(), []
    for key in rng.sample(range(100, 999), 14):
        row = (str(key), rng.choice(NAMES), rng.choice(CITIES), str(rng.randint(1, 99)))
        broken = rng.random() < 0.2
        cells = list(row)
        if broken:
            cells[rng.randrange(1, 4)] = ""
        separator = rng.choice([",", ";", "\t"])
        pad = rng.choice(["", " "])
        lines.append(separator.join(f"{pad}{cell}{pad}" for cell in cells))
        if rng.random() < 0.3:
            lines.append(rng.choice([",", ";"]).join(cells))
        if not broken and row not in seen:
            seen.add(row)
            clean.append(row)
    rng.shuffle(lines)
    asked = (
        "people.csv is broken: its rows are separated by commas, semicolons or tabs. Repair the CSV file",
        "Clean up the damaged table people.csv, whose delimiters are mixed",
        "The rows of people.csv use different separators and some stand twice. Make a tidy CSV of it",
    )
    text = (
        f"{asked[number % 3]}: comma as the only separator, no blanks around cells, no row twice, rows with "
        "an empty cell dropped, sorted by the first column as a number."
    )
    clean.sort(key=lambda row: int(row[0]))
    return Made(text, {"people.csv": "\n".join(lines) + "\n"}, tuple(",".join(row) for row in clean))


def json_transform(rng: Random, number: int) -> Made:
    """Every leaf of a nested document with its path."""
    leaves: dict[str, str] = {}

    def build(path: str, depth: int) -> object:
        kind = rng.choice(["object", "list", "leaf"]) if depth < 4 else "leaf"
        if depth == 0:
            kind = "object"
        if kind == "leaf":
            value: object = rng.choice([rng.randint(0, 99), rng.choice(CITIES), True, None, False])
            leaves[path] = json.dumps(value)
            return value
        if kind == "list":
            return [build(f"{path}[{index}]", depth + 1) for index in range(rng.randint(1, 3))]
        names = rng.sample(["id", "name", "site", "tags", "owner", "parts", "state"], rng.randint(2, 4))
        return {name: build(f"{path}.{name}" if path else name, depth + 1) for name in names}

    document = build("", 0)
    asked = (
        "Flatten the nested JSON document record.json",
        "Transform record.json from nested JSON into flat lines",
        "List every value in the JSON file record.json together with its path",
    )
    text = (
        f"{asked[number % 3]}: one `path=value` per line for each value that is no object and no list, the "
        "path with dots and [index], the value as JSON, sorted by path."
    )
    lines = tuple(f"{path}={value}" for path, value in sorted(leaves.items()))
    return Made(text, {"record.json": json.dumps(document, indent=1) + "\n"}, lines)
