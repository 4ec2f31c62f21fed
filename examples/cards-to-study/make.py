"""Makes the example's collection: six small computations with data, checks, oracles and skills.

    python make.py --out DIR

The data are drawn from a fixed seed and belong to nobody; every finding is computed from them here. The
same call writes the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

SEED = 20260101
BASE = {
    "source_package": "cards-to-study",
    "created_at": "2026-01-01T00:00:00Z",
    "schema_version": "0.18.0",
    "scitask_version": "0.1.1",
    "provenance_source": "local_project",
    "reproducibility_tier": "certified",
    "task_kind": "analysis",
    "tools": ["Python"],
    "primary_domain": "data analysis",
    "execution_profile": {"compute_tier": "trivial"},
    "missing_information": [],
    "crossref_doi": None,
}


@dataclass
class Item:
    """One card with everything that its author owes."""

    paper: str
    task_id: str
    card: dict[str, Any]
    inputs: dict[str, str]
    checks: list[dict[str, Any]]
    references: dict[str, str] = field(default_factory=dict)
    solve: str = ""
    method: str = ""

    @property
    def key(self) -> str:
        """The capsule key."""
        return f"{self.paper}__{self.task_id}"


def table(columns: list[str], rows: list[list[Any]]) -> str:
    """A table as CSV."""
    return "".join(",".join(map(str, row)) + "\n" for row in [columns, *rows])


def check(id_: str, text: str, **parameters: Any) -> dict[str, Any]:
    """A ready check."""
    return {"id": id_, "points": 1.0, "text": text, "origin": "author", "status": "ready", **parameters}


def near(id_: str, path: str, selector: dict[str, Any], value: float, share: float) -> dict[str, Any]:
    """A check that a number is the finding's, to a share of it."""
    half = abs(value) * share
    bounds = {"min": round(value - half, 9), "max": round(value + half, 9)}
    text = f"the value is that of the finding to {share:.0%}"
    return check(
        id_, text, kind="value_in_range", path=path, selector=selector, sources=["finding"], **bounds
    )


def line(xs: list[float], ys: list[float]) -> tuple[float, float, float]:
    """Slope, intercept and share of explained variance of a line by least squares."""
    mx, my = math.fsum(xs) / len(xs), math.fsum(ys) / len(ys)
    sxx = math.fsum((x - mx) ** 2 for x in xs)
    syy = math.fsum((y - my) ** 2 for y in ys)
    sxy = math.fsum((x - mx) * (y - my) for x, y in zip(xs, ys, strict=True))
    slope = sxy / sxx
    return slope, my - slope * mx, sxy**2 / (sxx * syy)


PRELUDE = """\
import csv
import json
import math
from pathlib import Path

INPUTS, OUTPUT = Path("inputs"), Path("output")
OUTPUT.mkdir(exist_ok=True)


def rows(name):
    with (INPUTS / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write(name, columns, lines):
    with (OUTPUT / name).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\\n").writerows([columns, *lines])
"""


