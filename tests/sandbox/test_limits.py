"""Control groups on made trees: what is written, and what is claimed only when it was accepted."""

from __future__ import annotations

from pathlib import Path

import pytest

from sipbench.sandbox.limits import Group, Held, Limits, fill_fallbacks, find_parents, make_group

ALL = Limits(cpus=1.5, memory_mb=100, processes=50)


def version_2(tmp_path: Path, controllers: str = "cpu memory pids") -> dict[str, Path]:
    (tmp_path / "cgroup.controllers").write_text(controllers)
    (tmp_path / "cgroup.subtree_control").write_text(controllers)
    return dict.fromkeys(controllers.split(), tmp_path)


def test_version_2_gets_its_numbers(tmp_path: Path) -> None:
    group, held = make_group(ALL, "box", [(2, version_2(tmp_path))])
    assert group is not None
    assert (tmp_path / "box/memory.max").read_text() == str(100 * 1024 * 1024)
    assert (tmp_path / "box/memory.swap.max").read_text() == "0"
    assert (tmp_path / "box/pids.max").read_text() == "50"
    assert (tmp_path / "box/cpu.max").read_text() == "150000 100000"
    assert (held.cpu, held.memory, held.processes) == ("cgroup v2",) * 3
    (tmp_path / "box/memory.events").write_text("low 0\nmax 3\noom 2\noom_kill 2\n")
    (tmp_path / "box/pids.events").write_text("max 7\n")
    assert (group.out_of_memory_kills(), group.processes_refused()) == (2, 7)


def test_version_1_gets_its_numbers_in_each_hierarchy(tmp_path: Path) -> None:
    where = {name: tmp_path / name for name in ("cpu", "memory", "pids")}
    for path in where.values():
        path.mkdir()
    group, held = make_group(ALL, "box", [(1, where)])
    assert group is not None
    assert (tmp_path / "memory/box/memory.limit_in_bytes").read_text() == str(100 * 1024 * 1024)
    assert (tmp_path / "cpu/box/cpu.cfs_quota_us").read_text() == "150000"
    assert held.memory == "cgroup v1"
    (tmp_path / "memory/box/memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 4\n")
    assert group.out_of_memory_kills() == 4


def test_a_number_that_was_not_accepted_is_not_claimed(tmp_path: Path) -> None:
    where = version_2(tmp_path)
    (tmp_path / "box").mkdir()
    (tmp_path / "box/memory.max").mkdir()  # writing it fails
    _, held = make_group(ALL, "box", [(2, where)])
    assert held.memory == "none"
    assert held.processes == "cgroup v2"


def test_the_parent_that_holds_most_is_taken(tmp_path: Path) -> None:
    poor, rich = tmp_path / "poor", tmp_path / "rich"
    poor.mkdir()
    rich.mkdir()
    group, held = make_group(ALL, "box", [(2, version_2(poor, "pids")), (2, version_2(rich))])
    assert group is not None
    assert set(group.paths.values()) == {rich / "box"}
    assert held.count() == 3


def test_nothing_can_be_had_is_said_so(tmp_path: Path) -> None:
    group, held = make_group(ALL, "box", [])
    assert group is None
    filled = fill_fallbacks(ALL, held)
    assert filled.memory == "rlimit per process and watchdog over the box"
    assert filled.processes == "rlimit"
    assert "affinity" in filled.cpu


def test_a_limit_that_is_not_asked_is_not_held(tmp_path: Path) -> None:
    nothing = Limits(cpus=None, memory_mb=None, processes=None, disk_mb=None, lifetime_sec=None)
    group, held = make_group(nothing, "box", [(2, version_2(tmp_path))])
    assert group is None
    assert fill_fallbacks(nothing, held) == Held()


@pytest.mark.parametrize(
    "values", [{"cpus": 0}, {"memory_mb": -1}, {"processes": 0}, {"lifetime_sec": float("nan")}]
)
def test_a_limit_that_is_no_positive_number_is_refused(values: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="is not a positive number"):
        Limits(**values)  # type: ignore[arg-type]


def test_removing_a_group_that_is_gone_is_no_error(tmp_path: Path) -> None:
    Group(2, {"memory": tmp_path / "absent"}).remove(0)


def test_the_parents_found_here_exist() -> None:
    for version, where in find_parents():
        assert version in (1, 2)
        assert all(path.is_dir() for path in where.values())
