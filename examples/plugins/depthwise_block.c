/* SPDX-License-Identifier: Apache-2.0 */
/* depthwise_block.c - a plug-in that replaces a block of ONNX operators: a depthwise convolution, the normalisation
 * behind it and ReLU. Two rewrites say what is replaced (with and without a bias), and `when` asks what patterns
 * cannot: that each channel is filtered by itself. The kernel's pack puts the normalisation into weights and bias. Its
 * workspace, a plane with a border of zeros, is memory that plan asks for and the engine owns: launch allocates
 * nothing. Without HONE_REWRITE_FUSES the block is gone for good; hone's own fusing of such blocks never sees it. */
#include "example.h"
#include <math.h>

/* One call, from the types alone. Pads are ONNX's: top, left, bottom, right. */
typedef struct block {
  int64_t planes, channels, height, width, kernel_h, kernel_w, stride_h, stride_w, top, left, out_h, out_w;
  int64_t padded_h, padded_w; /* of the workspace */
} block;

static int64_t extent(int64_t in, int64_t before, int64_t after, int64_t kernel, int64_t stride) {
  return (in + before + after - kernel) / stride + 1;
}

static block block_of(const hone_attrs *attrs, const hone_shape *x, const hone_shape *w) {
  block b = {.planes = x->dim[0] * x->dim[1],
             .channels = x->dim[1],
             .height = x->dim[2],
             .width = x->dim[3],
             .kernel_h = w->dim[2],
             .kernel_w = w->dim[3],
             .stride_h = int_at(attrs, "strides", 0, 1),
             .stride_w = int_at(attrs, "strides", 1, 1),
             .top = int_at(attrs, "pads", 0, 0),
             .left = int_at(attrs, "pads", 1, 0)};
  b.padded_h = b.height + b.top + int_at(attrs, "pads", 2, 0);
  b.padded_w = b.width + b.left + int_at(attrs, "pads", 3, 0);
  b.out_h = extent(b.padded_h, 0, 0, b.kernel_h, b.stride_h);
  b.out_w = extent(b.padded_w, 0, 0, b.kernel_w, b.stride_w);
  return b;
}

static bool is_regular(const hone_attrs *attrs) {
  for (int i = 0; i < 4; ++i)
    if (int_at(attrs, "pads", i, 0) < 0 || (i < 2 && int_at(attrs, "strides", i, 1) < 1)) return false;
  return true;
}

/* Rows and columns must be numbers; the batch may be free. */
static hone_status infer(hone_infer *infer) {
  const hone_shape *x = &infer->in[0].type.shape, *w = &infer->in[1].type.shape;
  hone_shape *y = &infer->out[0].type.shape;
  if (x->rank != 4 || w->rank != 4) return HONE_MALFORMED;
  for (int i = 1; i < 4; ++i)
    if (x->dim[i] < 0 || w->dim[i] < 0) return HONE_UNSUPPORTED;
  if (!is_regular(infer->attrs)) return HONE_UNSUPPORTED;
  const block b = block_of(infer->attrs, x, w);
  if (b.padded_h < b.kernel_h || b.padded_w < b.kernel_w) return HONE_MALFORMED;
  *y = (hone_shape){.rank = 4, .dim = {x->dim[0], x->dim[1], b.out_h, b.out_w}};
  return HONE_OK;
}

/* The channel's factor and what is added behind it: batch normalisation of inference. in: scale, b, mean, variance from
 * 2 on, then the convolution's own bias. */
static void fold_channel(const float *const *in, double epsilon, int64_t channel, double *out_factor,
                         double *out_bias) {
  const double own = in[6] ? (double)in[6][channel] : 0;
  *out_factor = (double)in[2][channel] / sqrt((double)in[5][channel] + epsilon);
  *out_bias = (double)in[3][channel] + (own - (double)in[4][channel]) * *out_factor;
}

