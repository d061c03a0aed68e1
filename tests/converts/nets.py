# SPDX-License-Identifier: Apache-2.0
"""nets - shapes of graph as exporters write them: what stands at their borders, joins, cuts and pads."""
from onnx_text import Net


def nhwc_classifier():
    """TensorFlow: NHWC in and out, explicit pads before strided convolutions, ReLU6 and additions between."""
    n = Net()
    x = n.transpose(n.input("x", 1, 96, 96, 3), 0, 3, 1, 2)
    x = n.node("Pad", [x, n.ints(0, 0, 0, 0, 0, 0, 1, 1)], mode="constant")
    x = n.conv(x, 3, 24, stride=2, pad=0)
    for channels in (24, 40, 72):
        y = n.transpose(x, 0, 2, 3, 1)  # what a converter leaves between layers
        y = n.node("Clip", [y, n.constant([], b"\0\0\0\0", 1), n.constant([], b"\0\0\xc0\x40", 1)])
        y = n.node("Pad", [y, n.ints(0, 0, 0, 0, 0, 1, 1, 0)], mode="constant")
        y = n.transpose(y, 0, 3, 1, 2)
        w = {24: 24, 40: 24, 72: 40}[channels]
        y = n.conv(y, w, w, stride=2, pad=0, group=w)
        x = n.conv(y, w, channels, kernel=1)
    y = n.transpose(x, 0, 2, 3, 1)
    y = n.node("ReduceMean", [y], axes=[1, 2], keepdims=0)
    y = n.node("MatMul", [y, n.floats([72, 10], 0.2)])
    n.output(n.node("Softmax", [y], axis=-1))
    return n


def nhwc_segmentation():
    """NHWC image to NHWC mask: three channels in, three out, skip connections between."""
    n = Net()
    image = n.input("x", 1, 64, 96, 3)
    x = n.transpose(image, 0, 3, 1, 2)
    a = n.conv(x, 3, 3)
    b = n.conv(a, 3, 12, stride=2)
    c = n.conv(b, 12, 12)
    c = n.node("Add", [c, b])
    d = n.node("Resize", [c, "", n.floats_of([1, 1, 2, 2])], mode="linear",
               coordinate_transformation_mode="half_pixel")
    d = n.concat(1, d, a)
    d = n.conv(d, 15, 6)
    d = n.conv(d, 6, 3, kernel=1, act=None)
    d = n.node("Add", [d, x])
    n.output(n.transpose(n.node("Sigmoid", [d]), 0, 2, 3, 1))
    return n


def channel_slices():
    """Parts of channels by Slice and Split, unequal, treated apart and joined (CSP and Res2Net blocks)."""
    n = Net()
    x = n.conv(n.input("x", 1, 3, 64, 64), 3, 56, stride=2)
    for _ in range(2):
        a, b, c = n.slice(x, 1, 0, 12), n.slice(x, 1, 12, 36), n.slice(x, 1, 36, 56)
        b = n.conv(b, 24, 24)
        c = n.conv(n.conv(c, 20, 20), 20, 20)
        x = n.conv(n.concat(1, a, b, c), 56, 56, kernel=1)
    parts = n.node("Split", [x, n.ints(14, 14, 14, 14)], 4, axis=1)
    done, last = [parts[0]], None
    for part in parts[1:]:
        last = n.conv(part if last is None else n.node("Add", [part, last]), 14, 14)
        done.append(last)
    x = n.conv(n.concat(1, *done), 56, 24, kernel=1)
    n.output(n.conv(x, 24, 8, kernel=1, act=None))
    return n


