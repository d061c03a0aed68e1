/* SPDX-License-Identifier: Apache-2.0 */
/* yolo.c - a one-stage detector at 320 x 320 as YOLOv8's smallest one is built (Redmon et al. 2016; Jocher et al.
 * 2023): a backbone of split-and-concatenate blocks, a pyramid of three scales, box and class heads without anchors,
 * boxes decoded from distributions over distances (Li et al. 2020). No suppression of overlaps. Batch normalisation is
 * folded; a SiLU is a Sigmoid and a Mul. */
#include "zoo/zoo.h"

enum { SIDE = 320, CLASSES = 80, BINS = 16, SCALES = 3, PLACES = 2100 /* 40 * 40 + 20 * 20 + 10 * 10 */ };

/* A SiLU shrinks small inputs more than large ones, so that a long chain of them would drift away from a variance of 1
 * in either direction; wide biases and a smaller gain bring it back. */
#define SWISH 2.0
#define BIAS 0.9

static hone_value *conv(zoo_net *net, const char *name, hone_value *x, int64_t channels, int64_t kernel, int64_t stride,
                        double gain) {
  x = zoo_conv(
      net, zoo_name(net, "%s.conv", name), x,
      &(zoo_conv_shape){
          .channels = channels, .kernel = kernel, .stride = stride, .pad = kernel / 2, .gain = gain, .bias = BIAS});
  return zoo_silu(net, zoo_name(net, "%s.act", name), x);
}

/* One half passes through, the other through a chain of bottlenecks; everything on the way is concatenated. */
static hone_value *c2f(zoo_net *net, int layer, hone_value *x, int64_t channels, int repeats, bool shortcut) {
  const int64_t halves[2] = {channels / 2, channels / 2};
  const char *name = zoo_name(net, "model.%d", layer);
  hone_value *part[4];
  x = conv(net, zoo_name(net, "%s.cv1", name), x, channels, 1, 1, SWISH);
  zoo_split(net, zoo_name(net, "%s/Split", name), x, 1, 2, halves, part);
  for (int i = 0; i < repeats; ++i) {
    const char *inner = zoo_name(net, "%s.m.%d", name, i);
    hone_value *y = conv(net, zoo_name(net, "%s.cv1", inner), part[i + 1], halves[0], 3, 1, SWISH);
    y = conv(net, zoo_name(net, "%s.cv2", inner), y, halves[0], 3, 1, SWISH);
    part[i + 2] = shortcut ? zoo_binary(net, "add", zoo_name(net, "%s/Add", inner), part[i + 1], y) : y;
  }
  x = zoo_concat(net, zoo_name(net, "%s/Concat", name), repeats + 2, part, 1);
  return conv(net, zoo_name(net, "%s.cv2", name), x, channels, 1, 1, shortcut ? 0.8 * SWISH : SWISH);
}

/* Three max-poolings of 5 in a row see as far as ones of 5, 9 and 13. */
static hone_value *pyramid_pool(zoo_net *net, hone_value *x, int64_t channels) {
  hone_value *part[4] = {conv(net, "model.9.cv1", x, channels / 2, 1, 1, SWISH)};
  for (int i = 1; i < 4; ++i)
    part[i] = zoo_max_pool(net, zoo_name(net, "model.9.m/MaxPool_%d", i), part[i - 1], 5, 1, 2, false);
  return conv(net, "model.9.cv2", zoo_concat(net, "model.9/Concat", 4, part, 1), channels, 1, 1, 0.5);
}

static hone_value *join(zoo_net *net, int layer, hone_value *a, hone_value *b) {
  return zoo_concat(net, zoo_name(net, "model.%d/Concat", layer), 2, (hone_value *[]){a, b}, 1);
}

static hone_value *twice(zoo_net *net, int layer, hone_value *x) {
  static const float scales[4] = {1, 1, 2, 2};
  static const int64_t count = 4;
  const hone_attr attrs[] = {
      {.name = "mode", .kind = HONE_ATTR_STRING, .s = "nearest", .count = 7},
      {.name = "nearest_mode", .kind = HONE_ATTR_STRING, .s = "floor", .count = 5},
      {.name = "coordinate_transformation_mode", .kind = HONE_ATTR_STRING, .s = "asymmetric", .count = 10}};
  hone_value *in[3] = {x, NULL, zoo_floats(net, zoo_name(net, "model.%d.scales", layer), 1, &count, scales)};
  return zoo_node(net, "resize", zoo_name(net, "model.%d/Resize", layer), 3, in, 3, attrs);
}

/* out: features at a stride of 8, 16 and 32. */
static void backbone_and_neck(zoo_net *net, hone_value *x, hone_value **out) {
  const double gain = SWISH;
  x = conv(net, "model.0", x, 16, 3, 2, ZOO_LINEAR);
  x = c2f(net, 2, conv(net, "model.1", x, 32, 3, 2, gain), 32, 1, true);
  hone_value *p3 = c2f(net, 4, conv(net, "model.3", x, 64, 3, 2, gain), 64, 2, true);
  hone_value *p4 = c2f(net, 6, conv(net, "model.5", p3, 128, 3, 2, gain), 128, 2, true);
  x = c2f(net, 8, conv(net, "model.7", p4, 256, 3, 2, gain), 256, 1, true);
  hone_value *p5 = pyramid_pool(net, x, 256);
  hone_value *middle = c2f(net, 12, join(net, 11, twice(net, 10, p5), p4), 128, 1, false);
  out[0] = c2f(net, 15, join(net, 14, twice(net, 13, middle), p3), 64, 1, false);
  out[1] = c2f(net, 18, join(net, 17, conv(net, "model.16", out[0], 64, 3, 2, gain), middle), 128, 1, false);
  out[2] = c2f(net, 21, join(net, 20, conv(net, "model.19", out[1], 128, 3, 2, gain), p5), 256, 1, false);
}

