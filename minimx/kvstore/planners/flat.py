"""Everything meets in one place: on the host, or on one of the devices.

The simplest reduction, and the one whose links are busiest: with n devices and B bytes,
(n - 1) B bytes go into the meeting place, and as many out of it again. `tree` shares
that load.
"""

from __future__ import annotations

from minimx.kvstore.planners.steps import HOST, WHOLE, Copy, Plan, Sum

#: How many arrays MXNet's sum on the host adds in one go to what it has.
AT_ONCE = 4


def on_host(devices: int) -> Plan:
    """All devices send to the host, which adds and sends back.

    The sum begins with the first device's numbers; then four at a time are added up and
    their sum to it. So MXNet's `CommCPU` does, and the last bits depend on it.

    >>> on_host(2).reduce
    (Copy(source=0, target=-1, piece=Piece(start=0, stop=-1)), \
Copy(source=1, target=-1, piece=Piece(start=0, stop=-1)), \
Sum(place=-1, sources=(0, 1), piece=Piece(start=0, stop=-1)))
    """
    everyone = tuple(range(devices))
    return Plan(
        (*(Copy(one, HOST) for one in everyone), Sum(HOST, everyone)),
        tuple(Copy(HOST, one) for one in everyone),
        {WHOLE: HOST},
    )


def on_device(devices: int, home: int) -> Plan:
    """All devices send to one of them, which adds in their order and sends back.

    >>> on_device(3, home=1).broadcast[0]
    Copy(source=1, target=0, piece=Piece(start=0, stop=-1))
    """
    everyone = tuple(range(devices))
    others = [one for one in everyone if one != home]
    return Plan(
        (*(Copy(one, home) for one in others), Sum(home, everyone)),
        tuple(Copy(home, one) for one in others),
        {WHOLE: home},
    )


def groups(count: int) -> list[range]:
    """Which of `count` summands MXNet's host adds in one go, after the first.

    >>> groups(8)
    [range(1, 5), range(5, 8)]
    """
    return [range(k, min(k + AT_ONCE, count)) for k in range(1, count, AT_ONCE)]
