"""What has changed since a program was written, and what to write today."""

from __future__ import annotations

import ast
import builtins
import importlib
import importlib.util
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import numpy

from minimx.commands.port.reading import Names, Part, imported, keyword, outermost

#: Names that NumPy had once, with what to write.
NUMPY = {
    "int": "int", "float": "float", "bool": "bool", "complex": "complex",
    "object": "object", "str": "str", "long": "int", "unicode": "str",
    "float_": "np.float64", "complex_": "np.complex128", "string_": "np.bytes_",
    "unicode_": "np.str_", "bool8": "np.bool_", "int0": "np.intp", "Inf": "np.inf",
    "Infinity": "np.inf", "infty": "np.inf", "PINF": "np.inf", "NINF": "-np.inf",
    "NaN": "np.nan", "NAN": "np.nan", "PZERO": "0.0", "NZERO": "-0.0",
    "product": "np.prod", "cumproduct": "np.cumprod", "alltrue": "np.all",
    "sometrue": "np.any", "round_": "np.round", "row_stack": "np.vstack",
    "in1d": "np.isin", "trapz": "np.trapezoid", "asscalar": "x.item()",
    "alen": "len(x)", "asfarray": "np.asarray(x, dtype=float)", "msort":
    "np.sort(x, axis=0)", "find_common_type": "np.result_type", "cast":
    "np.asarray(x, dtype)", "source": "inspect.getsource", "mat": "np.asmatrix",
    "random.random_integers": "np.random.randint(low, high + 1)",
    "testing.rand": "np.random.rand", "rank": "np.ndim",
}  # fmt: skip
#: Modules of Python 2, or that Python 3 has dropped, with those of today.
MODULES = {
    "cPickle": "pickle", "cStringIO": "io", "StringIO": "io", "urllib2":
    "urllib.request", "urlparse": "urllib.parse", "Queue": "queue", "ConfigParser":
    "configparser", "httplib": "http.client", "commands": "subprocess",
    "__builtin__": "builtins", "HTMLParser": "html.parser", "Tkinter": "tkinter",
    "itertools.izip": "zip", "itertools.imap": "map", "itertools.ifilter": "filter",
    "itertools.izip_longest": "itertools.zip_longest", "imp": "importlib",
    "distutils": "packaging.version, shutil or sysconfig", "urllib.urlretrieve":
    "urllib.request.urlretrieve", "urllib.urlopen": "urllib.request.urlopen",
    "urllib.quote": "urllib.parse.quote", "collections.Mapping":
    "collections.abc.Mapping", "collections.Iterable": "collections.abc.Iterable",
    "collections.Sequence": "collections.abc.Sequence", "collections.Callable":
    "collections.abc.Callable", "time.clock": "time.perf_counter",
    "inspect.getargspec": "inspect.getfullargspec", "string.letters":
    "string.ascii_letters", "string.maketrans": "str.maketrans", "scipy.misc.imread":
    "mx.image.imread", "scipy.misc.imresize": "mx.image.imresize",
    "sklearn.datasets.fetch_mldata": "sklearn.datasets.fetch_openml",
    "sklearn.cross_validation": "sklearn.model_selection",
}  # fmt: skip
#: Names that Python 2 had without an import.
WORDS = {
    "xrange": "range", "unicode": "str", "raw_input": "input", "basestring": "str",
    "long": "int", "unichr": "chr", "file": "open", "execfile":
    "exec(open(name).read())", "reduce": "functools.reduce", "reload":
    "importlib.reload", "cmp": "(a > b) - (a < b)",
}  # fmt: skip
#: Methods that dictionaries of Python 2, or arrays of NumPy 1, had.
METHODS = {
    "iteritems": "items()", "itervalues": "values()", "iterkeys": "keys()", "has_key":
    "key in d", "itemset": "x[i] = v", "newbyteorder": "x.view(x.dtype.newbyteorder())",
    "tostring": "tobytes()",
}  # fmt: skip
#: What needs an NVIDIA device, or MXNet's C++.
NEEDS = {
    "mxnet.rtc.CudaModule": "compiles CUDA C, so it needs an NVIDIA device (extra "
    "[cuda]). mx.ops.register takes a kernel in Python, on any device",
    "mxnet.contrib.tensorrt": "needs TensorRT. Leave it away; hybridize() plans graphs",
    "mxnet.library.load": "loads operators compiled against MXNet's C++, which is not "
    "here. Write them with mx.ops.register or mx.operator.CustomOp",
}
#: Roots of MXNet, as programs import it.
ROOTS = ("mxnet", "minimx")


@dataclass(frozen=True, order=True)
class Finding:
    """A line that has to be changed (`stops`), or that one should know of."""

    line: int
    text: str
    stops: bool = True


