"""Stories that the documents tell, as values of the five switches and a few knobs more.

A story turns what its page names, and puts every other knob that a story turns back to
its default, so that one story after another gives the second one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from minimx.core.knobs import PRESETS

#: The settings of a lab among them.
SINGLE = {"dtype": "float32", "scaling": "dynamic", "averaged": "1"}
ALONE = {"devices": "1", "store": "device"}
#: A loss that is an average over 32 images of 512×512 pixels has gradients so small.
PIXELS = str(32 * 512 * 512)
GRAPHS = {"graph": "hybridized"}
IDLE = "troubleshooting-guide.md, Under-utilized GPUs"
MIXED = "troubleshooting-guide.md, Numerical Instability in Mixed Precision Training"


@dataclass(frozen=True, eq=False)
class Story:
    """Knobs and settings of a lab that belong together, why, and the page behind it."""

    meaning: str
    source: str
    knobs: Mapping[str, object]
    settings: Mapping[str, str]


def _story(
    meaning: str, source: str, settings: Mapping[str, str], **turned: object
) -> Story:
    return Story(meaning, source, turned, SINGLE | ALONE | dict(settings))


_STORIES = {
    "defaults": _story("All five as they are before anything is turned.", "", GRAPHS),
    "minimum memory": _story(
        "Results written over their inputs, activations computed again instead of "
        "kept, one workspace.",
        "env-vars-2.0.md, Memory Optimizations, Settings for Minimum Memory Usage",
        GRAPHS,
        MXNET_BACKWARD_DO_MIRROR=1,
        MINIMX_MIRROR="best",
        **PRESETS["minimum memory"].values,
    ),
    "maximum speed": _story(
        "A graph whose memory is laid out once, nothing computed twice, blocks kept "
        "for reuse, workers for every device.",
        "troubleshooting-guide.md, Use Static Shapes and Allocation",
        {"graph": "static"},
    ),
    "debug": _story(
        "Every operation runs inside the call that asks for it, operator by operator, "
        "so that an error shows up at its own line.",
        PRESETS["debug errors"].source,
        {"graph": "imperative"},
        **PRESETS["debug errors"].values,
    ),
    "half precision": _story(
        "Layers compute in float16, weights stay float32. The loss is an average over "
        "8,388,608 elements, as of 32 images of 512×512 pixels, so gradients are "
        "small; a loss scale that adapts itself keeps them from vanishing, and "
        "accuracy is that of float32.",
        MIXED,
        {"dtype": "float16", "scaling": "dynamic", "averaged": PIXELS},
    ),
    "half precision, gone wrong": _story(
        "The same without a loss scale: small gradients become zero, silently. From "
        "the first step on, all those of LeNet's first layer are (layers, below the "
        "test images); the loss stays at 2.30, that of guessing, and later grows. In "
        "float32 the same average changes no bit.",
        MIXED,
        {"dtype": "float16", "scaling": "off", "averaged": PIXELS},
    ),
    "nothing saved": _story(
        "No pool, no writing in place, nothing computed again: what the three save "
        "is what this costs more.",
        "env-vars-2.0.md, Memory Options",
        GRAPHS,
        MXNET_CPU_MEM_POOL_TYPE="Unpooled",
        MXNET_GPU_MEM_POOL_TYPE="Unpooled",
        MXNET_EXEC_ENABLE_INPLACE=0,
    ),
    "idle devices": _story(
        "Four devices share batches of 16, and the host adds their gradients: a step "
        "is starts and copies, hardly arithmetic. Look at the gaps in the lanes of the "
        "devices, at samples/s, and at what is sent per step. Choose Device gpu(0) "
        "first, where copies go over links.",
        IDLE,
        GRAPHS | {"devices": "4", "store": "local", "batch_size": "16"},
    ),
    "idle devices, put to work": _story(
        "The same four devices with batches of 512, and devices that add gradients "
        "themselves: fewer bytes per step for 32 times the samples, none of them "
        "through the host. The guide takes the store nccl: on GPUs, try it as well.",
        IDLE,
        GRAPHS | {"devices": "4", "store": "device", "batch_size": "512"},
    ),
}
_TURNED = {name for story in _STORIES.values() for name in story.knobs}
STORIES: Mapping[str, Story] = {
    name: replace(story, knobs=dict.fromkeys(sorted(_TURNED)) | dict(story.knobs))
    for name, story in _STORIES.items()
}
