cimport cython

cdef class Pool

cdef class Block:
    cdef public object address, data, free_list, owner, region, shown
    cdef public Pool pool
    cdef public long long id, requested, size
    cdef public bint in_use

    cpdef free(self)

cdef class Pool:
    cdef public object _blocks, _free_lists, _rounding, _usage
    cdef public object bus, driver, lock, name, pending_frees, policy
    cdef public long long held, live_requested, live_rounded
    cdef public long long n_flush, n_free, n_hit, n_malloc
    cdef public long long peak_held, peak_requested, peak_rounded

    @cython.locals(again=Block, block=Block, usage=list, size="long long")
    cpdef alloc(self, nbytes, owner=*)

    @cython.locals(block=Block)
    cpdef _drain_pending(self, nbytes=*, owner=*)
