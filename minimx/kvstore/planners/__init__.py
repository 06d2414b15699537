"""Who sends what to whom: pure planners of a reduction, without arrays or threads.

A planner takes devices, sizes and links, and returns a `Plan`: copies and sums, in an
order in which they may run. A store runs the plan on arrays; the record remembers the
copies; a view or a simulation reads the same plan.

    steps      the vocabulary: `Piece`, `Copy`, `Sum`, `Plan`
    flat       everything meets in one place: the host, or one of the devices
    trees      binary trees along the links between devices, one for each root
    tree       a plan over such trees, whole arrays or one slice for each root
    buckets    small keys that travel together
    placement  which server keeps which part of which key
"""
