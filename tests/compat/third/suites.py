"""The unit tests of GluonCV, GluonNLP and GluonTS, under minimx and under MXNet 1.9.1.

    python tests/compat/third/suites.py --home .third --sources FOLDER [library …]

What is published on the package index holds no tests, so `FOLDER` needs a checkout of
each library, on the branch that the published version comes from:

    gluoncv   https://github.com/dmlc/gluon-cv     master
    gluonnlp  https://github.com/dmlc/gluon-nlp    v0.10.x
    gluonts   https://github.com/awslabs/gluonts   v0.16.x

The environments in `home` are those of run.py. MXNet's outcomes are kept there, in
`<library>-mxnet.xml`; delete a file to run it again. Prints how many of the tests that
pass under MXNet pass under minimx, and names the others with their errors; 1 if less
than 99 % of a library's do. The same seeds are used under both. A test that takes more
than five minutes fails.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from run import ROOT, install  # noqa: E402 (after the path is set)

#: What the tests import besides the libraries.
TOOLS = [
    *("pytest<8", "pytest-timeout", "pytest-xdist"),
    *("flaky", "nose-py3", "sacremoses"),
]
SECONDS = 300
SHARE = 0.99


@dataclass(frozen=True)
class Suite:
    """Where the tests of a library lie in its checkout."""

    name: str
    folders: tuple[str, ...]
    #: Folders and files whose tests need a network or data sets that are far away.
    remote: tuple[str, ...] = ()


SUITES = (
    Suite("gluoncv", ("tests/unittests",)),
    Suite("gluonnlp", ("tests/unittest",), ("tests/unittest/corpora",)),
    Suite("gluonts", ("test/mx",)),
)


def outcomes(report: Path) -> dict[str, str]:
    """By test, 'passed', 'failed' or 'skipped', as a file in JUnit's form says."""
    found = {}
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        kinds = {child.tag for child in case}
        failed = kinds & {"failure", "error"}
        word = "failed" if failed else "skipped" if "skipped" in kinds else "passed"
        name = f"{case.get('classname')}::{case.get('name')}"
        if found.get(name) != "failed":
            found[name] = word
    return found


def errors(report: Path) -> dict[str, str]:
    """By test that failed, the first line of its error."""
    found = {}
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        for child in case:
            if child.tag in ("failure", "error"):
                line = (child.get("message") or "no message").splitlines()[0]
                found[f"{case.get('classname')}::{case.get('name')}"] = line
    return found


def run(suite: Suite, home: Path, sources: Path, framework: str) -> dict[str, str]:
    """The outcome of every test of a library under a framework."""
    python = install(home, framework)
    ready = home / framework / "tools"
    if not ready.exists():
        pip = [str(python), "-m", "pip", "--disable-pip-version-check", "-q"]
        subprocess.run([*pip, "install", *TOOLS], check=True)
        ready.touch()
    report = home / f"{suite.name}-{framework}.xml"
    if framework == "mxnet" and report.exists():
        return outcomes(report)
    report.unlink(missing_ok=True)
    command: list[str | Path] = [
        *(python, HERE / "suite_worker.py", framework),
        *("-q", "-n", "2", "--dist", "loadfile", "--timeout", str(SECONDS)),
        *("-o", "filterwarnings=ignore", "--tb", "short", "-p", "no:cacheprovider"),
        *(f"--junitxml={report}", *(f"--ignore={path}" for path in suite.remote)),
        *suite.folders,
    ]
    paths = [str(HERE), *([str(ROOT)] if framework == "minimx" else [])]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(paths),
        "MXNET_TEST_SEED": "1",
        "MXNET_MODULE_SEED": "1",
        "MXNET_HOME": str(home / "data"),
    }
    log = home / f"{suite.name}-{framework}.log"
    with log.open("w") as out:
        subprocess.run(
            command, cwd=sources / suite.name, env=environment, stdout=out, stderr=out
        )
    if not report.exists():
        raise SystemExit(f"{suite.name} under {framework} ended early: see {log}")
    found = outcomes(report)
    if not found:
        raise SystemExit(f"{suite.name} under {framework} ran no test: see {log}")
    return found


def main() -> int:
    """Run, compare, name what differs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--home", type=Path, default=Path(".third"))
    parser.add_argument("--sources", type=Path, required=True)
    parser.add_argument("libraries", nargs="*", help="only these")
    given = parser.parse_args()
    home, sources = given.home.resolve(), given.sources.resolve()
    wanted = [s for s in SUITES if not given.libraries or s.name in given.libraries]
    worse, kept, total = False, 0, 0
    for suite in wanted:
        theirs, ours = (run(suite, home, sources, f) for f in ("mxnet", "minimx"))
        asked = [name for name, word in theirs.items() if word == "passed"]
        lost = [name for name in asked if ours.get(name) != "passed"]
        share = 1 - len(lost) / max(len(asked), 1)
        worse = worse or share < SHARE
        total, kept = total + len(asked), kept + len(asked) - len(lost)
        print(
            f"{suite.name}: of {len(theirs)} tests {len(asked)} pass under MXNet; "
            f"{len(asked) - len(lost)} of these ({share:.1%}) pass under minimx."
        )
        why = errors(home / f"{suite.name}-minimx.xml")
        for name in lost:
            print(f"  {ours.get(name, 'missing')}: {name}")
            print(f"    {why.get(name, '')}")
    print(f"Together {kept:,} of {total:,}: {kept / max(total, 1):.1%}.")
    return int(worse)


if __name__ == "__main__":
    sys.exit(main())