def lakes(random: Random) -> list[Item]:
    """Depth of lakes by rainfall: a line, and the lakes that are off it."""
    names = [f"L{number:02d}" for number in range(1, 41)]
    rain = [round(random.uniform(400, 1400), 1) for _ in names]
    depth = [round(2.1 + 0.0078 * x + random.gauss(0, 0.9), 3) for x in rain]
    for odd in random.sample(range(len(names)), 3):
        depth[odd] = round(depth[odd] + random.choice([-6.5, 7.0, 7.5]), 3)
    slope, intercept, share = line(rain, depth)
    residuals = [y - slope * x - intercept for x, y in zip(rain, depth, strict=True)]
    spread = math.sqrt(math.fsum(r * r for r in residuals) / (len(residuals) - 2))
    outliers = [(name, r / spread) for name, r in zip(names, residuals, strict=True) if abs(r) > 2.5 * spread]
    data = table(["lake", "rain_mm", "depth_m"], [list(row) for row in zip(names, rain, depth, strict=True)])
    fit = table(["slope", "intercept", "r2"], [[f"{slope:.8f}", f"{intercept:.6f}", f"{share:.6f}"]])
    cell = {"by": "cell", "row": 0}
    first = Item(
        "lakes",
        "task_001",
        {
            "title": "Fit the depth of lakes to yearly rainfall",
            "task_objective": "Quantify how strongly rainfall sets the depth of forty lakes.",
            "research_question": "By how much does a lake deepen for each millimetre of yearly rain?",
            "finding": f"Each millimetre of yearly rain deepens a lake by {slope * 1000:.3f} mm, and rain "
            f"alone explains {share:.1%} of the variance in depth over forty lakes.",
            "task_description": "Fit depth_m on rain_mm by ordinary least squares over all lakes and report "
            "the slope, the intercept and the share of explained variance.",
            "inputs": ["lakes.csv: one row per lake with lake, rain_mm and depth_m"],
            "expected_outputs": ["fit.csv: one row with the columns slope (m per mm), intercept (m) and r2"],
            "expected_artifact_name": "fit.csv",
            "skills": ["straight-line-fit"],
            "techniques": ["linear regression"],
            "workflow_description": "Read the table, fit a straight line, write slope, intercept and r2.",
        },
        {"lakes.csv": data},
        [
            check(
                "columns",
                "fit.csv has slope, intercept and r2",
                kind="field_present",
                path="fit.csv",
                fields=["slope", "intercept", "r2"],
            ),
            near("slope", "fit.csv", {**cell, "column": "slope"}, slope, 0.005),
            near("intercept", "fit.csv", {**cell, "column": "intercept"}, intercept, 0.005),
            near("share", "fit.csv", {**cell, "column": "r2"}, share, 0.005),
        ],
        solve="""\
n = [(float(r["rain_mm"]), float(r["depth_m"])) for r in rows("lakes.csv")]
mx, my = (math.fsum(v) / len(n) for v in zip(*n))
sxy = math.fsum((x - mx) * (y - my) for x, y in n)
sxx = math.fsum((x - mx) ** 2 for x, y in n)
syy = math.fsum((y - my) ** 2 for x, y in n)
slope = sxy / sxx
write("fit.csv", ["slope", "intercept", "r2"], [[slope, my - slope * mx, sxy * sxy / (sxx * syy)]])
""",
        method="straight-line-fit",
    )
    second = Item(
        "lakes",
        "task_002",
        {
            "title": "Find the lakes that are off the line",
            "research_question": "Which lakes are much deeper or shallower than their rainfall suggests?",
            "finding": f"{len(outliers)} of forty lakes lie more than 2.5 standard errors of the residuals "
            f"off the line: {', '.join(name for name, _ in outliers)}.",
            "task_description": "Take the line of the fit that is given, compute the residual of each lake, "
            "divide it by the residual standard error (n - 2 degrees of freedom), and list the lakes beyond "
            "2.5.",
            "inputs": [
                "lakes.csv: one row per lake with lake, rain_mm and depth_m",
                "fit.csv: slope, intercept and r2 of the fit",
            ],
            "expected_outputs": ["outliers.csv: one row per such lake with the columns lake and z"],
            "expected_artifact_name": "outliers.csv",
            "input_from": "task_001",
            "skills": ["residual-outliers"],
            "techniques": ["residual analysis"],
            "workflow_description": "Read line and table, standardise residuals, list the large ones.",
        },
        {"lakes.csv": data, "fit.csv": fit},
        [
            check(
                "rows",
                "outliers.csv is the reference",
                kind="output_matches_reference",
                path="outliers.csv",
                reference="reference/outliers.csv",
                comparator="table",
                key_columns=["lake"],
                rtol=0.01,
                sources=["finding"],
            ),
        ],
        {"reference/outliers.csv": table(["lake", "z"], [[name, f"{z:.5f}"] for name, z in outliers])},
        solve="""\
(fit,) = rows("fit.csv")
a, b = float(fit["intercept"]), float(fit["slope"])
data = [(r["lake"], float(r["depth_m"]) - a - b * float(r["rain_mm"])) for r in rows("lakes.csv")]
s = math.sqrt(math.fsum(e * e for _, e in data) / (len(data) - 2))
write("outliers.csv", ["lake", "z"], [[lake, e / s] for lake, e in data if abs(e) > 2.5 * s])
""",
        method="residual-outliers",
    )
    return [first, second]


