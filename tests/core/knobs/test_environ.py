"""Knobs and `os.environ`: start values, foreign variables, inheritance."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from minimx.core.errors import KnobError
from minimx.core.knobs import (
    Knobs,
    KnobWarning,
    PlannedKnobWarning,
    assigned,
    foreign,
    knobs,
    sync_from_environ,
)
from minimx.core.knobs.declarations import DECLARATIONS

ENGINE = "MXNET_ENGINE_TYPE"
CPU = "MXNET_CPU_WORKER_NTHREADS"
PAGE = "MXNET_CPU_MEM_POOL_PAGE_SIZE"
PAGE_ALIAS = "MXNET_CPU_POOL_PAGE_SIZE"


def registry(**environ: str) -> tuple[Knobs, dict[str, str]]:
    return Knobs(DECLARATIONS, environ), environ


# At import


def test_the_environment_gives_start_values() -> None:
    fresh, environ = registry(MXNET_ENGINE_TYPE="NaiveEngine", PATH="/bin")
    assert fresh.get(ENGINE) == "NaiveEngine"
    assert fresh.is_set(ENGINE)
    assert environ == {ENGINE: "NaiveEngine", "PATH": "/bin"}


def test_an_empty_variable_means_the_default() -> None:
    fresh, _ = registry(MXNET_ENGINE_TYPE="")
    assert fresh.get(ENGINE) == "ThreadedEnginePerDevice"


def test_a_bad_value_warns_and_is_left_alone() -> None:
    with pytest.warns(KnobWarning, match="'Threded'.*Did you mean ThreadedEngine"):
        fresh, environ = registry(MXNET_ENGINE_TYPE="Threded")
    assert fresh.get(ENGINE) == "ThreadedEnginePerDevice"
    assert environ == {ENGINE: "Threded"}


def test_an_unknown_variable_warns_with_the_nearest_name() -> None:
    with pytest.warns(KnobWarning, match="MXNET_ENGIN_TYPE.*Did you mean MXNET_ENGINE"):
        registry(MXNET_ENGIN_TYPE="NaiveEngine")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("OMP_NUM_THREAD", "OMP_NUM_THREADS"),
        ("OMP_NUMTHREADS", "OMP_NUM_THREADS"),
        ("KMP_AFINITY", "KMP_AFFINITY"),
        ("DMLC_LOG_STACK_DEPTH", "DMLC_LOG_STACK_TRACE_DEPTH"),
        ("DMLC_NUM_WORKERS", "DMLC_NUM_WORKER"),
        ("PS_RESEND_TIMOUT", "PS_RESEND_TIMEOUT"),
    ],
)
def test_a_misspelt_variable_of_another_family_warns(name: str, meant: str) -> None:
    with pytest.warns(KnobWarning, match=f"{name}, which is not.*Did you mean {meant}"):
        registry(**{name: "1"})


def test_what_other_programs_read_warns_nobody() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        registry(**dict.fromkeys(foreign.KNOWN, "1"), PS_1="", OMP_X="", KMP="")
    assert not foreign.KNOWN & {knob.name for knob in DECLARATIONS}


def test_of_a_list_of_thread_counts_the_first_counts() -> None:
    fresh, environ = registry(OMP_NUM_THREADS="2,1")
    assert fresh.get("OMP_NUM_THREADS") == 2
    assert environ == {"OMP_NUM_THREADS": "2,1"}
    with pytest.raises(KnobError, match="whole number"):
        fresh.set(OMP_NUM_THREADS="2,many")
    with pytest.raises(KnobError, match="whole number"):
        fresh.set(MXNET_CPU_WORKER_NTHREADS="2,1")


def test_variables_of_others_are_none_of_our_business() -> None:
    fresh, _ = registry(OMP_PROC_BIND="true", DMLC_INTERFACE="eth0", CUDA_PATH="/x")
    assert fresh.diff() == {}


def test_a_planned_variable_warns_once_for_all() -> None:
    with pytest.warns(PlannedKnobWarning) as caught:
        registry(MXNET_RNN_USE_WEIGHT_CACHE="1", MXNET_ENFORCE_CYTHON="1")
    assert len(caught) == 1
    assert "MXNET_RNN_USE_WEIGHT_CACHE" in str(caught[0].message)
    assert "MXNET_ENFORCE_CYTHON" in str(caught[0].message)


def test_an_alias_in_the_environment_sets_its_knob() -> None:
    with pytest.warns(KnobWarning, match="another name of MXNET_CPU_MEM_POOL_PAGE"):
        fresh, _ = registry(MXNET_CPU_POOL_PAGE_SIZE="64")
    assert fresh.get(PAGE) == 64


def test_a_knob_beats_its_alias_and_says_so() -> None:
    with pytest.warns(KnobWarning, match=f"{PAGE} rules"):
        fresh, _ = registry(**{PAGE: "64", PAGE_ALIAS: "128"})
    assert fresh.get(PAGE) == 64


def test_the_two_spellings_that_the_documents_disagree_on() -> None:
    with pytest.warns(KnobWarning):
        fresh, _ = registry(MXNET_USE_NAIVE_STORAGE_MANAGER="1")
    assert fresh.get("MXNET_USE_NAIVE_STORAGE_MANAGERS") == 1


# Writing back


def test_a_turned_knob_is_written_back_and_a_reset_one_removed() -> None:
    fresh, environ = registry()
    fresh.set(MXNET_CPU_WORKER_NTHREADS=3, MINIMX_SIM_GPU_MEMORY="256MiB")
    assert environ == {CPU: "3", "MINIMX_SIM_GPU_MEMORY": "256MiB"}
    with fresh(MXNET_ENGINE_TYPE="NaiveEngine"):
        assert environ[ENGINE] == "NaiveEngine"
    assert ENGINE not in environ
    fresh.reset()
    assert environ == {}


def test_turning_a_knob_removes_its_other_spellings() -> None:
    with pytest.warns(KnobWarning):
        fresh, environ = registry(MXNET_CPU_POOL_PAGE_SIZE="64")
    fresh.set(**{PAGE: 128})
    assert environ == {PAGE: "128"}


# Later changes


def test_a_changed_variable_is_adopted() -> None:
    fresh, environ = registry()
    seen = []
    fresh.watch(ENGINE, lambda name, new, old: seen.append(new))
    environ[ENGINE] = "NaiveEngine"
    assert fresh.sync_from_environ() == {ENGINE: "NaiveEngine"}
    assert fresh.sync_from_environ() == {}
    del environ[ENGINE]
    assert fresh.sync_from_environ() == {ENGINE: "ThreadedEnginePerDevice"}
    assert seen == ["NaiveEngine", "ThreadedEnginePerDevice"]


def test_what_we_wrote_ourselves_is_no_change() -> None:
    fresh, environ = registry()
    fresh.set(MXNET_CPU_WORKER_NTHREADS=3)
    fresh.reset()
    assert fresh.sync_from_environ() == {}


def test_a_bad_later_value_warns_and_is_put_back() -> None:
    fresh, environ = registry(MXNET_CPU_WORKER_NTHREADS="2")
    environ.update({CPU: "two", ENGINE: "Threded"})
    with pytest.warns(KnobWarning) as caught:
        assert fresh.sync_from_environ() == {}
    assert len(caught) == 2
    assert environ == {CPU: "2"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fresh.sync_from_environ() == {}


def test_a_later_value_that_a_watcher_refuses_is_put_back() -> None:
    from minimx.core.errors import EngineError

    def refuse(name: str, new: object, old: object) -> None:
        if new == 9:
            raise EngineError("no nine workers here.")

    fresh, environ = registry()
    fresh.watch(CPU, refuse)
    environ[CPU] = "9"
    with pytest.warns(KnobWarning, match="no nine workers"):
        fresh.sync_from_environ()
    assert fresh.get(CPU) == 1
    assert environ == {}


def test_an_unknown_later_variable_warns_once() -> None:
    fresh, environ = registry()
    environ["MXNET_GPU_MEM_POOL_TIPE"] = "Round"
    with pytest.warns(KnobWarning, match="Did you mean MXNET_GPU_MEM_POOL_TYPE"):
        fresh.sync_from_environ()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fresh.sync_from_environ()


def test_a_later_alias_is_adopted() -> None:
    fresh, environ = registry()
    environ[PAGE_ALIAS] = "256"
    with pytest.warns(KnobWarning):
        assert fresh.sync_from_environ() == {PAGE: 256}
    del environ[PAGE_ALIAS]
    assert fresh.sync_from_environ() == {PAGE: 4096}


def test_the_real_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with knobs(MINIMX_PROGRESS=True):
        monkeypatch.setattr(assigned, "_changed", None)  # as in IPython
        monkeypatch.setitem(os.environ, "MINIMX_PROGRESS", "0")
        assert knobs.MINIMX_PROGRESS is True
        assert sync_from_environ() == {"MINIMX_PROGRESS": False}
        assert knobs.MINIMX_PROGRESS is False


def run(code: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_child_process_inherits_a_turned_knob() -> None:
    ask = "from minimx.core.knobs import knobs; print(knobs.MINIMX_RECORD_CAPACITY)"
    with knobs(MINIMX_RECORD_CAPACITY=77):
        assert run(ask).stdout == "77\n"


def test_a_foreign_variable_does_not_stop_a_program() -> None:
    done = run(
        "import minimx.core.knobs; print('ran')",
        MXNET_NO_SUCH_THING="1",
        MINIMX_CLOCK="sundial",
    )
    assert done.stdout == "ran\n"
    assert "MXNET_NO_SUCH_THING, which is not a knob" in done.stderr
    assert "choose wall or virtual" in done.stderr


def test_warnings_at_the_start_point_at_the_users_import(tmp_path: Path) -> None:
    script = tmp_path / "mine.py"
    script.write_text("# mine\nimport minimx\n")
    done = subprocess.run(
        [sys.executable, script],
        env={
            **os.environ,
            "MXNET_NO_SUCH_THING": "1",
            "MINIMX_CLOCK": "sundial",
            "MXNET_RNN_USE_WEIGHT_CACHE": "1",
            "KMP_AFFINITY": "everywhere",
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    places = [x.partition(" ")[0] for x in done.stderr.splitlines() if "Warning:" in x]
    assert len(places) == 4
    assert set(places) == {f"{script}:2:"}


# Later, in a script


def later(code: str) -> list[str]:
    """What a script prints that has imported the knobs, and lines of its warnings."""
    done = run(f"import os\nfrom minimx.core.knobs import knobs\n{code}")
    assert "Traceback" not in done.stderr, done.stderr
    warned = [x.partition(": ")[2] for x in done.stderr.splitlines() if "Warning" in x]
    return [*done.stdout.splitlines(), *warned]


def test_assigning_to_the_environment_acts_at_once() -> None:
    assert later(
        "heard = []\n"
        "knobs.watch('*', lambda *news: heard.append(news))\n"
        "os.environ['MXNET_CPU_WORKER_NTHREADS'] = '3'\n"
        "os.environ.update(MXNET_CPU_POOL_PAGE_SIZE='8192')\n"
        "os.environ.setdefault('MINIMX_CLOCK', 'virtual')\n"
        "os.environ['SOMETHING_ELSE'] = '3'\n"
        "print(knobs.MXNET_CPU_WORKER_NTHREADS, knobs.MXNET_CPU_MEM_POOL_PAGE_SIZE)\n"
        "del os.environ['MXNET_CPU_WORKER_NTHREADS']\n"
        "os.environ.pop('MINIMX_CLOCK')\n"
        "print(len(heard), knobs.diff())"
    )[:2] == ["3 8192", "5 {'MXNET_CPU_MEM_POOL_PAGE_SIZE': (4096, 8192)}"]


def test_what_cannot_act_is_said_at_the_line_that_assigned() -> None:
    code = (
        "os.environ['MINIMX_CLOCK'] = 'sundial'\n"
        "print(knobs.MINIMX_CLOCK, 'MINIMX_CLOCK' in os.environ)\n"
        "os.environ['MXNET_ENGIN_TYPE'] = 'NaiveEngine'\n"
        "os.environ['MXNET_RNN_USE_WEIGHT_CACHE'] = '1'\n"
    )
    value, bad, unknown, planned = later(code)
    assert value == "wall False"
    assert "choose wall or virtual" in bad and "stays 'wall'" in bad
    assert "MXNET_ENGIN_TYPE, which is not a knob" in unknown
    assert "MXNET_RNN_USE_WEIGHT_CACHE" in planned
    done = run(f"import os\nfrom minimx.core.knobs import knobs\n{code}")
    places = [x.split(":")[1] for x in done.stderr.splitlines() if "Warning" in x]
    assert places == ["3", "5", "6"]


def test_the_environment_stays_what_it_was() -> None:
    assert later(
        "import copy, pickle, subprocess, sys\n"
        "print(type(os.environ).__mro__[1].__name__, repr(os.environ)[:8])\n"
        "print(os.environ.copy() == dict(os.environ), os.environb is not None)\n"
        "os.environ['MINIMX_PROGRESS'] = '0'\n"
        "ask = 'import os; print(os.environ[\"MINIMX_PROGRESS\"])'\n"
        "print(subprocess.run([sys.executable, '-c', ask], "
        "capture_output=True, text=True).stdout.strip())\n"
    ) == ["_Environ environ(", "True True", "0"]


def test_all_or_none_stand_alone_in_a_list() -> None:
    fresh, _ = registry()
    for text in ("0,float32", "float32,1", "0,1"):
        with pytest.raises(KnobError, match="means all or none and stands alone"):
            fresh.set(MXNET_USE_OPERATOR_TUNING=text)
    fresh.set(MXNET_USE_OPERATOR_TUNING="float32,float16")
    assert fresh.get("MXNET_USE_OPERATOR_TUNING") == ("float32", "float16")


def test_a_file_is_no_home(tmp_path: Path) -> None:
    fresh, _ = registry()
    file = tmp_path / "file"
    file.write_text("")
    for path in (file, file / "below"):
        with pytest.raises(KnobError, match="file is a file. Choose a folder"):
            fresh.set(MXNET_HOME=path)
    for path in (tmp_path, tmp_path / "to" / "come"):
        fresh.set(MXNET_HOME=path)
        assert fresh.get("MXNET_HOME") == str(path)
    with pytest.warns(KnobWarning, match="is a file. Choose a folder"):
        registry(MXNET_HOME=str(file))
