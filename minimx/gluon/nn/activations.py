"""Activation layers: one function, applied to every element.

x and the output have one shape and one dtype, float16, float32 or float64.
"""

from __future__ import annotations

from typing import Any

from minimx import initializer
from minimx.core.arrays.array import NDArray
from minimx.core.errors import ArgumentError
from minimx.gluon.block import HybridBlock

__all__ = [
    "Activation", "ELU", "GELU", "LeakyReLU", "PReLU", "SELU", "SiLU", "Swish",
]  # fmt: skip


class Activation(HybridBlock):
    """`relu`, `sigmoid`, `tanh`, `softrelu` or `softsign`, element by element.

    relu: max(x, 0); softrelu: log(1 + exp(x)); softsign: x / (1 + |x|). Another name
    raises OperatorError at the first call, as in MXNet.
    """

    def __init__(self, activation: str, **kwargs: Any) -> None:
        self._act_type = activation
        super().__init__(**kwargs)

    def _alias(self) -> str:
        return self._act_type

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._act_type})"

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Same shape as x."""
        return F.Activation(x, act_type=self._act_type, name="fwd")


class LeakyReLU(HybridBlock):
    """x where x > 0, else alpha * x. Raises ArgumentError for a negative alpha."""

    def __init__(self, alpha: float, **kwargs: Any) -> None:
        if alpha < 0:
            raise ArgumentError(
                f"LeakyReLU: alpha={alpha} would turn the left side upwards; "
                "give 0 or more."
            )
        super().__init__(**kwargs)
        self._alpha = alpha

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._alpha})"

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Same shape as x."""
        return F.LeakyReLU(x, act_type="leaky", slope=self._alpha, name="fwd")


class PReLU(HybridBlock):
    """Leaky ReLU whose slope is learnt: one for all channels, or one for each.

    in_channels: 1, or the length of axis 1. alpha (in_channels,), 0.25 at first.
    """

    def __init__(
        self, alpha_initializer: Any = None, in_channels: int = 1, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        start = initializer.Constant(0.25)
        with self.name_scope():
            self.alpha = self.params.get(
                "alpha",
                shape=(in_channels,),
                init=start if alpha_initializer is None else alpha_initializer,
            )

    def hybrid_forward(self, F: Any, x: Any, alpha: Any) -> Any:
        """Same shape as x."""
        return F.LeakyReLU(x, gamma=alpha, act_type="prelu", name="fwd")


class ELU(HybridBlock):
    """x where x > 0, else alpha * (exp(x) - 1) (Clevert et al., 2015)."""

    def __init__(self, alpha: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._alpha = alpha

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Same shape as x."""
        return F.LeakyReLU(x, act_type="elu", slope=self._alpha)


class SELU(HybridBlock):
    """1.0507 * ELU(x) with alpha 1.6733: keeps mean 0 and variance 1.

    Klambauer et al., 2017.
    """

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Same shape as x."""
        return F.LeakyReLU(x, act_type="selu", name="fwd")


class GELU(HybridBlock):
    """x * Phi(x), with Phi the distribution function of the standard normal.

    Hendrycks and Gimpel, 2016; computed with erf, not with its tanh approximation.
    """

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Same shape as x."""
        return F.LeakyReLU(x, act_type="gelu", name="fwd")


class Swish(HybridBlock):
    """x * sigmoid(beta * x) (Ramachandran et al., 2017); beta is not learnt."""

    def __init__(self, beta: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._beta = beta

    def hybrid_forward(self, F: Any, x: NDArray) -> Any:
        """Same shape as x."""
        return x * F.sigmoid(self._beta * x, name="fwd")


class SiLU(Swish):
    """x * sigmoid(x): Swish with beta = 1."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(1.0, **kwargs)
