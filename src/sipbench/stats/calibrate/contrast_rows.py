"""Calibration of paired contrasts: coverage, families, type I, detectable effect, method scope."""

from __future__ import annotations

import numpy as np

from sipbench.stats._arrays import Floats, Ints
from sipbench.stats.calibrate.row import Figure, Hits, Row
from sipbench.stats.calibrate.worlds import U_SHAPED, World, means, world
from sipbench.stats.contrasts import method_scope
from sipbench.stats.intervals import Interval, clustered_t, t_interval, t_quantile
from sipbench.stats.power import Design, minimum_detectable_effect
from sipbench.stats.signflip import sign_flip

# Eight families of 1 to 16 tasks, and one of twenty beside eleven of two.
RAGGED = (1, 2, 4, 6, 8, 10, 13, 16)
DOMINATED = (20, *[2] * 11)


def coverage(rng: np.random.Generator, reps: int) -> Row:
    """The default interval against a percentile bootstrap of tasks."""
    truth = world(U_SHAPED, truth=0.10, effect_sd=0.25)
    with_rule, without = [], []
    for n, k in ((10, 3), (20, 3), (40, 4), (87, 3)):
        default, bootstrap = Hits(), Hits()
        for _ in range(reps):
            d = _differences(rng, truth, np.arange(n), k)
            interval = clustered_t(d).interval
            default.add(interval, truth.truth)
            if n == 10:
                drawn = d[rng.integers(0, n, (200, n))].mean(axis=1)
                low, high = np.quantile(drawn, [0.025, 0.975])
                bootstrap.add(Interval(float(low), float(high), 0.95, "percentile"), truth.truth)
        with_rule.append(Figure(f"coverage, {n} tasks, {k} trials", default.share, 0.93, 0.975))
        if n == 10:
            without.append(Figure(f"coverage, {n} tasks, {k} trials", bootstrap.share, 0.93, 0.975))
    settings = "chances Beta(.35, .5), effect SD .25, true FG .10"
    return Row("coverage", settings, reps, tuple(with_rule), "percentile bootstrap", tuple(without))


def families(rng: np.random.Generator, reps: int) -> Row:
    """CR2 with Satterthwaite's degrees of freedom against the plain clustered t."""
    truth = world(U_SHAPED, truth=0.10, effect_sd=0.05, family_sd=0.15)
    with_rule, without = [], []
    for name, sizes in (("8 of 1-16", RAGGED), ("one of 20, eleven of 2", DOMINATED)):
        labels = np.repeat(np.arange(len(sizes)), sizes)
        cr2, plain = Hits(), Hits()
        for _ in range(reps):
            d = _differences(rng, truth, labels, 4)
            interval = clustered_t(d, labels).interval
            cr2.add(interval, truth.truth)
            plain.add(_plain_clustered(d, labels), truth.truth)
        with_rule.append(Figure(f"coverage, families {name}", cr2.share, 0.93, 0.975))
        without.append(Figure(f"coverage, families {name}", plain.share, 0.93, 0.975))
    settings = "chances Beta(.35, .5), family SD .15, task SD .05, 4 trials"
    return Row("families", settings, reps, tuple(with_rule), "families - 1 degrees, no CR2", tuple(without))


def type_one(rng: np.random.Generator, reps: int) -> Row:
    """False alarms of an unchanged agent: the t test of task means, and the sign-flip test."""
    still = world(U_SHAPED)
    with_rule, without = [], []
    for n, k in ((20, 3), (40, 4)):
        t_rejects, flip_rejects, pooled_rejects = 0, 0, 0
        for _ in range(reps):
            p, _ = still.chances(rng, np.arange(n))
            before, after = means(rng, p, k), means(rng, p, k)
            interval = clustered_t(after - before).interval
            t_rejects += interval is not None and not interval.contains(0.0)
            flip_rejects += sign_flip(after - before, draws=999).p < 0.05
            pooled_rejects += _pooled_rejects(before, after, k)
        where = f"{n} tasks, {k} trials"
        with_rule.append(Figure(f"t rejects, {where}", t_rejects / reps, 0.03, 0.07))
        with_rule.append(Figure(f"sign-flip rejects, {where}", flip_rejects / reps, 0.0, 0.06))
        without.append(Figure(f"pooled z rejects, {where}", pooled_rejects / reps, 0.03, 0.07))
    settings = "chances Beta(.35, .5), no change; 999 drawn flips"
    return Row("type I", settings, reps, tuple(with_rule), "trials taken as independent", tuple(without))


