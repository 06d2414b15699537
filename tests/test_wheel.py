"""What a user who installs the wheel gets: three packages, their data, and no more."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = {
    "minimx": ROOT / "minimx",
    "minimx_widgets": ROOT / "widgets" / "minimx_widgets",
    "minimx_datasets": ROOT / "datasets" / "minimx_datasets",
}


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names of all files in a freshly built wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = folder.glob("*.whl")
    return set(zipfile.ZipFile(wheel).namelist())


def test_there_are_three_packages_and_nothing_else(content: set[str]) -> None:
    tops = {name.split("/")[0] for name in content}
    foreign = {top for top in tops if not top.startswith("minimx-0")}
    assert foreign == set(PACKAGES)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_is_complete(content: set[str], package: str) -> None:
    home = PACKAGES[package]
    wanted = {".py", ".js", ".css", ".npz", ".typed", ".pxd", ".pyx"}
    present = {
        f"{package}/{path.relative_to(home).as_posix()}"
        for path in home.rglob("*")
        if path.suffix in wanted and "__pycache__" not in path.parts
    }
    assert present - content == set()
    assert f"{package}/py.typed" in content


def test_jupyter_finds_its_files_and_the_course_comes_along(content: set[str]) -> None:
    shared = {name.split(".data/data/")[1] for name in content if ".data/data/" in name}
    assert "etc/jupyter/jupyter_server_config.d/minimx.json" in shared
    assert "share/jupyter/labextensions/minimx/package.json" in shared
    assert "share/jupyter/lab/settings/overrides.d/minimx.json" in shared
    assert "share/minimx/notebooks/00-knob-board.ipynb" in shared
