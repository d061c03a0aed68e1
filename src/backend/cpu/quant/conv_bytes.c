/* SPDX-License-Identifier: Apache-2.0 */
/* conv_bytes.c - convolution of u8 and s8: requantised (qlinear_conv), as i32 sums (conv_integer), whose zero point of
 * x comes with each run, and as floats (conv_dynamic), whose scales do, too. Weights are constants, and what else
 * qlinear_conv reads: packed are words of weights and what a channel's sum begins with. Images may be plain or in
 * blocks of 64 channels; of sums and floats, of 8 or 16. Volumes are plain, and copied as images. */
#include "backend/cpu/quant/conv_bytes.h"
#include "backend/cpu/quant/conv_volumes.h"
#include "tensor/element.h"
#include "tensor/sliding.h"
#include <math.h>
#include <string.h>

typedef struct state {
  const hn_cpu_conv_bytes_row *kernel;
  hn_conv_bytes conv; /* without pointers */
  hn_conv_bytes_layout packed;
  hn_cpu_volumes volumes;
  int64_t units, grain, worker_bytes, base_bytes, volumes_at; /* of the scratch */
} state;

/* Inputs of qlinear_conv; conv_integer's are the first four of conv_dynamic's. */
enum { X, X_SCALE, X_ZERO, W, W_SCALE, W_ZERO, Y_SCALE, Y_ZERO, B, RESIDUAL, QLINEAR_INPUTS };
enum { I_X, I_W, I_X_ZERO, I_W_ZERO, I_X_SCALE, I_W_SCALE, I_B, I_RESIDUAL, DYNAMIC_INPUTS };
enum { MOST_DEPTH = 1 << 15 }; /* products of bytes whose sum an i32 holds */

static const int64_t extent_limit = 1 << 24; /* of any axis, pad, channel count */
static const double size_limit = 1e11;       /* bytes of weights, of a worker's scratch */

static bool within(int64_t value, int64_t low, int64_t high) { return value >= low && value <= high; }

/* The first of three axes: images are what each output plane reads. */
static void read_volumes(const hone_query *query, const hn_sliding *s, hn_conv_bytes *c, hn_cpu_volumes *v) {
  const int64_t element = (int64_t)hone_dtype_bits(query->out[0].type.dtype) / 8;
  *v = (hn_cpu_volumes){.batch = c->batch, .channels = c->in_channels, .out_channels = c->out_channels};
  v->in_depth = s->in[0], v->out_depth = s->out[0], v->kernel_depth = s->kernel[0];
  v->stride = s->stride[0], v->dilation = s->dilation[0], v->pad = s->pad_begin[0];
  v->in_plane = s->in[1] * s->in[2], v->out_plane = s->out[1] * s->out[2] * element;
  c->batch *= v->out_depth, c->in_channels *= v->kernel_depth;
}

static const char *read_axes(const hone_query *query, const hone_type *w, hn_conv_bytes *c, hn_cpu_volumes *v) {
  const hone_type *x = &query->in[0].type, *y = &query->out[0].type;
  hn_sliding s;
  if (hn_sliding_make(NULL, NULL, query->attrs, &x->shape, w->shape.dim + 2, &s) != HONE_OK)
    return "its window does not fit";
  for (int i = 0; i < s.spatial; ++i) {
    if (!within(s.in[i], 1, extent_limit) || !within(s.out[i], 1, extent_limit) ||
        !within(s.kernel[i], 1, extent_limit) || !within(s.stride[i], 1, extent_limit) ||
        !within(s.dilation[i], 1, extent_limit) || !within(s.pad_begin[i], 0, extent_limit) ||
        !within(s.pad_end[i], 0, extent_limit))
      return "an extent, a stride or a pad is too large";
    if (y->shape.dim[i + 2] != s.out[i]) return "the output's extents are not what the window gives";
  }
  const int across = s.spatial - 1, down = across - 1;
  c->in_height = c->out_height = c->kernel_height = c->stride_height = c->dilation_height = 1;
  if (across > 0) {
    c->in_height = s.in[down], c->out_height = s.out[down], c->kernel_height = s.kernel[down];
    c->stride_height = s.stride[down], c->dilation_height = s.dilation[down], c->pad_top = s.pad_begin[down];
  }
  c->in_width = s.in[across], c->out_width = s.out[across], c->kernel_width = s.kernel[across];
  c->stride_width = s.stride[across], c->dilation_width = s.dilation[across], c->pad_left = s.pad_begin[across];
  if ((double)c->in_height * (double)c->in_width > INT32_MAX ||
      (double)c->out_height * (double)c->out_width > INT32_MAX)
    return "an image has too many pixels";
  *v = (hn_cpu_volumes){0};
  if (s.spatial < 3) return NULL;
  if (x->format != HONE_PLAIN || y->format != HONE_PLAIN) return "its volumes are not plain";
  if ((double)c->batch * (double)s.out[0] > INT32_MAX || (double)c->in_channels * (double)s.kernel[0] > INT32_MAX)
    return "it has too many planes";
  read_volumes(query, &s, c, v);
  const double planes = (double)c->batch * ((double)c->in_channels * (double)v->in_plane +
                                            (double)c->out_channels * (double)v->out_plane * 2);
  return planes > size_limit ? "its planes are too large" : NULL;
}

