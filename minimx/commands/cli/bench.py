"""`minimx bench`: the performance tables of MXNet's document, on this machine.

minimx bench score --model all --batch 1,2,4,8 --document C5.xlarge
minimx bench train --model resnet50_v2 --batch 8 --ctx "gpu(0)" --gpu K80
minimx bench compare before.json after.json
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any, TextIO

from minimx.commands.bench import table
from minimx.commands.bench.document import COLUMNS, MODELS
from minimx.commands.bench.machine import describe
from minimx.commands.bench.result import Cell, Result, load, merged, save
from minimx.commands.bench.run import Plan
from minimx.commands.bench.run import run as measure
from minimx.core.errors import MXNetError
from minimx.core.knobs import knobs
from minimx.tools.progress import Bar

#: With --quick: as little as still is a measurement.
QUICK = {"warm": 1, "least": 1, "most": 2, "seconds": 1.0}


def declare(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """What may be written after `minimx bench`."""
    bench = commands.add_parser("bench", help="images per second of known networks")
    tasks = bench.add_subparsers(dest="task", metavar="TASK", required=True)
    for task, text in (("score", "forward"), ("train", "forward, backward, update")):
        _declare_task(tasks.add_parser(task, help=f"time {text}"))
    compare = tasks.add_parser("compare", help="set two results side by side")
    compare.add_argument("files", nargs=2, metavar="FILE")
    show = tasks.add_parser("show", help="print a result again")
    show.add_argument("files", nargs=1, metavar="FILE")
    _declare_document(show)


def _declare_task(task: argparse.ArgumentParser) -> None:
    add = task.add_argument
    add("--model", default="all", help="names of the zoo; `all` of the document's")
    add("--batch", default="1,2,4,8", help="batch sizes, with commas")
    add("--ctx", type=_ctx, default="cpu", metavar="CTX", help="cpu or gpu, gpu(0)")
    add("--dtype", choices=("float32", "float16", "float64"), default="float32")
    cards = knobs.declared["MINIMX_SIM_GPU_PRESET"].choices
    add("--gpu", choices=cards, metavar="CARD", help=f"simulated: {', '.join(cards)}")
    add("--gpu-memory", metavar="SIZE", help="of the simulated GPU, such as 12GiB")
    add("--rehearse", action="store_true", help="only see what fits the device")
    add("--image", type=int, default=0, metavar="PIXELS", help="along a side")
    add("--classes", type=int, default=1000)
    add("--limit", type=float, default=120.0, metavar="SECONDS", help="for each cell")
    add("--quick", action="store_true", help="one or two batches in each cell")
    add("--output", metavar="FILE", help="keep the result; adds to one that is there")
    _declare_document(task)


def _declare_document(parser: argparse.ArgumentParser) -> None:
    labels = list(dict.fromkeys(column.label for column in COLUMNS))
    parser.add_argument(
        "--document",
        default="C5.xlarge,K80,V100",
        metavar="MACHINES",
        help=f"columns of MXNet's document beside ours: {', '.join(labels)}; or none",
    )


def run(options: argparse.Namespace, out: TextIO | None = None) -> int:
    """Do it; 2 for a wish that cannot be met, 1 if a cell failed."""
    screen = sys.stdout if out is None else out
    try:
        if options.task == "compare":
            print(table.comparison(*map(load, options.files)), file=screen)
            return 0
        if options.task == "show":
            result = load(options.files[0])
        else:
            result = _measured(options)
        print(table.report(result, options.document.split(",")), file=screen)
    except MXNetError as wish:
        print(wish, file=sys.stderr)
        return 2
    return int(any(cell.status == "failed" for cell in result.cells))


def _measured(options: argparse.Namespace) -> Result:
    plan = planned(options)
    result = Result(describe(), plan.settings)
    if options.output:  # what does not belong together is refused before the work
        _kept(options.output, result)
    total = len(plan.models) * len(plan.batches)
    with Bar() as bar:
        bar.show(0, total, table.name(plan.models[0]))

        def tell(cell: Cell) -> None:
            result.cells.append(cell)
            model, speed = table.name(cell.model), table.speed_text(cell)
            bar.show(len(result.cells), total, f"{model}, batch {cell.batch}: {speed}")
            if options.output:
                save(options.output, _kept(options.output, result))

        measure(plan, tell)
    return result


def _kept(file: str, result: Result) -> Result:
    """The result together with what the file holds already."""
    try:
        open(file, "rb").close()
    except FileNotFoundError:
        return result
    return merged(load(file), result)


def planned(options: argparse.Namespace) -> Plan:
    """The plan that the words on the command line mean."""
    models: Sequence[str] = options.model.split(",")
    if options.model == "all":
        models = list(MODELS)
    size = 0
    if options.gpu_memory:
        knob: Any = knobs.declared["MINIMX_SIM_GPU_MEMORY"]
        size = knob.parse(options.gpu_memory)
    card = options.gpu or ""
    if options.ctx == "gpu" and not card:
        card = str(knobs.get("MINIMX_SIM_GPU_PRESET"))
    return Plan(
        options.task,
        tuple(models),
        _numbers(options.batch),
        ctx=options.ctx,
        dtype=options.dtype,
        card=card,
        gpu_memory=size,
        rehearse=options.rehearse,
        classes=options.classes,
        image=options.image,
        limit=options.limit,
        **(QUICK if options.quick else {}),  # type: ignore[arg-type]
    )


def _ctx(text: str) -> str:
    """The kind of device; there is nothing to choose but the first of its kind."""
    kind = text.removesuffix("(0)")
    if kind not in ("cpu", "gpu"):
        raise argparse.ArgumentTypeError(f"{text!r} is neither cpu nor gpu(0)")
    return kind


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(word) for word in text.split(","))
    except ValueError:
        return ()  # which the plan refuses, in words
