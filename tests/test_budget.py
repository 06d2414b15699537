"""Thermometers: how long files and functions are, and how much code there is in all.

Code lines are what is left without blank lines, comments, docstrings and lines that
hold nothing but text (what an error teaches, what a knob means), so that words are
never what gets cut. The core has to fit in a head, so it has the strictest budget, with
nothing left out. Each wing has a budget of its own. A file that grows too long usually
holds two ideas.
"""

from __future__ import annotations

import ast
import io
import subprocess
import tokenize
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("minimx", "widgets", "datasets", "tests")
FILES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
TOP = {
    *("pyproject.toml", "minimx", "notebooks", "widgets", "datasets", "tests", "book"),
    *("README.md", "Makefile", "LICENSE"),
}
MOST_LINES = 500
MOST_LINES_OF_A_FUNCTION = 60
MOST_FILES = 20
#: Folders that may hold more files: MXNet's public modules lie at the top of `minimx`.
PUBLIC_NAMES = {"minimx"}
#: By wing, its folders and modules, and its budget.
WINGS = {
    "the core": ("core", 20_000),
    "operators": ("operators", 13_674),
    "graphs of symbols": ("graphs", 2_031),
    "fast kernels": ("fast", 4_967),
    "CUDA": ("cuda", 10_100),
    "operators under public names": ("nd np npx symbol executor", 8_758),
    "the training kit": (
        "gluon optimizer initializer metric lr_scheduler callback amp numerics",
        10_579,
    ),
    "the kvstore": ("kvstore", 5_500),
    "older names and data": ("io image recordio module rnn model contrib rtc", 6_260),
    "ONNX": ("onnx", 2_280),
    "experiments on records": ("experiments", 2_080),
    "names for libraries": ("libraries library registry", 530),
    "tools": ("profiler monitor visualization test_utils commands tools", 10_424),
    "policies of users": ("policies", 1_790),
    "networks on integers": ("quantization", 710),
    "the rest": ("", 1_108),
}
WING = {room: wing for wing, (rooms, _) in WINGS.items() for room in rooms.split()}
#: What the reading order visits in the training kit counts for the core as well.
CORE_OF_GLUON = {
    f"gluon/{name}.py" for name in ("block", "hybrid", "parameter/parameter", "trainer")
}

SILENT = {
    tokenize.STRING,
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.ENCODING,
}


def code_lines(source: str) -> int:
    """How many lines of a file hold code.

    >>> code_lines('"Says."\\n\\nx = 1  # one\\n# two\\ny = (\\n    "words"\\n)\\n')
    3
    """
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return len({token.start[0] for token in tokens if token.type not in SILENT})


def long_functions(source: str) -> list[str]:
    """The functions that do not fit on a screen."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            length = node.end_lineno - node.lineno + 1
            if length > MOST_LINES_OF_A_FUNCTION:
                found.append(f"{node.name}, line {node.lineno}: {length} lines")
    return found


def short_name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_nothing_lies_at_the_top_that_does_not_belong_there() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a clone: only git tells what belongs to it")
    kept = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    tops = {name.split("/")[0] for name in kept.splitlines()}
    assert {name for name in tops if not name.startswith(".")} <= TOP


def test_a_file_is_one_idea_and_a_function_one_screen() -> None:
    long_files, found = {}, {}
    for path in FILES:
        source = path.read_text(encoding="utf-8")
        if source.count("\n") >= MOST_LINES:
            long_files[short_name(path)] = source.count("\n")
        # In tests a table of cases may be long.
        if not path.is_relative_to(ROOT / "tests") and (long := long_functions(source)):
            found[short_name(path)] = long
    assert long_files == {}
    assert found == {}


def full_folders(files: Iterable[Path]) -> dict[str, int]:
    """Folders with more files of one kind than can be taken in at a glance."""
    counts = Counter((short_name(file.parent), file.suffix) for file in files)
    return {
        f"{folder}/*{kind}": count
        for (folder, kind), count in counts.items()
        if count > MOST_FILES and folder not in PUBLIC_NAMES
    }


@pytest.mark.parametrize("room", ["minimx", "widgets"])
@pytest.mark.parametrize("kind", ["py", "js"])
def test_a_folder_holds_at_most_twenty_files_of_a_kind(room: str, kind: str) -> None:
    assert full_folders((ROOT / room).rglob(f"*.{kind}")) == {}


def test_a_full_folder_is_found() -> None:
    files = [ROOT / "minimx" / "gluon" / f"{n}.py" for n in range(MOST_FILES + 1)]
    assert full_folders(files) == {"minimx/gluon/*.py": MOST_FILES + 1}
    assert full_folders(files[1:]) == {}
    assert full_folders([ROOT / "minimx" / file.name for file in files]) == {}


def wing(path: Path) -> str:
    """Which of the budgets a file counts for."""
    place = path.relative_to(ROOT / "minimx")
    if place.as_posix() in CORE_OF_GLUON:
        return "the core"
    return WING.get(place.with_suffix("").parts[0], "the rest")


@pytest.mark.parametrize("which", WINGS)
def test_the_framework_fits_in_the_head(which: str) -> None:
    sizes = {
        short_name(path): code_lines(path.read_text(encoding="utf-8"))
        for path in (ROOT / "minimx").rglob("*.py")
        if wing(path) == which
    }
    largest = sorted(sizes.items(), key=lambda item: -item[1])[:10]
    assert sum(sizes.values()) < WINGS[which][1], (sum(sizes.values()), largest)
