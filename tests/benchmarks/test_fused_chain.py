"""Five operators as one loop: fewer bytes, the same bits, a table of their times."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from minimx.symbol import Symbol
from tests.benchmarks.fused_chain import both, heavy, light, most, table


@pytest.mark.parametrize("chain", [light, heavy])
def test_a_fifth_of_the_bytes_is_moved(chain: Callable[[Symbol], Symbol]) -> None:
    op, together, apart = both(chain, 10**4)
    assert op.unfused.bytes_moved == 5 * op.cost(*op.specs).bytes_moved
    np.testing.assert_array_equal(together(), apart())


def test_a_table_has_a_row_for_each_chain_and_size() -> None:
    *_, one, other = table([1000], seconds=0.01).splitlines()
    for name, row in ((light, one), (heavy, other)):
        chain, size, separate, fused, ratio, met = row.strip("| ").split(" | ")
        assert (chain, size) == (name.__name__, "1,000")
        assert float(ratio) == pytest.approx(float(fused) / float(separate), rel=0.1)
        assert met == ("met" if float(fused) <= 1.1 * float(separate) else "missed")


def test_where_a_cache_ends_one_loop_has_to_save_more() -> None:
    assert most(light, 10**6) == 0.5
    assert most(light, 10**5) == most(heavy, 10**7) == 1.1
