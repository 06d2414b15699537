"""A contender's interpreters: one that stays, and new ones for a single measurement.

Each is in a session of its own, so that Ctrl-C reaches the command alone, which then
keeps what was measured.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from tests.benchmarks.cases import Case
from tests.benchmarks.peers import Peer

HERE = Path(__file__).parents[1]


class PeerDied(RuntimeError):
    """An interpreter ended in the middle of a case."""


def command(peer: Peer, peers: Path) -> list[str]:
    """The command that starts its interpreter."""
    program = HERE / "programs" / f"{peer.program}.py"
    return [str(peer.python(peers)), str(HERE / "worker.py"), str(program)] + [
        peer.library
    ]


class Worker:
    """A contender's interpreter, kept warm from round to round."""

    def __init__(self, peer: Peer, peers: Path) -> None:
        self.peer = peer
        self._process = subprocess.Popen(
            command(peer, peers),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=peer.environment(),
            text=True,
            start_new_session=True,
        )
        self.pid = self._process.pid

    def close(self, kill: bool = False) -> None:
        """End it; kill: even in the middle of a case."""
        assert self._process.stdin is not None and self._process.stdout is not None
        if kill:
            self._process.kill()
        with suppress(BrokenPipeError):  # it is gone, with a question unread
            self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def measure(
        self, case: Case, seconds: float, keep: tuple[str, ...] = ()
    ) -> float | None:
        """Seconds per call, None if this contender has no such case.

        keep: other cases that stay prepared, since their turn comes again.
        """
        assert self._process.stdin is not None and self._process.stdout is not None
        name = case.program or case.name
        question = {"case": name, "seconds": seconds, "keep": [name, *keep]}
        try:
            self._process.stdin.write(json.dumps(question) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise PeerDied(
                f"{self.peer.name} died in case {case.name!r}; its output is above."
            )
        found: float | None = json.loads(line).get("value")
        return found


class Starts:
    """Measurements in new interpreters, and the caches that first starts left.

    folder: where the environments are. home: an empty folder for caches.
    """

    def __init__(self, folder: Path, home: Path) -> None:
        self._folder, self._home = folder, home
        self._caches: dict[str, Path] = {}

    def measure(self, case: Case, peer: Peer) -> float | None:
        """The value of a case of a kind other than `loop`; None if it has none."""
        if case.kind in ("import", "first"):
            return self._import(case, peer)
        if case.kind == "memory":
            return self._answer(case, peer, "memory", {})[0]
        if case.kind == "first_start":
            return self._first(case, peer)
        assert case.kind == "second_start", case.kind
        if peer.name not in self._caches and self._first(case, peer) is None:
            return None
        return self._timed(case, peer)

    def _import(self, case: Case, peer: Peer) -> float:
        last = f"; {peer.first}" if case.kind == "first" else ""
        program = (
            "from time import perf_counter as clock; start = clock(); "
            f"import {peer.library} as library{last}; print(clock() - start)"
        )
        done = self._run([str(peer.python(self._folder)), "-c", program], peer, {})
        if done.returncode:
            raise PeerDied(f"{peer.name} died in case {case.name!r}: {done.stderr}")
        return float(done.stdout.split()[-1])

    def _first(self, case: Case, peer: Peer) -> float | None:
        self._caches[peer.name] = Path(tempfile.mkdtemp(dir=self._home))
        return self._timed(case, peer)

    def _timed(self, case: Case, peer: Peer) -> float | None:
        """Seconds from the start of an interpreter to the end of its first call."""
        place = self._caches[peer.name]
        caches = {
            "PYTHONPYCACHEPREFIX": str(place / "bytecode"),
            "MINIMX_CACHE": str(place / "kernels"),
            "XDG_CACHE_HOME": str(place / "others"),
        }
        found, seconds = self._answer(case, peer, "start", caches)
        return None if found is None else seconds

    def _answer(
        self, case: Case, peer: Peer, what: str, more: dict[str, str]
    ) -> tuple[float | None, float]:
        words = [*command(peer, self._folder), what, case.program or case.name]
        start = time.perf_counter()
        done = self._run(words, peer, more)
        seconds = time.perf_counter() - start
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no output"])[-1]
            raise PeerDied(f"{peer.name} died in case {case.name!r}: {last}")
        return json.loads(done.stdout).get("value"), seconds

    def _run(
        self, words: list[str], peer: Peer, more: dict[str, str]
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words,
            env=peer.environment() | more,
            capture_output=True,
            text=True,
            start_new_session=True,
        )
