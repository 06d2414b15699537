# %% set-up
import mxnet as mx
import numpy as onp
sym = mx.sym
c, x, y, z = (sym.Variable(name) for name in "cxyz")
def told(found):
    return [None if part is None else [shape and tuple(shape) for shape in part] for part in found]
def partly(symbol, **shapes):
    return told(symbol.infer_shape_partial(**shapes))
def wholly(symbol, **shapes):
    return told(symbol.infer_shape(**shapes))
chosen = sym.where(c, x, y)
# %% where tells nothing before the condition is known
[partly(chosen, x=(2, 3)), partly(chosen, x=(2, 0), y=(0, 3)), partly(chosen), partly(chosen + z, z=(2, 3))]
# %% where: a condition of the same shape
[partly(chosen, c=(2, 3), x=(2, 3)), wholly(chosen, c=(2, 3), x=(2, 0), y=(0, 3))]
# %% where: a condition with a number for each row
[partly(chosen, c=(2,), x=(2, 3)), wholly(chosen, c=(2,), x=(2, 0), y=(0, 3))]
# %% where: a condition with another number of rows
wholly(chosen, c=(3,), x=(2, 3))
# %% where: with one array alone the rest is not known
[wholly(chosen, x=(2, 3)), wholly(chosen, x=(2, 3), y=(2, 3))]
# %% axes of length 0 are not known, and neighbours tell them
[wholly(x + y, x=(2, 0), y=(0, 3)), partly(sym.relu(x), x=(2, 0)), wholly(x * 2, x=(2, 0))]
# %% a layer tells its batch
net = sym.FullyConnected(x, num_hidden=4, name="f")
[partly(net, x=(0, 3)), wholly(net + y, y=(2, 4), x=(0, 7)), partly(net + y, y=(2, 4))]
# %% an image with an unknown batch or height
conv = sym.Convolution(x, num_filter=4, kernel=(3, 3), name="f")
[partly(conv, x=(0, 3, 8, 8)), partly(conv, x=(2, 3, 0, 8)), partly(conv + y, y=(2, 4, 6, 6))]
# %% joined arrays with axes that are not known
[partly(sym.concat(x, y, dim=1), x=(0, 3), y=(2, 4)), partly(sym.concat(x, y, dim=0), x=(2, 3), y=(4, 0))]
# %% reductions and views of unknown lengths
[partly(op, x=(0, 4)) for op in (sym.sum(x, axis=0), sym.mean(x), sym.transpose(x), sym.softmax(x), sym.expand_dims(x, axis=1))]
# %% with NumPy's shapes 0 is a length, and -1 is not known
with mx.util.np_shape(True):
    shapes = [
        wholly(x + y, x=(0, 3)),
        wholly(x + y, x=(0, -1), y=(-1, 3)),
        wholly(x * 2, x=(-1, 3)),
        wholly(sym.zeros((0, 3)) + x),
        wholly(sym.zeros((0, 3))),
        wholly(sym.Variable("q", shape=(0, 3)) + x),
        wholly(sym.Variable("q", shape=(-1, 3)) + x, x=(2, -1)),
        wholly(sym.FullyConnected(x, num_hidden=4, name="f"), x=(0, 3)),
        wholly(sym.concat(x, y, dim=0), x=(0, 3), y=(2, 3)),
        wholly(sym.dot(x, y), x=(2, 0), y=(0, 4)),
        wholly(chosen, c=(0, 3), x=(0, 3), y=(0, 3)),
    ]
shapes
# %% a monitor sees the outputs of a module whose batches change their length
module = mx.mod.Module(sym.FullyConnected(sym.Variable("data"), num_hidden=2, name="f"), label_names=None)
module.bind([("data", (2, 3))])
module.init_params()
monitor = mx.monitor.Monitor(1, stat_func=lambda a: mx.nd.array(a.shape))
module.install_monitor(monitor)
seen = []
for rows in (2, 4, 2, 6):
    monitor.tic()
    module.forward(mx.io.DataBatch([mx.nd.ones((rows, 3))]), is_train=False)
    seen += [(step, name, text.split()) for step, name, text in monitor.toc() if name == "f_output"]
seen
# %% rows of a row_sparse parameter, by arrays of any kind of number
params = mx.gluon.ParameterDict()
w = params.get("w", shape=(6, 2), stype="row_sparse", grad_stype="row_sparse", init=mx.init.One())
params.initialize()
trainer = mx.gluon.Trainer(params, "sgd", {"learning_rate": 0.1})
w.set_data(mx.nd.arange(12).reshape((6, 2)))
def rows(*args, **kwargs):
    found = w.row_sparse_data(mx.nd.array(*args, **kwargs))
    return found.stype, found.shape, found.indices.asnumpy(), found.data.asnumpy()
