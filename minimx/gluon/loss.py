"""Losses: how wrong a prediction is, one number for each sample of the batch.

Every loss is called as `loss(prediction, label, sample_weight)` and gives an array of
shape (batch,). Predictions are (batch, …); a label of another shape and the same size
is reshaped like its prediction. `weight` scales the whole loss; `sample_weight` scales
single elements and must broadcast to the loss before it is averaged. `batch_axis` is
the axis that counts the samples; all others are averaged.
"""

from __future__ import annotations

import operator
from math import pi
from typing import Any

from minimx.aliases import resolve_missing as _resolve_missing
from minimx.core.errors import ArgumentError
from minimx.gluon.block import HybridBlock
from minimx.np.multiarray import ndarray


# The next two are called by losses that users write; their names are MXNet's.
def _apply_weighting(
    F: Any, loss: Any, weight: Any = None, sample_weight: Any = None
) -> Any:
    if sample_weight is not None:
        weighted = isinstance(loss, ndarray) and isinstance(sample_weight, ndarray)
        multiply = operator.mul if weighted else F.broadcast_mul
        loss = multiply(loss, sample_weight)
    return loss if weight is None else loss * weight


def _reshape_like(F: Any, x: Any, y: Any) -> Any:
    return F.reshape_like(x, y)


def _softplus(F: Any, x: Any) -> Any:
    """log(1 + exp(x))."""
    return F.Activation(x, act_type="softrelu")


