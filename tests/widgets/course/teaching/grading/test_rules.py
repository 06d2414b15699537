"""What no exercise needs is refused; what exercises need is not."""

from __future__ import annotations

import ast

import pytest

from minimx_widgets.course.teaching.grading import rules
from minimx_widgets.course.teaching.grading.slicing import needed

OWN = """
import minimx as mx
from minimx_widgets.course import hints, pooling
from minimx_widgets.course.pooling import serve
pooling.trace()
"""


def why(attempt: str) -> list[str]:
    own = ast.parse(OWN).body
    return list(rules.refusals(needed([OWN, attempt], 1), own, rules.said(own)))


@pytest.mark.parametrize(
    "attempt",
    [
        "import os",
        "import numpy.ctypeslib, sys",
        "from os import path",
        "from minimx.core.engine import os",
        "import numpy as np\nnp.os.remove('x')",
        "x = mx.nd.sys.modules",
        "open('answers')",
        "f = eval",
        "def f(): return f.__globals__",
        "x = (1 for _ in ()).gi_frame",
        "x = ''.__class__.__mro__",
        "__builtins__['abs'] = 1",
        "getattr(pooling, 'check' + '_choice')",
        "pooling.check_choice = print",
        "mx.nd.ones = 1",
        "from minimx_widgets.course.parts import checks",
        "from minimx_widgets.course.pooling import check_choice",
        "x = pooling.best()",
        "import requests",
        "import operator\nx = operator.attrgetter('f.__glo' + 'bals__')",
        "match print:\n    case object(__self__=builtin):\n        pass",
        "class Any(float):\n    def __eq__(self, other):\n        return True",
        "Any = type('Any', (float,), {'__eq__': lambda *_: True})",
    ],
)
def test_ways_to_the_check_and_to_the_machine_are_refused(attempt: str) -> None:
    assert why(attempt)


@pytest.mark.parametrize(
    "attempt",
    [
        "import math, numpy as np\nfrom functools import lru_cache",
        "x = pooling.trace()\ny = serve(3)",
        "class A:\n  def __init__(self):\n    super().__init__()\n    self.n = 1",
        "x = mx.nd.ones(3)\nx[0] = 2\nx.grad_req = 'write'",
        "with mx.knobs(MXNET_ENGINE_TYPE='NaiveEngine'):\n    pass",
        "exit()",
    ],
)
def test_what_exercises_need_is_allowed(attempt: str) -> None:
    assert why(attempt) == []


def test_the_line_is_named() -> None:
    assert why("x = 1\nopen('a')") == ["line 2 uses `open`"]
