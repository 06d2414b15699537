"""`minimx doctor`: what this machine offers, and what to do about what is missing.

A finding is `ok`, `absent` (something optional that is not there) or `broken`
(something that minimx cannot work without, or that is there and does not work).
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import platform
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from minimx.core.knobs.declarations.engine import usable_cores
from minimx.version import MXNET_VERSION, __version__


@dataclass(frozen=True)
class Finding:
    """One part of the machine: what was found, and what to do if it is missing."""

    part: str
    state: str  # ok absent broken
    found: str
    advice: str = ""


def run(out: TextIO) -> int:
    """Print every finding; 1 if something that minimx needs is broken."""
    findings = examine()
    machine = f"{platform.system()} {platform.machine()}"
    speaks = f"mx.__version__ says MXNet {MXNET_VERSION}"
    print(f"minimx {__version__} ({speaks}) on {machine}", file=out)
    width = max(len(finding.part) for finding in findings)
    for it in findings:
        print(f"{it.state:<7} {it.part:<{width}}  {it.found}", file=out)
        if it.advice:
            print(f"{'':<7} {'':<{width}}  -> {it.advice}", file=out)
    return int(any(finding.state == "broken" for finding in findings))


def examine() -> list[Finding]:
    """Look at every part. A look that fails is itself a finding, never an error."""
    return [_looked(part, look) for part, look in LOOKS.items()]


def _looked(part: str, look: Callable[[], tuple[str, str, str]]) -> Finding:
    try:
        return Finding(part, *look())
    except Exception as failure:  # a broken installation can raise anything
        return Finding(part, "broken", f"{type(failure).__name__}: {failure}")


def _python() -> tuple[str, str, str]:
    found = f"{platform.python_version()}, {sys.executable}"
    old = sys.version_info < (3, 11)
    return (
        ("broken", found, "minimx needs 3.11 or newer.") if old else ("ok", found, "")
    )


def _cores() -> tuple[str, str, str]:
    usable, all_cores = usable_cores(), os.cpu_count() or 1
    found = f"{usable} of {all_cores} usable by this process"
    return ("ok", found, "")


def _memory() -> tuple[str, str, str]:
    from minimx.core.device import cpu
    from minimx.core.drivers import driver_for

    driver = driver_for(cpu())
    free, total = driver.free_bytes / 2**30, driver.total_bytes / 2**30
    return ("ok", f"{free:.1f} GiB available of {total:.1f} GiB", "")


def _numpy() -> tuple[str, str, str]:
    import numpy as np

    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    found = f"{np.__version__}, BLAS {blas['name']} {blas['version']}"
    return ("ok", found + _blas_threads(), "")


def _blas_threads() -> str:
    if importlib.util.find_spec("threadpoolctl") is None:
        return ""
    pools = importlib.import_module("threadpoolctl").threadpool_info()
    threads = [pool["num_threads"] for pool in pools]
    return f", {max(threads)} threads" if threads else ""


def _numba() -> tuple[str, str, str]:
    import numba

    return ("ok", str(numba.__version__), "")


def _threading() -> tuple[str, str, str]:
    from minimx.core.kernels import threads

    layer, count = threads.pin(), threads.count()
    found = f"{layer}, {count} threads per kernel"
    if layer != "workqueue":
        return ("ok", found, "")
    advice = (
        "Kernels of two workers take turns. Install OpenMP: apt-get install libgomp1"
    )
    return ("absent", f"{found}; no OpenMP, no TBB", advice)


def _cache() -> tuple[str, str, str]:
    from minimx.core.knobs import knobs

    folder = Path(knobs.get("MINIMX_CACHE"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as failure:
        return (
            "broken",
            f"{folder}: {failure}",
            "Set MINIMX_CACHE to a writable path.",
        )
    if not os.access(folder, os.W_OK):
        advice = "Set MINIMX_CACHE to a folder that can be written to."
        return ("broken", f"{folder} cannot be written to", advice)
    kernels = sum(1 for _ in folder.rglob("*.nbc"))
    advice = "" if kernels else "`minimx compile` fills it."
    return ("ok", f"{kernels} compiled kernels in {folder}", advice)


def _library() -> tuple[str, str, str]:
    from minimx.core.kernels import library
    from minimx.core.knobs import knobs

    path, names = knobs.MXNET_LIBRARY_PATH, library.kernels()
    if not path:
        return ("ok", "minimx/core/kernels/cpu, compiled by numba", "")
    return ("ok", f"{', '.join(names)} from {path}", "")


def _calls() -> tuple[str, str, str]:
    from minimx.fast.compiled import finding

    return finding()


def _gpu() -> tuple[str, str, str]:
    from minimx.core.drivers.machine import card
    from minimx.core.knobs import knobs
    from minimx.core.knobs.knob import human_size

    simulated = f"{knobs.MINIMX_SIM_GPUS} simulated, {human_size(card().memory)} each"
    return ("ok", simulated, "")


def _cuda() -> tuple[str, str, str]:
    from minimx.core.knobs import knobs
    from minimx.cuda import toolkit

    found = toolkit.look()
    package = _version("numba-cuda")
    by = f"by numba-cuda {package}" if package else "by numba itself"
    if not found.count:
        advice = "" if package else "With an NVIDIA GPU: pip install 'minimx[cuda]'"
        return ("broken" if found.trouble else "absent", str(found), advice)
    if knobs.MINIMX_CUDA == "off":
        return ("absent", f"{found}, {by}; not used", "MINIMX_CUDA=auto uses it.")
    if found.kind == "simulator":
        return ("ok", f"{found}, {by}", "")
    versions = [f"CUDA {toolkit.text(toolkit.cuda_version())}"]
    if cudnn := toolkit.cudnn_version():
        versions.append(f"cuDNN {toolkit.text(cudnn)} (not called)")
    if cupy := _version("cupy-cuda12x") or _version("cupy-cuda13x"):
        versions.append(f"cuBLAS through CuPy {cupy}")
    names = ", ".join(_device_name(gpu) for gpu in toolkit.cuda().gpus)
    return ("ok", f"{names}; {', '.join(versions)}, {by}", "")


def _device_name(gpu: Any) -> str:
    return gpu.name.decode() if isinstance(gpu.name, bytes) else str(gpu.name)


def _onednn() -> tuple[str, str, str]:
    from minimx.fast.onednn.library import loaded

    found, trouble = onednn_found()
    if found and (dnnl := loaded()) is not None:
        by = "by its own instruction" if dnnl.bfloat16 else "through float32"
        text = f"{dnnl.version}, {dnnl.processor}: bfloat16 {by}"
        return ("ok", f"{found}, {text}", "")
    advice = "For convolutions and bfloat16: pip install 'minimx[onednn]'"
    if found:
        problem = f"{found} is older than oneDNN 3, or damaged"
        return ("broken", problem, advice)
    return ("absent", f"{trouble}; the readable kernels do the work", advice)


def onednn_found() -> tuple[str, str]:
    """The file of the oneDNN library, and why there is none; one of the two is ""."""
    from minimx.fast.onednn.library import found

    return found()


def _dot() -> tuple[str, str, str]:
    found = shutil.which("dot")
    if found:
        return ("ok", found, "")
    advice = "Graphs are drawn in the browser. For files: apt-get install graphviz"
    return ("absent", "Graphviz is not installed", advice)


def _mpi() -> tuple[str, str, str]:
    beside = str(Path(sys.executable).parent)  # pip's mpich puts it there
    launcher = shutil.which("mpiexec", path=beside) or shutil.which("mpiexec")
    bindings = _version("mpi4py")
    if launcher and bindings:
        return ("ok", f"mpi4py {bindings}, {launcher}", "")
    missing = [
        name for name, it in (("mpi4py", bindings), ("mpiexec", launcher)) if not it
    ]
    advice = "For training in several processes: pip install 'minimx[dist]'"
    return ("absent", f"{' and '.join(missing)} not installed", advice)


def _jupyter() -> tuple[str, str, str]:
    parts = {name: _version(name) for name in ("jupyterlab", "ipykernel", "anywidget")}
    found = ", ".join(f"{name} {version}" for name, version in parts.items() if version)
    missing = [name for name, version in parts.items() if not version]
    if not missing:
        return ("ok", found, "")
    advice = "For the course: pip install 'minimx[lab]'"
    return ("absent", f"{', '.join(missing)} not installed", advice)


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


LOOKS: dict[str, Callable[[], tuple[str, str, str]]] = {
    "Python": _python,
    "cores": _cores,
    "memory": _memory,
    "NumPy": _numpy,
    "numba": _numba,
    "kernel threads": _threading,
    "kernel cache": _cache,
    "kernels": _library,
    "small calls": _calls,
    "simulated GPU": _gpu,
    "CUDA": _cuda,
    "oneDNN": _onednn,
    "dot": _dot,
    "MPI": _mpi,
    "Jupyter": _jupyter,
}
