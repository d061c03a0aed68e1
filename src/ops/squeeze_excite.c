/* SPDX-License-Identifier: Apache-2.0 */
/* squeeze_excite.c - x times a factor for each image and channel, which two 1x1 convolutions make of the channels'
 * means. Source: Hu et al., Squeeze-and-Excitation Networks, arXiv:1709.01507, section 3. The layers are those of
 * src/ops/global_average_pool.c and conv.c, the convolutions with attributes of their own. */
#include "ops/common_region.h"

extern const hone_op hn_op_conv, hn_op_global_average_pool;

enum { X, SQUEEZE, SQUEEZE_BIAS, EXCITE, EXCITE_BIAS };
enum { LAYERS = 3, LAYER_PORTS = 3 };

/* What the layers read beside the one before; the first is the pool. */
static const int weights_of[LAYERS] = {0, SQUEEZE, EXCITE};

static void read_layers(const hone_attrs *attrs, hn_layer *layers) {
  hn_layer_make(&layers[0], &hn_op_global_average_pool, attrs, "pool_", 0);
  hn_layer_make(&layers[1], &hn_op_conv, attrs, "squeeze_", 1);
  hn_layer_make(&layers[2], &hn_op_conv, attrs, "excite_", 1);
}

static hone_status infer(hone_infer *infer) {
  static const hone_fact absent = {.type = {.kind = HONE_ABSENT}};
  hn_layer layers[LAYERS];
  read_layers(infer->attrs, layers);
  HN_TRY(hn_want_rank(infer, X, 3, HONE_MAX_RANK));
  hone_fact at = infer->in[X];
  for (int i = 0; i < LAYERS; ++i) {
    const int port = weights_of[i];
    const hone_fact in[LAYER_PORTS] = {at, port ? infer->in[port] : absent,
                                       port && hn_in_given(infer, port + 1) ? infer->in[port + 1] : absent};
    HN_TRY(hn_layer_infer(infer, &layers[i], port ? LAYER_PORTS : 1, in, &at));
  }
  const hone_shape *x = &infer->in[X].type.shape, *factors = &at.type.shape;
  if (factors->rank > 1 && !HONE_SYMBOLIC(x->dim[1]) && factors->dim[1] != x->dim[1])
    return HN_INFER_FAIL(infer, "the factors are not as many as the channels");
  for (int i = 2; i < factors->rank; ++i)
    if (factors->dim[i] != 1) return HN_INFER_FAIL(infer, "the factors' convolutions have pads");
  infer->out[0].type.shape = *x;
  return HONE_OK;
}

static size_t whole_lines(size_t bytes) { return (bytes + 63) / 64 * 64; }

/* Means, squeezed channels and factors of one image. */
static void middle_shapes(const hone_fact *in, hone_shape *out) {
  for (int i = 0; i < LAYERS; ++i) {
    out[i] = in[X].type.shape;
    if (i == 1) out[i].dim[1] = in[SQUEEZE].type.shape.dim[0];
    for (int d = 2; d < out[i].rank; ++d) out[i].dim[d] = 1;
    out[i].dim[0] = 1;
  }
}

static size_t scratch(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  (void)attrs, (void)out, (void)out_count;
  hone_shape shapes[LAYERS];
  size_t bytes = 0;
  if (in_count <= EXCITE) return 0;
  middle_shapes(in, shapes);
  for (int i = 0; i < LAYERS; ++i) bytes += whole_lines(hn_layer_tensor(in[X].type.dtype, &shapes[i], NULL).bytes);
  return bytes;
}

/* Elements [first, last) of one image. */
static hone_status eval_image(hone_eval *eval, const hn_layer *layers, const hone_tensor *x, int64_t image,
                              int64_t first, int64_t last) {
  static const hone_tensor absent = {.type = {.kind = HONE_ABSENT}};
  hone_shape shapes[LAYERS];
  hone_tensor at = *x;
  const hone_fact facts[EXCITE] = {{.type = at.type}, {.type = eval->in[SQUEEZE].type}};
  uint8_t *memory = eval->scratch;
  middle_shapes(facts, shapes);
  for (int i = 0; i < LAYERS; ++i) {
    const int port = weights_of[i];
    hone_tensor made = hn_layer_tensor(at.type.dtype, &shapes[i], memory);
    const hone_tensor in[LAYER_PORTS] = {at, port ? eval->in[port] : absent,
                                         port && hn_eval_given(eval, port + 1) ? eval->in[port + 1] : absent};
    HN_TRY(hn_layer_eval(eval, &layers[i], port ? LAYER_PORTS : 1, in, &made, 0, hn_elems(&shapes[i])));
    memory += whole_lines(made.bytes);
    at = made;
  }
  const int64_t count = hn_elems(&x->type.shape), pixels = count / hn_elems(&shapes[2]), begin = image * count;
  for (int64_t i = first; i < last; ++i)
    hn_store_real(&eval->out[0], begin + i, hn_real(x, i) * hn_real(&at, i / pixels));
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  hn_layer layers[LAYERS];
  read_layers(eval->attrs, layers);
  hone_tensor x = eval->in[X];
  x.type.shape.dim[0] = 1;
  x.bytes = hn_bytes(&x.type);
  const int64_t of_image = hn_elems(&x.type.shape);
  int64_t first, last;
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t end; first < last && !hn_eval_stopped(eval); first = end) {
    const int64_t image = first / of_image, begin = image * of_image;
    end = last < begin + of_image ? last : begin + of_image;
    x.data = (char *)eval->in[X].data + (size_t)image * x.bytes;
    HN_TRY(eval_image(eval, layers, &x, image, first - begin, end - begin));
  }
  return HONE_OK;
}

static hone_cost cost(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  (void)attrs;
  const double images = (double)in[X].type.shape.dim[0];
  double flops = 2.0 * (double)hn_elems(&in[X].type.shape);
  if (in_count > EXCITE)
    flops += 2.0 * images * (double)(hn_elems(&in[SQUEEZE].type.shape) + hn_elems(&in[EXCITE].type.shape));
  return hn_cost_work(flops, in, in_count, out, out_count);
}

#define WEIGHTS HONE_PORT_PARAM

const hone_op hn_op_squeeze_excite = {
    .struct_size = sizeof(hone_op),
    .name = "squeeze_excite",
    .doc = "x times a factor for each image and channel: two 1x1 convolutions of the channels' means",
    .in = {{"x", 't', HONE_TYPES_FLOAT, 0},
           {"w_squeeze", 't', HONE_TYPES_FLOAT, WEIGHTS},
           {"b_squeeze", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL | WEIGHTS},
           {"w_excite", 't', HONE_TYPES_FLOAT, WEIGHTS},
           {"b_excite", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL | WEIGHTS}},
    .out = {{"y", 't', 0, 0}},
    .attr = {HN_LAYER_ACTIVATION("squeeze"), HN_LAYER_ACTIVATION("excite")},
    .traits = HONE_WINDOWS_APART,
    .infer = infer,
    .eval = eval,
    .eval_scratch = scratch,
    .cost = cost,
    .report_class = "Convolution",
};
