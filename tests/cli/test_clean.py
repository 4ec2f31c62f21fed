from __future__ import annotations

import json
from pathlib import Path

import pytest

from sipbench.cli.commands.app import app
from sipbench.cli.main import run
from sipbench.sandbox.store import Store


def test_layers_that_nothing_uses_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store.open(tmp_path / "store")
    (store.root / "layers" / "some-layer").mkdir(parents=True)
    command = ["sip", "clean", "--store", str(store.root), "--json"]
    found = {"store": str(store.root), "removed": ["layers/some-layer"], "in_use": []}
    monkeypatch.setattr("sys.argv", [*command, "--dry-run"])
    assert run(app, "sip") == 0
    assert json.loads(capsys.readouterr().out) == found
    assert (store.root / "layers" / "some-layer").is_dir()
    monkeypatch.setattr("sys.argv", command)
    assert run(app, "sip") == 0
    assert json.loads(capsys.readouterr().out) == found
    assert list((store.root / "layers").iterdir()) == []
