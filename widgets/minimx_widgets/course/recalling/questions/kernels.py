"""Notebooks 10 to 12, and the case of convolutions: fusion, float16, feeding."""

from __future__ import annotations

import math

from minimx_widgets.course.recalling.question import choice, number


def _fewer(count: float) -> float:
    """How many times less pointwise operators in a row move in one loop."""
    import minimx as mx
    from minimx_widgets.course.fusing import traffic

    y, shapes = mx.sym.var("x"), {"x": (1 << 16,)}
    for _ in range(int(count)):
        y = mx.sym.tanh(y)
    apart = traffic(y, shapes, use_fusion=False).bytes_moved
    return apart / traffic(y, shapes).bytes_moved


def _left(terms: float) -> float:
    """Operators that are left of a * a + a * a + … after equal parts are merged."""
    import minimx as mx
    from minimx_widgets import GraphPassDiff

    a = mx.sym.var("a")
    total = a * a
    for _ in range(int(terms) - 1):
        total = total + a * a
    found = GraphPassDiff(total, a=(4, 4), shown="share").shown
    return sum(node.op is not None for node in found.after) if found else 0


def _mean(count: float) -> float:
    from minimx_widgets.course.rounding import running_sum

    return running_sum([1] * int(count)) / count


def _largest_scale(largest: float) -> float:
    return 2.0 ** math.floor(math.log2(65504 / largest))


