/* SPDX-License-Identifier: Apache-2.0 */
/* qlinear_conv.c - convolution of u8 and s8: requantised, and as i32 sums (conv_integer), whose zero point of x comes
 * with each run. Weights, biases and all scales are constants: packed are words of weights and what a channel's sum
 * begins with. Images may be plain or in blocks of 64 channels on either side. */
#include "kernels/cpu/quant/conv.h"
#include "backend/cpu/quant/quant.h"
#include "tensor/element.h"
#include "tensor/sliding.h"
#include <string.h>

/* One row's kernel: of how many bytes its words are, to a multiple of what
 * sums are filled up (64: tiles), how many channels lie together in blocked outputs, and about how
 * fast a thread is. */
typedef struct row_kernel {
  hn_conv_bytes_fn *run;
  bool is_depthwise, requantises;
  int word, depth_step, channel_step, out_block;
  double efficiency; /* of deep sums, against the peak of the row's own type */
  double macs_per_ns;
} row_kernel;

typedef struct state {
  const row_kernel *kernel;
  hn_conv_bytes conv; /* without pointers */
  hn_conv_bytes_layout packed;
  int64_t units, grain, worker_bytes, base_bytes;
} state;

/* Inputs of qlinear_conv; conv_integer's are x, w, x_zero, w_zero. */
enum { X, X_SCALE, X_ZERO, W, W_SCALE, W_ZERO, Y_SCALE, Y_ZERO, B, QLINEAR_INPUTS };
enum { I_X, I_W, I_X_ZERO, I_W_ZERO, INTEGER_INPUTS };
enum { QLINEAR_PACKED = (1 << QLINEAR_INPUTS) - 1 - (1 << X), INTEGER_PACKED = 1 << I_W | 1 << I_W_ZERO };
enum { MOST_DEPTH = 1 << 15 }; /* products of bytes whose sum an i32 holds */

static const int64_t extent_limit = 1 << 24; /* of any axis, pad, channel count */
static const double size_limit = 1e11;       /* bytes of weights, of a worker's scratch */

static bool within(int64_t value, int64_t low, int64_t high) { return value >= low && value <= high; }

static const char *read_axes(const hone_query *query, const hone_type *w, hn_conv_bytes *c) {
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
  const int across = s.spatial - 1;
  c->in_height = c->out_height = c->kernel_height = c->stride_height = c->dilation_height = 1;
  if (across > 0) {
    c->in_height = s.in[0], c->out_height = s.out[0], c->kernel_height = s.kernel[0];
    c->stride_height = s.stride[0], c->dilation_height = s.dilation[0], c->pad_top = s.pad_begin[0];
  }
  c->in_width = s.in[across], c->out_width = s.out[across], c->kernel_width = s.kernel[across];
  c->stride_width = s.stride[across], c->dilation_width = s.dilation[across], c->pad_left = s.pad_begin[across];
  if ((double)c->in_height * (double)c->in_width > INT32_MAX ||
      (double)c->out_height * (double)c->out_width > INT32_MAX)
    return "an image has too many pixels";
  return NULL;
}