[rows([3, 1], dtype=kind) for kind in ("float32", "float64", "float16", "int32", "int64", "uint8")]
# %% rows named twice, or in a table
[rows([1, 3, 1], dtype="int64"), rows([[1, 3], [0, 1]], dtype="int64")]
# %% rows on all devices
[found.data.asnumpy() for found in w.list_row_sparse_data(mx.nd.array([4, 2]))]
# %% rows by what is no array, on all devices
w.list_row_sparse_data([3, 1])
# %% NumPy's arrays, from here on
mx.npx.set_np()
np = mx.np
m = np.array([[1.0, 0, 3], [0, 0, 2], [1, 0, 3]])
v = np.array([3.0, 1, 3, 2, 1])
one, none = np.array(3.0), np.array(0.0)
def kinds(found):
    return [(type(one).__name__, one.dtype, one) for one in (found if isinstance(found, tuple) else (found,))]
# %% nonzero of an array without axes
[np.nonzero(one), np.nonzero(none), one.nonzero(), np.flatnonzero(one), mx.npx.nonzero(one), mx.npx.nonzero(none)]
# %% nonzero
[np.nonzero(m), mx.npx.nonzero(m), np.count_nonzero(m), np.count_nonzero(one)]
# %% unique with all its results, along any axis
[kinds(np.unique(m, True, True, True, axis=axis)) for axis in (None, 0, 1, -1)]
# %% unique of an array without axes
[kinds(np.unique(one)), kinds(np.unique(one, True, True, True)), kinds(np.unique(one, axis=0))]
# %% unique of nothing
[np.unique(np.zeros((0, 3))), np.unique(np.zeros((0, 3)), axis=0), np.unique(np.zeros((0, 3)), axis=1)]
# %% one result of unique beside the elements
[np.unique(v, return_index=True), np.unique(v, return_inverse=True), np.unique(v, return_counts=True)]
# %% unique along an axis that there is not
np.unique(m, axis=2)
# %% masks without axes choose
[one[one > 1], one[one > 5], one[True], one[False], v[True], v[False], m[np.array(True)], m[np.array(False)]]
# %% masks without axes are written through
def put(key, value, shape):
    array = np.ones(shape)
    array[key] = value
    return array
yes, no = np.array(True), np.array(False)
[put(key, 7, shape) for key in (yes, no, True, False) for shape in ((), (3,), (2, 3))]
# %% masks of some axes
b = np.array([True, False, True])
t = np.array([[True, False, True], [False, False, True]])
[put(b, 7, (3, 2)), put((slice(None), b), 7, (2, 3)), put((0, b), 7, (2, 3)), put((b, 0), 7, (3, 2)), put(t, 7, (2, 3, 2)), put((slice(None), t), 7, (2, 2, 3)), put((Ellipsis, b), 7, (2, 2, 3))]
# %% masks that choose nothing
[put(np.zeros(3, dtype="bool"), 7, (3,)), m[np.zeros(3, dtype="bool")]]
# %% differs: NumPy's numbers and arrays among those that are joined
np.stack([one, onp.float32(2.5), 1])
# %% differs: NumPy's arrays joined to ours
np.concatenate([v, onp.ones(2, dtype="float32")])
# %% second derivatives
def slope_of_slope(name, points):
    x = mx.nd.array(points)
    x.attach_grad()
    with mx.autograd.record():
        slope = mx.autograd.grad(getattr(mx.nd, name)(x), x, create_graph=True)[0]
    slope.backward()
    return x.grad.asnumpy()
[slope_of_slope(name, [0.3, 0.6, 0.9]) for name in "arctanh arcsin arccos arctan sinh cosh tanh sin cos tan log log2 log10 log1p exp expm1 sqrt rsqrt cbrt rcbrt square reciprocal sigmoid relu abs radians".split()]
# %% differs: these two have the wrong sign in MXNet
slope_of_slope("arcsinh", [0.3, 0.6, 0.9])
# %% differs: and the other one
slope_of_slope("arccosh", [1.3, 1.6, 1.9])
# %% files of trained vectors of words, by name
names = mx.contrib.text.embedding.get_pretrained_file_names()
[names, mx.contrib.text.embedding.get_pretrained_file_names("glove")]
# %% an embedding without such files
mx.contrib.text.embedding.get_pretrained_file_names("word2vec")
# %% a file that an embedding has not
mx.contrib.text.embedding.create("glove", pretrained_file_name="glove.7B.50d.txt")