static const char *read_shapes(const hone_query *query, const hone_type *w, hn_conv_bytes *c, hn_cpu_volumes *v) {
  const hone_type *x = &query->in[0].type, *y = &query->out[0].type;
  if (!within(x->shape.rank, 3, 5)) return "it has more than three spatial axes";
  if (w->shape.rank != x->shape.rank || y->shape.rank != x->shape.rank) return "the ranks differ";
  for (int i = 0; i < x->shape.rank; ++i)
    if (!within(x->shape.dim[i], 1, extent_limit) || !within(w->shape.dim[i], 1, extent_limit) ||
        !within(y->shape.dim[i], 1, extent_limit))
      return "an extent is 0 or too large";
  if (x->shape.dim[0] != y->shape.dim[0]) return "the batches differ";
  c->batch = x->shape.dim[0], c->in_channels = x->shape.dim[1], c->out_channels = y->shape.dim[1];
  c->groups = hn_attr_int(query->attrs, "group");
  if (!within(c->groups, 1, extent_limit) || c->in_channels % c->groups || c->out_channels % c->groups)
    return "the channels do not split into the groups";
  if (w->shape.dim[0] != c->out_channels || w->shape.dim[1] != c->in_channels / c->groups)
    return "the weights have other channels";
  HN_TRY_REASON(read_axes(query, w, c, v));
  const double depth = (double)(c->in_channels / c->groups) * (double)c->kernel_height * (double)c->kernel_width;
  if (depth > MOST_DEPTH) return "its sums may pass 32 bits";
  return depth * 16 * (double)c->out_channels > size_limit ? "the weights are too large" : NULL;
}

/* An optional constant (or with `given` any tensor) of one element, or of one for each channel. */
static const char *check_vector(const hone_query *query, int input, hone_dtype dtype, int64_t channels, bool given) {
  if (!hn_cpu_given(query, input)) return NULL;
  const hone_fact *fact = &query->in[input];
  if (!hn_cpu_is(fact, dtype, HONE_PLAIN)) return "a scale, zero point or bias has another type";
  const int64_t count = fact->type.shape.rank == 0 ? 1 : fact->type.shape.dim[0];
  if (fact->type.shape.rank > 1 || (count != 1 && count != channels))
    return "a scale, zero point or bias has another length";
  return given || (query->constant_mask & 1u << input) ? NULL : "a scale, zero point or bias is not constant";
}

static const char *check_qlinear(const hone_query *query, const hn_conv_bytes *c) {
  const hone_dtype x = query->in[X].type.dtype, w = query->in[W].type.dtype, y = query->out[0].type.dtype;
  const struct {
    int input;
    hone_dtype dtype;
    int64_t channels;
  } vectors[] = {{X_SCALE, HONE_F32, 1},       {X_ZERO, x, 1},         {W_SCALE, HONE_F32, c->out_channels},
                 {W_ZERO, w, c->out_channels}, {Y_SCALE, HONE_F32, 1}, {Y_ZERO, y, 1}};
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; ++i) {
    HN_TRY_REASON(check_vector(query, vectors[i].input, vectors[i].dtype, vectors[i].channels, false));
  }
  if (!hn_cpu_given(query, B)) return NULL;
  if (query->in[B].type.shape.rank != 1 || query->in[B].type.shape.dim[0] != c->out_channels)
    return "the bias has another length";
  return check_vector(query, B, HONE_I32, c->out_channels, false);
}