static const char *read_shapes(const hone_query *query, const hone_type *w, hn_conv_bytes *c) {
  const hone_type *x = &query->in[0].type, *y = &query->out[0].type;
  if (!within(x->shape.rank, 3, 4)) return "it has more than two spatial axes";
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
  HN_TRY_REASON(read_axes(query, w, c));
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

static bool is_tiled(const row_kernel *kernel) { return kernel->depth_step == 64; }

static int64_t block_of(const hone_type *type) {
  return type->format == HONE_PLAIN || type->shape.rank < 3 ? 1 : hn_format_block(type->format);
}

/* Everything but pointers, units and the weights' zero points. */
static const char *read(const hone_query *query, const row_kernel *kernel, hn_conv_bytes *c) {
  const char *reason = kernel->requantises ? hn_cpu_check(query, QLINEAR_INPUTS - 1, QLINEAR_INPUTS, 1)
                                           : hn_cpu_check(query, 2, INTEGER_INPUTS, 1);
  const int w = kernel->requantises ? W : I_W;
  *c = (hn_conv_bytes){0};
  if (reason) return reason;
  const hone_type *x = &query->in[0].type, *y = &query->out[0].type;
  if (!hn_cpu_is_byte(x->dtype) || !hn_cpu_is_byte(query->in[w].type.dtype)) return "x or w is not of bytes";
  if (y->kind != HONE_TENSOR || !(kernel->requantises ? hn_cpu_is_byte(y->dtype) : y->dtype == HONE_I32))
    return "the output has another type";
  if (query->in[w].type.format != HONE_PLAIN) return "the weights have another format";
  if (!(query->constant_mask & 1u << w)) return "the weights are not constant";
  HN_TRY_REASON(read_shapes(query, &query->in[w].type, c));
  HN_TRY_REASON(kernel->requantises ? check_qlinear(query, c) : check_integer(query, c));
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

/* Depthwise: the rows of words that one row of pixels reads fill half of a core's first cache, and strips are equal. */
static void cut_strips(hn_conv_bytes *c) {
  enum { ROOM = 1 << 14, PIXELS = 4 };
  const int64_t rows = (hn_ceil_div(c->kernel_height, c->word) - 1) * c->word + 1;
  const int64_t columns = ROOM / (rows * c->channel_step * 4) - (c->kernel_width - 1) * c->dilation_width;
  const int64_t most = hn_cpu_greater(PIXELS, columns / c->stride_width);
  const int64_t strips = hn_ceil_div(c->out_width, most);
  c->strip = hn_cpu_lesser(c->out_width, hn_ceil_div(hn_ceil_div(c->out_width, strips), PIXELS) * PIXELS);
}

/* Panels fill half of a core's second cache at most; every thread gets some units. */
static void cut(const hone_query *query, const row_kernel *kernel, hn_conv_bytes *c) {
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
  const int64_t units = c->batch * c->groups * hn_ceil_div(pixels, c->unit_pixels);
  const int64_t wanted = threads == 1 ? 1 : hn_ceil_div(HN_CPU_UNITS_PER_THREAD * threads, units);
  c->unit_blocks = hn_ceil_div(group_blocks, hn_cpu_lesser(group_blocks, wanted));
  if (c->unit_blocks < group_blocks) c->unit_blocks = hn_ceil_div(c->unit_blocks, 2) * 2;
}

/* Rough: seen with AVX2 over the layers of mobilenet_v2; for the others a guess. To requantise a sum takes as long as
 * some products of it. */
static double efficiency_of(const hn_conv_bytes *c, const row_kernel *kernel) {
  if (kernel->is_depthwise) return kernel->efficiency * hn_cpu_filled(c->out_channels, kernel->channel_step);
  const int64_t depth = hn_conv_bytes_depth(c), requantising = is_tiled(kernel) ? 512 : 32;
  const double gathers = (double)depth / (double)(depth + requantising);
  return kernel->efficiency * gathers * hn_cpu_filled(c->out_channels / c->groups, HN_CONV_BYTES_BLOCK) *
         (is_tiled(kernel) ? hn_cpu_filled(depth, kernel->depth_step) : 1);
}

static const char *plan(const hone_query *query, void *state_memory, hone_needs *needs) {
  const row_kernel *kernel = query->tactic->kernel;
  hn_conv_bytes c;
  HN_TRY_REASON(read(query, kernel, &c));
  cut(query, kernel, &c);
  read_bounds(query, &c);
  const hn_conv_bytes_layout packed = hn_conv_bytes_lay_out_c(&c, kernel->is_depthwise);
  const int64_t worker = kernel->is_depthwise ? hn_conv_bytes_dw_scratch(&c) : hn_conv_bytes_scratch(&c);
  if ((double)worker > size_limit) return "what its windows read together is too large";
  const int64_t worker_bytes = hn_conv_bytes_up(worker, 64);
  const int64_t base_bytes = kernel->requantises ? 0 : hn_conv_bytes_up(packed.sums - packed.base, 64);
  needs->state = sizeof(state);
  needs->packed = (size_t)packed.end;
  needs->scratch = (size_t)(base_bytes + worker_bytes * hn_cpu_threads(query->facts));
  needs->efficiency = efficiency_of(&c, kernel);
  if (!state_memory) return NULL;
  state *s = state_memory;
  *s = (state){.kernel = kernel, .conv = c, .packed = packed, .worker_bytes = worker_bytes, .base_bytes = base_bytes};
  s->units = kernel->is_depthwise ? hn_conv_bytes_dw_units(&c) : hn_conv_bytes_units(&c);
  const double macs = (double)(c.batch * c.out_channels) * (double)(c.out_height * c.out_width);
  s->grain = hn_cpu_grain(s->units, macs * ((double)hn_conv_bytes_depth(&c) + 16) / kernel->macs_per_ns);
  return NULL;
}

static int32_t zero_of(const hone_query *query, int input, int32_t flip) {
  return (int32_t)hn_int(query->in[input].constant, 0) + flip;
}

static hone_status pack(const hone_query *query, void *to) {
  const row_kernel *kernel = query->tactic->kernel;
  hn_conv_bytes c;
  if (read(query, kernel, &c)) return HONE_INTERNAL;
  const int w = kernel->requantises ? W : I_W, w_zero = kernel->requantises ? W_ZERO : I_W_ZERO;
  hn_conv_bytes_constants k = {.w = query->in[w].constant->data, .w_is_signed = query->in[w].type.dtype == HONE_I8};
  if (hn_cpu_given(query, w_zero)) {
    k.w_zero = query->in[w_zero].constant->data;
    k.w_zero_is_one = hn_elems(&query->in[w_zero].type.shape) == 1;
  }
  if (kernel->requantises) {
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

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = state_memory;
  job j = {s, s->conv, (char *)launch->scratch + s->base_bytes};
  const char *packed = launch->packed;
  hn_conv_bytes_head head;
  memcpy(&head, packed, sizeof head);
  j.conv.input = launch->in[0].data;
  j.conv.output = launch->out[0].data;
  j.conv.weights = (const int8_t *)(packed + s->packed.weights);
  if (head.has_w_zero) j.conv.w_zero = (const int32_t *)(packed + s->packed.w_zero);
  if (s->kernel->requantises) {
    j.conv.base = (const int32_t *)(packed + s->packed.base);
    j.conv.scale = (const float *)(packed + s->packed.scale);
    j.conv.x_zero = head.x_zero, j.conv.y_zero = head.y_zero;
  } else {
    const bool given = launch->in_count > I_X_ZERO && launch->in[I_X_ZERO].data;
    j.conv.x_zero = (given ? hn_cpu_byte(&launch->in[I_X_ZERO]) : 0) + j.conv.in_flip;
    j.conv.base = launch->scratch;
    hn_conv_bytes_base_c(&s->packed, packed, j.conv.x_zero, launch->scratch);
  }
  hn_pool_run(hn_stream_pool(stream), s->units, s->grain, body, &j);
  return HONE_OK;
}

#define COMMON .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .pack = pack, .launch = launch
const hone_tactic hn_tactics_cpu_qlinear_conv[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.qlinear_conv.tiles.amx_int8", .version = 1, .op = "qlinear_conv",
     .isa = HONE_ISA_AMX_INT8, .pack_mask = QLINEAR_PACKED,
     .storages = {{HONE_PLAIN, HONE_PLAIN},
                  {HONE_NCHW64C, HONE_NCHW64C},
                  {HONE_PLAIN, HONE_NCHW64C},
                  {HONE_NCHW64C, HONE_PLAIN}},
     .kernel = &(const row_kernel){hn_conv_bytes_tiles_amx_int8, false, true, 4, 64, 16, 64, 0.6, 1000.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv_integer.tiles.amx_int8", .version = 1, .op = "conv_integer",
     .isa = HONE_ISA_AMX_INT8, .pack_mask = INTEGER_PACKED,
     .storages = {{HONE_PLAIN, HONE_PLAIN},
                  {HONE_NCHW64C, HONE_NCHW16C},
                  {HONE_PLAIN, HONE_NCHW16C},
                  {HONE_NCHW64C, HONE_PLAIN}},
     .kernel = &(const row_kernel){hn_conv_bytes_tiles_amx_int8, false, false, 4, 64, 16, 16, 0.6, 1000.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.qlinear_conv.u8s8.avx512_vnni", .version = 2, .op = "qlinear_conv",
     .isa = HONE_ISA_AVX512_VNNI, .pack_mask = QLINEAR_PACKED,
     .storages = {{HONE_PLAIN, HONE_PLAIN},
                  {HONE_NCHW64C, HONE_NCHW64C},
                  {HONE_PLAIN, HONE_NCHW64C},
                  {HONE_NCHW64C, HONE_PLAIN}},
     .kernel = &(const row_kernel){hn_conv_bytes_avx512_vnni, false, true, 4, 4, 16, 64, 0.6, 300.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.qlinear_conv.u8s8.dw.avx512_vnni", .version = 3, .op = "qlinear_conv",
     .isa = HONE_ISA_AVX512_VNNI, .pack_mask = QLINEAR_PACKED,
     .storages = {{HONE_PLAIN, HONE_PLAIN},
                  {HONE_NCHW64C, HONE_NCHW64C},
                  {HONE_PLAIN, HONE_NCHW64C},
                  {HONE_NCHW64C, HONE_PLAIN}},
     .kernel = &(const row_kernel){hn_conv_bytes_dw_avx512_vnni, true, true, 4, 4, 64, 64, 0.4, 60.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv_integer.u8s8.avx512_vnni", .version = 2, .op = "conv_integer",
     .isa = HONE_ISA_AVX512_VNNI, .pack_mask = INTEGER_PACKED,
     .storages = {{HONE_PLAIN, HONE_PLAIN},
                  {HONE_NCHW64C, HONE_NCHW16C},
                  {HONE_PLAIN, HONE_NCHW16C},
                  {HONE_NCHW64C, HONE_PLAIN}},
     .kernel = &(const row_kernel){hn_conv_bytes_avx512_vnni, false, false, 4, 4, 16, 16, 0.6, 300.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv_integer.u8s8.dw.avx512_vnni", .version = 2, .op = "conv_integer",
     .isa = HONE_ISA_AVX512_VNNI, .pack_mask = INTEGER_PACKED,
     .storages = {{HONE_PLAIN, HONE_PLAIN},
                  {HONE_NCHW64C, HONE_NCHW16C},
                  {HONE_PLAIN, HONE_NCHW16C},
                  {HONE_NCHW64C, HONE_PLAIN}},
     .kernel = &(const row_kernel){hn_conv_bytes_dw_avx512_vnni, true, false, 4, 4, 64, 16, 0.4, 60.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.qlinear_conv.u8s8.avx512", .version = 2, .op = "qlinear_conv",
     .isa = HONE_ISA_AVX512, .pack_mask = QLINEAR_PACKED,
     .storages = {{HONE_PLAIN, HONE_PLAIN},
                  {HONE_NCHW64C, HONE_NCHW64C},
                  {HONE_PLAIN, HONE_NCHW64C},
                  {HONE_NCHW64C, HONE_PLAIN}},
     .kernel = &(const row_kernel){hn_conv_bytes_avx512, false, true, 2, 2, 16, 64, 1.1, 120.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.qlinear_conv.u8s8.dw.avx512", .version = 2, .op = "qlinear_conv",
     .isa = HONE_ISA_AVX512, .pack_mask = QLINEAR_PACKED,
     .storages = {{HONE_PLAIN, HONE_PLAIN},
                  {HONE_NCHW64C, HONE_NCHW64C},
                  {HONE_PLAIN, HONE_NCHW64C},
                  {HONE_NCHW64C, HONE_PLAIN}},
     .kernel = &(const row_kernel){hn_conv_bytes_dw_avx512, true, true, 2, 2, 64, 64, 0.4, 30.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv_integer.u8s8.avx512", .version = 2, .op = "conv_integer",
     .isa = HONE_ISA_AVX512, .pack_mask = INTEGER_PACKED,
     .storages = {{HONE_PLAIN, HONE_PLAIN},
                  {HONE_NCHW64C, HONE_NCHW16C},
                  {HONE_PLAIN, HONE_NCHW16C},
                  {HONE_NCHW64C, HONE_PLAIN}},
     .kernel = &(const row_kernel){hn_conv_bytes_avx512, false, false, 2, 2, 16, 16, 1.1, 120.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv_integer.u8s8.dw.avx512", .version = 2, .op = "conv_integer",
     .isa = HONE_ISA_AVX512, .pack_mask = INTEGER_PACKED,
     .storages = {{HONE_PLAIN, HONE_PLAIN},
                  {HONE_NCHW64C, HONE_NCHW16C},
                  {HONE_PLAIN, HONE_NCHW16C},
                  {HONE_NCHW64C, HONE_PLAIN}},
     .kernel = &(const row_kernel){hn_conv_bytes_dw_avx512, true, false, 2, 2, 64, 16, 0.4, 30.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.qlinear_conv.u8s8.avx_vnni", .version = 2, .op = "qlinear_conv",
     .isa = HONE_ISA_AVX_VNNI, .pack_mask = QLINEAR_PACKED,
     .storages = {{HONE_PLAIN, HONE_PLAIN},
                  {HONE_NCHW64C, HONE_NCHW64C},
                  {HONE_PLAIN, HONE_NCHW64C},
                  {HONE_NCHW64C, HONE_PLAIN}},
     .kernel = &(const row_kernel){hn_conv_bytes_avx_vnni, false, true, 4, 4, 16, 64, 0.6, 150.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.qlinear_conv.u8s8.dw.avx_vnni", .version = 2, .op = "qlinear_conv",
     .isa = HONE_ISA_AVX_VNNI, .pack_mask = QLINEAR_PACKED,
     .storages = {{HONE_PLAIN, HONE_PLAIN},
                  {HONE_NCHW64C, HONE_NCHW64C},
                  {HONE_PLAIN, HONE_NCHW64C},
                  {HONE_NCHW64C, HONE_PLAIN}},
     .kernel = &(const row_kernel){hn_conv_bytes_dw_avx_vnni, true, true, 4, 4, 32, 64, 0.4, 30.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv_integer.u8s8.avx_vnni", .version = 2, .op = "conv_integer",
     .isa = HONE_ISA_AVX_VNNI, .pack_mask = INTEGER_PACKED,
     .storages =
         {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW64C, HONE_NCHW8C}, {HONE_PLAIN, HONE_NCHW8C}, {HONE_NCHW64C, HONE_PLAIN}},
     .kernel = &(const row_kernel){hn_conv_bytes_avx_vnni, false, false, 4, 4, 16, 8, 0.6, 150.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv_integer.u8s8.dw.avx_vnni", .version = 2, .op = "conv_integer",
     .isa = HONE_ISA_AVX_VNNI, .pack_mask = INTEGER_PACKED,
     .storages =
         {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW64C, HONE_NCHW8C}, {HONE_PLAIN, HONE_NCHW8C}, {HONE_NCHW64C, HONE_PLAIN}},
     .kernel = &(const row_kernel){hn_conv_bytes_dw_avx_vnni, true, false, 4, 4, 32, 8, 0.4, 30.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.qlinear_conv.u8s8.avx2", .version = 2, .op = "qlinear_conv",
     .isa = HONE_ISA_AVX2, .pack_mask = QLINEAR_PACKED,
     .storages = {{HONE_PLAIN, HONE_PLAIN},
                  {HONE_NCHW64C, HONE_NCHW64C},
                  {HONE_PLAIN, HONE_NCHW64C},
                  {HONE_NCHW64C, HONE_PLAIN}},
     .kernel = &(const row_kernel){hn_conv_bytes_avx2, false, true, 2, 2, 16, 64, 1.1, 60.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.qlinear_conv.u8s8.dw.avx2", .version = 2, .op = "qlinear_conv",
     .isa = HONE_ISA_AVX2, .pack_mask = QLINEAR_PACKED,
     .storages = {{HONE_PLAIN, HONE_PLAIN},
                  {HONE_NCHW64C, HONE_NCHW64C},
                  {HONE_PLAIN, HONE_NCHW64C},
                  {HONE_NCHW64C, HONE_PLAIN}},
     .kernel = &(const row_kernel){hn_conv_bytes_dw_avx2, true, true, 2, 2, 32, 64, 0.4, 15.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv_integer.u8s8.avx2", .version = 2, .op = "conv_integer",
     .isa = HONE_ISA_AVX2, .pack_mask = INTEGER_PACKED,
     .storages =
         {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW64C, HONE_NCHW8C}, {HONE_PLAIN, HONE_NCHW8C}, {HONE_NCHW64C, HONE_PLAIN}},
     .kernel = &(const row_kernel){hn_conv_bytes_avx2, false, false, 2, 2, 16, 8, 1.1, 60.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv_integer.u8s8.dw.avx2", .version = 2, .op = "conv_integer",
     .isa = HONE_ISA_AVX2, .pack_mask = INTEGER_PACKED,
     .storages =
         {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW64C, HONE_NCHW8C}, {HONE_PLAIN, HONE_NCHW8C}, {HONE_NCHW64C, HONE_PLAIN}},
     .kernel = &(const row_kernel){hn_conv_bytes_dw_avx2, true, false, 2, 2, 32, 8, 0.4, 15.0}, COMMON},
#endif
    {sizeof(hone_tactic), .name = "cpu.qlinear_conv.u8s8.c", .version = 2, .op = "qlinear_conv", .isa = HONE_ISA_C,
     .pack_mask = QLINEAR_PACKED,
     .storages = {{HONE_PLAIN, HONE_PLAIN},
                  {HONE_NCHW64C, HONE_NCHW64C},
                  {HONE_PLAIN, HONE_NCHW64C},
                  {HONE_NCHW64C, HONE_PLAIN}},
     .kernel = &(const row_kernel){hn_conv_bytes_c, false, true, 2, 2, 16, 64, 1.1, 15.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.qlinear_conv.u8s8.dw.c", .version = 2, .op = "qlinear_conv", .isa = HONE_ISA_C,
     .pack_mask = QLINEAR_PACKED,
     .storages = {{HONE_PLAIN, HONE_PLAIN},
                  {HONE_NCHW64C, HONE_NCHW64C},
                  {HONE_PLAIN, HONE_NCHW64C},
                  {HONE_NCHW64C, HONE_PLAIN}},
     .kernel = &(const row_kernel){hn_conv_bytes_dw_c, true, true, 2, 2, 16, 64, 0.4, 4.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv_integer.u8s8.c", .version = 2, .op = "conv_integer", .isa = HONE_ISA_C,
     .pack_mask = INTEGER_PACKED,
     .storages =
         {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW64C, HONE_NCHW8C}, {HONE_PLAIN, HONE_NCHW8C}, {HONE_NCHW64C, HONE_PLAIN}},
     .kernel = &(const row_kernel){hn_conv_bytes_c, false, false, 2, 2, 16, 8, 1.1, 15.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv_integer.u8s8.dw.c", .version = 2, .op = "conv_integer", .isa = HONE_ISA_C,
     .pack_mask = INTEGER_PACKED,
     .storages =
         {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW64C, HONE_NCHW8C}, {HONE_PLAIN, HONE_NCHW8C}, {HONE_NCHW64C, HONE_PLAIN}},
     .kernel = &(const row_kernel){hn_conv_bytes_dw_c, true, false, 2, 2, 16, 8, 0.4, 4.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.qlinear_conv.tiles.c", .version = 1, .op = "qlinear_conv", .isa = HONE_ISA_C,
     .pack_mask = QLINEAR_PACKED,
     .storages = {{HONE_PLAIN, HONE_PLAIN},
                  {HONE_NCHW64C, HONE_NCHW64C},
                  {HONE_PLAIN, HONE_NCHW64C},
                  {HONE_NCHW64C, HONE_PLAIN}},
     .kernel = &(const row_kernel){hn_conv_bytes_tiles_c, false, true, 4, 64, 16, 64, 0.05, 1.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv_integer.tiles.c", .version = 1, .op = "conv_integer", .isa = HONE_ISA_C,
     .pack_mask = INTEGER_PACKED,
     .storages =
         {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW64C, HONE_NCHW8C}, {HONE_PLAIN, HONE_NCHW8C}, {HONE_NCHW64C, HONE_PLAIN}},
     .kernel = &(const row_kernel){hn_conv_bytes_tiles_c, false, false, 4, 64, 16, 8, 0.05, 1.0}, COMMON},
    {0}};