def detectable_effect(rng: np.random.Generator, reps: int) -> Row:
    """Power at the detectable effect of the non-central t, against the normal constant."""
    tau, k, p0 = 0.10, 4, 0.40
    with_rule, without = [], []
    for n in (20, 40):
        design = Design(n, k, k, p0 * (1 - p0), p0 * (1 - p0), tau)
        # The later noise depends on the effect looked for.
        for _ in range(5):
            effect = minimum_detectable_effect(design) or 0.0
            p1 = p0 + effect
            design = Design(n, k, k, p0 * (1 - p0), p1 * (1 - p1) - tau**2, tau)
        found = _power(rng, reps, n, k, p0, effect, tau)
        with_rule.append(Figure(f"power, {n} tasks", found, 0.77, 0.83))
        if n == 20:
            normal = 2.80 * design.se
            without.append(Figure(f"power, {n} tasks", _power(rng, reps, n, k, p0, normal, tau), 0.77, 0.83))
    settings = f"chance {p0}, effect SD {tau}, {k} trials, wanted power .80"
    return Row("MDE", settings, reps, tuple(with_rule), "the normal constant 2.80", tuple(without))


def scope(rng: np.random.Generator, reps: int) -> Row:
    """Claims about a method from several adaptations, against tasks alone as the sample."""
    n, seeds, k = 40, 3, 4
    with_rule, tasks_only = Hits(), Hits()
    for _ in range(reps):
        p0 = rng.uniform(0.2, 0.6, n)
        effect = 0.1 + rng.normal(0.0, 0.10, n)[:, np.newaxis] + rng.normal(0.0, 0.05, seeds)
        p1 = np.clip(p0[:, np.newaxis] + effect, 0.0, 1.0)
        cells = rng.binomial(k, p1) / k - rng.binomial(k, p0[:, np.newaxis], (n, seeds)) / k
        both, alone = method_scope(cells).interval, clustered_t(cells.mean(axis=1)).interval
        with_rule.add(both, 0.1)
        tasks_only.add(alone, 0.1)
    figure = Figure("coverage", with_rule.share, 0.93, 0.975)
    settings = f"{n} tasks, {seeds} adaptations with effect SD .05, {k} trials"
    without = Figure("coverage", tasks_only.share, 0.93, 0.975)
    return Row("method scope", settings, reps, (figure,), "tasks alone as the sample", (without,))


def _differences(rng: np.random.Generator, truth: World, labels: Ints, k: int) -> Floats:
    p0, p1 = truth.chances(rng, labels)
    return means(rng, p1, k) - means(rng, p0, k)


def _plain_clustered(d: Floats, labels: Ints) -> Interval:
    sums = np.bincount(labels, weights=d - d.mean())
    n_families = sums.size
    se = float(np.sqrt(n_families / (n_families - 1) * np.sum(sums**2))) / d.size
    return t_interval(float(d.mean()), se, n_families - 1, 0.05, "clustered_t")


def _pooled_rejects(before: Floats, after: Floats, k: int) -> bool:
    p0, p1, n = float(before.mean()), float(after.mean()), before.size * k
    se = float(np.sqrt((p0 * (1 - p0) + p1 * (1 - p1)) / n))
    return abs(p1 - p0) > 1.959964 * se


def _power(
    rng: np.random.Generator, reps: int, n: int, k: int, p0: float, effect: float, tau: float
) -> float:
    p1 = np.clip(p0 + effect + rng.normal(0.0, tau, (reps, n)), 0.0, 1.0)
    d = (rng.binomial(k, p1) - rng.binomial(k, p0, (reps, n))) / k
    t = d.mean(axis=1) / (d.std(axis=1, ddof=1) / np.sqrt(n))
    return float(np.mean(np.abs(t) > t_quantile(n - 1, 0.05)))