static const char *check_integer(const hone_query *query, const hn_conv_bytes *c) {
  const char *reason = check_vector(query, I_X_ZERO, query->in[I_X].type.dtype, 1, true);
  return reason ? reason : check_vector(query, I_W_ZERO, query->in[I_W].type.dtype, c->out_channels, false);
}

/* Numbers that each run reads. */
static const char *check_dynamic(const hone_query *query, const hn_conv_bytes *c) {
  HN_TRY_REASON(check_integer(query, c));
  HN_TRY_REASON(check_vector(query, I_X_SCALE, HONE_F32, 1, true));
  HN_TRY_REASON(check_vector(query, I_W_SCALE, HONE_F32, c->out_channels, true));
  if (!hn_cpu_given(query, I_B)) return NULL;
  if (hn_elems(&query->in[I_B].type.shape) != c->out_channels) return "the bias has another length";
  return check_vector(query, I_B, HONE_F32, c->out_channels, true);
}

static const char *check_numbers(const hone_query *query, hn_cpu_conv_output output, const hn_conv_bytes *c) {
  switch (output) {
  case HN_CPU_BYTES: return check_qlinear(query, c);
  case HN_CPU_FLOATS: return check_dynamic(query, c);
  case HN_CPU_SUMS: break;
  }
  return check_integer(query, c);
}

static const char *check_counts(const hone_query *query, hn_cpu_conv_output output) {
  switch (output) {
  case HN_CPU_BYTES: return hn_cpu_check(query, B, QLINEAR_INPUTS, 1);
  case HN_CPU_FLOATS: return hn_cpu_check(query, I_B, DYNAMIC_INPUTS, 1);
  case HN_CPU_SUMS: break;
  }
  return hn_cpu_check(query, 2, I_X_SCALE, 1);
}

static bool is_output(hn_cpu_conv_output output, const hone_type *y) {
  if (y->kind != HONE_TENSOR) return false;
  return output == HN_CPU_BYTES ? hn_cpu_is_byte(y->dtype)
                                : y->dtype == (output == HN_CPU_FLOATS ? HONE_F32 : HONE_I32);
}

static int residual_port(hn_cpu_conv_output output) {
  return output == HN_CPU_BYTES ? RESIDUAL : output == HN_CPU_FLOATS ? I_RESIDUAL : -1;
}

/* Of the output's type, in its format. */
static const char *check_residual(const hone_query *query, const hn_cpu_conv_bytes_row *kernel) {
  const int port = residual_port(kernel->output);
  if (port < 0 || !hn_cpu_given(query, port)) return NULL;
  const hone_type *r = &query->in[port].type, *y = &query->out[0].type;
  if (kernel->is_depthwise) return "it adds a residual";
  if (r->dtype != y->dtype || r->format != y->format || !hn_shape_equal(&r->shape, &y->shape))
    return "the residual is not as the output";
  return NULL;
}

static bool is_tiled(const hn_cpu_conv_bytes_row *kernel) { return kernel->depth_step == 64; }

static int64_t block_of(const hone_type *type) {
  return type->format == HONE_PLAIN || type->shape.rank < 3 ? 1 : hn_format_block(type->format);
}