static double tap_sum(const block *b, const float *x, const float *w, int64_t row, int64_t column) {
  double sum = 0;
  for (int64_t i = 0; i < b->kernel_h; ++i)
    for (int64_t k = 0; k < b->kernel_w; ++k) {
      const int64_t r = row * b->stride_h + i - b->top, c = column * b->stride_w + k - b->left;
      if (r >= 0 && r < b->height && c >= 0 && c < b->width)
        sum += (double)x[r * b->width + c] * (double)w[i * b->kernel_w + k];
    }
  return sum;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  const block b = block_of(eval->attrs, &eval->in[0].type.shape, &eval->in[1].type.shape);
  const int64_t dims[4] = {b.planes / b.channels, b.channels, b.out_h, b.out_w}, size = b.out_h * b.out_w;
  const hone_status status = make_room(eval, 4, dims);
  if (status != HONE_OK) return status;
  const float *in[7] = {NULL};
  for (int i = 0; i < eval->in_count; ++i) in[i] = eval->in[i].data;
  float *y = eval->out[0].data;
  const int64_t last = window ? window->last : b.planes * size;
  for (int64_t at = window ? window->first : 0; at < last; ++at) {
    const int64_t plane = at / size, channel = plane % b.channels;
    double factor, bias;
    fold_channel(in, float_attr(eval->attrs, "epsilon"), channel, &factor, &bias);
    const double sum = tap_sum(&b, in[0] + plane * b.height * b.width, in[1] + channel * b.kernel_h * b.kernel_w,
                               at % size / b.out_w, at % b.out_w);
    y[at] = (float)fmax(sum * factor + bias, 0);
  }
  return HONE_OK;
}

static hone_cost cost(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  (void)attrs, (void)in_count, (void)out_count;
  const double elements = (double)count_of(&out[0].type.shape);
  return (hone_cost){.flops = 2 * elements * (double)count_between(&in[1].type.shape, 2, 4),
                     .bytes_read = 4 * (double)count_of(&in[0].type.shape),
                     .bytes_written = 4 * elements};
}

#define WEIGHTS(port)                                                                                                  \
  { .name = (port), .letter = 'T', .types = HONE_BIT(HONE_F32), .flags = HONE_PORT_PARAM }
static const hone_op depthwise_block = {
    .struct_size = sizeof(hone_op),
    .name = "depthwise_block",
    .doc = "relu of the normalised depthwise convolution",
    .in = {{.name = "x", .letter = 'T', .types = HONE_BIT(HONE_F32)},
           WEIGHTS("w"),
           WEIGHTS("scale"),
           WEIGHTS("b"),
           WEIGHTS("mean"),
           WEIGHTS("variance"),
           {.name = "bias", .letter = 'T', .types = HONE_BIT(HONE_F32), .flags = HONE_PORT_OPTIONAL | HONE_PORT_PARAM}},
    .out = {{.name = "y", .letter = 'T'}},
    .attr = {HONE_FLOAT_ATTR("epsilon", 1e-5), HONE_OPTIONAL_ATTR("strides", HONE_ATTR_INTS),
             HONE_OPTIONAL_ATTR("pads", HONE_ATTR_INTS)},
    .infer = infer,
    .eval = eval,
    .cost = cost,
    .report_class = "Convolution",
};

/* ---- what it replaces ---- */

static const hone_bound *bound(const hone_rewrite_match *match, const char *name) {
  for (int i = 0; i < match->bound_count; ++i)
    if (strcmp(match->bound[i].name, name) == 0) return &match->bound[i];
  return NULL;
}

static const char *when_depthwise(const hone_rewrite_match *match) {
  const hone_attrs *attrs = bound(match, "c")->attrs;
  const hone_shape *w = &bound(match, "w")->fact->type.shape, *x = &bound(match, "x")->fact->type.shape;
  if (w->rank != 4 || w->dim[1] != 1 || find_attr(attrs, "group")->i != w->dim[0]) return ""; /* not meant */
  if (x->rank != 4 || x->dim[1] != w->dim[0] || x->dim[2] < 0 || x->dim[3] < 0) return "rows or columns are not known";
  if (!is_regular(attrs)) return "a pad is negative";
  if (int_at(attrs, "dilations", 0, 1) != 1 || int_at(attrs, "dilations", 1, 1) != 1) return "its taps are spread";
  return strcmp(find_attr(attrs, "auto_pad")->s, "NOTSET") == 0 ? NULL : "its pads are not written as numbers";
}

#define BLOCK(conv) "relu(n:batch_norm[training_mode=0](" conv ", s:const, b:const, m:const, v:const))"
#define PUT(more) "depthwise_block[epsilon=n.epsilon, strides=c.strides, pads=c.pads](x, w, s, b, m, v" more ")"
#define REWRITE(rule, conv, more)                                                                                      \
  {                                                                                                                    \
    .struct_size = sizeof(hone_rewrite), .name = (rule), .find = BLOCK(conv), .put = PUT(more),                        \
    .when = when_depthwise, .why = "the normalisation goes into the weights, and the plane stays in the first cache"   \
  }
static const hone_rewrite plain_block = REWRITE("depthwise_block", "c:conv[act=\"\"](x, w:const)", "");
static const hone_rewrite biased_block =
    REWRITE("depthwise_block_with_bias", "c:conv[act=\"\"](x, w:const, k:const)", ", k");

