from minimx.core.engine.var cimport Var

cdef class Chunk(Var):
    cdef object __weakref__
    cdef public object device, nbytes, owner

    cpdef memory(self)