/* Everything but pointers, units and the weights' zero points. */
static const char *read(const hone_query *query, const hn_cpu_conv_bytes_row *kernel, hn_conv_bytes *c,
                        hn_cpu_volumes *v) {
  const int w = kernel->output == HN_CPU_BYTES ? W : I_W;
  *c = (hn_conv_bytes){.floats = kernel->output == HN_CPU_FLOATS};
  HN_TRY_REASON(check_counts(query, kernel->output));
  const hone_type *x = &query->in[0].type, *y = &query->out[0].type;
  if (!hn_cpu_is_byte(x->dtype) || !hn_cpu_is_byte(query->in[w].type.dtype)) return "x or w is not of bytes";
  if (!is_output(kernel->output, y)) return "the output has another type";
  if (query->in[w].type.format != HONE_PLAIN) return "the weights have another format";
  if (!(query->constant_mask & 1u << w)) return "the weights are not constant";
  HN_TRY_REASON(read_shapes(query, &query->in[w].type, c, v));
  HN_TRY_REASON(check_numbers(query, kernel->output, c));
  HN_TRY_REASON(check_residual(query, kernel));
  c->in_block = block_of(x), c->out_block = block_of(y);
  if (c->in_block != 1 && c->in_block != 64) return "the input has another format";
  if (c->out_block != 1 && c->out_block != kernel->out_block) return "the output has another format";
  c->word = kernel->word, c->depth_step = kernel->depth_step, c->channel_step = kernel->channel_step;
  c->in_is_signed = is_tiled(kernel) && x->dtype == HONE_I8;
  c->in_flip = x->dtype == HONE_I8 && !c->in_is_signed ? 0x80 : 0;
  c->out_flip = y->dtype == HONE_I8 ? 0x80 : 0;
  if (kernel->is_depthwise && (c->groups != c->in_channels || c->groups != c->out_channels))
    return "it is not depthwise";
  return NULL;
}

/* Of u8 after the flip: what the type holds, and the bounds of a fused activation. */
static void read_bounds(const hone_query *query, hn_conv_bytes *c) {
  const hone_attr *low = hn_attr_find(query->attrs, "low"), *high = hn_attr_find(query->attrs, "high");
  const int64_t least = low ? low->i + c->out_flip : 0, most = high ? high->i + c->out_flip : 255;
  c->low = (int32_t)hn_cpu_lesser(255, hn_cpu_greater(0, least));
  c->high = (int32_t)hn_cpu_greater(0, hn_cpu_lesser(255, most));
}

static void read_sum(const hone_query *query, hn_conv_bytes *c) {
  const hone_attrs *attrs = query->attrs;
  c->sum = (hn_conv_bytes_sum){.own_ratio = (float)hn_attr_float(attrs, "own_ratio"),
                               .residual_ratio = (float)hn_attr_float(attrs, "residual_ratio"),
                               .shift = (float)hn_attr_float(attrs, "sum_shift"),
                               .is_last = hn_attr_int(attrs, "own_last") != 0};
  const int64_t least = hn_attr_int(attrs, "sum_low") + c->out_flip,
                most = hn_attr_int(attrs, "sum_high") + c->out_flip;
  c->sum.low = (int32_t)hn_cpu_lesser(255, hn_cpu_greater(0, least));
  c->sum.high = (int32_t)hn_cpu_greater(0, hn_cpu_lesser(255, most));
}

/* Of floats. What a block holds behind the last channel is a zero, which an activation must leave. */
static const char *read_activation(const hone_query *query, hn_conv_bytes *c) {
  const char *act = hn_attr_text(query->attrs, "act");
  c->least = -INFINITY, c->most = INFINITY;
  if (hn_name_equal(act, "relu")) {
    c->least = 0;
  } else if (hn_name_equal(act, "clip")) {
    c->least = (float)hn_attr_float(query->attrs, "act_alpha");
    c->most = (float)hn_attr_float(query->attrs, "act_beta");
    if (!(c->least <= c->most)) return "its bounds are in reverse";
  } else if (!hn_name_equal(act, "")) {
    return "it has another activation";
  }
  return c->out_block > 1 && (c->least > 0 || c->most < 0) ? "its bounds leave out zero" : NULL;
}

/* Depthwise: the rows of words that one row of pixels reads fill half of a core's first cache, and strips are equal. */
static void cut_strips(hn_conv_bytes *c) {
  enum { ROOM = 1 << 14, PIXELS = 4 };
  const int64_t rows = (hn_ceil_div(c->kernel_height, c->word) - 1) * c->word + 1;
  const int64_t columns = ROOM / (rows * c->channel_step * 4) - (c->kernel_width - 1) * c->dilation_width;
  const int64_t most = hn_cpu_greater(PIXELS, columns / c->stride_width);
  const int64_t strips = hn_ceil_div(c->out_width, most);
  c->strip = hn_cpu_lesser(c->out_width, hn_ceil_div(hn_ceil_div(c->out_width, strips), PIXELS) * PIXELS);
}

