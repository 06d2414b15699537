"""Models, losses and transforms of GluonCV."""

import mxnet as mx
import numpy as np
from common import CASES, arrays, asked, case, filled, image


def vision(name, size, train=True, top=None, **settings):
    def run():
        from gluoncv import model_zoo

        x = image(1, 3, size, size)
        more = {"pretrained": False, "pretrained_base": False, **settings}
        try:
            net = model_zoo.get_model(name, **more)
        except TypeError:
            del more["pretrained_base"]
            net = model_zoo.get_model(name, **more)
        found = asked(filled(net, x), x, train=train, training=True)
        # Boxes with nearly the same score change places.
        return [array[:, :top] for array in found] if top else found

    run.__name__ = "cv_" + name.replace(".", "_")
    CASES[run.__name__] = run


for name, size in {
    "cifar_resnet20_v1": 32,
    "cifar_resnet20_v2": 32,
    "cifar_wideresnet16_10": 32,
    "resnet18_v1": 64,
    "resnet18_v1b": 64,
    "resnet18_v2": 64,
    "se_resnet18_v1": 64,
    "resnest14": 64,
    "mobilenet0.25": 64,
    "mobilenetv2_0.25": 64,
    "mobilenetv3_small": 64,
    "squeezenet1.1": 224,
    "densenet121": 224,
    "alexnet": 224,
    "vgg11": 32,
    "googlenet": 224,
    "residualattentionnet56": 224,
    "simple_pose_resnet18_v1b": 64,
    "mobile_pose_mobilenet1.0": 64,
    "simple_pose_resnet50_v1d": 64,
}.items():
    vision(name, size)
for name, size in {
    "ssd_512_mobilenet1.0_voc": 128,
    "ssd_300_vgg16_atrous_voc": 300,
    "yolo3_mobilenet1.0_voc": 96,
    "yolo3_darknet53_voc": 96,
    "center_net_resnet18_v1b_voc": 64,
    "faster_rcnn_resnet50_v1b_voc": 128,
    "mask_rcnn_resnet18_v1b_coco": 192,
    "fcn_resnet50_voc": 480,
    "deeplab_resnet50_ade": 480,
    "psp_resnet50_ade": 480,
}.items():
    vision(name, size, train=False, top=10 if name.startswith("mask") else None)


@case
def cv_losses():
    """The losses of detectors, on made-up targets."""
    from gluoncv import loss

    rng = np.random.RandomState(3)
    scores = mx.nd.array(rng.normal(size=(2, 6, 4)))
    boxes = mx.nd.array(rng.normal(size=(2, 6, 4)))
    labels = mx.nd.array(rng.randint(0, 4, (2, 6)))
    places = mx.nd.array(rng.normal(size=(2, 6, 4)))
    for x in (scores, boxes):
        x.attach_grad()
    with mx.autograd.record():
        parts = loss.SSDMultiBoxLoss()([scores], [boxes], [labels], [places])
        focal = loss.FocalLoss(axis=-1, num_class=4)(scores, labels)
        whole = sum(x.sum() for x in arrays(parts)) + focal.sum()
    whole.backward()
    return [x.asnumpy() for x in (*arrays(parts), focal, scores.grad, boxes.grad)]


@case
def cv_transforms():
    """What a training set of SSD goes through."""
    from gluoncv.data.transforms import bbox
    from gluoncv.data.transforms import image as timage

    picture = mx.nd.array(
        np.random.RandomState(1).randint(0, 255, (40, 60, 3)), dtype="uint8"
    )
    small = timage.imresize(picture, 30, 20, interp=1)
    boxes = np.array([[1.0, 2, 30, 20, 0], [5, 5, 50, 39, 1]])
    flipped = bbox.flip(boxes, (60, 40), flip_x=True)
    cut = bbox.crop(boxes, (3, 3, 30, 30))
    return [small.asnumpy(), flipped, cut, bbox.resize(boxes, (60, 40), (30, 20))]
