"""Examples of the library's knobs: where things are, and what is said."""

from __future__ import annotations

from minimx.tools.knob_examples import Example

EXAMPLES = {
    "MXNET_HOME": Example(
        acts_in="minimx.base.data_dir",
        code="print(mx.base.data_dir())",
        expect={
            "/data/mxnet": "/data/mxnet",
            "/data/elsewhere": "/data/elsewhere",
        },
    ),
    "MXNET_GLUON_REPO": Example(
        acts_in="minimx.gluon.utils.repository_url",
        code='print(mx.gluon.utils.repository_url("gluon/dataset"))',
        expect={
            "https://example.org/mxnet": "https://example.org/mxnet/gluon/dataset",
            "/data/mxnet": "file:///data/mxnet/gluon/dataset",
        },
    ),
    "DMLC_LOG_STACK_TRACE_DEPTH": Example(
        acts_in="minimx.core.engine.origin.capture",
        reads="_depth",
        code="""\
fail = lambda: mx.engine.push(lambda: 1 / 0, mx.cpu(), (), (), "divide")
fail()
try: mx.nd.waitall()
except ZeroDivisionError as error:
    print(str(error.__notes__).count("called at"), "callers")""",
        expect={
            "0": "0 callers",
            "1": "1 callers",
        },
    ),
    "MXNET_LIBRARY_PATH": Example(
        acts_in="minimx.core.kernels.library.kernels",
        reads="KNOB",
        before="""\
with open("/tmp/even.py", "w") as file:
    file.write("def even(data, scale, log, out): out[...] = 1 / data.shape[1]\\n")
    file.write("KERNELS = {'softmax.softmax': even}\\n")
""",
        code="print(mx.nd.softmax(mx.nd.array([[0, 5]])).asnumpy().round(2))",
        expect={
            "": "[[0.01 0.99]]",
            "/tmp/even.py": "[[0.5 0.5]]",
        },
    ),
    "MXNET_STORAGE_FALLBACK_LOG_VERBOSE": Example(
        acts_in="minimx.nd.sparse.route._report",
        code="""\
import threading, warnings
with warnings.catch_warnings(record=True) as said:  # each thread is warned once
    work = lambda: mx.nd.exp(mx.nd.sparse.zeros("csr", (2, 2)))
    call = threading.Thread(target=work); call.start(); call.join()
print(len(said), "warnings")""",
        expect={
            "1": "1 warnings",
            "0": "0 warnings",
        },
    ),
    "MXNET_INFER_STORAGE_TYPE_VERBOSE_LOGGING": Example(
        acts_in="minimx.symbol.binding.executors.Binding.simple_bind",
        code="""\
x = mx.sym.var("x", stype="csr")
net = mx.sym.dot(x, mx.sym.var("w"), name="y").simple_bind(x=(2, 3), w=(3, 1))
print(net.forward()[0].shape)""",
        expect={
            "0": "(2, 1)",
            "1": "x                                        csr\n"
            "w                                        default\n"
            "y_output                                 default\n"
            "(2, 1)",
        },
    ),
    "MXNET_EXEC_VERBOSE_LOGGING": Example(
        acts_in="minimx.graphs.log.announce",
        code="""\
x = mx.sym.softmax(mx.sym.var("x"), name="one")
net = mx.sym.softmax(x, name="two").simple_bind(mx.cpu(), "null", x=(8, 8))
print(net.forward()[0].shape)""",
        expect={
            "0": "(8, 8)",
            "1": "node 0 x: variable\n"
            "node 1 one: softmax\n"
            "  input x: float32[8, 8] (256 B)\n"
            "  output one_output: float32[8, 8] (256 B)\n"
            "node 2 two: softmax\n"
            "  input one_output: float32[8, 8] (256 B)\n"
            "  output two_output: float32[8, 8] (256 B)\n"
            "(8, 8)",
        },
    ),
}
