"""How much memory a chain needs: the network of the course's notebook 06, with 1024
times as many rows, since `debug_str` counts whole megabytes."""
# %%
import os

import mxnet as mx

def turn(**variables):
    os.environ.update(variables)  # MXNet reads them at every bind
    if hasattr(mx, "knobs"):
        mx.knobs.set(**variables)

def megabytes():
    x = mx.sym.Variable("data")
    for number, width in enumerate((256, 128, 64), 1):
        x = mx.sym.FullyConnected(x, num_hidden=width, name="fc%d" % number)
        x = mx.sym.Activation(x, act_type="relu", name="relu%d" % number)
    for number, width in enumerate((32, 16, 4), 4):
        x = mx.sym.FullyConnected(x, num_hidden=width, name="fc%d" % number)
    net = mx.sym.softmax(x, name="out")
    executor = net.simple_bind(mx.cpu(), data=(65536, 256), grad_req="null")
    return [line for line in executor.debug_str().splitlines() if "MB" in line]

turn(MXNET_SUBGRAPH_BACKEND="NONE")
megabytes()
# %%
totals = []
for match_range in ("0", "1", "2", "4", "8", "16"):
    turn(NNVM_EXEC_MATCH_RANGE=match_range)
    totals += megabytes()
totals
# %% differs: MXNet has not read this variable since 0.9
turn(MXNET_EXEC_ENABLE_INPLACE="0")
print("Total 97 MB allocated" in megabytes())
