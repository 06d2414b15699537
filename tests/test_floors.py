"""Who may import whom: the contracts in pyproject.toml, and no accidental packages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[1]
#: Folders at the top that must never become import names of their own: `import
#: datasets` belongs to Hugging Face, and `widgets` or `book` to nobody.
NOT_PACKAGES = ("tests", "notebooks", "book", "widgets", "datasets")


def test_every_import_goes_down() -> None:
    program = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [program, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("folder", NOT_PACKAGES)
def test_a_folder_at_the_top_is_no_package(folder: str) -> None:
    if folder in ("tests", "notebooks", "book"):
        assert list((ROOT / folder).rglob("__init__.py")) == []
    else:
        assert not (ROOT / folder / "__init__.py").exists()


#: What takes long to import, or is not installed where only the core is.
HEAVY = {"numba", "scipy", "matplotlib", "IPython", "ipywidgets", "minimx_widgets"}


def test_the_front_door_opens_without_heavy_luggage() -> None:
    program = f"import minimx, sys; print(*({HEAVY} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == []


def test_no_module_of_the_core_imports_itself_over_others() -> None:
    """Imports inside functions count; those for type checkers alone do not."""
    graph = grimp.build_graph("minimx", exclude_type_checking_imports=True)
    left = {
        module: {
            name
            for name in graph.find_modules_directly_imported_by(module)
            if name.startswith("minimx.core.")
        }
        for module in graph.modules
        if module.startswith("minimx.core.")
    }
    while free := {module for module, imported in left.items() if not imported}:
        left = {m: imported - free for m, imported in left.items() if m not in free}
    assert left == {}, "modules on a cycle, or above one"


def _cycles(imports: dict[str, set[str]]) -> int:
    """How many groups of modules import one another, directly or over others."""

    def reached(start: str) -> frozenset[str]:
        found: set[str] = set()
        waiting = [start]
        while waiting:
            new = imports[waiting.pop()] - found
            found |= new
            waiting += new
        return frozenset(found)

    every = {module: reached(module) for module in imports}
    on_one = [module for module, found in every.items() if module in found]
    return len({frozenset(m for m in every[one] if one in every[m]) for one in on_one})


def test_few_modules_of_the_core_name_types_of_one_another() -> None:
    graph = grimp.build_graph("minimx")
    core = {m for m in graph.modules if m.startswith("minimx.core.")}
    imports = {
        module: graph.find_modules_directly_imported_by(module) & core
        for module in core
    }
    assert _cycles(imports) <= 3


def test_the_front_door_loads_few_modules() -> None:
    program = (
        "import minimx, sys;"
        "print(sum(name.split('.')[0] == 'minimx' for name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) <= 250