def unequal_concats():
    """Inception: branches of 3, 6, 12 and 24 channels joined, with a pool among them."""
    n = Net()
    x = n.conv(n.input("x", 1, 3, 64, 64), 3, 24, stride=2)
    channels = 24
    for _ in range(3):
        a = n.conv(x, channels, 3, kernel=1)
        b = n.conv(n.conv(x, channels, 6, kernel=1), 6, 12)
        c = n.conv(n.conv(x, channels, 12, kernel=1), 12, 24, kernel=5)
        p = n.node("MaxPool", [x], kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1])
        p = n.conv(p, channels, 6, kernel=1)
        x, channels = n.concat(1, a, b, c, p), 45
    n.output(n.conv(x, channels, 3, kernel=1, act=None))
    return n


def shuffles():
    """ShuffleNet: halves, depthwise layers, concat and channel shuffle; three groups, too."""
    n = Net()
    x = n.conv(n.input("x", 1, 3, 64, 64), 3, 24, stride=2)
    for _ in range(3):
        left, right = n.node("Split", [x, n.ints(12, 12)], 2, axis=1)
        right = n.conv(right, 12, 12, kernel=1)
        right = n.conv(right, 12, 12, group=12, act=None)
        right = n.conv(right, 12, 12, kernel=1)
        x = n.concat(1, left, right)
        x = n.reshape(n.transpose(n.reshape(x, 1, 2, 12, 32, 32), 0, 2, 1, 3, 4), 1, 24, 32, 32)
    x = n.conv(x, 24, 24, kernel=1, group=3)
    x = n.reshape(n.transpose(n.reshape(x, 1, 3, 8, 32, 32), 0, 2, 1, 3, 4), 1, 24, 32, 32)
    x = n.conv(x, 24, 24, group=24, act=None)
    n.output(n.conv(x, 24, 10, kernel=1))
    return n


