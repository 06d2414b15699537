"""CUDA kernels compile with NVIDIA's compiler, which needs no GPU; their names."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "minimx/cuda/kernels"
#: Where the CPU's kernels lie: the main ones, and the others.
CPU = [
    ROOT / "minimx" / room
    for room in ("core/kernels/cpu", "operators/kernels", "fast/cpu")
]
#: Files that the CPU has in another place, or does not need.
OF_BOTH = {
    "cells",
    "default_launch",
    *("detection", "proposals"),
    *("coordinates", "fused", "implicit", "integers", "launching", "mathematics"),
    *("distributions", "native", "packed", "peers", "pointwise", "recording"),
    *("blocked", "fourier", "orthogonal", "quantize", "rotations", "scratch"),
    *("stretching", "tiled"),
}
#: What a file for CUDA has beside the names of the CPU's.
OWN = {
    "adaptive": {"adagrad"},
    "boxes": {
        "corners",
        "grids",
        "inside",
        "overlap",
        "pack",
        "product",
        "rounded",
        "cells_per_thread",
    },
    "conv": set(),
    "dropout": {"apply_shared"},
    "indexing": {"earlier", "ordered", "place"},
    "linalg": {"determinants", "meet", "sides", "solve", "together"},
    "matmul": {"column_of", "cublas", "element", "in_tiles", "step_of", "target_of"},
    "norm": {"fold", "statistics"},
    "np_random": {"unique_zipfian"},
    "places": {"added", "gathered", "held", "indexed"},
    "pooling": {"counted", "span"},
    "random": {"key_of", "philox", "words"},
    "sampling": {"deform"},
    "shape": {"copy", "merged", "strides", "view"},
    "softmax": {"fold"},
    "sparse": {"collect_rows", "spread_rows"},
    "reduce": {"close", "divided", "traced"},
    "updates": {"preloaded", "side"},
}


@pytest.mark.timeout(900)
@pytest.mark.skipif(
    importlib.util.find_spec("numba_cuda") is None,
    reason="no compiler for CUDA: it comes with pip install 'minimx[cuda]'",
)
def test_every_kernel_compiles_without_a_device() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.cuda.kernels.compiling"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def public(path: Path) -> set[str]:
    """The functions of a file that others may call."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    return {name for name in names if not name.startswith("_")}


@pytest.mark.parametrize(
    "file", sorted({path.stem for path in KERNELS.rglob("[!_]*.py")} - OF_BOTH)
)
def test_a_file_for_cuda_has_the_names_of_the_cpus(file: str) -> None:
    its = {
        name
        for room in CPU
        for path in room.rglob(f"{file}.py")
        for name in public(path)
    }
    (path,) = KERNELS.rglob(f"{file}.py")
    mine = public(path)
    assert mine - its == OWN.get(file, set())
    assert mine & its
