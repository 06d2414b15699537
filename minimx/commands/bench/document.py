"""The tables of MXNet's document, typed in: images per second by batch size.

`performance-tips.md` measured MXNet 1.2.0.rc1 in 2018: scoring on five sizes of
Amazon's C5 (Xeon with MKL-DNN) and on three GPUs, training on the GPUs. Of AlexNet the
training batch is sixteen times what the row says; here the true one stands. The
document's ResNets are those of its example, which are of version 2.
"""

from __future__ import annotations

from dataclasses import dataclass

#: The columns, by the names of the zoo, and what the document calls them.
MODELS = {
    "alexnet": "AlexNet",
    "vgg16": "VGG-16",
    "inceptionbn": "Inception-BN",
    "inceptionv3": "Inception-v3",
    "resnet50_v2": "ResNet-50",
    "resnet152_v2": "ResNet-152",
}
SOURCE = "performance-tips.md"


@dataclass(frozen=True)
class Column:
    """One model on one machine of the document.

    speeds: images per second by batch size, None where the document says OOM.
    line: where the table begins in the document.
    """

    task: str  # score or train
    machine: str
    dtype: str
    model: str
    line: int
    speeds: dict[int, float | None]

    @property
    def label(self) -> str:
        """The machine; and the type, where it is not float32."""
        return self.machine if self.dtype == "float32" else f"{self.machine} fp16"


def columns(
    task: str | None = None, model: str | None = None, machine: str | None = None
) -> list[Column]:
    """The document's columns, as it orders them; only those asked for.

    >>> [column.label for column in columns("train", "alexnet")]
    ['K80', 'M60', 'V100']
    >>> columns("score", "vgg16", "K80")[0].speeds[128] is None
    True
    """
    return [
        column
        for column in COLUMNS
        if task in (None, column.task)
        and model in (None, column.model)
        and machine in (None, column.label)
    ]


def _read(table: str) -> list[Column]:
    """The columns of a table: a line that describes it, then rows of numbers."""
    head, models, *rows = table.strip().splitlines()
    task, machine, dtype, line = head.split()
    numbers = [row.split() for row in rows]
    return [
        Column(
            task,
            machine,
            dtype,
            model,
            int(line),
            {
                int(row[0]) * (16 if (task, model) == ("train", "alexnet") else 1): (
                    None if row[place] == "OOM" else float(row[place])
                )
                for row in numbers
            },
        )
        for place, model in enumerate(models.split(), 1)
    ]


