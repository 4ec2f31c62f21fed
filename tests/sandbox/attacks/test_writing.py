"""Writing outside of the box."""

from __future__ import annotations

import os
from pathlib import Path

from sipbench.sandbox.policy import Policy
from tests.sandbox.attacks.attempts import outside
from tests.sandbox.conftest import Place


def test_a_shown_directory_cannot_be_written(place: Place, tmp_path: Path) -> None:
    policy = Policy(read_only=(str(tmp_path),))
    script = f"echo x > {tmp_path}/made"
    place.run(script + f"; mount -o remount,rw {tmp_path}; {script}; chmod 777 {tmp_path}", policy=policy)
    assert not (tmp_path / "made").exists()
    outside(script)
    assert (tmp_path / "made").exists()


def test_what_is_written_to_the_system_stays_in_the_box(place: Place) -> None:
    name = f"/usr/local/bin/made-{os.getpid()}"
    done = place.run(f"echo x > {name} && rm /usr/bin/env && cat {name}")
    assert done.code == 0, done.text()
    assert not Path(name).exists()
    assert Path("/usr/bin/env").exists()


def test_a_box_does_not_see_what_another_wrote(place: Place) -> None:
    script = "cat /var/tmp/mark 2>/dev/null; echo seen > /var/tmp/mark"
    assert place.run(script).text()[0] == ""
    assert place.run(script).text()[0] == ""