/* Windows of which each tap is a shift of padded rows. */
static bool can_shift(const hn_conv_bytes *c) {
  const int64_t taps = c->kernel_height * c->kernel_width;
  return c->in_block == 64 && c->groups == 1 && c->in_channels % 64 == 0 && taps > 1 && taps <= HN_CONV_BYTES_SHIFTS &&
         c->stride_height * c->stride_width == 1;
}

/* Units of whole rows, whose input fills a quarter of a core's second cache at most. */
static void cut_rows(hn_conv_bytes *c, int64_t room, int64_t threads) {
  const int64_t halo = hn_conv_bytes_rows_bytes(c, 0), row = hn_conv_bytes_rows_bytes(c, 1) - halo;
  const int64_t fitting = hn_cpu_greater(1, (room / 2 - halo) / row);
  const int64_t wanted = threads == 1 ? 1 : hn_ceil_div(HN_CPU_UNITS_PER_THREAD * threads, c->batch);
  const int64_t chunks = hn_cpu_greater(hn_ceil_div(c->out_height, fitting), hn_cpu_lesser(wanted, c->out_height / 8));
  c->unit_pixels = hn_ceil_div(c->out_height, hn_cpu_greater(1, chunks)) * c->out_width;
}

/* Panels fill half of a core's second cache at most; every thread gets some units. */
static void cut(const hone_query *query, const hn_cpu_conv_bytes_row *kernel, hn_conv_bytes *c) {
  const int64_t tile = is_tiled(kernel) ? 2 * HN_CONV_BYTES_TILE : 12; /* pixels of the largest */
  const int64_t threads = hn_cpu_threads(query->facts), room = (int64_t)hn_cpu_l2_bytes(query->facts) / 2;
  if (kernel->is_depthwise) {
    cut_strips(c);
    const int64_t row = hn_conv_bytes_band_of(c).columns * c->channel_step * 4;
    c->unit_blocks = 1;
    c->unit_pixels = hn_cpu_lesser(c->out_height, hn_cpu_greater(2, hn_cpu_lesser(16, room / row)));
    return;
  }
  const int64_t pixels = c->out_height * c->out_width, group_blocks = hn_conv_bytes_group_blocks(c);
  const int64_t element = kernel->word == 4 ? 1 : 2;
  int64_t most = room / (hn_conv_bytes_panel_stride(c) * element) / tile * tile;
  most = hn_cpu_greater(tile, hn_cpu_lesser(8 * tile, most));
  /* Chunks of the same size, of whole tiles, so that the last one is no remainder. */
  const int64_t chunks = hn_ceil_div(pixels, most);
  c->unit_pixels = hn_cpu_lesser(pixels, hn_ceil_div(hn_ceil_div(pixels, chunks), tile) * tile);
  c->shifts = is_tiled(kernel) && can_shift(c);
  if (c->shifts) cut_rows(c, room, threads);
  const int64_t units = c->batch * c->groups * hn_ceil_div(pixels, c->unit_pixels);
  const int64_t wanted = threads == 1 ? 1 : hn_ceil_div(HN_CPU_UNITS_PER_THREAD * threads, units);
  c->unit_blocks = hn_ceil_div(group_blocks, hn_cpu_lesser(group_blocks, wanted));
  if (c->unit_blocks < group_blocks) c->unit_blocks = hn_ceil_div(c->unit_blocks, 2) * 2;
}

/* Rough: seen with AVX2 over the layers of mobilenet_v2; for the others a guess. To requantise a sum takes as long as
 * some products of it. */
static double efficiency_of(const hn_conv_bytes *c, const hn_cpu_conv_bytes_row *kernel) {
  if (kernel->is_depthwise) return kernel->efficiency * hn_cpu_filled(c->out_channels, kernel->channel_step);
  const int64_t depth = hn_conv_bytes_depth(c), requantising = is_tiled(kernel) ? 512 : 32;
  const double gathers = (double)depth / (double)(depth + requantising);
  return kernel->efficiency * gathers * hn_cpu_filled(c->out_channels / c->groups, HN_CONV_BYTES_BLOCK) *
         (is_tiled(kernel) ? hn_cpu_filled(depth, kernel->depth_step) : 1);
}

