"""Several JavaScript modules become one, and nothing is lost or mixed up."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from playwright._impl._driver import compute_driver_executable

from minimx_widgets import esm

VIEWS = sorted(
    path.relative_to(esm.STATIC).with_suffix("").as_posix()
    for folder in (esm.STATIC, esm.STATIC / "lab", esm.STATIC / "compare")
    for path in folder.glob("*.js")
)
NODE = compute_driver_executable()[0]  # playwright brings a Node of its own


def run_node(source: str, folder: Path) -> str:
    """What a module prints."""
    file = folder / "module.mjs"
    file.write_text(source, encoding="utf-8")
    done = subprocess.run([NODE, file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.js").write_text(text, encoding="utf-8")
    return folder / "main.js"


def test_names_that_two_modules_keep_to_themselves_do_not_collide(
    tmp_path: Path,
) -> None:
    main = write(
        tmp_path,
        a='const secret = 1;\nexport function a() { return secret; }\n',
        b='import { a } from "./a.js";\nconst secret = 10;\n'
        "export const b = () => secret + a();\n",
        main='import { a } from "./a.js";\nimport { b as bee } from "./b.js";\n'
        "const secret = 100;\nconsole.log(secret + bee() + a());\n"
        "export default {};\n",
    )  # fmt: skip
    assert run_node(esm.join(main), tmp_path) == "112"


def test_a_module_imported_twice_exists_once(tmp_path: Path) -> None:
    main = write(
        tmp_path,
        a='console.log("once");\nexport const a = 1;\n',
        b='import { a } from "./a.js";\nexport const b = a;\n',
        main='import { a } from "./a.js";\nimport { b } from "./b.js";\n'
        "export default { a, b };\n",
    )
    assert run_node(esm.join(main), tmp_path) == "once"


def test_a_circle_is_refused_by_its_names(tmp_path: Path) -> None:
    main = write(
        tmp_path,
        a='import { b } from "./main.js";\nexport const a = b;\n',
        main='import { a } from "./a.js";\nexport const b = a;\n',
    )
    with pytest.raises(ImportError, match=r"main\.js → a\.js → main\.js"):
        esm.join(main)


@pytest.mark.parametrize(
    "line",
    ['import all from "./a.js";', 'import * as a from "./a.js";', "export { a };"],
)
def test_a_form_that_cannot_be_joined_is_refused(tmp_path: Path, line: str) -> None:
    main = write(tmp_path, a="export const a = 1;\n", main=f"{line}\n")
    with pytest.raises(ImportError, match="cannot be joined"):
        esm.join(main)


def test_a_missing_module_names_who_wants_it(tmp_path: Path) -> None:
    main = write(tmp_path, main='import { x } from "./nowhere.js";\n')
    with pytest.raises(ImportError, match=r"nowhere\.js.*main\.js"):
        esm.join(main)


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_joins_into_a_module_that_parses(view: str, tmp_path: Path) -> None:
    text = esm.module(view)
    assert "export default" in text
    file = tmp_path / f"{Path(view).name}.mjs"
    file.write_text(text, encoding="utf-8")
    subprocess.run([NODE, "--check", file], check=True)


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_is_fetched_from_the_network(view: str) -> None:
    text = esm.module(view).replace("http://www.w3.org/2000/svg", "")
    assert "http://" not in text
    assert "https://" not in text