def decay(random: Random) -> list[Item]:
    """Half-life of a sample from counts over time."""
    hours = [float(hour) for hour in range(0, 49, 2)]
    truth, start = 0.0671, 8200.0
    counts = [
        max(1, round(random.gauss(start * math.exp(-truth * t), math.sqrt(start * math.exp(-truth * t)))))
        for t in hours
    ]
    slope, _, _ = line(hours, [math.log(count) for count in counts])
    half = math.log(2) / -slope
    return [
        Item(
            "decay",
            "task_001",
            {
                "title": "Estimate a half-life from counts",
                "research_question": "What is the half-life of the sample?",
                "finding": f"The sample decays with a half-life of {half:.2f} h.",
                "task_description": "Regress the natural logarithm of the counts on time by ordinary least "
                "squares and report the half-life in hours.",
                "inputs": ["counts.csv: hour and counts of one sample"],
                "expected_outputs": ["decay.json: an object with the key half_life_h"],
                "expected_artifact_name": "decay.json",
                "skills": ["exponential-decay"],
                "techniques": ["log-linear regression"],
                "workflow_description": "Take logarithms, fit a line, turn its slope into a half-life.",
            },
            {
                "counts.csv": table(
                    ["hour", "counts"], [[f"{t:g}", c] for t, c in zip(hours, counts, strict=True)]
                )
            },
            [
                check(
                    "key",
                    "decay.json has half_life_h",
                    kind="field_present",
                    path="decay.json",
                    fields=["half_life_h"],
                ),
                near("half", "decay.json", {"by": "pointer", "pointer": "/half_life_h"}, half, 0.005),
            ],
            solve="""\
n = [(float(r["hour"]), math.log(float(r["counts"]))) for r in rows("counts.csv")]
mx, my = (math.fsum(v) / len(n) for v in zip(*n))
slope = math.fsum((x - mx) * (y - my) for x, y in n) / math.fsum((x - mx) ** 2 for x, y in n)
(OUTPUT / "decay.json").write_text(json.dumps({"half_life_h": math.log(2) / -slope}), encoding="utf-8")
""",
            method="exponential-decay",
        )
    ]


def peaks(random: Random) -> list[Item]:
    """Peaks of a spectrum above a threshold."""
    centres = sorted(random.sample(range(20, 380, 15), 7))
    heights = [random.uniform(30, 90) for _ in centres]
    channel = list(range(400))
    signal = [
        round(
            5
            + sum(h * math.exp(-((x - c) ** 2) / 18) for c, h in zip(centres, heights, strict=True))
            + random.uniform(-1, 1),
            3,
        )
        for x in channel
    ]
    found = [x for x in channel[1:-1] if signal[x] > 25 and signal[x - 1] < signal[x] >= signal[x + 1]]
    return [
        Item(
            "spectra",
            "task_001",
            {
                "title": "Pick the peaks of a spectrum",
                "research_question": "In which channels does the spectrum have peaks?",
                "finding": f"The spectrum has {len(found)} peaks above 25, in the channels "
                f"{', '.join(map(str, found))}.",
                "task_description": "List every channel whose signal is above 25, larger than that of the "
                "channel before and at least as large as that of the channel after.",
                "inputs": ["spectrum.csv: channel and signal"],
                "expected_outputs": ["peaks.csv: one row per peak with the columns channel and signal"],
                "expected_artifact_name": "peaks.csv",
                "skills": ["peak-picking"],
                "techniques": ["peak detection"],
                "workflow_description": "Walk over the channels and keep local maxima above the threshold.",
            },
            {
                "spectrum.csv": table(
                    ["channel", "signal"], [list(row) for row in zip(channel, signal, strict=True)]
                )
            },
            [
                check(
                    "count",
                    "there are as many peaks",
                    kind="row_count_equals",
                    path="peaks.csv",
                    count=len(found),
                    sources=["finding"],
                ),
                check(
                    "rows",
                    "peaks.csv is the reference",
                    kind="output_matches_reference",
                    path="peaks.csv",
                    reference="reference/peaks.csv",
                    comparator="table",
                    key_columns=["channel"],
                    atol=0.01,
                    sources=["finding"],
                ),
            ],
            {"reference/peaks.csv": table(["channel", "signal"], [[x, signal[x]] for x in found])},
            solve="""\
n = [(r["channel"], float(r["signal"])) for r in rows("spectrum.csv")]
kept = [n[i] for i in range(1, len(n) - 1) if n[i][1] > 25 and n[i - 1][1] < n[i][1] >= n[i + 1][1]]
write("peaks.csv", ["channel", "signal"], kept)
""",
            method="peak-picking",
        )
    ]