#: Task, machine, type and line of the document; models; then batch size and speeds.
TABLES = """
score C5.18xlarge float32 74
alexnet vgg16 inceptionbn inceptionv3 resnet50_v2 resnet152_v2
1 390.53 81.57 124.13 62.26 76.22 32.92
2 596.45 100.84 206.58 93.36 119.55 46.80
4 710.77 119.04 275.55 127.86 148.62 59.36
8 921.40 120.38 380.82 157.11 167.95 70.78
16 1018.43 115.30 411.67 168.71 178.54 75.13
32 1290.31 107.19 483.34 179.38 193.47 85.86

score C5.9xlarge float32 88
alexnet vgg16 inceptionbn inceptionv3 resnet50_v2 resnet152_v2
1 257.77 50.61 130.99 66.95 75.38 32.33
2 410.60 63.02 195.14 87.84 102.67 41.57
4 462.59 62.64 263.15 109.87 127.15 50.69
8 573.79 63.95 309.99 121.36 140.84 59.01
16 709.47 67.79 350.19 128.26 147.41 64.15
32 831.46 69.58 354.91 129.92 149.18 64.25

score C5.4xlarge float32 100
alexnet vgg16 inceptionbn inceptionv3 resnet50_v2 resnet152_v2
1 214.15 29.32 114.97 47.96 61.01 23.92
2 310.04 34.81 150.09 60.89 71.16 27.92
4 330.69 34.56 186.63 74.15 86.86 34.37
8 378.88 35.46 204.89 77.05 91.10 36.93
16 424.00 36.49 211.55 78.39 91.23 37.34
32 481.95 37.23 213.71 78.23 91.68 37.26

score C5.2xlarge float32 112
alexnet vgg16 inceptionbn inceptionv3 resnet50_v2 resnet152_v2
1 131.01 15.67 78.75 31.12 37.30 14.75
2 182.29 18.01 98.59 39.13 45.98 17.84
4 189.31 18.25 110.26 41.35 49.21 19.32
8 211.75 18.57 115.46 42.53 49.98 19.81
16 236.06 19.11 117.18 42.59 50.20 19.92
32 261.13 19.46 116.20 42.72 49.95 19.80

score C5.xlarge float32 124
alexnet vgg16 inceptionbn inceptionv3 resnet50_v2 resnet152_v2
1 36.64 3.93 27.06 10.09 12.98 5.06
2 49.21 4.49 29.67 10.80 12.94 5.14
4 50.12 4.50 30.31 10.83 13.17 5.19
8 54.71 4.58 30.22 10.89 13.19 5.20
16 60.23 4.70 30.20 10.91 13.23 5.19
32 66.37 4.76 30.10 10.90 13.22 5.15

score K80 float32 157
alexnet vgg16 inceptionbn inceptionv3 resnet50_v2 resnet152_v2
1 243.93 43.59 68.62 35.52 67.41 23.65
2 338.16 49.14 113.41 56.29 93.35 33.88
4 478.92 53.44 159.61 74.43 119.18 45.23
8 683.52 70.50 190.49 86.23 131.32 50.54
16 1004.66 109.01 254.20 105.70 155.40 62.55
32 1238.55 114.98 285.49 116.79 159.42 64.99
64 1346.72 123.56 308.73 122.21 167.58 70.21
128 1416.91 OOM 320.98 123.11 171.55 71.85
256 1462.97 OOM 329.16 127.53 153.01 57.23

score M60 float32 171
alexnet vgg16 inceptionbn inceptionv3 resnet50_v2 resnet152_v2
1 243.49 59.95 101.97 48.30 95.46 39.29
2 491.04 69.14 170.35 80.27 142.61 60.17
4 711.54 78.94 257.89 123.09 182.36 76.51
8 1077.73 109.34 343.42 152.82 208.74 87.27
16 1447.21 144.93 390.25 166.32 220.73 92.41
32 1797.66 151.86 416.69 176.56 230.19 97.03
64 1779.38 150.18 427.51 183.47 239.12 101.59
128 1787.36 OOM 439.04 185.29 243.31 103.39
256 1899.10 OOM 450.22 183.42 242.36 100.98

score V100 float32 186
alexnet vgg16 inceptionbn inceptionv3 resnet50_v2 resnet152_v2
1 659.51 205.16 157.37 87.71 162.15 61.38
2 1248.21 265.40 297.34 159.24 293.74 116.30
4 2122.41 333.97 520.91 279.84 479.14 195.17
8 3894.30 420.26 898.09 455.03 699.39 294.19
16 5815.58 654.16 1430.97 672.54 947.45 398.79
32 7906.09 708.43 1847.26 814.59 1076.81 451.82
64 9486.26 701.59 2134.89 899.01 1168.37 480.44
128 10177.84 703.30 2318.32 904.33 1233.15 511.79
256 10990.46 473.62 2425.28 960.20 1155.07 449.35

score V100 float16 200
vgg16 inceptionbn inceptionv3 resnet50_v2 resnet152_v2
1 276.29 155.53 150.99 270.89 96.79
2 476.91 296.45 282.02 493.99 176.88
4 711.92 525.05 492.45 851.15 321.52
8 1047.11 900.26 807.94 1282.36 517.66
16 1299.88 1441.41 1192.21 1722.97 724.57
32 1486.63 1854.30 1512.08 2085.51 887.34
64 1219.65 2138.61 1687.35 2341.67 1002.90
128 1169.81 2317.39 1818.26 2355.04 1046.98
256 764.16 2425.16 1653.74 1991.88 976.73

train K80 float32 222
alexnet inceptionv3 resnet50_v2
1 300.30 10.48 15.61
2 406.08 16.00 23.88
4 461.01 22.10 32.26
8 484.00 26.80 39.42
16 490.45 31.62 46.69
32 414.72 33.78 49.48

train M60 float32 233
alexnet inceptionv3 resnet50_v2
1 380.96 14.06 20.55
2 530.53 21.90 32.65
4 600.17 31.96 45.57
8 633.60 40.58 54.92
16 639.37 46.88 64.44
32 576.54 50.05 68.34

train V100 float32 244
alexnet inceptionv3 resnet50_v2
1 1629.52 21.83 34.54
2 2359.73 40.11 65.01
4 2687.89 72.79 113.49
8 2919.02 118.43 174.81
16 2994.32 173.15 251.22
32 2585.61 214.48 298.51
64 1984.21 247.43 343.19
128 OOM 253.68 363.69
"""
COLUMNS = [column for table in TABLES.strip().split("\n\n") for column in _read(table)]
