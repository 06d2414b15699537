"""A job whose rank is killed, and a new one that goes on from the checkpoint."""

from __future__ import annotations

import re
import time
from pathlib import Path

import numpy as np
import pytest

from .test_launched import begun, ended

#: Seconds between the death of a rank and the end of the job: LOOK and GRACE of the
#: runtime, and room for a slow machine.
STATED = 10.0

pytestmark = [pytest.mark.alone, pytest.mark.timeout(90)]


def test_a_killed_job_goes_on_from_its_checkpoint_with_the_same_numbers(
    tmp_path: Path,
) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    whole.mkdir()
    cut.mkdir()
    code, text = ended(begun("checkpoints.py", str(whole)))
    assert code == 0, text

    code, text = ended(begun("checkpoints.py", str(cut), "kill", "5"))
    died = (cut / "0004").stat().st_mtime  # step 5 began right after it
    assert time.time() - died < STATED
    assert code == 137, text
    assert re.search(r"rank 0 stops: rank 1 died \(process \d+\)", text), text
    assert "minimx launch: rank 1" in text
    assert {one.name for one in cut.iterdir()} == {f"{step:04}" for step in range(5)}

    code, text = ended(begun("checkpoints.py", str(cut)))
    assert code == 0, text
    assert text.count("begins with step 5") == 2
    for rank in range(2):
        one, other = (np.load(f / f"final-{rank}.npz") for f in (whole, cut))
        for name in one:
            np.testing.assert_array_equal(one[name], other[name])
