"""Harbor tasks of every shape, made small."""

from __future__ import annotations

from pathlib import Path

from sipbench.benchmarks.harbor.tasks import TaskFolder, read_task

DOCKERFILE = "FROM ubuntu:24.04\nWORKDIR /app\n"
WITH_SKILLS = DOCKERFILE + "COPY skills /root/.claude/skills\n"
TEST = """#!/bin/bash
mkdir -p /logs/verifier
if [ "$(cat /app/answer 2>/dev/null)" = 42 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
"""
SOLVE = "#!/bin/bash\necho 42 > /app/answer\n"
SKILL = "---\nname: {name}\ndescription: The answer.\n---\nCopy the answer.\n"
TOML = 'version = "1.0"\n[verifier]\ntimeout_sec = 60\n[agent]\ntimeout_sec = 60\n'


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
    if path.suffix == ".sh":
        path.chmod(0o755)
    return path


def make_task(folder: Path, toml: str = "", files: dict[str, str] | None = None) -> Path:
    """A task: the answer is 42. ``files`` replace those of its own, an empty text removes one."""
    base = {
        "task.toml": TOML + toml,
        "instruction.md": "Write 42 to /app/answer.\n",
        "environment/Dockerfile": DOCKERFILE,
        "tests/test.sh": TEST,
        "solution/solve.sh": SOLVE,
    }
    for name, text in {**base, **(files or {})}.items():
        if text:
            write(folder / name, text)
    return folder


def make_skill(folder: Path, answer: str = "42", **files: str) -> Path:
    """A skill that holds the answer."""
    write(folder / "SKILL.md", SKILL.format(name=folder.name))
    write(folder / "answer", answer + "\n")
    for name, text in files.items():
        write(folder / name, text)
    return folder


def skillful(folder: Path, *skills: str, dockerfile: str = WITH_SKILLS) -> Path:
    """A task in the layout of SkillsBench v1, which ships skills and copies them into its image."""
    make_task(folder, files={"environment/Dockerfile": dockerfile})
    for name in skills or ("own",):
        make_skill(folder / "environment" / "skills" / name)
    return folder


def task(folder: Path) -> TaskFolder:
    return read_task(folder)
