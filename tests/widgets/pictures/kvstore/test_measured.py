"""A record's communication as a scene."""

from __future__ import annotations

import pytest

from minimx.core.record import Record
from minimx_widgets.pictures.kvstore.measured import LastStep, measured, window
from minimx_widgets.pictures.kvstore.scene import KINDS, Scene

STEP = 1000


def recorded(steps: int = 2, keys: bool = True) -> Record:
    """Steps of two GPUs whose gradients are added on the host, and a pull each."""
    record = Record()
    number = 0

    def op(name: str, layer: str, phase: str, device: str, start: int, end: int,
           reads: tuple[int, ...] = ()) -> int:  # fmt: skip
        nonlocal number
        number += 1
        for source in reads:
            record.dependency(source, number, "RAW")
        record.op(number, name, layer, phase, device, f"{device}/0", start, start,
                  start, end, 0, 0, False)  # fmt: skip
        return number

    for step in range(steps):
        t = record.conditions.t_start + STEP * step
        pushes = []
        for k, device in enumerate(("gpu(0)", "gpu(1)")):
            layers = ("net/dense1", "net/dense0")
            back = [
                op("dot", layers[i], "backward", device, t + at, t + at + 90)
                for i, at in enumerate((0, 100))
            ]
            start = t + 100 + 50 * k
            pushes.append(op("CopyGPU2CPU", "", "update", device, start, start + 50,
                             (back[0],)))  # fmt: skip
            key = "2" if keys else ""
            record.communication(start, start + 50, key, device, "host", 4096, "update")
        total = op("KVStoreReduce", "", "update", "cpu(0)", t + 200, t + 220,
                   tuple(pushes))  # fmt: skip
        weight = op("sgd_update", "", "update", "cpu(0)", t + 220, t + 240, (total,))
        for device in ("gpu(0)", "gpu(1)"):
            op("CopyCPU2GPU", "", "update", device, t + 300, t + 350, (weight,))
            record.communication(
                t + 300, t + 350, "2" if keys else "", "host", device, 4096, "update"
            )
            op("dot", "net/dense0", "forward", device, t + 400, t + 500)
    return record


def bars(scene: Scene) -> list[tuple[str, str, str, float, float, str]]:
    wires = scene.layout.wires
    return [
        (
            scene.rows[row].label,
            KINDS[kind],
            scene.keys[key].name,
            start,
            end,
            wires[scene.routes[route][0]].name if route >= 0 else "",
        )
        for row, kind, key, start, end, route in zip(
            scene.bars.row.tolist(),
            scene.bars.kind.tolist(),
            scene.bars.key.tolist(),
            scene.bars.start.tolist(),
            scene.bars.end.tolist(),
            scene.bars.route.tolist(),
            strict=True,
        )
    ]


@pytest.mark.parametrize(("keys", "name"), [(True, "key 2"), (False, "dense1")])
def test_pushes_sums_and_pulls_are_told_apart(keys: bool, name: str) -> None:
    scene = measured(recorded(1, keys))
    found = bars(scene)
    assert ("gpu(1)", "push", name, 150, 200, "gpu(1) → host") in found
    assert ("host", "reduce", name, 200, 220, "") in found
    assert ("host", "update", name, 220, 240, "") in found
    assert ("gpu(0)", "pull", name, 300, 350, "host → gpu(0)") in found
    assert ("gpu(0)", "backward", "dense0", 100, 190, "") in found
    assert scene.source == "measured" and "2 devices" in scene.title


def test_a_bar_is_of_the_operation_that_was_recorded() -> None:
    record = recorded(3)
    scene = measured(record)
    ops = {int(row["op"]): row for row in record.ops()}
    assert (scene.begins, len(scene.bars)) == (STEP, 12)
    for number, start in zip(scene.bars.op, scene.bars.start, strict=True):
        began = int(ops[number]["t_start"]) - record.conditions.t_start
        assert scene.begins + start == began


def test_loads_speeds_and_overlap_are_those_of_the_record() -> None:
    scene = measured(recorded(1))
    wires = {wire.name: wire for wire in scene.layout.wires}
    assert wires["gpu(0) → host"].now is not None
    assert wires["gpu(0) → host"].now.bandwidth == pytest.approx(4096 / 50e-9)
    load = scene.loads[[*wires].index("gpu(0) → host")]
    assert (load.nbytes, load.busy, load.share) == (4096, 50, 50 / 500)
    assert scene.numbers is not None
    # 100–220 and 300–350 communicate; both GPUs compute until 190, the host 220–240.
    assert scene.numbers.communication == 170
    assert scene.numbers.overlap == pytest.approx(90 / 170)
    assert scene.numbers.exposed == 80
    assert scene.numbers.step == 500


def test_the_last_whole_step_is_shown() -> None:
    record = recorded(3)
    start = record.conditions.t_start
    assert window(record) == (start + STEP, start + 2 * STEP)
    assert len(measured(record).bars) == len(measured(recorded(1)).bars)


def test_a_record_without_communication_says_how_to_get_some() -> None:
    scene = measured(Record())
    assert "no communication" in scene.lesson and scene.numbers is None
    record = Record()
    t = record.conditions.t_start
    record.op(1, "dot", "net", "forward", "cpu(0)", "cpu(0)/0", t, t, t, t + 9, 0, 0,
              False)  # fmt: skip
    assert "two devices or more" in measured(record).lesson


def test_ranks_lie_on_the_bus_that_joins_them() -> None:
    record = Record()
    t = record.conditions.t_start
    for rank in range(2):
        name = f"rank {rank}"
        record.op(rank + 1, "dot", "net/dense0", "backward", f"{name} cpu(0)",
                  f"{name} cpu(0)/0", t, t, t, t + 10, 0, 0, False)  # fmt: skip
        record.communication(t, t + 40, "0", name, "2 ranks", 64, "update")
    scene = measured(record)
    assert [bus.name for bus in scene.layout.buses] == ["2 ranks"]
    assert [row.label for row in scene.rows] == ["rank 0", "rank 1"]
    assert {KINDS[k] for k in scene.bars.kind.tolist()} == {"backward", "reduce"}


def test_the_last_step_is_that_of_the_device_which_is_counted() -> None:
    # gpu(1) starts each backward pass just before gpu(0), and is busier in the rest.
    record = Record()
    t = record.conditions.t_start
    number = 0
    for step in range(3):
        for name, phase, device, start, end in (
            ("dot", "backward", "gpu(1)", 0, 90),
            ("dot", "backward", "gpu(0)", 10, 90),
            ("sgd_update", "update", "gpu(1)", 100, 900),
            ("dot", "forward", "gpu(0)", 910, 990),
        ):
            number += 1
            at = t + STEP * step
            record.op(number, name, "net", phase, device, f"{device}/0", at, at,
                      at + start, at + end, 0, 0, False)  # fmt: skip
    last = LastStep(record)
    assert last.texts(last.ops()["phase"]) == ["backward", "forward"]
    assert set(last.texts(last.ops()["device"])) == {"gpu(0)"}


def test_communication_of_other_steps_is_said_to_be_there() -> None:
    record = recorded(1)
    for step in (1, 2):
        for k, phase in enumerate(("backward", "forward")):
            t = record.conditions.t_start + STEP * step + 400 * k
            record.op(100 + 2 * step + k, "dot", "net/dense0", phase, "gpu(0)",
                      "gpu(0)/0", t, t, t, t + 90, 0, 0, False)  # fmt: skip
    scene = measured(record)
    assert scene.numbers is None and "other parts of it do" in scene.lesson
