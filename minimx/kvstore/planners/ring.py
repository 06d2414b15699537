"""Reduction on a ring, as NCCL and MPI do it for large arrays.

The array is cut into as many pieces as there are devices. In n - 1 rounds each device
sends one piece to its right neighbour, which adds its own numbers to it; then each
piece is complete somewhere, and n - 1 more rounds bring it to all. Each link carries
2 (n - 1) / n of the array, however many devices there are.

Source: P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
workstations" (2009).
"""

from __future__ import annotations

from collections.abc import Sequence

from minimx.kvstore.planners.steps import Copy, Piece, Plan, Step, Sum


def on_ring(order: Sequence[int], rows: int) -> Plan:
    """The plan for an array whose axis 0 is `rows` long.

    order: the devices around the ring. Pieces differ by one row at most; a device may
    have nothing to send where there are fewer rows than devices.

    >>> from minimx.kvstore.planners.steps import traffic
    >>> sorted(traffic(on_ring([0, 1, 2], rows=6).reduce, 6, 600).items())
    [((0, 1), 400), ((1, 2), 400), ((2, 0), 400)]
    """
    n = len(order)
    pieces = [Piece(rows * k // n, rows * (k + 1) // n) for k in range(n)]

    def moves(ahead: int) -> list[Copy]:
        """What each device sends in a round: the piece that is `ahead` of its own."""
        sent = [
            Copy(order[k], order[(k + 1) % n], pieces[(k + ahead) % n])
            for k in range(n)
        ]
        return [copy for copy in sent if copy.piece.stop > copy.piece.start]

    reduce: list[Step] = []
    broadcast: list[Copy] = []
    for done in range(n - 1):
        reduce += moves(-done)
        reduce += [Sum(to, (to, start), piece) for start, to, piece in moves(-done)]
        broadcast += moves(1 - done)
    roots = {copy.piece: copy.source for copy in moves(1)}
    return Plan(tuple(reduce), tuple(broadcast), roots)