/* ---- its kernel ---- */

static const char *plan(const hone_query *query, void *state, hone_needs *needs) {
  const hone_type *x = &query->in[0].type, *w = &query->in[1].type;
  if (!is_plain(x, HONE_F32)) return "the input is not plain f32";
  const block b = block_of(query->attrs, &x->shape, &w->shape);
  *needs = (hone_needs){.state = sizeof(block),
                        .scratch = 4 * (size_t)(b.padded_h * b.padded_w),
                        .packed = 4 * (size_t)(b.channels * (b.kernel_h * b.kernel_w + 1)),
                        .efficiency = 0.2};
  if (state) *(block *)state = b;
  return NULL;
}

/* For each channel its taps, then its bias. */
static hone_status pack(const hone_query *query, void *to) {
  const hone_shape *w = &query->in[1].type.shape;
  const int64_t taps = w->dim[2] * w->dim[3];
  const float *in[7] = {NULL};
  float *packed = to;
  for (int i = 1; i < query->in_count; ++i) in[i] = query->in[i].constant ? query->in[i].constant->data : NULL;
  for (int64_t channel = 0; channel < w->dim[0]; ++channel) {
    double factor, bias;
    fold_channel(in, float_attr(query->attrs, "epsilon"), channel, &factor, &bias);
    for (int64_t k = 0; k < taps; ++k) *packed++ = (float)((double)in[1][channel * taps + k] * factor);
    *packed++ = (float)bias;
  }
  return HONE_OK;
}

/* The border was cleared once for all planes. */
static void copy_plane(const block *b, const float *x, float *padded) {
  for (int64_t r = 0; r < b->height; ++r)
    memcpy(padded + (r + b->top) * b->padded_w + b->left, x + r * b->width, 4 * (size_t)b->width);
}

static void filter_plane(const block *b, const float *padded, const float *taps, float bias, float *restrict y) {
  for (int64_t r = 0; r < b->out_h; ++r, y += b->out_w) {
    for (int64_t c = 0; c < b->out_w; ++c) y[c] = bias;
    for (int64_t i = 0; i < b->kernel_h; ++i)
      for (int64_t k = 0; k < b->kernel_w; ++k) {
        const float *from = padded + (r * b->stride_h + i) * b->padded_w + k, tap = taps[i * b->kernel_w + k];
        if (b->stride_w == 1)
          for (int64_t c = 0; c < b->out_w; ++c) y[c] += from[c] * tap;
        else
          for (int64_t c = 0; c < b->out_w; ++c) y[c] += from[c * b->stride_w] * tap;
      }
    for (int64_t c = 0; c < b->out_w; ++c) y[c] = y[c] > 0 ? y[c] : 0;
  }
}

static hone_status launch(void *state, hone_stream *stream, const hone_launch *launch) {
  const block *b = state;
  const int64_t taps = b->kernel_h * b->kernel_w;
  (void)stream;
  memset(launch->scratch, 0, 4 * (size_t)(b->padded_h * b->padded_w));
  for (int64_t plane = 0; plane < b->planes; ++plane) {
    const float *weights = (const float *)launch->packed + plane % b->channels * (taps + 1);
    copy_plane(b, (const float *)launch->in[0].data + plane * b->height * b->width, launch->scratch);
    filter_plane(b, launch->scratch, weights, weights[taps],
                 (float *)launch->out[0].data + plane * b->out_h * b->out_w);
  }
  return HONE_OK;
}

static const hone_tactic depthwise_block_cpu = {.struct_size = sizeof(hone_tactic),
                                                .name = "example.depthwise_block.f32",
                                                .version = 1,
                                                .op = "depthwise_block",
                                                .flags = HONE_TACTIC_REPEATABLE,
                                                .pack_mask = 0x7e, /* all but x */
                                                .plan = plan,
                                                .pack = pack,
                                                .launch = launch};

static const hone_op *const ops[] = {&depthwise_block, NULL};
static const hone_plugin_tactic tactics[] = {{"cpu", &depthwise_block_cpu}, {NULL, NULL}};
static const hone_rewrite *const rewrites[] = {&plain_block, &biased_block, NULL};
static const hone_plugin_table table = {.struct_size = sizeof(hone_plugin_table),
                                        .name = "depthwise_block",
                                        .version = "1",
                                        .ops = ops,
                                        .tactics = tactics,
                                        .rewrites = rewrites};

HONE_API const hone_plugin_table *hone_plugin(const hone_host *host);
const hone_plugin_table *hone_plugin(const hone_host *host) {
  (void)host;
  return &table;
}
