"""Skills through MCP: a program in a box speaks to our server, and the record says what it was served."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sipbench.benchmarks.base import Agent
from sipbench.benchmarks.harbor import served as serving
from sipbench.benchmarks.harbor.exposure import NotExposedError
from sipbench.benchmarks.harbor.served import LOG, Serving, exposure, start_server
from sipbench.errors import ConfigError
from sipbench.protocol.agent_state import DELIVERY, SkillDelivery
from sipbench.protocol.digests import file_digest
from sipbench.protocol.jsonl import read_records
from sipbench.protocol.records import SkillRef
from sipbench.protocol.vocabulary import PathType, Phase, Status
from sipbench.skills.collection import pin_collection, read_manifest, slug_of
from sipbench.skills.layout import locate_one
from sipbench.skills.mcp.beside import MAX_CONNECTIONS
from tests.benchmarks.harbor.conftest import HERE, Engine, running
from tests.benchmarks.harbor.made import make_task, write
from tests.benchmarks.harbor.test_benchmark import sip
from tests.skills import made

State = Callable[..., Path]


@pytest.fixture(name="served")
def _served(engine: Engine, skills_state: State) -> Callable[..., Any]:
    """Makes an attempt whose state has the skills ``a`` and ``b``, to be served."""
    pytest.importorskip("mcp", reason="these tests need the extra 'mcp'")
    # The program in the box needs the SDK: nothing of it is in the image.
    engine.options["sandbox_options"] = {"read_only": sorted({sys.prefix, sys.base_prefix})}
    make_task(engine.tasks / "t")
    state = skills_state("b", "a")
    write(state / DELIVERY, SkillDelivery(skills="mcp").model_dump_json())

    def attempt(agent: str = "OverMcp", does: str = "reads", **fields: Any) -> Any:
        return engine.attempt(agent, PathType.EXTERNAL, state, arguments={"does": does}, **fields)

    return attempt


def names(refs: Any) -> list[str] | None:
    return None if refs is None else [ref.name for ref in refs]


def test_an_agent_lists_reads_and_uses_what_is_served(
    engine: Engine, served: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving.secrets, "token_urlsafe", lambda size: "correct-horse-battery-4711")
    attempt = served()
    assert (attempt.status, attempt.reward) == (Status.GRADED, 1.0)
    assert (names(attempt.skills_given), names(attempt.skills_opened)) == (["a", "b"], ["a", "b"])
    assert attempt.metadata["harbor"]["skills_by"] == "mcp"
    told = (engine.trial / "agent" / "client.txt").read_text(encoding="utf-8")
    assert told.split() == ["a", "b"]
    log = [json.loads(line) for line in (engine.workdir / LOG).read_text(encoding="utf-8").splitlines()]
    assert [line["event"] for line in log[:4]] == ["started", "connected", "listed", "listed"]
    assert all(line["time"].endswith("Z") for line in log)
    assert {line["file_digest"] for line in log if line.get("file", "").endswith("SKILL.md")} == {
        ref.digest for ref in attempt.skills_given
    }
    # The token that opens the server stands in no file of the trial, and nobody serves any longer.
    written = b"".join(path.read_bytes() for path in engine.workdir.rglob("*") if path.is_file())
    assert b"correct-horse-battery-4711" not in written
    assert "Bearer ${SIPBENCH_SKILLS_TOKEN}" in (engine.trial / "config.json").read_text(encoding="utf-8")
    assert not running("sipbench.skills.mcp.beside")


@pytest.mark.parametrize(("does", "given"), [("connects", []), ("lists", ["a", "b"])])
def test_what_it_does_not_ask_for_it_was_not_given(
    served: Callable[..., Any], does: str, given: list[str]
) -> None:
    attempt = served(does=does)
    assert (attempt.status, attempt.reward) == (Status.GRADED, 0.0)
    assert (names(attempt.skills_given), names(attempt.skills_opened)) == (given, [])


def test_an_agent_that_never_spoke_to_the_server_is_an_error_and_no_result(
    served: Callable[..., Any],
) -> None:
    attempt = served(does="nothing")
    assert (attempt.status, attempt.reward, attempt.skills_given) == (Status.INFRASTRUCTURE_ERROR, None, None)
    assert attempt.error_type == "NotExposed"


def test_an_agent_that_sends_no_headers_is_asked_for_no_token(
    engine: Engine, served: Callable[..., Any]
) -> None:
    attempt = served("OverMcpWithoutHeaders")
    assert (attempt.reward, names(attempt.skills_given)) == (1.0, ["a", "b"])
    assert "SIPBENCH_SKILLS_TOKEN" not in (engine.trial / "config.json").read_text(encoding="utf-8")


def test_a_box_on_the_hosts_network_has_no_door(engine: Engine, served: Callable[..., Any]) -> None:
    engine.options["sandbox_options"] |= {"network": "host"}
    attempt = served()
    assert attempt.error_type == "NotExposed"
    assert "has the host's network" in (attempt.error_message or "")


def test_where_skills_cannot_be_served_is_said_before_the_first_attempt(engine: Engine) -> None:
    pytest.importorskip("mcp", reason="this test needs the extra 'mcp'")
    make_task(engine.tasks / "t")
    benchmark = engine.benchmark()
    benchmark.check_delivery(Agent(f"{HERE}:OverMcp"), "mcp")
    benchmark.check_delivery(Agent(f"{HERE}:Plain"), "files")
    with pytest.raises(ConfigError, match="takes no MCP servers"):
        benchmark.check_delivery(Agent(f"{HERE}:Plain"), "mcp")
    engine.options["sandbox_options"] = {"network": "host"}
    with pytest.raises(ConfigError, match="no loopback of its own"):
        engine.benchmark().check_delivery(Agent(f"{HERE}:OverMcp"), "mcp")
    engine.options["sandbox"] = "docker"
    with pytest.raises(ConfigError, match="this study runs in docker"):
        engine.benchmark().check_delivery(Agent(f"{HERE}:OverMcp"), "mcp")


class TestServer:
    """The process beside an attempt, without a box: it serves a socket of this machine."""

    @staticmethod
    def serving(tmp_path: Path) -> Serving:
        pytest.importorskip("mcp", reason="this test needs the extra 'mcp'")
        made.skill(tmp_path / "skills", "lake-depth")
        return Serving(tmp_path / "skills", tmp_path / LOG, "correct-horse-battery")

    class Here:
        """An environment whose loopback is this machine's."""

        def __init__(self) -> None:
            self.port = 0

        async def listen(self, port: int) -> socket.socket:
            listening = socket.create_server(("127.0.0.1", 0))
            self.port = listening.getsockname()[1]
            return listening

    def test_it_ends_with_whoever_started_it(self, tmp_path: Path) -> None:
        async def body() -> None:
            here = self.Here()
            server = await start_server(here, self.serving(tmp_path))
            socket.create_connection(("127.0.0.1", here.port)).close()
            assert await server.stop() is None
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", here.port))

        asyncio.run(body())

    def test_an_agent_that_opens_connections_and_never_reads_holds_no_more_than_so_many(
        self, tmp_path: Path
    ) -> None:
        def asked(port: int) -> bytes:
            with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
                client.sendall(b"GET /nothing HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
                return client.recv(64).split()[1]

        async def body() -> tuple[bytes, bytes]:
            here = self.Here()
            server = await start_server(here, self.serving(tmp_path))
            try:
                before = await asyncio.to_thread(asked, here.port)
                held = [socket.create_connection(("127.0.0.1", here.port)) for _ in range(MAX_CONNECTIONS)]
                # They were accepted before this one: the queue is served in its order.
                after = await asyncio.to_thread(asked, here.port)
                for client in held:
                    client.close()
                return before, after
            finally:
                await server.stop()

        assert asyncio.run(body()) == (b"401", b"503")

    def test_that_it_ended_before_is_said(self, tmp_path: Path) -> None:
        async def body() -> str | None:
            server = await start_server(self.Here(), self.serving(tmp_path))
            server._process.kill()
            await server._process.wait()
            return await server.stop()

        assert asyncio.run(body()) == "the server of the skills ended by itself (exit status -9)"

    def test_that_it_cannot_start_is_said(self, tmp_path: Path) -> None:
        serving = replace(self.serving(tmp_path), root=tmp_path / "nowhere")
        with pytest.raises(NotExposedError, match=r"could not be started: .*nowhere is no folder of skills"):
            asyncio.run(start_server(self.Here(), serving))

    def test_a_sandbox_without_a_door_is_said(self, tmp_path: Path) -> None:
        with pytest.raises(NotExposedError, match="use `bwrap`"):
            asyncio.run(start_server(object(), self.serving(tmp_path)))


WANTED = {
    name: SkillRef(name=name, digest="sha256:" + sign * 64, tree_digest="sha256:" + sign * 64)
    for name, sign in (("a", "1"), ("b", "2"))
}


class TestLog:
    def line(self, event: str, name: str, sign: str) -> str:
        digest = "sha256:" + sign * 64
        uri = f"skill://{name}/SKILL.md"
        document = {"event": event, "uri": uri, "name": name, "digest": digest, "tree_digest": digest}
        return json.dumps(document) + "\n"

    def test_what_was_read_was_given_too(self, tmp_path: Path) -> None:
        lines = ['{"event": "connected"}\n', self.line("read", "b", "2"), '{"event": "list']
        log = write(tmp_path / LOG, "".join(lines))
        assert exposure(log, WANTED) == ((WANTED["b"],), (WANTED["b"],))

    def test_nobody_knows_without_a_log(self, tmp_path: Path) -> None:
        assert exposure(tmp_path / LOG, WANTED) == (None, None)
        assert exposure(write(tmp_path / LOG, '{"event": "started"}\n'), WANTED) == (None, None)

    @pytest.mark.parametrize("second", [("listed", "a", "2"), ("listed", "b", "3")])
    def test_something_else_than_was_meant_is_an_error(
        self, tmp_path: Path, second: tuple[str, str, str]
    ) -> None:
        lines = ['{"event": "connected"}\n', self.line("listed", "a", "1"), self.line(*second)]
        with pytest.raises(NotExposedError, match="is not the one of the agent state"):
            exposure(write(tmp_path / LOG, "".join(lines)), WANTED)


STUDY = """\
name: {through}
benchmark:
  name: harbor
  tasks: tasks
  sandbox: bwrap
  sandbox_options: {{read_only: {read_only}}}
agent: {{name: "{agent}"}}
phases: [T0, T1]
repeats: 1
splits: {{sizes: {{heldout: 1, replay: 0, adapt: 0}}}}
arms:
  frozen: {{path_type: frozen}}
  skilled:
    path_type: external
    adaptation: {{kind: skills, path: release, pin: "{pin}", through: {through}}}
analysis: {{sesoi: 0.1}}
"""


def test_a_study_with_served_skills_and_one_with_files_record_the_same_digests(engine: Engine) -> None:
    pytest.importorskip("mcp", reason="this test needs the extra 'mcp'")
    make_task(engine.tasks / "t")
    pins = make_release(engine.root / "release")
    pin = file_digest(engine.root / "release" / "collection.yaml")
    digests = {}
    for through, agent in (("files", "Skillful"), ("mcp", "OverMcp")):
        text = STUDY.format(
            through=through,
            agent=f"{HERE}:{agent}",
            pin=pin,
            read_only=json.dumps(sorted({sys.prefix, sys.base_prefix})),
        )
        write(engine.root / f"{through}.yaml", text)
        run = sip("run", f"{through}.yaml", "--out", through, cwd=engine.root)
        said, _ = run.communicate(timeout=300)
        assert run.returncode == 0, said
        (record,) = (
            record
            for record in read_records(engine.root / through / "runs.jsonl")
            if (record.arm, record.phase) == ("skilled", Phase.T1)
        )
        assert record.score == 1.0
        assert record.metadata["harbor"]["skills_by"] == ("mcp" if through == "mcp" else "harbor")
        assert record.skills_opened == record.skills_given
        digests[through] = [(ref.name, ref.digest, ref.tree_digest) for ref in record.skills_given or ()]
    assert digests["mcp"] == digests["files"]
    assert {name: digest for name, digest, _ in digests["mcp"]} == pins
    text = (engine.root / "mcp.yaml").read_text(encoding="utf-8")
    write(engine.root / "plain.yaml", text.replace(f"{HERE}:OverMcp", f"{HERE}:Plain"))
    said, _ = sip("plan", "plain.yaml", cwd=engine.root).communicate(timeout=120)
    assert (
        "arms.skilled.adaptation: agent 'tests.benchmarks.harbor.agents:Plain' takes no MCP servers" in said
    )


def make_release(root: Path) -> dict[str, str]:
    """A pinned collection of two skills; the digest of each pin."""
    for name in ("lake-depth", "lake-volume"):
        skill = made.skill(root / "leaves", name)
        write(skill / "answer", "42\n")
    manifest = "slug: lakes\nskills: [lake-depth, lake-volume]\n"
    write(root / "collection.yaml", manifest)
    located = locate_one(root)
    pin_collection(located)
    return {slug_of(pin): pin.rpartition("@")[2] for pin in read_manifest(located)["skills"]}
