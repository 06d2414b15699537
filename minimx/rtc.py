"""Kernels of your own, compiled while the program runs.

    def axpy(x, y, alpha):                      # a numba-cuda kernel, in Python
        i = cuda.grid(1)
        if i < x.size:
            y[i] += alpha * x[i]

    module = mx.rtc.CudaModule(axpy)
    kernel = module.get_kernel("axpy", "const float *x, float *y, float alpha")
    kernel.launch([x, y, 3.0], mx.gpu(0), (1, 1, 1), (32, 1, 1))

As in MXNet, a module can also be CUDA C++ source, which NVIDIA's own compiler makes
into machine code; that needs a real device. Kernels written in Python run in numba's
simulator as well. Either way a launch is an operation of the engine: arrays that the
signature calls const are read, the others are written, and nothing waits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from minimx.core import engine
from minimx.core.arrays.array import NDArray
from minimx.core.device import Device, as_device
from minimx.core.drivers import backend_of, driver_for, during
from minimx.core.errors import ArgumentError, DeviceError, DTypeError, did_you_mean
from minimx.cuda import toolkit

__all__ = ["CudaKernel", "CudaModule"]

_TYPES = {
    "float": "float32", "double": "float64", "__half": "float16", "char": "int8",
    "uint8_t": "uint8", "int8_t": "int8", "int": "int32", "int32_t": "int32",
    "int64_t": "int64",
}  # fmt: skip
_PARAMETER = re.compile(r"^\s*(const)?\s*(\w+)\s*(\*?)\s*(const)?\s*(\w*)\s*$")

Dims = tuple[int, int, int]


@dataclass(frozen=True)
class _Parameter:
    """One parameter of a kernel: an array or a number, and whether it is only read."""

    name: str
    dtype: Any
    is_array: bool
    is_const: bool


def _parsed(signature: str) -> list[_Parameter]:
    """The parameters of a signature in C's words.

    >>> [(p.name, p.dtype.name, p.is_const) for p in _parsed("const float *x, int n")]
    [('x', 'float32', True), ('n', 'int32', False)]
    """
    found = []
    for place, text in enumerate(filter(None, map(str.strip, signature.split(",")))):
        match = _PARAMETER.match(text)
        if match is None or match[2] not in _TYPES:
            known = ", ".join(_TYPES)
            hint = did_you_mean(match[2], _TYPES) if match else ""
            raise ArgumentError(
                f"get_kernel: {text!r} is no parameter. Write `const type *name` for "
                f"an array that is read, `type *name` for one that is written, `type "
                f"name` for a number, with one of the types {known}.{hint}"
            )
        const, word, star, _, name = match.groups()
        dtype = np.dtype(_TYPES[word])
        found.append(_Parameter(name or f"#{place}", dtype, bool(star), bool(const)))
    return found


class CudaModule:
    """Kernels from CUDA C++ source, or from functions in Python.

    source: the text, or one function, or several. options: of the compiler of C++,
    such as `("-std=c++17",)`. exports: the kernels by name; templates must be named
    with their arguments, `axpy<float>`.
    """

    def __init__(
        self,
        source: str | Callable[..., Any] | Sequence[Callable[..., Any]],
        options: Sequence[str] = (),
        exports: Sequence[str] = (),
    ) -> None:
        self.options, self.exports = tuple(options), tuple(exports)
        self.source = source if isinstance(source, str) else None
        functions = [source] if callable(source) else source
        self.functions: dict[str, Callable[..., Any]] = {}
        if not isinstance(functions, str):
            self.functions = {function.__name__: function for function in functions}

    def get_kernel(self, name: str, signature: str) -> CudaKernel:
        """A kernel by name; the signature says which arguments it takes."""
        parameters = _parsed(signature)
        if self.source is not None:
            return CudaKernel(name, parameters, partial(_from_text, self, name))
        if name not in self.functions:
            raise ArgumentError(
                f"get_kernel: the module has no kernel {name!r}."
                f"{did_you_mean(name, self.functions)}"
            )
        return CudaKernel(name, parameters, partial(_from_python, self.functions[name]))


class CudaKernel:
    """A kernel that can be launched; made by `CudaModule.get_kernel`."""

    def __init__(
        self, name: str, parameters: Sequence[_Parameter], make: Callable[[Device], Any]
    ) -> None:
        self.name = name
        self.parameters = list(parameters)
        self._make = make
        self._made: dict[Device, Any] = {}

    def launch(
        self,
        args: Sequence[Any],
        ctx: Device,
        grid_dims: Dims,
        block_dims: Dims,
        shared_mem: int = 0,
    ) -> None:
        """Run it on a device, once its arrays are ready.

        args: an NDArray for each array of the signature, a number for each number.
        grid_dims, block_dims: how many blocks, and how many threads in each, along
        three axes. shared_mem: bytes of dynamic shared memory for each block.
        """
        ctx = as_device(ctx)
        self._check(args, ctx)
        _check_dims("grid_dims", grid_dims)
        _check_dims("block_dims", block_dims)
        arrays = [
            (p, a) for p, a in zip(self.parameters, args, strict=True) if p.is_array
        ]
        reads = [a.chunk for p, a in arrays if p.is_const]
        writes = [a.chunk for p, a in arrays if not p.is_const]

        def run() -> None:
            made = self._made.get(ctx)
            if made is None:
                made = self._made[ctx] = self._make(ctx)
            values = [
                a.view().reshape(-1) if p.is_array else p.dtype.type(a)
                for p, a in zip(self.parameters, args, strict=True)
            ]
            made(tuple(grid_dims), tuple(block_dims), shared_mem, values)

        engine.push(during(ctx, run), ctx, reads, writes, name=self.name)

    def _check(self, args: Sequence[Any], ctx: Device) -> None:
        """Refuse what the signature does not say."""
        if ctx.device_type == "gpu":
            driver_for(ctx)  # a GPU that does not exist is refused here and now
        if backend_of(ctx) != "cuda":
            raise DeviceError(
                f"{self.name}: {ctx} runs the CPU's kernels; a CUDA kernel needs a "
                "CUDA device. NUMBA_ENABLE_CUDASIM=1, set before Python starts, makes "
                "gpu(0) a simulated one."
            )
        if len(args) != len(self.parameters):
            raise ArgumentError(
                f"{self.name}: {len(args)} arguments for {len(self.parameters)} "
                f"parameters ({', '.join(p.name for p in self.parameters)})."
            )
        for parameter, arg in zip(self.parameters, args, strict=True):
            _check_argument(self.name, parameter, arg, ctx)


def _check_argument(kernel: str, parameter: _Parameter, arg: Any, ctx: Device) -> None:
    where = f"{kernel}: {parameter.name}"
    if not parameter.is_array:
        if isinstance(arg, NDArray) or not np.isscalar(arg):
            raise ArgumentError(f"{where} is a number; {type(arg).__name__} is none.")
        return
    if not isinstance(arg, NDArray):
        raise ArgumentError(f"{where} is an array; give an NDArray, not {arg!r}.")
    if arg.context is not ctx:
        raise DeviceError(
            f"{where} is on {arg.context}, the launch on {ctx}. Move it with "
            "as_in_context()."
        )
    if arg.spec.dtype != parameter.dtype:
        raise DTypeError(
            f"{where} is an array of {parameter.dtype.name} by its signature; it has "
            f"{arg.spec.dtype.name}. Convert it with astype(), or change the signature."
        )


def _check_dims(name: str, dims: Any) -> None:
    whole = isinstance(dims, (tuple, list)) and len(dims) == 3
    if not whole or any(not isinstance(n, int) or n < 1 for n in dims):
        raise ArgumentError(f"launch: {name}={dims!r} must be three whole numbers.")


def _from_python(function: Callable[..., Any], device: Device) -> Any:
    """A launcher of a kernel that numba compiles."""
    from minimx.cuda.driver import current_stream

    kernel = toolkit.cuda().jit(function)

    def launch(grid: Any, block: Any, shared: int, values: Any) -> None:
        kernel[grid, block, current_stream(), shared](*values)

    return launch


def _from_text(module: CudaModule, name: str, device: Device) -> Any:
    """A launcher of a kernel that NVIDIA's compiler makes, by the package cuda-core."""
    if toolkit.simulated():
        raise DeviceError(
            f"{name}: {device} is numba's CUDA simulator, which runs Python and no "
            "C++. Write the kernel as a function for numba.cuda, and give the function "
            "to CudaModule; or take a machine with an NVIDIA GPU."
        )
    from cuda import core

    from minimx.cuda.driver import current_stream

    card = core.Device(device.device_id)
    card.set_current()
    options = core.ProgramOptions(arch=f"sm_{card.arch}", **_options(module.options))
    program = core.Program(module.source, code_type="c++", options=options)
    wanted = module.exports or (name,)
    kernel = program.compile("cubin", name_expressions=wanted).get_kernel(name)

    def launch(grid: Any, block: Any, shared: int, values: Any) -> None:
        stream = core.Stream.from_handle(int(current_stream()))
        config = core.LaunchConfig(grid=grid, block=block, shmem_size=shared)
        pointers = [
            value.__cuda_array_interface__["data"][0]
            if hasattr(value, "__cuda_array_interface__")
            else value
            for value in values
        ]
        core.launch(stream, config, kernel, *pointers)

    return launch


def _options(given: Sequence[str]) -> dict[str, str]:
    """The compiler's options as cuda-core takes them.

    >>> _options(["-std=c++17"])
    {'std': 'c++17'}
    """
    found = {}
    for option in given:
        word, sign, value = option.lstrip("-").partition("=")
        if not sign:
            raise ArgumentError(
                f"CudaModule: {option!r}: give options as `-name=value`, such as "
                "-std=c++17."
            )
        found[word.replace("-", "_")] = value
    return found
