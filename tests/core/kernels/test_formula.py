from __future__ import annotations

import numpy as np
import pytest

from minimx.core.errors import OperatorError
from minimx.core.kernels.formula import Formula


def test_names_are_the_operands_that_are_used_in_their_order() -> None:
    formula = Formula("where(y > 0, dy, 0)", ("dy", "x", "y"))
    assert formula.names == ("dy", "y")


def test_a_formula_computes_with_anything() -> None:
    formula = Formula("maximum(a, 2) ** 2 - b", ("a", "b"))
    functions = {"maximum": np.maximum}
    found = formula.evaluate(functions, {"a": np.array([1, 3]), "b": 1})
    assert found.tolist() == [3, 8]


def test_formulas_with_one_text_are_one_key() -> None:
    assert Formula("a + b", ("a", "b")) == Formula("a + b", ("a", "b"))
    assert Formula("a + b", ("a", "b")) != Formula("a + b", ("b", "a"))
    assert len({Formula("a + b", ("a", "b")), Formula("a + b", ("a", "b"))}) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("__import__('os')", "no function __import__"),
        ("x.__class__", "Attribute is not part of the language"),
        ("[x for x in a]", "ListComp is not part"),
        ("exp(x, x)", "no function exp of 2 arguments"),
        ("x + w", "w is neither an operand (x) nor a function"),
        ("lambda: x", "Lambda is not part"),
    ],
)
def test_anything_else_is_refused(text: str, words: str) -> None:
    with pytest.raises(OperatorError) as error:
        Formula(text, ("x",))
    assert words in str(error.value)