class Loss(HybridBlock):
    """The base: keeps `weight` and `batch_axis`.

    weight: a number that the loss is multiplied by, or None.
    """

    def __init__(self, weight: float | None, batch_axis: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if weight is not None and not isinstance(weight, (int, float)):
            raise ArgumentError(
                f"{type(self).__name__}: weight={weight!r} must be a number. Weights "
                "of single samples are given in the call, as sample_weight."
            )
        self._weight = weight
        self._batch_axis = batch_axis

    def __repr__(self) -> str:
        return f"{type(self).__name__}(batch_axis={self._batch_axis}, w={self._weight})"

    def _mean(self, F: Any, loss: Any, sample_weight: Any) -> Any:
        """Weigh, and average each sample."""
        loss = _apply_weighting(F, loss, self._weight, sample_weight)
        return F.mean(loss, axis=self._batch_axis, exclude=True)


class _PairLoss(Loss):
    """The base of losses of one prediction and one label; they write `_loss`."""

    def _loss(self, F: Any, pred: Any, label: Any) -> Any:
        """The loss of each element, before it is weighed."""
        raise ArgumentError(f"{type(self).__name__} has no _loss(F, pred, label)")

    def hybrid_forward(
        self, F: Any, pred: Any, label: Any, sample_weight: Any = None
    ) -> Any:
        """(batch,)."""
        return self._mean(F, self._loss(F, pred, label), sample_weight)


def _difference(F: Any, pred: Any, label: Any) -> Any:
    """Label - prediction; the label may have another shape of the same size."""
    return F.reshape_like(label, pred) - pred


class L2Loss(Loss):
    """½ · weight · (prediction - label)², averaged over all axes but `batch_axis`."""

    def __init__(
        self, weight: float | None = 1.0, batch_axis: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(
        self, F: Any, pred: Any, label: Any, sample_weight: Any = None
    ) -> Any:
        """(batch,)."""
        loss = F.square(_difference(F, pred, label))
        half = 0.5 if self._weight is None else self._weight / 2
        loss = _apply_weighting(F, loss, half, sample_weight)
        return F.mean(loss, axis=self._batch_axis, exclude=True)


class L1Loss(_PairLoss):
    """weight · |prediction - label|, averaged over all axes but `batch_axis`."""

    def __init__(
        self, weight: float | None = None, batch_axis: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)

    def _loss(self, F: Any, pred: Any, label: Any) -> Any:
        return F.abs(_difference(F, pred, label))


class HuberLoss(_PairLoss):
    """|d| - rho/2 where the difference |d| is larger than rho, else d² / (2 rho).

    L1 loss far from the label, L2 loss near it. pred (batch, …); label of its size.
    """

    def __init__(
        self,
        rho: float = 1,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._rho = rho

    def _loss(self, F: Any, pred: Any, label: Any) -> Any:
        rho, off = self._rho, F.abs(_difference(F, pred, label))
        return F.where(off > rho, off - 0.5 * rho, (0.5 / rho) * F.square(off))


class SigmoidBinaryCrossEntropyLoss(Loss):
    """Cross entropy of yes/no decisions; label holds probabilities of "yes".

    from_sigmoid: pred is a probability already; otherwise a score, and both steps are
        taken as one, which is exact for large scores too.
    pos_weight (in the call): weighs the "yes" labels; broadcasts to pred.
    """

    def __init__(
        self,
        from_sigmoid: bool = False,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_sigmoid = from_sigmoid

    def hybrid_forward(
        self,
        F: Any,
        pred: Any,
        label: Any,
        sample_weight: Any = None,
        pos_weight: Any = None,
    ) -> Any:
        """(batch,)."""
        label = F.reshape_like(label, pred)
        on_scores = self._on_probabilities if self._from_sigmoid else self._on_scores
        return self._mean(F, on_scores(F, pred, label, pos_weight), sample_weight)

    @staticmethod
    def _on_scores(F: Any, pred: Any, label: Any, pos_weight: Any) -> Any:
        tail = _softplus(F, -F.abs(pred))
        if pos_weight is None:
            return F.relu(pred) - pred * label + tail
        extra = 1 + F.broadcast_mul(pos_weight - 1, label)
        return pred - pred * label + extra * (tail + F.relu(-pred))

    @staticmethod
    def _on_probabilities(F: Any, pred: Any, label: Any, pos_weight: Any) -> Any:
        eps = 1e-12
        yes = F.log(pred + eps) * label
        if pos_weight is not None:
            yes = F.broadcast_mul(yes, pos_weight)
        return -(yes + F.log(1.0 - pred + eps) * (1.0 - label))


class SoftmaxCrossEntropyLoss(_PairLoss):
    """Cross entropy of a choice among classes.

    axis: where the classes are. sparse_label: label holds the number of the class
    (batch, …); otherwise a probability for each class, of the shape of pred.
    from_logits: pred holds log-probabilities already; otherwise scores.
    """

    def __init__(
        self,
        axis: int = -1,
        sparse_label: bool = True,
        from_logits: bool = False,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._axis = axis
        self._sparse_label = sparse_label
        self._from_logits = from_logits

    def _loss(self, F: Any, pred: Any, label: Any) -> Any:
        if not self._from_logits:
            pred = F.log_softmax(pred, axis=self._axis)
        if self._sparse_label:
            return -F.pick(pred, label, axis=self._axis, keepdims=True)
        label = F.reshape_like(label, pred)
        return -F.sum(pred * label, axis=self._axis, keepdims=True)


class KLDivLoss(Loss):
    """Kullback-Leibler divergence: the sum of label · (log label - pred).

    pred, label (batch, …) of one shape; label holds probabilities. from_logits: pred
    holds log-probabilities (the default); otherwise scores, which are normalized along
    `axis`. Summed over all axes but `batch_axis`.
    """

    def __init__(
        self,
        from_logits: bool = True,
        axis: int = -1,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits = from_logits
        self._axis = axis

    def hybrid_forward(
        self, F: Any, pred: Any, label: Any, sample_weight: Any = None
    ) -> Any:
        """(batch,)."""
        if not self._from_logits:
            pred = F.log_softmax(pred, axis=self._axis)
        loss = label * (F.log(label + 1e-12) - pred)
        loss = _apply_weighting(F, loss, self._weight, sample_weight)
        return F.sum(loss, axis=self._batch_axis, exclude=True)


class HingeLoss(_PairLoss):
    """max(0, margin - prediction · label), for labels -1 and 1."""

    def __init__(
        self,
        margin: float = 1,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def _loss(self, F: Any, pred: Any, label: Any) -> Any:
        return F.relu(self._margin - pred * F.reshape_like(label, pred))


class SquaredHingeLoss(HingeLoss):
    """max(0, margin - prediction · label)², for labels -1 and 1; see `HingeLoss`."""

    def _loss(self, F: Any, pred: Any, label: Any) -> Any:
        return F.square(super()._loss(F, pred, label))


class LogisticLoss(_PairLoss):
    """log(1 + exp(-prediction · label)).

    label_format: `signed` for labels -1 and 1, `binary` for 0 and 1.
    """

    def __init__(
        self,
        weight: float | None = None,
        batch_axis: int = 0,
        label_format: str = "signed",
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        if label_format not in ("signed", "binary"):
            raise ArgumentError(
                f"LogisticLoss: label_format={label_format!r}: choose 'signed' (-1 and "
                "1) or 'binary' (0 and 1)."
            )
        self._label_format = label_format

    def _loss(self, F: Any, pred: Any, label: Any) -> Any:
        label = F.reshape_like(label, pred)
        if self._label_format == "signed":
            label = (label + 1.0) / 2.0
        return F.relu(pred) - pred * label + _softplus(F, -F.abs(pred))


class TripletLoss(Loss):
    """max(0, |positive - pred|² - |negative - pred|² + margin).

    pred, positive, negative (batch, …) of one size: an example, one of the same class
    and one of another. The squares are summed over all axes but `batch_axis`.
    """

    def __init__(
        self,
        margin: float = 1,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(
        self,
        F: Any,
        pred: Any,
        positive: Any,
        negative: Any,
        sample_weight: Any = None,
    ) -> Any:
        """(batch,)."""
        near = F.square(_difference(F, pred, positive))
        far = F.square(_difference(F, pred, negative))
        gap = F.sum(near - far, axis=self._batch_axis, exclude=True)
        return _apply_weighting(
            F, F.relu(gap + self._margin), self._weight, sample_weight
        )


class PoissonNLLLoss(Loss):
    """Negative log-likelihood of counts; one number for the whole batch.

    from_logits: pred is the logarithm of the expected count. compute_full: add the term
    that does not depend on pred, by Stirling's formula.
    """

    def __init__(
        self,
        weight: float | None = None,
        from_logits: bool = True,
        batch_axis: int = 0,
        compute_full: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits = from_logits
        self._compute_full = compute_full

    def hybrid_forward(
        self,
        F: Any,
        pred: Any,
        target: Any,
        sample_weight: Any = None,
        epsilon: float = 1e-8,
    ) -> Any:
        """(1,)."""
        target = F.reshape_like(target, pred)
        if self._from_logits:
            loss = F.exp(pred) - target * pred
        else:
            loss = pred - target * F.log(pred + epsilon)
        if self._compute_full:
            size = target * F.log(target + epsilon) - target
            size = size + 0.5 * F.log(2 * (target + epsilon) * pi)
            loss = loss + size * (target > 1)
        return F.mean(_apply_weighting(F, loss, self._weight, sample_weight))


class CosineEmbeddingLoss(Loss):
    """1 - cos for pairs labelled 1, max(0, cos - margin) for pairs labelled -1.

    cos: of the angle between input1 and input2, (batch, length) each, along the last
    axis. label (batch,) of 1 and -1.
    """

    def __init__(
        self,
        weight: float | None = None,
        batch_axis: int = 0,
        margin: float = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(
        self,
        F: Any,
        input1: Any,
        input2: Any,
        label: Any,
        sample_weight: Any = None,
    ) -> Any:
        """(batch, 1)."""
        input1 = F.reshape_like(input1, input2)
        inner = F.sum(input1 * input2, axis=-1, keepdims=True)
        square1 = F.sum(F.square(input1), axis=-1, keepdims=True)
        square2 = F.sum(F.square(input2), axis=-1, keepdims=True)
        cosine = inner / F.sqrt(F._maximum_scalar(square1 * square2, scalar=1e-24))
        label = F.reshape_like(label, cosine)
        loss = F.where(label == 1, 1.0 - cosine, F.relu(cosine - self._margin))
        return _apply_weighting(F, loss, self._weight, sample_weight)


class CTCLoss(Loss):
    """The cost of reading labels out of sequences; the last letter is the blank.

    layout: 'NTC' or 'TNC', of predictions (batch, steps, alphabet), which are scores.
    label_layout: 'NT' or 'TN'; labels hold letters from 0, and -1 after their end,
    unless label_lengths (batch,) are given in the call. pred_lengths (batch,): the
    steps that count.
    """

    def __init__(
        self,
        layout: str = "NTC",
        label_layout: str = "NT",
        weight: float | None = None,
        **kwargs: Any,
    ) -> None:
        if layout not in ("NTC", "TNC") or label_layout not in ("NT", "TN"):
            raise ArgumentError(
                f"CTCLoss: layout={layout!r}, label_layout={label_layout!r}: choose "
                "'NTC' or 'TNC' for predictions, 'NT' or 'TN' for labels."
            )
        super().__init__(weight, label_layout.find("N"), **kwargs)
        self._layout = layout
        self._label_layout = label_layout

    def hybrid_forward(
        self,
        F: Any,
        pred: Any,
        label: Any,
        pred_lengths: Any = None,
        label_lengths: Any = None,
        sample_weight: Any = None,
    ) -> Any:
        """(batch,)."""
        if self._layout == "NTC":
            pred = F.swapaxes(pred, dim1=0, dim2=1)
        if self._label_layout == "TN":
            label = F.swapaxes(label, dim1=0, dim2=1)
        loss = F.CTCLoss(
            pred,
            label,
            data_lengths=pred_lengths,
            label_lengths=label_lengths,
            use_data_lengths=pred_lengths is not None,
            use_label_lengths=label_lengths is not None,
            blank_label="last",
        )
        return _apply_weighting(F, loss, self._weight, sample_weight)


class SDMLLoss(Loss):
    """Pairs should be nearer to each other than to the rest of the batch.

    Row i of x1 belongs to row i of x2; softmax of minus the squared distances should
    pick it. smoothing_parameter: so much is shared out over the other rows.
    """

    def __init__(
        self,
        smoothing_parameter: float = 0.3,
        weight: float | None = 1.0,
        batch_axis: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self.kl_loss = KLDivLoss(from_logits=True)
        self.smoothing_parameter = smoothing_parameter

    def hybrid_forward(self, F: Any, x1: Any, x2: Any) -> Any:
        """(batch,)."""
        batch = x1.shape[0]
        apart = F.broadcast_sub(F.expand_dims(x1, axis=1), F.expand_dims(x2, axis=0))
        distances = F.sum(F.square(apart), axis=2)
        others = self.smoothing_parameter / max(batch - 1, 1)
        pairs = F.one_hot(
            F.arange(batch, ctx=x1.context),
            depth=batch,
            on_value=1 - self.smoothing_parameter,
            off_value=others,
        )
        return self.kl_loss(F.log_softmax(-distances, axis=1), pairs)


SoftmaxCELoss = SoftmaxCrossEntropyLoss
SigmoidBCELoss = SigmoidBinaryCrossEntropyLoss

_resolve_missing(__name__, globals())
