"""Points in the plane whose classes can be seen: the first things to train on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Points = tuple[NDArray[np.float32], NDArray[np.uint8]]


def _shuffled(
    parts: list[NDArray[np.float64]], noise: float, random: np.random.RandomState
) -> Points:
    """Join one array of points per class, shake them, and mix their order."""
    points = np.concatenate(parts)
    labels = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    points = points + random.normal(0.0, noise, size=points.shape)
    order = random.permutation(len(points))
    return points[order].astype(np.float32), labels[order].astype(np.uint8)


def spirals(
    count: int = 300, classes: int = 3, noise: float = 0.03, seed: int = 0
) -> Points:
    """Arms of a spiral, one class each: `count` points (n, 2) within about 1 of 0.

    No straight line separates them; a single hidden layer learns to.

    >>> points, labels = spirals(6, classes=2)
    >>> points.shape, sorted(labels.tolist())
    ((6, 2), [0, 0, 0, 1, 1, 1])
    """
    arms = []
    for arm in range(classes):
        radius = np.linspace(0.05, 1.0, count // classes)
        angle = 4.0 * radius + 2 * np.pi * arm / classes
        arms.append(np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1))
    return _shuffled(arms, noise, np.random.RandomState(seed))


def moons(count: int = 200, noise: float = 0.1, seed: int = 0) -> Points:
    """Two half circles that hook into each other, `count` points (n, 2)."""
    angle = np.linspace(0.0, np.pi, count // 2)
    upper = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    lower = np.stack([1.0 - np.cos(angle), 0.5 - np.sin(angle)], axis=1)
    return _shuffled([upper, lower], noise, np.random.RandomState(seed))


def blobs(
    count: int = 300, classes: int = 3, noise: float = 0.15, seed: int = 0
) -> Points:
    """Round clouds on a circle, `count` points (n, 2): what a linear model can do."""
    angles = 2 * np.pi * np.arange(classes) / classes
    clouds = [np.tile([np.cos(a), np.sin(a)], (count // classes, 1)) for a in angles]
    return _shuffled(clouds, noise, np.random.RandomState(seed))
