cimport cython

from minimx.core.arrays.chunk cimport Chunk

@cython.locals(chunk=Chunk)
cpdef _invoke_short(op, inputs, out)
cpdef _run1(op, kernel, a, out)
cpdef _run2(op, kernel, a, b, out)
