"""Other names under which MXNet's programs import our modules, and names we lack.

MXNet keeps `Dense` in `mxnet.gluon.nn.basic_layers` and `NDArray` in
`mxnet.ndarray.ndarray`; programs import from there. Our modules are cut differently, so
such a name leads to the module that has what is asked for. An import statement finds
it through `Finder`; an attribute of a package through the package's `__getattr__`,
which asks `resolve`. A name that MXNet knows and minimx does not support gets a
sentence, a misspelt one a suggestion.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from minimx.core.errors import did_you_mean

#: {where MXNet has a module: where it is here}, without the leading `minimx.`.
ALIASES = {
    "autograd": "core.autograd",
    "engine": "core.engine",
    "errors": "core.errors",
    "record": "core.record",
    "replay": "experiments",
    "replay.history": "core.replay.history",
    "replay.pool": "core.replay.pool",
    "storage": "core.storage",
    "ndarray": "nd",
    "ndarray.ndarray": "nd",
    "ndarray.utils": "nd",
    "ndarray.numpy": "np",
    "ndarray.np": "np",  # `F.np` in a hybrid_forward
    "ndarray.npx": "npx",
    "numpy": "np",
    "numpy_extension": "npx",
    "symbol.numpy": "symbol.np",
    "contrib.amp": "amp",
    "contrib.quant": "quantization",
    "contrib.quantization": "quantization",
    "contrib.amp.amp": "amp.amp",
    "contrib.amp.lists": "amp.lists",
    "contrib.amp.loss_scaler": "amp.loss_scaler",
    "contrib.ndarray": "nd.contrib",
    "contrib.symbol": "symbol.contrib",
    "contrib.onnx": "onnx",
    "gluon.nn.basic_layers": "gluon.nn",
    "gluon.nn.conv_layers": "gluon.nn",
    "gluon.contrib.data.sampler": "gluon.data.sampler",
    "io.io": "io",
    "module.base_module": "module",
    "kvstore.kvstore": "kvstore",
    "gluon.metric": "metric",
    "optimizer.optimizer": "optimizer",
    "optimizer.lr_scheduler": "lr_scheduler",
    "error": "core.errors",
    "ndarray.op": "nd",
    "ndarray.numpy_extension": "npx",
    "symbol.op": "symbol",
    "symbol.numpy_extension": "symbol.npx",
    "numpy.function_base": "np",
    "numpy.stride_tricks": "np",
    "numpy_extension.utils": "npx",
    "contrib.io": "libraries.loader",
    "rnd": "random",
    "rnn.rnn": "rnn",
    "rnn.rnn_cell": "rnn",
    "contrib.svrg_optimization.svrg_optimizer": "contrib.svrg_optimization",
}

#: The same for single names: {where MXNet has them: (where they are here, names)}.
NAMES = {
    "contrib.text.embedding": (
        "contrib.text.pretrained",
        "FastText GloVe get_pretrained_file_names",
    ),
    "gluon.block": (
        "gluon.parameter",
        "DeferredInitializationError Parameter ParameterDict",
    ),
    "gluon.contrib.rnn.rnn_cell": (
        "gluon.rnn",
        "HybridRecurrentCell SequentialRNNCell",
    ),
    "gluon.data.dataset": ("gluon.data", "RecordFileDataset"),
    "gluon.data.vision.datasets": (
        "gluon.data.vision",
        "ImageFolderDataset ImageRecordDataset",
    ),
    "gluon.rnn.rnn_cell": (
        "gluon.rnn",
        "BidirectionalCell DropoutCell HybridSequentialRNNCell ModifierCell "
        "ResidualCell SequentialRNNCell ZoneoutCell",
    ),
    "image.detection": (
        "image",
        "Augmenter CastAug ColorJitterAug ColorNormalizeAug ForceResizeAug "
        "HueJitterAug LightingAug RandomGrayAug RandomOrderAug ResizeAug fixed_crop",
    ),
    "symbol.symbol": (
        "symbol",
        "Group Variable arange eye full histogram hypot linspace load load_json "
        "maximum minimum ones pow power split_v2 var zeros",
    ),
}

#: Names that MXNet keeps for itself, and that libraries import all the same.
PRIVATE = {
    "base": (
        "libraries.handles",
        "NDArrayHandle SymbolHandle c_array c_str c_str_array mx_uint",
    ),
    "gluon": ("libraries.gluon", "tensor_types"),
    "gluon.block": ("libraries.gluon", "_BlockScope _flatten _regroup"),
    "gluon.data.dataloader": ("libraries.gluon", "ForkingPickler _as_in_context"),
    "gluon.data.vision.datasets": ("libraries.gluon", "image"),
    "gluon.parameter": ("libraries.gluon", "tensor_types"),
    "gluon.utils": (
        "libraries.gluon",
        "_get_repo_file_url _get_repo_url replace_file",
    ),
    "image.image": ("libraries.gluon", "_get_interp_method"),
    "metric": ("libraries.gluon", "ndarray"),
    "model": ("libraries.feed_forward", "FeedForward"),
}
_LOADER = ("libraries.loader", "_MultiWorkerIter")

#: By module, the names that MXNet has there, each with a few words on what it is.
UNSUPPORTED: dict[str, dict[str, str]] = {
    "mx.gluon": {
        "probability": "distributions",
    },
}


def _true_name(alias: str) -> str:
    """Where a module is here, whichever of the names before its dots are aliases.

    >>> _true_name("ndarray.utils"), _true_name("ndarray.sparse"), _true_name("gluon")
    ('nd', 'nd.sparse', 'gluon')
    """
    if alias in ALIASES:
        return ALIASES[alias]
    parent, _, name = alias.rpartition(".")
    return f"{_true_name(parent)}.{name}" if parent else name


class Finder:
    """Lets `import minimx.<alias>` give the module, and those below it.

    It goes before Python's own finders: those would load `minimx.contrib.amp.amp` from
    its file once more, although it is `minimx.amp.amp`.

    >>> import minimx
    >>> from minimx.gluon.nn.basic_layers import Dense
    >>> Dense is minimx.gluon.nn.Dense
    True
    """

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """A spec for an alias; None for all other names."""
        alias = fullname[7:] if fullname.startswith("minimx.") else ""
        loader: Any = self  # by its methods; importlib.abc is slow to import
        return ModuleSpec(fullname, loader) if _true_name(alias) != alias else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module itself, imported if need be."""
        module = import_module(self._meant(spec.name))
        spec.loader_state = module.__spec__
        return module

    def _meant(self, fullname: str) -> str:
        """The name of the module of ours that an import asks for."""
        return f"minimx.{_true_name(fullname[7:])}"

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is run again; the module keeps the spec under its own name."""
        alias = module.__spec__
        assert alias is not None
        module.__spec__ = alias.loader_state


def install() -> None:
    """Let import statements find the aliases, once in a process."""
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder())
    # `mx.knobs` is an object, which an import of `minimx.knobs` must not replace.
    sys.modules["minimx.knobs"] = import_module("minimx.core.knobs")


#: The same tables by (module as it is called here, name).
_MODULES = {
    (_true_name(alias.rpartition(".")[0]), alias.rpartition(".")[2]): target
    for alias, target in ALIASES.items()
}
_SINGLE = {
    (module, name): (home, name)
    for module, (home, names) in [
        *NAMES.items(),
        *PRIVATE.items(),
        ("gluon.data.dataloader", _LOADER),
    ]
    for name in names.split()
} | {("nd", "CachedOp"): ("symbol_op", "SymbolOp")}


def resolve(module: str, name: str, known: Iterable[str]) -> object:
    """What a module offers under a name that it does not define itself.

    module: its `__name__`. known: the names that it does define, for a suggestion.
    Raises AttributeError if the name is no alias.
    """
    here = module.removeprefix("minimx").removeprefix(".")
    target = _MODULES.get((here, name))
    if target is not None:
        found: object = import_module(f"minimx.{target}")
    elif (here, name) in _SINGLE:
        home, own = _SINGLE[here, name]
        found = getattr(import_module(f"minimx.{home}"), own)
    else:
        raise unsupported(f"mx.{here}" if here else "mx", name, known)
    setattr(sys.modules[module], name, found)
    return found


def resolve_missing(module: str, known: Iterable[str]) -> None:
    """Have a module look up in `resolve` the names that it does not define.

    The last line of such a module: `resolve_missing(__name__, __all__)`. A type checker
    does not see what it does, and so still reports names that are not there.
    """
    vars(sys.modules[module])["__getattr__"] = lambda name: resolve(module, name, known)


def unsupported(place: str, name: str, known: Iterable[str]) -> AttributeError:
    """The error for a name that is asked of a module and is not there.

    >>> print(unsupported("mx.gluon", "probability", ["nn"]))
    mx.gluon.probability is not in minimx yet (distributions).
    >>> print(unsupported("mx.nd", "sofmax", ["softmax"]))
    mx.nd has no 'sofmax'. Did you mean softmax?
    """
    what = UNSUPPORTED.get(place, {}).get(name)
    if what is not None:
        return AttributeError(f"{place}.{name} is not in minimx yet ({what}).")
    # Tools ask for names like __wrapped__ by the thousand; those are not misspelt.
    meant = "" if name.startswith("__") else did_you_mean(name, known)
    return AttributeError(f"{place} has no {name!r}.{meant}")
