from minimx.core.engine.var cimport Claim

cdef class Operation(Claim):
    cdef public object cost, device, fn, name, origin, priority, prop, trace