/* What launch finds for each channel: what sums begin with; of floats scale and bias, too. */
static int64_t base_vectors(hn_cpu_conv_output output) {
  return output == HN_CPU_BYTES ? 0 : output == HN_CPU_FLOATS ? 3 : 1;
}

/* Planes that are read, written, and added. */
static int64_t volumes_bytes(const hn_cpu_volumes *v, bool adds) {
  const int64_t written = hn_conv_bytes_up(hn_cpu_volumes_written_bytes(v), 64);
  return hn_conv_bytes_up(hn_cpu_volumes_read_bytes(v), 64) + (adds ? 2 : 1) * written;
}

const char *hn_cpu_conv_bytes_plan(const hone_query *query, void *state_memory, hone_needs *needs) {
  const hn_cpu_conv_bytes_row *kernel = query->tactic->kernel;
  hn_conv_bytes c;
  hn_cpu_volumes v;
  HN_TRY_REASON(read(query, kernel, &c, &v));
  cut(query, kernel, &c);
  if (kernel->output == HN_CPU_BYTES) read_bounds(query, &c), read_sum(query, &c);
  if (kernel->output == HN_CPU_FLOATS) HN_TRY_REASON(read_activation(query, &c));
  const hn_conv_bytes_layout packed = hn_conv_bytes_lay_out_c(&c, kernel->is_depthwise);
  const int64_t worker = kernel->is_depthwise ? hn_conv_bytes_dw_scratch(&c) : hn_conv_bytes_scratch(&c);
  if ((double)worker > size_limit) return "what its windows read together is too large";
  const int64_t worker_bytes = hn_conv_bytes_up(worker, 64);
  const int64_t base_bytes = base_vectors(kernel->output) * hn_conv_bytes_up(packed.sums - packed.base, 64);
  needs->state = sizeof(state);
  needs->packed = (size_t)packed.end;
  const int64_t volumes_at = base_bytes + worker_bytes * hn_cpu_threads(query->facts);
  const int residual = residual_port(kernel->output);
  needs->scratch = (size_t)(volumes_at + volumes_bytes(&v, residual >= 0 && hn_cpu_given(query, residual)));
  needs->efficiency = efficiency_of(&c, kernel);
  if (!state_memory) return NULL;
  state *s = state_memory;
  *s = (state){.kernel = kernel, .conv = c, .packed = packed, .worker_bytes = worker_bytes, .base_bytes = base_bytes};
  s->volumes = v, s->volumes_at = volumes_at;
  s->units = kernel->is_depthwise ? hn_conv_bytes_dw_units(&c) : hn_conv_bytes_units(&c);
  const double macs = (double)(c.batch * c.out_channels) * (double)(c.out_height * c.out_width);
  s->grain = hn_cpu_grain(s->units, macs * ((double)hn_conv_bytes_depth(&c) + 16) / kernel->macs_per_ns);
  return NULL;
}

static int32_t zero_of(const hone_query *query, int input, int32_t flip) {
  return (int32_t)hn_int(query->in[input].constant, 0) + flip;
}

hone_status hn_cpu_conv_bytes_pack(const hone_query *query, void *to) {
  const hn_cpu_conv_bytes_row *kernel = query->tactic->kernel;
  hn_conv_bytes c;
  hn_cpu_volumes v;
  if (read(query, kernel, &c, &v)) return HONE_INTERNAL;
  const int w = kernel->output == HN_CPU_BYTES ? W : I_W, w_zero = kernel->output == HN_CPU_BYTES ? W_ZERO : I_W_ZERO;
  hn_conv_bytes_constants k = {.w = query->in[w].constant->data, .w_is_signed = query->in[w].type.dtype == HONE_I8};
  if (hn_cpu_given(query, w_zero)) {
    k.w_zero = query->in[w_zero].constant->data;
    k.w_zero_is_one = hn_elems(&query->in[w_zero].type.shape) == 1;
  }
  if (kernel->output == HN_CPU_BYTES) {
    k.w_scale = query->in[W_SCALE].constant->data;
    k.w_scale_is_one = hn_elems(&query->in[W_SCALE].type.shape) == 1;
    k.x_scale = *(const float *)query->in[X_SCALE].constant->data;
    k.y_scale = *(const float *)query->in[Y_SCALE].constant->data;
    k.x_zero = zero_of(query, X_ZERO, c.in_flip), k.y_zero = zero_of(query, Y_ZERO, c.out_flip);
    if (hn_cpu_given(query, B)) k.bias = query->in[B].constant->data;
  }
  hn_conv_bytes_pack_c(&c, kernel->is_depthwise, &k, to);
  return HONE_OK;
}