def findings(part: Part) -> list[Finding]:
    """What is found in a program, in the order of its lines."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes in strings
            tree = ast.parse(part.source)
    except (SyntaxError, ValueError) as reason:
        line = getattr(reason, "lineno", None) or 1
        return [Finding(line, _unreadable(part.source, line, reason))]
    names = Names()
    for line in part.before:
        try:
            names.learn(ast.parse(line))
        except SyntaxError:  # an import over several lines: found in its own cell
            continue
    names.learn(tree)
    found = {*_imports(tree), *_names(tree, names), *_calls(tree, names)}
    return sorted(found | {*_words(tree, names)})


def _unreadable(source: str, line: int, reason: Exception) -> str:
    """What to say of a program that Python 3 cannot read."""
    lines = source.split("\n")
    text = lines[line - 1].strip() if line <= len(lines) else ""
    if text.startswith("print"):
        return "print is a function since Python 3. Write print(…), or run 2to3."
    return (
        f"Python 3 cannot read this line ({reason.args[0]}). If the program is one "
        "of Python 2, run 2to3 first."
    )


def _imports(tree: ast.AST) -> Iterator[Finding]:
    hinted = False
    for statement, name in imported(tree):
        root = name.partition(".")[0]
        line = statement.lineno
        if root == "mxnet" and not hinted:
            hinted = True
            yield Finding(
                line,
                "write `import minimx as mx`, or leave the program as it is and run it "
                "by `minimx run`.",
                stops=False,
            )
        if root in ROOTS:
            yield from _of_ours(line, name)
        elif root == "numpy":
            yield from _of_numpy(line, name)
        else:
            yield from _of_python(line, name)


def _names(tree: ast.AST, names: Names) -> Iterator[Finding]:
    for node in outermost(tree):
        name = names.of(node)
        if name is None or not isinstance(node, ast.Attribute):
            continue
        root = name.partition(".")[0]
        if root in ROOTS:
            yield from _of_ours(node.lineno, name)
        elif root == "numpy":
            yield from _of_numpy(node.lineno, name)
        else:
            yield from _of_python(node.lineno, name)


def _of_ours(line: int, name: str) -> Iterator[Finding]:
    """What minimx says of a name of MXNet."""
    mxnets = "mxnet" + name[name.index(".") :] if "." in name else "mxnet"
    for known, what in NEEDS.items():
        if f"{mxnets}.".startswith(f"{known}."):
            yield Finding(line, f"{known.replace('mxnet', 'mx', 1)} {what}.")
            return
    problem = missing(name.partition(".")[2])
    if problem:
        yield Finding(line, problem)


@cache
def missing(name: str) -> str | None:
    """Why minimx has no `mx.<name>`; None if it has.

    >>> missing("nd.relu")
    >>> missing("nd.sofmax")
    "mx.nd has no 'sofmax'. Did you mean softmax?"
    """
    found: Any = importlib.import_module("minimx")
    path = "minimx"
    for word in name.split(".") if name else ():
        path += f".{word}"
        try:
            found = getattr(found, word)
        except AttributeError as reason:
            try:
                found = importlib.import_module(path)
            except ImportError:
                return _said(str(reason), path)
        if not isinstance(found, (ModuleType, type)):
            return None  # a value: what its attributes are, only a run can tell
    return None


def _said(reason: str, path: str) -> str:
    if reason.startswith("mx"):
        return reason
    place, _, word = path.replace("minimx", "mx", 1).rpartition(".")
    return f"{place} has no {word!r}."


def _of_numpy(line: int, name: str) -> Iterator[Finding]:
    """A name that today's NumPy does not have."""
    words = name.split(".")[1:]
    short = ".".join(words)
    found: Any = numpy
    for word in words:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if not hasattr(found, word):
                write = NUMPY.get(short)
                advice = f" Write {write}." if write else ""
                shown = f"np.{short}"
                yield Finding(line, f"{shown} is gone from NumPy.{advice}")
                return
            found = getattr(found, word)
        if not isinstance(found, type(numpy)):
            return


def _of_python(line: int, name: str) -> Iterator[Finding]:
    """A module or name of Python 2, or of another library of that time."""
    for known, today in MODULES.items():
        if f"{name}.".startswith(f"{known}.") and not _is_there(known):
            yield Finding(line, f"{known} is gone. Write {today}.")
            return


@cache
def _is_there(name: str) -> bool:
    module, _, word = name.rpartition(".")
    try:
        if not module:
            return importlib.util.find_spec(name) is not None
        return hasattr(importlib.import_module(module), word)
    except ImportError:
        return module.partition(".")[0] not in ("scipy", "sklearn") and bool(module)


def _calls(tree: ast.AST, names: Names) -> Iterator[Finding]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = names.of(node.func)
        if name == "numpy.fromstring" and not (keyword(node, "sep") or node.args[3:]):
            yield Finding(
                node.lineno,
                "np.fromstring reads text only. For bytes write np.frombuffer(data, "
                "dtype), and .copy() where the array is changed.",
            )
        elif name == "numpy.array" and _is_false(keyword(node, "copy")):
            yield Finding(
                node.lineno,
                "np.array(…, copy=False) raises where a copy is needed. Write "
                "np.asarray(…).",
            )
        elif name in ("numpy.load", "pickle.load") and not node.keywords:
            write = "encoding='latin1' for pickles of Python 2"
            if name == "numpy.load":
                write = "allow_pickle=True for arrays of objects, if you trust the file"
            yield Finding(node.lineno, f"{name}: give {write}.", stops=False)
        elif name and name.endswith((".gpu", ".gpu.gpu")) and _is_mxnets(name):
            yield Finding(
                node.lineno,
                "mx.gpu(…) is a simulated GPU where there is no NVIDIA device.",
                stops=False,
            )
        func = node.func
        if isinstance(func, ast.Attribute) and name is None and func.attr in METHODS:
            yield Finding(
                node.lineno,
                f".{func.attr}(…) is gone. Write {METHODS[func.attr]}.",
            )


def _is_mxnets(name: str) -> bool:
    return name.partition(".")[0] in ROOTS


def _is_false(node: Any) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


def _words(tree: ast.AST, names: Names) -> Iterator[Finding]:
    """Names of Python 2 that the program does not make itself."""
    made = set(names.known)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            made.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            made.add(node.name)
        elif isinstance(node, ast.arg):
            made.add(node.arg)
    gone = {word for word in WORDS if word not in made and not hasattr(builtins, word)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in gone:
            text = f"{node.id} is gone since Python 3. Write {WORDS[node.id]}."
            yield Finding(node.lineno, text)