def enrichment(random: Random) -> list[Item]:
    """Whether a gene set is over-represented among selected genes."""
    genes = [f"g{number:03d}" for number in range(1, 301)]
    members = set(random.sample(genes, 45))
    chosen = sorted(
        {*random.sample(sorted(members), 19), *random.sample([g for g in genes if g not in members], 41)}
    )
    hits = len(members & set(chosen))
    n, k, m = len(genes), len(members), len(chosen)
    tail = [math.comb(k, i) * math.comb(n - k, m - i) for i in range(hits, min(k, m) + 1)]
    p = sum(tail) / math.comb(n, m)
    return [
        Item(
            "genes",
            "task_001",
            {
                "title": "Test a gene set for over-representation",
                "research_question": "Is the gene set over-represented among the selected genes?",
                "finding": f"{hits} of the {m} selected genes are members, more than chance explains "
                f"(p = {p:.3e}).",
                "task_description": "Count the members of the set among the selected genes and compute the "
                "probability of at least as many under the hypergeometric distribution.",
                "inputs": ["genes.csv: gene, member (1 or 0) and selected (1 or 0)"],
                "expected_outputs": ["enrichment.json: an object with the keys overlap and p_value"],
                "expected_artifact_name": "enrichment.json",
                "skills": ["over-representation"],
                "techniques": ["hypergeometric test"],
                "workflow_description": "Count, then sum the upper tail of the hypergeometric distribution.",
            },
            {
                "genes.csv": table(
                    ["gene", "member", "selected"], [[g, int(g in members), int(g in chosen)] for g in genes]
                )
            },
            [
                near("overlap", "enrichment.json", {"by": "pointer", "pointer": "/overlap"}, hits, 0.0),
                near("p", "enrichment.json", {"by": "pointer", "pointer": "/p_value"}, p, 0.01),
            ],
            solve="""\
n = [(r["member"] == "1", r["selected"] == "1") for r in rows("genes.csv")]
k, m, x = sum(a for a, b in n), sum(b for a, b in n), sum(a and b for a, b in n)
tail = sum(math.comb(k, i) * math.comb(len(n) - k, m - i) for i in range(x, min(k, m) + 1))
found = {"overlap": x, "p_value": tail / math.comb(len(n), m)}
(OUTPUT / "enrichment.json").write_text(json.dumps(found), encoding="utf-8")
""",
            method="over-representation",
        )
    ]


def survey(random: Random) -> list[Item]:
    """How often each class occurs: what the example's agent can do by itself."""
    classes = ["beetle", "butterfly", "dragonfly", "hoverfly", "moth"]
    seen = random.choices(classes, [9, 4, 2, 6, 3], k=120)
    counts = {name: seen.count(name) for name in classes}
    return [
        Item(
            "survey",
            "task_001",
            {
                "title": "Count sightings by class",
                "research_question": "How often was each class of insects seen?",
                "finding": "Of 120 sightings, "
                + ", ".join(f"{counts[name]} were of a {name}" for name in classes)
                + ".",
                "task_description": "Count how many rows of the table of sightings there are for each class.",
                "inputs": ["sightings.csv: number and class of each sighting"],
                "expected_outputs": ["counts.csv: one row per class with the columns class and count"],
                "expected_artifact_name": "counts.csv",
                "skills": [],
                "techniques": ["counting"],
                "workflow_description": "Group the rows by class and count them.",
            },
            {
                "sightings.csv": table(
                    ["number", "class"], [[n, name] for n, name in enumerate(seen, start=1)]
                )
            },
            [
                check(
                    "rows",
                    "counts.csv is the reference",
                    kind="output_matches_reference",
                    path="counts.csv",
                    reference="reference/counts.csv",
                    comparator="table",
                    key_columns=["class"],
                    sources=["finding"],
                ),
            ],
            {"reference/counts.csv": table(["class", "count"], [[name, counts[name]] for name in classes])},
            solve="""\
seen = [r["class"] for r in rows("sightings.csv")]
write("counts.csv", ["class", "count"], [[name, seen.count(name)] for name in sorted(set(seen))])
""",
        )
    ]