def padded_generator():
    """Style transfer: reflection pads before every convolution, instance norms, resized back up, three channels out."""
    n = Net()

    def layer(x, inputs, outputs, kernel, stride=1, act="Relu"):
        p = kernel // 2
        x = n.node("Pad", [x, n.ints(0, 0, p, p, 0, 0, p, p)], mode="reflect")
        x = n.conv(x, inputs, outputs, kernel, stride, 0, act=None)
        if act:
            x = n.node("InstanceNormalization", [x, n.floats([outputs], 0.1, 1.0), n.floats([outputs], 0.1)])
            x = n.node(act, [x])
        return x

    x = layer(n.input("x", 1, 3, 64, 64), 3, 24, 9)
    x = layer(x, 24, 40, 3, 2)
    for _ in range(2):
        y = layer(layer(x, 40, 40, 3), 40, 40, 3)
        x = n.node("Add", [x, y])
    x = n.node("Resize", [x, "", n.floats_of([1, 1, 2, 2])], mode="nearest",
               coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    x = layer(x, 40, 24, 3)
    n.output(layer(x, 24, 3, 9, act=None))
    return n


def depth_to_space_head():
    """Super-resolution: residual blocks, a pixel shuffle, the enlarged image added (3 channels)."""
    n = Net()
    image = n.input("x", 1, 3, 48, 48)
    x = n.conv(image, 3, 28)
    y = x
    for _ in range(3):
        z = n.conv(n.conv(y, 28, 28), 28, 28, act=None)
        y = n.node("Add", [y, z])
    y = n.node("Add", [n.conv(y, 28, 28, act=None), x])
    y = n.conv(y, 28, 12, act=None)
    y = n.node("DepthToSpace", [y], blocksize=2, mode="CRD")
    big = n.node("Resize", [image, "", n.floats_of([1, 1, 2, 2])], mode="linear",
                 coordinate_transformation_mode="half_pixel")
    n.output(n.node("Clip", [n.node("Add", [y, big]), n.constant([], b"\0\0\0\0", 1),
                             n.constant([], b"\0\0\x80\x3f", 1)]))
    return n


def detector():
    """SSD: heads as Conv, Transpose to NHWC, Reshape, Concat over four scales; scores through a softmax."""
    n = Net()
    x = n.conv(n.input("x", 1, 3, 96, 128), 3, 24, stride=2)
    height, width, channels, boxes, scores = 48, 64, 24, [], []
    for scale in range(4):
        outputs = channels + 16
        x = n.conv(n.conv(x, channels, channels, group=channels), channels, outputs, kernel=1)
        x = n.node("MaxPool", [x], kernel_shape=[2, 2], strides=[2, 2])
        height, width, channels = height // 2, width // 2, outputs
        anchors = 3 if scale == 0 else 2
        for out, each in ((scores, 2), (boxes, 4)):
            h = n.conv(x, channels, channels, group=channels)
            h = n.conv(h, channels, anchors * each, kernel=1, act=None)
            out.append(n.reshape(n.transpose(h, 0, 2, 3, 1), 1, height * width * anchors, each))
    n.output(n.node("Softmax", [n.concat(1, *scores)], axis=-1), n.concat(1, *boxes))
    return n


def gated_residuals():
    """Squeeze and excite, residual blocks with a 1x1 downsample, channels that 16 does not divide, by NHWC gates."""
    n = Net()
    x = n.conv(n.input("x", 1, 3, 64, 64), 3, 24, stride=2)
    channels, side = 24, 32
    for outputs in (24, 44, 60):
        stride = 1 if outputs == channels else 2
        y = n.conv(n.conv(x, channels, outputs, stride=stride), outputs, outputs, act=None)
        side //= stride
        g = n.node("GlobalAveragePool", [y])
        if outputs == 44:  # as PyTorch writes it: linear layers on a flat tensor
            g = n.reshape(g, 1, outputs)
            g = n.node("Relu", [n.node("Gemm", [g, n.floats([12, outputs], 0.3), n.floats([12], 0.1)], transB=1)])
            g = n.node("Gemm", [g, n.floats([outputs, 12], 0.3), n.floats([outputs], 0.1)], transB=1)
            g = n.reshape(n.node("Sigmoid", [g]), 1, outputs, 1, 1)
        else:
            g = n.node("Sigmoid", [n.conv(n.conv(g, outputs, 12, kernel=1), 12, outputs, kernel=1, act=None)])
        y = n.node("Mul", [y, g])
        if stride == 2:
            x = n.conv(x, channels, outputs, kernel=1, stride=2, act=None)
        x = n.node("Relu", [n.node("Add", [y, x])])
        channels = outputs
    x = n.reshape(n.node("GlobalAveragePool", [x]), 1, channels)
    n.output(n.node("Gemm", [x, n.floats([10, channels], 0.2), n.floats([10], 0.1)], transB=1))
    return n


def pyramid():
    """FPN and U-Net: enlarged and joined or added, three scales, one- and three-channel maps out."""
    n = Net()

    def up(x, mode):
        how = dict(coordinate_transformation_mode="asymmetric", nearest_mode="floor") if mode == "nearest" else \
            dict(coordinate_transformation_mode="align_corners")
        return n.node("Resize", [x, "", n.floats_of([1, 1, 2, 2])], mode=mode, **how)

    c1 = n.conv(n.input("x", 1, 3, 96, 96), 3, 20, stride=2)
    c2 = n.conv(c1, 20, 36, stride=2)
    c3 = n.conv(c2, 36, 68, stride=2)
    p3 = n.conv(c3, 68, 36, kernel=1, act=None)
    p2 = n.node("Add", [up(p3, "nearest"), n.conv(c2, 36, 36, kernel=1, act=None)])
    u2 = n.conv(n.concat(1, up(c3, "linear"), p2), 104, 36)
    u1 = n.conv(n.concat(1, up(u2, "linear"), c1), 56, 20)
    full = up(u1, "linear")
    n.output(n.node("Sigmoid", [n.conv(full, 20, 1, act=None)]), n.conv(u1, 20, 3, kernel=1, act=None),
             n.conv(p2, 36, 6, act=None))
    return n


ALL = [nhwc_classifier, nhwc_segmentation, channel_slices, unequal_concats, shuffles, padded_generator,
       depth_to_space_head, detector, gated_residuals, pyramid]
