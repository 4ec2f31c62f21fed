from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sipbench.errors import SipbenchError
from sipbench.protocol.digests import EMPTY_TREE, canonical_json, json_digest, seed_from, tree_digest

NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text("aé€", max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


def test_canonical_json_is_sorted_compact_utf8() -> None:
    assert canonical_json({"b": [1, 2.5, None], "a": "é"}) == '{"a":"é","b":[1,2.5,null]}'.encode()


def test_digest_is_sha256_of_the_canonical_bytes() -> None:
    assert json_digest({"a": 1}) == "sha256:" + hashlib.sha256(b'{"a":1}').hexdigest()


@given(st.dictionaries(st.text("abcdef", max_size=4), JSON, max_size=5))
def test_key_order_never_matters(value: dict[str, object]) -> None:
    assert canonical_json(value) == canonical_json(dict(reversed(value.items())))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {"a": [float("-inf")]}, {1, 2}, "\ud800"])
def test_what_json_cannot_say_has_no_digest(value: object) -> None:
    with pytest.raises(ValueError, match=r"no canonical JSON|not JSON compliant"):
        canonical_json(value)


def test_seeds_do_not_depend_on_the_process() -> None:
    code = "from sipbench.protocol.digests import seed_from; print(seed_from(7, 'T0', 'task'))"
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": salt},
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        for salt in ("0", "1")
    }
    assert found == {str(seed_from(7, "T0", "task"))}
    assert 0 <= int(found.pop()) < 2**63


def test_an_empty_or_missing_directory_has_the_empty_digest(tmp_path: Path) -> None:
    (tmp_path / "only" / "folders").mkdir(parents=True)
    assert tree_digest(tmp_path) == EMPTY_TREE == tree_digest(tmp_path / "missing")


def test_tree_digest_by_hand(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "x.txt").write_bytes(b"hi")
    (tmp_path / "a.sh").write_bytes(b"")
    (tmp_path / "a.sh").chmod(0o755)
    (tmp_path / "b" / "x.txt").chmod(0o600)
    expected = [
        ["a.sh", "x", 0, "sha256:" + hashlib.sha256(b"").hexdigest()],
        ["b/x.txt", "-", 2, "sha256:" + hashlib.sha256(b"hi").hexdigest()],
    ]
    assert tree_digest(tmp_path) == json_digest(expected)


def test_content_name_and_run_bit_change_the_tree_digest(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("1")
    before = tree_digest(tmp_path)
    path.write_text("2")
    content = tree_digest(tmp_path)
    path.chmod(0o755)
    mode = tree_digest(tmp_path)
    path.rename(tmp_path / "g")
    assert len({before, content, mode, tree_digest(tmp_path)}) == 4


def test_links_and_special_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc/hostname")
    with pytest.raises(SipbenchError, match=r"link: a symbolic link cannot"):
        tree_digest(tmp_path)
    (tmp_path / "link").unlink()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SipbenchError, match=r"pipe: a special file cannot"):
        tree_digest(tmp_path)


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS refuses such names itself")
def test_a_name_that_is_not_utf8_is_one_clear_line(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff")).write_text("x")
    with pytest.raises(SipbenchError, match="not valid UTF-8"):
        tree_digest(tmp_path)


@pytest.mark.parametrize("closed", [".", "inner"])
def test_a_folder_that_cannot_be_read_is_refused_and_not_left_out(tmp_path: Path, closed: str) -> None:
    tree = tmp_path / "tree"
    (tree / "inner").mkdir(parents=True)
    (tree / "inner" / "file").write_bytes(b"changed by nobody, or by somebody")
    # As somebody without rights, whoever runs the tests.
    script = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from sipbench.errors import SipbenchError\n"
        "from sipbench.protocol.digests import tree_digest\n"
        "os.chdir(sys.argv[1])\n"
        "os.chmod(sys.argv[2], 0)\n"
        "if os.geteuid() == 0:\n"
        "    os.setresuid(65534, 65534, 65534)\n"
        "try:\n"
        "    print('digest', tree_digest(Path('.')))\n"
        "except SipbenchError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tree), closed], capture_output=True, text=True, check=False
    )
    (tree / closed).chmod(0o700)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(f"{closed}: cannot be read: Permission denied\n")