ABOUT = {
    "straight-line-fit": "Fit a straight line by ordinary least squares: slope, intercept and share of "
    "explained variance of depth on rain.",
    "residual-outliers": "Find rows far off a given line: each residual divided by the residual standard "
    "error, listed beyond a limit.",
    "exponential-decay": "Estimate a half-life in hours from counts over time: the natural logarithm of the "
    "counts on time.",
    "peak-picking": "Pick the peaks of a spectrum: every channel whose signal is a local maximum above a "
    "threshold.",
    "over-representation": "Test whether a set is over-represented among selected genes, by the "
    "hypergeometric distribution.",
}


def put(path: Path, text: str, *, executable: bool = False) -> None:
    """Write a text, the same on every machine."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
    path.chmod(0o755 if executable else 0o644)


def dumped(value: Any) -> str:
    """A value as JSON."""
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def write(item: Item, out: Path) -> None:
    """Write one card with its capsule, inputs, oracle and skill."""
    document = {
        "task_id": item.task_id,
        **BASE,
        **item.card,
        "evaluation_strategy": {
            "direct_checks": [entry["text"] for entry in item.checks],
            "expert_review": ["Does the output answer the question?"],
        },
    }
    text = dumped(document)
    home = out / "collection" / "v1"
    put(home / "benchmark" / "cards" / item.paper / f"{item.task_id}.json", text)
    capsule = home / "capsules" / item.paper / item.key
    evaluation = {
        "schema_version": "1.0.0",
        "capsule_key": item.key,
        "task_id": item.task_id,
        "card_sha256": "sha256:" + hashlib.sha256(text.encode("utf-8")).hexdigest(),
        "checks": item.checks,
    }
    put(capsule / "evaluation" / "eval.json", dumped(evaluation))
    for name, reference in item.references.items():
        put(capsule / "evaluation" / name, reference)
    claim = {"claim_id": "claim_001", "text": item.card["finding"], "claim_type": "explicit"}
    put(capsule / "ledger" / "claims.jsonl", json.dumps(claim, ensure_ascii=False) + "\n")
    for name, data in item.inputs.items():
        # What the card before gives comes from that card's own outputs where they are given.
        put(out / "inputs" / item.key / name, data)
    put(
        out / "oracle" / item.key / "solve.sh",
        "#!/bin/sh\nset -eu\ncd /app\npython3 /solution/solve.py\n",
        executable=True,
    )
    put(out / "oracle" / item.key / "solve.py", f"{PRELUDE}\n\n{item.solve}")
    if item.method:
        write_skill(item, home / "skills" / item.method)


def write_skill(item: Item, folder: Path) -> None:
    """Write the skill that says how the computation is done."""
    about = ABOUT[item.method]
    title = item.method.replace("-", " ").capitalize()
    text = (
        f'---\nname: {item.method}\ndescription: "{about}"\nlicense: CC0-1.0\n---\n\n# {title}\n\n## How\n\n'
    )
    text += "In the working directory, which has `inputs` and gets `output`:\n\n"
    text += "```\npython3 scripts/run.py\n```\n"
    put(folder / "SKILL.md", text)
    put(folder / "scripts" / "run.py", f'"""{title}."""\n\n{PRELUDE}\n\n{item.solve}')


def main() -> None:
    """Make everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    made = [
        item
        for make in (lakes, decay, peaks, enrichment, survey)
        for item in make(Random(f"{SEED} {make.__name__}"))
    ]
    for item in made:
        write(item, out)
    print(f"{len(made)} cards in {out}")


if __name__ == "__main__":
    main()