QUESTIONS = (
    number(
        "10/loop",
        "{count} pointwise operators follow each other on one large array. In one "
        "loop, how many <b>times</b> fewer numbers are moved to and from memory?",
        _fewer,
        "×",
        by="the operators' data sheets",
        numbers={"count": (4, 6, 10)},
        wrong={
            lambda count: 2 * count: "The loop still has to read its input and write "
            "its output.",
            lambda count: count - 1: "That is the number of results in between. "
            "Compare all that is moved.",
        },
        within=0.02,
        about=["10/in-a-row", "10/more-inputs"],
    ),
    number(
        "10/shared",
        "The sum of {terms} products <code>a * a</code>, added one after the other. "
        "Equal parts are merged. How many operators are left?",
        _left,
        "operators",
        by="the pass",
        numbers={"terms": (2, 4, 6)},
        wrong={
            lambda terms: 2 * terms - 1: "That is before merging. All products are the "
            "same one.",
            1: "The product is one operator. Adding it up takes others.",
        },
        why="Sharing saves arithmetic. Fusion would make one loop of what is left, and "
        "saves traffic.",
        about=["10/merged"],
    ),
    choice(
        "10/product",
        "A block spends its time in one large matrix product and a relu. What does "
        "fusion of pointwise operators save?",
        "Nothing: a product is not pointwise, and a group of one is no group.",
        {
            "Half of the time: two operators become one.": "The product stays as it "
            "is, and takes nearly all of the time.",
            "The writing of the product's result.": "That needs a kernel of the "
            "product that applies the relu itself: another kind of fusion.",
        },
        about=["10/in-a-row"],
    ),
    choice(
        "10/parallel",
        "A colleague sets <code>MXNET_CPU_PARALLEL_SIZE=1</code>, “so that everything "
        "is parallel”, and training gets slower. Why?",
        "Small arrays now pay for threads that find nothing to do.",
        {
            "Threads are slower than the main thread.": "For large arrays they win. To "
            "wake them takes some microseconds.",
            "Results have to be added up again.": "A pointwise operator has nothing to "
            "add up. Waking the threads is what takes time.",
        },
        about=["10/threads-win"],
    ),
    number(
        "conv/transformed",
        "Winograd's F(<i>m</i> × <i>m</i>, 3 × 3) needs (<i>m</i> + 2)² products for "
        "<i>m</i>² outputs, each of which is a sum of 9 products otherwise. How many "
        "<b>times</b> fewer are they for <i>m</i> = {m}?",
        lambda m: 9 * m * m / (m + 2) ** 2,
        "×",
        by="the count",
        numbers={"m": (6, 3, 5)},
        wrong={
            9: "That would be one product for each output.",
            lambda m: m * m / (m + 2) ** 2: "An output takes nine products, if it is "
            "computed as defined.",
        },
        within=0.02,
        about=["conv/winograd2"],
    ),
    choice(
        "conv/fewest",
        "A layer has windows of 5 × 5 and 3 input channels. Which algorithm cannot "
        "compute it here?",
        "Winograd's.",
        {
            "The FFT.": "A spectrum can be made for windows of any size.",
            "im2col and a matrix product.": "Any window can be copied into a row.",
        },
        why="Its transforms are for windows of 3 × 3 that visit every pixel. An "
        "algorithm that works on many channels at once gains least with three.",
        about=["conv/winograd2"],
    ),
    choice(
        "conv/rounding",
        "A colleague trains twice with autotuning and gets accuracies that differ in "
        "the third decimal. How do you find out whether that is a fault?",
        "Train twice with the stopwatch off, and compare.",
        {
            "Train ten times and take the mean.": "The mean hides the difference and "
            "does not explain it.",
            "Train in float64.": "Another algorithm may win the race there, too. What "
            "varies is the choice.",
        },
        why="Another algorithm may have won the race, and sums in another order round "
        "differently. With mode 0, or with <code>MXNET_ENFORCE_DETERMINISM</code>, the "
        "bits have to be the same.",
        about=["conv/error"],
    ),
    choice(
        "conv/space",
        "A colleague gives a layer <code>workspace=4096</code> “for speed”, and the "
        "network no longer fits into memory. What should be measured first?",
        "Whether any algorithm uses the space and is faster.",
        {
            "How much memory the GPU has.": "That does not tell whether the space is "
            "of any use.",
            "How large the weights are.": "The scratch memory does not depend on them "
            "alone. Which algorithm wants it?",
        },
        why="F(4 × 4) needed less than im2col here, and saved three quarters of the "
        "products.",
        about=["conv/workspace"],
    ),
    number(
        "11/mean",
        "The mean of {count} ones, added one after the other in float16. What is it?",
        _mean,
        by="float16",
        numbers={"count": (50_000, 20_000, 80_000)},
        wrong={
            1: "That is the exact mean. The sum stops growing long before the end.",
            lambda count: 1024 / count: "From 1024 on one more is a whole step, and "
            "still counts.",
            lambda count: 65504 / count: "That is the largest float16. The sum stops "
            "long before.",
        },
        within=0.02,
        why="Add in float32.",
        about=["11/sum-of-ones", "11/sum-of-tenths"],
    ),
    number(
        "11/largest-scale",
        "The largest gradient is {largest}, and 65,504 is the largest float16. What is "
        "the largest loss scale that is a power of two and does not overflow?",
        _largest_scale,
        by="the rule",
        numbers={"largest": (7, 13, 40)},
        wrong={
            lambda largest: 65504 / largest: "That is no power of two. A scale is "
            "halved and doubled.",
            lambda largest: 2 * _largest_scale(largest): "With this one the largest "
            "gradient overflows.",
        },
        about=["11/scale", "11/skipped"],
    ),
    choice(
        "11/skips",
        "The loss scaler skips a step every few thousand steps. Should you worry?",
        "No: it tries twice the scale now and then, and takes it back.",
        {
            "Yes: gradients are lost.": "One step in thousands is. In the other "
            "steps the scale saves more than that.",
            "Yes: the weights hold a NaN.": "Then every step would be skipped, and the "
            "scale would fall further and further.",
        },
        about=["11/skipped"],
    ),
    choice(
        "11/bfloat",
        "A colleague trains in bfloat16 and scales the loss as well. What does the "
        "scale do?",
        "Nothing: bfloat16 has the exponents of float32.",
        {
            "It saves small gradients from becoming zero.": "They vanish where they "
            "would in float32. In float16 the scale saves them.",
            "It makes gradients less exact.": "To multiply by a power of two and "
            "divide again changes no digit.",
        },
    ),
    number(
        "12/threads-again",
        "A thread decodes an image in {decode} ms. The network takes {speed} images a "
        "second. How many threads does it need, if it is never to wait?",
        lambda decode, speed: math.ceil(speed * decode / 1000),
        "threads",
        by="the count",
        numbers={"decode": (3, 6), "speed": (1100, 2050, 900)},
        wrong={
            lambda decode, speed: speed * decode // 1000: "With so few the threads are "
            "a little slower than the network: round up.",
            lambda decode, speed: speed // decode: "In a second a thread decodes "
            "1000 ÷ the milliseconds of an image.",
        },
        about=["12/threads-needed", "12/one-buffer"],
    ),
    number(
        "12/ninety",
        "A batch of <i>b</i> images takes {once} + <i>b</i> · {each} ms. From which "
        "<i>b</i> on are 90 % of the peak reached?",
        lambda once, each: 9 * once / each,
        "images",
        by="the formula",
        numbers={"once": (4, 8, 12), "each": (0.5, 2, 0.25)},
        wrong={
            lambda once, each: once / each: "There half of a batch's time is its "
            "beginning: that is 50 %.",
            lambda once, each: 10 * once / each: "There the beginning is one part of "
            "eleven. For 90 % it is one part of ten.",
        },
        within=0.02,
        about=["12/larger-batch", "12/twice-as-large", "12/vgg"],
    ),
    choice(
        "12/buffers",
        "A card is busy 40 % of the time. A colleague doubles the number of buffers "
        "from 4 to 8. What will happen?",
        "Probably nothing: it is fed too slowly on average.",
        {
            "It is busy 80 % of the time.": "Buffers store images. They do not make "
            "any.",
            "It is busy a little more.": "Buffers help against unevenness. Here the "
            "mean is too low.",
        },
        why="More threads, smaller images or a faster disk may help. The stage that is "
        "never idle shows which of them.",
        about=["12/one-buffer"],
    ),
    choice(
        "12/new-card",
        "A new card has twice the arithmetic and twice the bandwidth; a launch takes "
        "as long as before. What happens to the batch that reaches 90 % of the peak?",
        "It doubles.",
        {
            "It stays.": "The time of an image is halved, that of the beginning stays. "
            "So the beginning counts twice as much.",
            "It is halved.": "The other way round: more images are needed to hide the "
            "same beginning.",
        },
        about=["12/float16"],
    ),
)
