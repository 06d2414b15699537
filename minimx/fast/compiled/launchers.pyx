"""`run1` … `run4` of `core/kernels/native.py`, without a look at the types.

They call the same machine code on the same addresses, so no bit differs. numba finds
out the types of all arguments at each call, and makes a structure of each array; that
takes ten times as long as it takes to add a few numbers.
"""

from numpy cimport ndarray

ctypedef void (*Kernel)(Py_ssize_t *, Py_ssize_t *, Py_ssize_t) noexcept


cdef inline Py_ssize_t count(ndarray array):
    cdef Py_ssize_t found = 1
    cdef int axis
    for axis in range(array.ndim):
        found *= array.shape[axis]
    return found


cdef inline void enter(
    Py_ssize_t *args, Py_ssize_t *steps, int place, ndarray array, Py_ssize_t n
):
    args[place] = <Py_ssize_t> array.data
    steps[place] = count(array) == n


def run1(size_t kernel, ndarray a not None, ndarray out not None):
    """Run a kernel of one input: `run1(code, a, out)`, one row of `out.size`."""
    cdef Py_ssize_t[2] args, steps
    cdef Py_ssize_t n = count(out)
    enter(args, steps, 0, a, n)
    args[1], steps[1] = <Py_ssize_t> out.data, 1
    (<Kernel> kernel)(args, steps, n)


def run2(size_t kernel, ndarray a not None, ndarray b not None, ndarray out not None):
    """Run a kernel of two inputs; one of a single element is broadcast (step 0)."""
    cdef Py_ssize_t[3] args, steps
    cdef Py_ssize_t n = count(out)
    enter(args, steps, 0, a, n)
    enter(args, steps, 1, b, n)
    args[2], steps[2] = <Py_ssize_t> out.data, 1
    (<Kernel> kernel)(args, steps, n)


def run3(
    size_t kernel,
    ndarray a not None,
    ndarray b not None,
    ndarray c not None,
    ndarray out not None,
):
    """Run a kernel of three inputs; single elements are broadcast."""
    cdef Py_ssize_t[4] args, steps
    cdef Py_ssize_t n = count(out)
    enter(args, steps, 0, a, n)
    enter(args, steps, 1, b, n)
    enter(args, steps, 2, c, n)
    args[3], steps[3] = <Py_ssize_t> out.data, 1
    (<Kernel> kernel)(args, steps, n)


def run4(
    size_t kernel,
    ndarray a not None,
    ndarray b not None,
    ndarray c not None,
    ndarray d not None,
    ndarray out not None,
):
    """Run a kernel of four inputs; single elements are broadcast."""
    cdef Py_ssize_t[5] args, steps
    cdef Py_ssize_t n = count(out)
    enter(args, steps, 0, a, n)
    enter(args, steps, 1, b, n)
    enter(args, steps, 2, c, n)
    enter(args, steps, 3, d, n)
    args[4], steps[4] = <Py_ssize_t> out.data, 1
    (<Kernel> kernel)(args, steps, n)
