"""Records with rows that are lost, repeated, shuffled or wrong give errors of ours."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np

from minimx.core.device import gpu
from minimx.core.errors import MXNetError
from minimx.core.record import Record
from minimx.core.record.tables import Array, Contents
from minimx.experiments import align, rerun, why
from tests.experiments.programs import VIRTUAL, Program, perceptron, recorded

TABLES = ("ops", "ops", "deps", "mem", "mem", "calls", "comm", "parts")


def spoil(table: Array, texts: int, choice: random.Random) -> Array:
    """A table with something wrong; whole numbers stay numbers that files may have."""
    kind = choice.randrange(4)
    if kind == 0:
        return np.asarray(table[: choice.randrange(len(table))])
    if kind == 1:
        order = choice.sample(range(len(table)), len(table))
        return np.asarray(table[np.array(order)])
    if kind == 2:
        return np.concatenate([table, table[: choice.randrange(len(table))]])
    column, row = choice.choice(table.dtype.names or ()), choice.randrange(len(table))
    table = table.copy()
    if table.dtype[column].itemsize == 4:
        table[column][row] = choice.randrange(texts)
    elif table.dtype[column].kind != "b":
        table[column][row] = choice.choice([0, 1, 3, 2**40, 2**62, 17])
    return table


def test_damaged_records_give_figures_or_errors_of_ours(tmp_path: Path) -> None:
    program = Program(perceptron(16, 10), gpu(), hybrid=True)
    whole = Record.load(recorded(program, **VIRTUAL).save(tmp_path / "run.npz"))
    refused = answered = 0
    for seed in range(60):
        choice = random.Random(seed)
        tables = {name: whole.table(name) for name in dict.fromkeys(TABLES)}
        tables |= {n: whole.table(n) for n in ("knobs", "metrics", "marks", "tensors")}
        tables |= {name: whole.table(name) for name in ("exponents", "scaling")}
        for _ in range(choice.randrange(1, 4)):
            name = choice.choice(TABLES)
            if len(tables[name]):
                tables[name] = spoil(tables[name], len(whole.strings), choice)
        contents = Contents(tables, whole.strings, {}, vars(whole.conditions).copy())
        record = Record.of(contents)
        for ask in (
            lambda record=record: rerun(record, MXNET_GPU_WORKER_NTHREADS=1),
            lambda record=record: rerun(
                record, net=program.net, MXNET_EXEC_ENABLE_INPLACE=False
            ),
            lambda record=record: align(whole, record).changed,
            lambda record=record: why(whole, record),
        ):
            try:
                repr(ask())
                answered += 1
            except MXNetError:
                refused += 1
    assert answered > 100
    assert refused
