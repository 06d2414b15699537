"""The command `minimx`: look at the knobs, check the machine, open the course.

    minimx knobs [NAME] [--group G] [--live | --planned] [--changed]
    minimx doctor [PROGRAM.py]
    minimx port PROGRAM.py …
    minimx run PROGRAM.py …
    minimx lab [DIR] [--fresh] [--language CODE]
    minimx compile [--cython]
    minimx bench score|train|compare|show …
    minimx im2rec [--list] PREFIX FOLDER
    minimx launch -n N [--hostfile F] PROGRAM …
    minimx claims [NOTEBOOK] [--run | --markdown]
    minimx student FOLDER [--solutions]
    minimx grade FOLDER [--out grades.csv]
    minimx quiz [--seed N] [--learners N] [--format csv|markdown|gift]
    minimx slides FOLDER [--notebook N]
    minimx class FOLDER [--out class.html]
    minimx strings [--language CODE] [--folder DIR] [--missing]

Each command lives in a file of its own and is imported when it is asked for. Exit code
0 is success, 1 is a machine on which minimx cannot work, 2 is a mistake in the command.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from minimx.commands.cli import teach
from minimx.version import MXNET_VERSION, __version__

#: Modules whose `run` takes the options; the claims are the course's, outside minimx.
BY_OPTIONS = {name: f"{__name__}.{name}" for name in ("knobs", "bench", "launch")}
BY_OPTIONS |= dict.fromkeys(teach.WHAT, teach.MODULE)
BY_OPTIONS["claims"] = "minimx_widgets.course.claims.page"


def parser(asked: str = "") -> argparse.ArgumentParser:
    """What may be written after `minimx`. asked: the first word, if it is known."""
    top = argparse.ArgumentParser(
        prog="minimx",
        description="A deep-learning framework to look inside of while it runs.",
        epilog="`minimx COMMAND --help` says more about a command.",
    )
    top.add_argument(
        "--version",
        action="version",
        version=f"minimx {__version__} (speaks MXNet {MXNET_VERSION})",
    )
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    knobs = commands.add_parser("knobs", help="list the knobs, or explain one")
    knobs.add_argument("name", nargs="?", metavar="NAME", help="explain this knob")
    knobs.add_argument("--group", metavar="G", help="only knobs of this group")
    which = knobs.add_mutually_exclusive_group()
    which.add_argument("--live", action="store_true", help="only knobs that act today")
    which.add_argument("--planned", action="store_true", help="only those that will")
    knobs.add_argument(
        "--changed", action="store_true", help="only knobs away from their default"
    )

    _add_old_programs(commands)

    lab = commands.add_parser(
        "lab",
        help="open the course in JupyterLab",
        epilog="Whatever is given after DIR goes on to JupyterLab.",
    )
    lab.add_argument(
        "folder",
        nargs="?",
        metavar="DIR",
        help="work on copies in this folder; what you wrote there is left alone",
    )
    lab.add_argument("--no-browser", action="store_true", help="only print the address")
    lab.add_argument(
        "--fresh",
        action="store_true",
        help="begin again with the course's notebooks; yours are kept beside them",
    )
    lab.add_argument("--language", metavar="CODE", help="as in de; a .po file, or en")

    _add_programs(commands, asked)
    return top


def _add_old_programs(commands: Any) -> None:
    """Declare the commands that look at a machine or at a program."""
    doctor = commands.add_parser(
        "doctor", help="say what this machine offers, and what to do"
    )
    doctor.add_argument(
        "files", nargs="*", metavar="PROGRAM", help="rather say what stops a program"
    )
    port = commands.add_parser(
        "port", help="say what stops old MXNet programs, and what to write instead"
    )
    port.add_argument(
        "files", nargs="+", metavar="FILE", help="a .py file, a notebook or a folder"
    )
    run = commands.add_parser(
        "run", help="run a program in which `import mxnet` means minimx"
    )
    run.add_argument("words", nargs=argparse.REMAINDER, metavar="PROGRAM …")


def _add_programs(commands: Any, asked: str) -> None:
    """Declare the commands that run something of their own."""
    compiling = commands.add_parser("compile", help="compile all kernels now")
    compiling.add_argument(
        "--cython",
        action="store_true",
        help="rather what lies between Python and them: see MXNET_ENABLE_CYTHON",
    )
    if asked == "bench":  # whose words take a while to know
        from minimx.commands.cli.bench import declare

        declare(commands)
    else:
        commands.add_parser("bench", help="images per second of known networks")
    im2rec = commands.add_parser("im2rec", help="pack images into a file of records")
    from minimx.commands.cli.im2rec import add_arguments

    add_arguments(im2rec)
    claims = commands.add_parser("claims", help="what documents say, put to the test")
    claims.add_argument("notebook", nargs="?", default="", help="only its claims")
    claims.add_argument("--run", action="store_true", help="make the experiments")
    claims.add_argument("--markdown", action="store_true", help="write the book's page")
    launch = commands.add_parser("launch", help="run a program in several processes")
    if asked == "launch":
        from minimx.commands.cli.launch import add_arguments as declare_launch

        declare_launch(launch)
    teach.declare(commands, asked)


def _without_jupyters(args: list[str]) -> tuple[list[str], list[str]]:
    """Part what is ours from what `minimx lab` hands on.

    A folder comes right after `lab`: elsewhere a bare word is the value of one of
    JupyterLab's options, as in `--port 9000`.

    >>> _without_jupyters(["lab", "--no-browser", "--port", "9000"])
    (['lab', '--no-browser'], ['--port', '9000'])
    """
    if args[:1] != ["lab"]:
        return args, []
    folder = 1 + (len(args) > 1 and not args[1].startswith("-"))
    if "--language" in args:
        at = args.index("--language")
        args = [*args[:at], "=".join(args[at : at + 2]), *args[at + 2 :]]
    known = ("--no-browser", "--fresh", "--language", "-h", "--help")
    ours = [word for word in args[folder:] if word.split("=")[0] in known]
    return [*args[:folder], *ours], [w for w in args[folder:] if w not in ours]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # `minimx knobs | head`: the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def _run(arguments: Sequence[str] | None) -> int:
    args = list(sys.argv[1:] if arguments is None else arguments)
    top = parser(args[0] if args else "")
    ours, rest = _without_jupyters(args)
    options, unknown = top.parse_known_args(ours)
    rest = [*unknown, *rest]
    if options.command == "run" and not options.words:
        top.error("run: name the program")
    if rest and options.command != "lab":
        top.error(f"unrecognized arguments: {' '.join(rest)}")
    if options.command in BY_OPTIONS:
        return int(import_module(BY_OPTIONS[options.command]).run(options))
    about_programs = options.command == "doctor" and options.files
    if options.command in ("run", "port") or about_programs:
        return _of_old_programs(options)
    if options.command == "doctor":
        from minimx.commands.cli.doctor import run as examine

        return examine(sys.stdout)
    if options.command == "lab":
        from minimx.commands.cli.lab import run as open_lab

        folder, alone = options.folder, options.no_browser
        return open_lab(folder, alone, rest, options.fresh, options.language)
    if options.command == "im2rec":
        from minimx.commands.cli.im2rec import run as pack_images

        return pack_images(options, sys.stdout)
    from minimx.commands.cli.compile import run as warm_up

    return warm_up(sys.stdout, options.cython)


def _of_old_programs(options: argparse.Namespace) -> int:
    """`run`, `port`, and `doctor` of a program."""
    from minimx.commands import port

    if options.command == "run":
        return port.run_program(options.words)
    return port.run(options.files, sys.stdout)