/* Distributions over distances and class scores, before decoding: [N, 4 * BINS + CLASSES, places of the scale]. */
static hone_value *head(zoo_net *net, int scale, hone_value *x) {
  static const char *const names[2] = {"cv2", "cv3"};
  static const int64_t width[2] = {64, 80}, outs[2] = {4 * BINS, CLASSES};
  const int64_t dims[3] = {0, 4 * BINS + CLASSES, -1};
  hone_value *part[2];
  for (int i = 0; i < 2; ++i) {
    const char *name = zoo_name(net, "model.22.%s.%d", names[i], scale);
    hone_value *y = conv(net, zoo_name(net, "%s.0", name), x, width[i], 3, 1, SWISH);
    y = conv(net, zoo_name(net, "%s.1", name), y, width[i], 3, 1, SWISH);
    part[i] = zoo_conv(net, zoo_name(net, "%s.2", name), y,
                       &(zoo_conv_shape){.channels = outs[i], .kernel = 1, .stride = 1, .gain = SWISH});
  }
  hone_value *both = zoo_concat(net, zoo_name(net, "model.22/Concat_%d", scale), 2, part, 1);
  return zoo_reshape(net, zoo_name(net, "model.22/Reshape_%d", scale), both, 3, dims);
}

/* The mean distance of each side of a box: [N, 4, PLACES]. */
static hone_value *distances(zoo_net *net, hone_value *x) {
  static const int64_t apart[4] = {0, 4, BINS, PLACES}, perm[4] = {0, 2, 1, 3}, sides[3] = {0, 4, PLACES};
  static const int64_t kernel[4] = {1, BINS, 1, 1};
  float bins[BINS];
  for (int i = 0; i < BINS; ++i) bins[i] = (float)i;
  x = zoo_transpose(net, "model.22.dfl/Transpose", zoo_reshape(net, "model.22.dfl/Reshape", x, 4, apart), 4, perm);
  x = zoo_softmax(net, "model.22.dfl/Softmax", x, 1);
  hone_value *in[2] = {x, zoo_floats(net, "model.22.dfl.conv.weight", 4, kernel, bins)};
  x = zoo_node(net, "conv", "model.22.dfl.conv", 2, in, 0, NULL);
  return zoo_reshape(net, "model.22.dfl/Reshape_1", x, 3, sides);
}

/* Centres and extents in pixels from the distances to the places' centres: [N, 4, PLACES]. */
static hone_value *boxes(zoo_net *net, hone_value *distance) {
  static const int64_t centre_dims[3] = {1, 2, PLACES}, stride_dims[2] = {1, PLACES};
  float centre[2 * PLACES], stride[PLACES];
  for (int scale = 0, place = 0; scale < SCALES; ++scale) {
    const int pixels = 8 << scale, side = SIDE / pixels;
    for (int i = 0; i < side * side; ++i, ++place) {
      centre[place] = (float)(i % side) + 0.5f, centre[PLACES + place] = (float)(i / side) + 0.5f;
      stride[place] = (float)pixels;
    }
  }
  hone_value *from = zoo_floats(net, "model.22.anchors", 3, centre_dims, centre);
  hone_value *first = zoo_slice(net, "model.22/Slice", distance, 1, 0, 2);
  hone_value *last = zoo_slice(net, "model.22/Slice_1", distance, 1, 2, 4);
  first = zoo_binary(net, "sub", "model.22/Sub", from, first);
  last = zoo_binary(net, "add", "model.22/Add", from, last);
  hone_value *sum = zoo_binary(net, "add", "model.22/Add_1", first, last);
  hone_value *box[2] = {zoo_binary(net, "div", "model.22/Div", sum, zoo_scalar(net, "model.22.two", 2)),
                        zoo_binary(net, "sub", "model.22/Sub_1", last, first)};
  return zoo_binary(net, "mul", "model.22/Mul", zoo_concat(net, "model.22/Concat_4", 2, box, 1),
                    zoo_floats(net, "model.22.strides", 2, stride_dims, stride));
}

void zoo_yolo(zoo_net *net) {
  static const int64_t image[3] = {3, SIDE, SIDE}, parts[2] = {4 * BINS, CLASSES};
  hone_value *feature[SCALES] = {0}, *part[2];
  backbone_and_neck(net, zoo_input(net, "images", HONE_F32, 4, image), feature);
  for (int scale = 0; scale < SCALES; ++scale) feature[scale] = head(net, scale, feature[scale]);
  hone_value *all = zoo_concat(net, "model.22/Concat_3", SCALES, feature, 2);
  zoo_split(net, "model.22/Split", all, 1, 2, parts, part);
  part[0] = boxes(net, distances(net, part[0]));
  part[1] = zoo_unary(net, "sigmoid", "model.22/Sigmoid", part[1]);
  zoo_output(net, "output0", zoo_concat(net, "model.22/Concat_5", 2, part, 1));
}