typedef struct job {
  const state *s;
  hn_conv_bytes conv;
  char *scratch;
} job;

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  const job *j = arg;
  j->s->kernel->run(&j->conv, j->scratch + worker * j->s->worker_bytes, begin, end);
}

/* What a run knows of the channels. */
static void fill_channels(const state *s, const hone_launch *launch, hn_conv_bytes *c) {
  const bool given = launch->in_count > I_X_ZERO && launch->in[I_X_ZERO].data;
  char *memory = launch->scratch;
  c->x_zero = (given ? hn_cpu_byte(&launch->in[I_X_ZERO]) : 0) + c->in_flip;
  c->base = (const int32_t *)(const void *)memory;
  hn_conv_bytes_base_c(&s->packed, launch->packed, c->x_zero, (int32_t *)(void *)memory);
  if (!c->floats) return;
  const bool has_bias = launch->in_count > I_B && launch->in[I_B].data;
  const hone_tensor *w_scale = &launch->in[I_W_SCALE];
  float *scale = (float *)(void *)(memory + s->base_bytes / 3),
        *bias = (float *)(void *)(memory + s->base_bytes / 3 * 2);
  hn_conv_bytes_spread_c(c, s->kernel->is_depthwise, w_scale->data, hn_elems(&w_scale->type.shape) == 1,
                         *(const float *)launch->in[I_X_SCALE].data, scale);
  hn_conv_bytes_spread_c(c, s->kernel->is_depthwise, has_bias ? launch->in[I_B].data : NULL, false, 1, bias);
  c->scale = scale, c->bias = bias;
}

/* What the convolution reads and writes are planes of the scratch. */
static void spread_volumes(const state *s, hone_stream *stream, const hone_launch *launch, hn_conv_bytes *c) {
  const hn_cpu_volumes *v = &s->volumes;
  char *read_planes = (char *)launch->scratch + s->volumes_at;
  char *written = read_planes + hn_conv_bytes_up(hn_cpu_volumes_read_bytes(v), 64);
  char *added = written + hn_conv_bytes_up(hn_cpu_volumes_written_bytes(v), 64);
  hn_cpu_volumes_spread(v, stream, c->input, (uint8_t)(c->x_zero - c->in_flip), read_planes);
  if (c->residual) hn_cpu_volumes_part(v, stream, c->residual, added), c->residual = added;
  c->input = (const uint8_t *)read_planes, c->output = written;
}

hone_status hn_cpu_conv_bytes_launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = state_memory;
  job j = {s, s->conv, (char *)launch->scratch + s->base_bytes};
  const char *packed = launch->packed;
  hn_conv_bytes_head head;
  memcpy(&head, packed, sizeof head);
  j.conv.input = launch->in[0].data;
  j.conv.output = launch->out[0].data;
  const int residual = residual_port(s->kernel->output);
  if (residual >= 0 && launch->in_count > residual) j.conv.residual = launch->in[residual].data;
  j.conv.weights = (const int8_t *)(packed + s->packed.weights);
  if (head.has_w_zero) j.conv.w_zero = (const int32_t *)(packed + s->packed.w_zero);
  if (s->kernel->output == HN_CPU_BYTES) {
    j.conv.base = (const int32_t *)(packed + s->packed.base);
    j.conv.scale = (const float *)(packed + s->packed.scale);
    j.conv.x_zero = head.x_zero, j.conv.y_zero = head.y_zero;
  } else {
    fill_channels(s, launch, &j.conv);
  }
  if (s->volumes.out_depth > 0) spread_volumes(s, stream, launch, &j.conv);
  hn_pool_run(hn_stream_pool(stream), s->units, s->grain, body, &j);
  if (s->volumes.out_depth > 0) hn_cpu_volumes_collect(&s->volumes, stream, j.conv.output, launch->out[0].data);
  return HONE_OK;
}
