"""The Skills extension, driven by the SDK's client and by fastmcp's, over stdio and over HTTP."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sipbench.errors import ConfigError, SkillError
from sipbench.protocol.digests import file_digest, skill_digest
from sipbench.skills.mcp.log import read_served_log
from sipbench.skills.mcp.served import ServedSkills
from sipbench.skills.mcp.server import Door
from tests.skills.made import skill, text

pytest.importorskip("mcp", reason="mcp (extra 'mcp') is not installed")

from mcp.shared.exceptions import MCPError

from tests.skills.mcp_client import COMMAND, connect, directory, get_skill, list_skills, read, stdio, verified

BASE = "skill://lake-depth"


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    """Two sound skills, one of them with odd files and another inside, and one that does not conform."""
    root = tmp_path / "skills-of-lakes"
    depth = skill(root, "lake-depth")
    (depth / "references").mkdir()
    (depth / "references" / "a b#c?d%é.md").write_bytes(b"odd\r\nname\r\n")
    (depth / "data.bin").write_bytes(b"\xff\x00\xfe")
    (depth / "empty.txt").touch()
    skill(depth, "inner", text("inner"))
    skill(root, "lake-volume", text("lake-volume"))
    skill(root, "broken", "---\nname: Broken\n---\n")
    linked = skill(root, "linked", text("linked"))
    (linked / "passwd").symlink_to("/etc/passwd")
    return root


@contextmanager
def http(folder: Path, *arguments: str, token: str | None = None) -> Iterator[str]:
    """The server over HTTP as a process of its own; its address."""
    command = [sys.executable, *COMMAND, str(folder), "--http", "--port", "0", *arguments]
    environment = {key: value for key, value in os.environ.items() if key != "ASB_SKILLS_TOKEN"}
    if token is not None:
        environment["ASB_SKILLS_TOKEN"] = token
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stderr is not None
            line = next(line for line in process.stderr if "serving at" in line)
            yield line.split()[-1]
        finally:
            process.terminate()
            process.communicate(timeout=30)


def drive(folder: Path, transport: str, work: Callable[[Any], Any], *arguments: str) -> None:
    async def run(target: Any) -> None:
        async with connect(target) as client:
            await work(client)

    if transport == "stdio":
        asyncio.run(run(stdio(folder, *arguments)))
    else:
        with http(folder, *arguments) as address:
            asyncio.run(run(address))


async def code(awaitable: Any) -> int:
    with pytest.raises(MCPError) as caught:
        await awaitable
    return int(caught.value.code)


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_the_sdk_client_lists_gets_reads_and_verifies(folder: Path, transport: str) -> None:
    async def work(client: Any) -> None:
        extensions = client.server_capabilities.extensions
        assert extensions["io.modelcontextprotocol/skills"] == {"directoryRead": True}
        skills = await list_skills(client)
        assert [item["uri"] for item in skills] == [
            f"{BASE}/SKILL.md", f"{BASE}/inner/SKILL.md", "skill://lake-volume/SKILL.md",
        ]  # fmt: skip
        assert skills[0]["frontmatter"] == {
            "name": "lake-depth",
            "description": "Use when a lake is to be measured.",
            "license": "CC-BY-4.0",
            "metadata": {"tools": "limnos; R"},
        }
        for entry in skills:
            assert await get_skill(client, entry["uri"]) == entry
            assert await verified(client, entry)
        odd = f"{BASE}/references/a%20b%23c%3Fd%25%C3%A9.md"
        assert {item["uri"] for item in skills[0]["resources"]} == {
            f"{BASE}/SKILL.md", f"{BASE}/inner/SKILL.md", f"{BASE}/data.bin", f"{BASE}/empty.txt", odd,
        }  # fmt: skip
        assert await read(client, odd) == b"odd\r\nname\r\n"
        assert await directory(client, BASE) == [
            ("SKILL.md", "text/markdown"),
            ("data.bin", "application/octet-stream"),
            ("empty.txt", "text/plain"),
            ("inner", "inode/directory"),
            ("references", "inode/directory"),
        ]
        # For hosts that do not know the extension.
        plain = await client.list_resources()
        assert [str(item.uri) for item in plain.resources] == [item["uri"] for item in skills]

    drive(folder, transport, work)


def test_what_is_not_served_is_refused(folder: Path) -> None:
    async def work(client: Any) -> None:
        for uri in (
            "skill://absent/SKILL.md",
            "skill://broken/SKILL.md",
            "skill://linked/SKILL.md",
            "skill://linked/passwd",
            f"{BASE}/../lake-volume/SKILL.md",
            f"{BASE}/%2e%2e/lake-volume/SKILL.md",
            f"{BASE}/../../../../../etc/passwd",
            f"{BASE}/references",
            "file:///etc/passwd",
            f"{BASE}/references/a b#c?d%é.md",
        ):
            assert await code(read(client, uri)) == -32602, uri
        assert await code(get_skill(client, "skill://absent/SKILL.md")) == -32602
        assert await code(get_skill(client, BASE)) == -32602
        assert await code(directory(client, f"{BASE}/SKILL.md")) == -32602
        assert await code(directory(client, f"{BASE}/")) == -32602
        for cursor in ("x", "LTE=", "MA==", "OTk5"):
            assert await code(directory(client, BASE, cursor)) == -32602

    drive(folder, "stdio", work)


def test_a_tampered_file_is_detected_and_an_edit_is_described_anew(folder: Path) -> None:
    async def work(client: Any) -> None:
        (before, *_) = await list_skills(client)
        (folder / "lake-depth" / "data.bin").write_bytes(b"evil")
        assert not await verified(client, before)
        after = await get_skill(client, before["uri"])
        assert await verified(client, after)
        (folder / "lake-depth" / "SKILL.md").write_text("---\nname: x\n---\n", encoding="utf-8")
        assert await code(get_skill(client, before["uri"])) == -32602
        assert await code(read(client, f"{BASE}/data.bin")) == -32602
        assert await verified(client, await get_skill(client, f"{BASE}/inner/SKILL.md"))
        (folder / "lake-depth" / "SKILL.md").write_text(text("lake-depth"), encoding="utf-8")
        assert (await get_skill(client, before["uri"]))["frontmatter"]["name"] == "lake-depth"

    drive(folder, "stdio", work)


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_fastmcp_lists_and_reads(folder: Path, transport: str) -> None:
    fastmcp = pytest.importorskip("fastmcp", reason="fastmcp (extra 'mcp-clients') is not installed")
    from fastmcp.client.transports import StdioTransport
    from fastmcp.skills import SkillsClientExtension

    async def work(target: Any) -> None:
        async with fastmcp.Client(target, extensions=[SkillsClientExtension()]) as client:
            listed = await client.list_skills()
            assert [str(item.uri) for item in getattr(listed, "skills", listed)] == [
                f"{BASE}/SKILL.md", f"{BASE}/inner/SKILL.md", "skill://lake-volume/SKILL.md",
            ]  # fmt: skip
            assert await client.read_skill(f"{BASE}/SKILL.md")

    if transport == "stdio":
        asyncio.run(work(StdioTransport(sys.executable, [*COMMAND, str(folder)])))
    else:
        with http(folder) as address:
            asyncio.run(work(address))


def test_many_are_listed_in_pages(tmp_path: Path) -> None:
    for number in range(1100):
        skill(tmp_path / "s", f"s{number}")

    async def work(client: Any) -> None:
        skills = await list_skills(client)
        assert len({item["uri"] for item in skills}) == 1100

    drive(tmp_path / "s", "stdio", work)


def test_the_digest_of_a_skill_is_that_of_its_pin(shared_data: Callable[..., Path], tmp_path: Path) -> None:
    from sipbench.skills.collection import pin_collection, read_manifest, slug_of
    from sipbench.skills.export import plan_export, write_export
    from sipbench.skills.layout import locate_one

    write_export(plan_export(shared_data("asb-collections", "transcriptomics", "v1")), tmp_path / "out")
    located = locate_one(tmp_path / "out")
    pin_collection(located)
    pins = {slug_of(pin): pin.rpartition("@")[2] for pin in read_manifest(located)["skills"]}
    served = ServedSkills(tmp_path / "out")
    for uri in served.uris():
        entry = served.entry(uri)
        assert entry is not None
        digests = {item["uri"]: item["digest"] for item in entry["resources"]}
        assert digests[uri] == pins[entry["frontmatter"]["name"]]
    assert len(served.uris()) == len(pins) == 166


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_what_is_served_is_written_down_once(folder: Path, tmp_path: Path, transport: str) -> None:
    log = tmp_path / "served.jsonl"

    async def work(client: Any) -> None:
        for _ in range(2):
            (entry, *_) = await list_skills(client)
            await get_skill(client, entry["uri"])
            await read(client, f"{BASE}/inner/SKILL.md")
            await read(client, f"{BASE}/data.bin")

    drive(folder, transport, work, "--log", str(log))
    lines = list(read_served_log(log))
    events = [(line["event"], line.get("name"), line.get("file")) for line in lines]
    assert [event for event in events if event[0] != "connected"] == [
        ("started", None, None),
        ("listed", "lake-depth", None),
        ("listed", "inner", None),
        ("listed", "lake-volume", None),
        ("described", "lake-depth", None),
        ("read", "inner", f"{BASE}/inner/SKILL.md"),
        ("read", "lake-depth", f"{BASE}/data.bin"),
    ]
    assert (("connected", None, None) in events) == (transport == "http")
    inner = next(line for line in lines if line["event"] == "read" and line["name"] == "inner")
    assert inner["digest"] == inner["file_digest"] == file_digest(folder / "lake-depth/inner/SKILL.md")
    depth = next(line for line in lines if line["event"] == "described")
    files = [path for path in (folder / "lake-depth").rglob("*") if path.is_file()]
    assert depth["tree_digest"] == skill_digest(
        (path.relative_to(folder / "lake-depth").as_posix(), file_digest(path).removeprefix("sha256:"))
        for path in files
    )


def test_a_log_that_cannot_be_written_is_one_line(folder: Path, tmp_path: Path) -> None:
    command = [sys.executable, *COMMAND, str(folder), "--log", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert ended.returncode != 0
    assert "--log" in ended.stderr
    assert "cannot be written" in ended.stderr


class TestServed:
    def test_a_folder_exchanged_for_a_link_leads_nowhere(self, folder: Path, tmp_path: Path) -> None:
        served = ServedSkills(folder)
        uri = f"{BASE}/references/a%20b%23c%3Fd%25%C3%A9.md"
        assert served.read(uri) is not None
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "a b#c?d%é.md").write_text("secret", encoding="utf-8")
        shutil.move(folder / "lake-depth" / "references", tmp_path / "moved")
        (folder / "lake-depth" / "references").symlink_to(outside)
        with pytest.raises(SkillError):
            served.read(uri)

    @pytest.mark.parametrize("exchanged", ["lake-depth", "lake-depth/inner", "lake-volume"])
    def test_a_skill_exchanged_for_a_link_leads_nowhere(
        self, folder: Path, tmp_path: Path, exchanged: str
    ) -> None:
        served = ServedSkills(folder)
        uri = f"skill://{exchanged}/SKILL.md"
        assert served.entry(uri) is not None
        shutil.copytree(folder / exchanged, tmp_path / "outside")
        shutil.move(folder / exchanged, tmp_path / "moved")
        (folder / exchanged).symlink_to(tmp_path / "outside")
        with pytest.raises(SkillError):
            served.read(uri)
        assert served.entry(uri, fresh=True) is None

    def test_what_is_left_out_is_said_why(self, folder: Path) -> None:
        served = ServedSkills(folder)
        assert len(served.uris()) == 3
        assert set(served.left_out) == {"broken", "linked"}
        assert served.left_out["linked"].endswith("[link]")

    def test_digests_are_computed_once(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from sipbench.skills.mcp import served as module

        served = ServedSkills(folder)
        served.warm()

        def forbidden(*arguments: Any) -> Any:
            raise AssertionError("read again")

        monkeypatch.setattr(module, "read_inside", forbidden)
        assert served.entry(f"{BASE}/SKILL.md", fresh=True) is not None

    def test_a_collection_is_served_by_its_leaves(self, tmp_path: Path) -> None:
        skill(tmp_path / "leaves", "lake-depth")
        assert ServedSkills(tmp_path).uris() == [f"{BASE}/SKILL.md"]
        assert ServedSkills(tmp_path / "leaves" / "lake-depth").uris() == [f"{BASE}/SKILL.md"]

    def test_no_folder_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(SkillError, match="no folder of skills"):
            ServedSkills(tmp_path / "absent")
        with pytest.raises(SkillError, match="no skill here"):
            ServedSkills(tmp_path)


TOKEN = "correct-horse-battery"


class TestDoor:
    @pytest.mark.parametrize(
        ("door", "said"),
        [
            (Door(host="0.0.0.0"), "lets other machines in"),
            (Door(host="192.0.2.1"), "lets other machines in"),
            (Door(host="0.0.0.0", token=TOKEN), "--allowed-host"),
            (Door(token="short"), "fewer than 16"),
        ],
    )
    def test_an_open_door_is_refused(self, door: Door, said: str) -> None:
        with pytest.raises(ConfigError, match=said):
            door.check()

    @pytest.mark.parametrize(
        "door",
        [
            Door(),
            Door(host="::1"),
            Door(host="localhost"),
            Door(host="0.0.0.0", token=TOKEN, hosts=("a.example",)),
        ],
    )
    def test_these_may_be_opened(self, door: Door) -> None:
        door.check()

    def test_a_token_is_asked_for(self, folder: Path) -> None:
        with http(folder, token=TOKEN) as address:
            assert status(address) == 401
            assert status(address, Authorization="Bearer wrong-wrong-wrong") == 401
            assert status(address, Authorization=f"Bearer {TOKEN}") == 200

    def test_other_pages_and_names_are_refused(self, folder: Path) -> None:
        with http(folder) as address:
            assert status(address) == 200
            assert status(address, Origin="http://evil.example") == 403
            assert status(address, Host="evil.example") == 421
            assert status(address, Origin="http://localhost:6274") == 200


def status(address: str, **headers: str) -> int:
    body = (
        b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
        b'"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
    )
    given = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"} | headers
    try:
        with urllib.request.urlopen(urllib.request.Request(address, body, given), timeout=30) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


NODE = Path(__file__).resolve().parents[2] / ".node-engines" / "node_modules" / ".bin"


@pytest.fixture(name="inspector")
def _inspector() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the MCP Inspector's command line with arguments."""
    path = os.pathsep.join([str(NODE), os.environ.get("PATH", "")])
    program = shutil.which("mcp-inspector", path=path)
    if program is None:
        pytest.skip("no mcp-inspector in .node-engines (`make inspector`, which needs npm) or on PATH")
    node = shutil.which("node", path=path) or ""
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout.strip()
    if tuple(int(part) for part in said.lstrip("v").split(".")[:2]) < (22, 19):
        pytest.skip(f"the MCP Inspector needs Node 22.19 or newer, here is {said}; run `make inspector`")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [program, "--cli", *arguments, "--protocol-era", "modern", "--format", "json"],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env=os.environ | {"PATH": path},
        )

    return run


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_the_inspector_lists_gets_reads_and_verifies(
    folder: Path, transport: str, inspector: Callable[..., Any]
) -> None:
    asked: list[tuple[str, ...]] = [
        ("skills/list", "--verify", "--require-digests"),
        ("skills/get", "--uri", f"{BASE}/SKILL.md", "--verify", "--require-digests"),
        ("resources/read", "--uri", f"{BASE}/inner/SKILL.md"),
        ("resources/directory/read", "--uri", BASE),
        ("skills/get", "--uri", "skill://broken/SKILL.md"),
    ]
    if transport == "stdio":
        target = (sys.executable, *COMMAND, str(folder))
        ended = [inspector(*target, "--method", *words) for words in asked]
    else:
        with http(folder) as address:
            target = ("--server-url", address, "--transport", "http")
            ended = [inspector(*target, "--method", *words) for words in asked]
    assert [item.returncode for item in ended[:4]] == [0, 0, 0, 0], [item.stderr for item in ended]
    assert len(ended[0].stdout.splitlines()) == 3, ended[0].stdout
    assert text("inner").splitlines()[-1] in ended[2].stdout
    assert "references" in ended[3].stdout
    assert ended[4].returncode != 0
