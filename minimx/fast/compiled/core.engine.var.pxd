cimport cython

cdef class Var:
    cdef public object block, exception, history, kept, later, writer
    cdef public long long version, readers

cdef class Claim:
    cdef public object put, reads, writes
    cdef public long long adds, wait

@cython.locals(var=Var)
cpdef append(Claim claim)

@cython.locals(var=Var, writer=Claim)
cpdef release(Claim claim)

@cython.locals(claim=Claim)
cpdef _grant(Var var, later, list ready)
