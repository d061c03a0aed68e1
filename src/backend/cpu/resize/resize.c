/* SPDX-License-Identifier: Apache-2.0 */
/* resize.c - resize and upsample of f32 and f64 over one to three spatial axes, plain or blocked, as tables of indices
 * and weights. Source: ONNX operator Resize (opsets 11 to 19); the cubic kernel is Keys' (1981). */
#include "kernels/cpu/resize/resize.h"
#include "tensor/element.h"
#include <math.h>
#include <string.h>

enum { SCALES = 2, UPSAMPLE_SCALES = 1, MAX_TAPS = 4096 };

typedef struct axis {
  int64_t in, out;
  double scale;
  bool active;
  int taps;
} axis;

typedef struct geometry {
  axis z, y, x;
  bool nearest;
  const hone_attrs *attrs;
} geometry;

typedef hn_resize_fn range_kernel;
typedef hn_resize_args range_args;
#include "backend/cpu/range.inc.h"

typedef struct row_kernel {
  int scales_input;
  hn_resize_fn *by_index, *by_taps;
} row_kernel;

static const char *text_or(const hone_attrs *attrs, const char *name, const char *otherwise) {
  return hn_attr_has(attrs, name) ? hn_attr_text(attrs, name) : otherwise;
}

static bool is_one_of(const char *word, const char *const *words) {
  for (; *words; ++words)
    if (strcmp(word, *words) == 0) return true;
  return false;
}

static const char *check_words(const hone_attrs *attrs) {
  static const char *const transforms[] = {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                                           "asymmetric", "align_corners",        "tf_half_pixel_for_nn",
                                           NULL};
  static const char *const modes[] = {"nearest", "linear", "cubic", NULL};
  static const char *const roundings[] = {"floor", "ceil", "round_prefer_ceil", "round_prefer_floor", NULL};
  if (!is_one_of(text_or(attrs, "coordinate_transformation_mode", "asymmetric"), transforms))
    return "there is no code for this transformation of coordinates";
  if (!is_one_of(hn_attr_text(attrs, "mode"), modes)) return "its mode is not known";
  if (!is_one_of(text_or(attrs, "nearest_mode", "floor"), roundings)) return "its nearest_mode is not known";
  if (strcmp(text_or(attrs, "keep_aspect_ratio_policy", "stretch"), "stretch") != 0) return "it keeps the aspect ratio";
  return NULL;
}

static bool has_elements(const hone_query *query, int input) {
  return hn_cpu_given(query, input) && hn_elems(&query->in[input].type.shape) > 0;
}

/* The scales of all axes: given ones, or those that the extents tell. */
static const char *read_scales(const hone_query *query, int scales_input, double *scale) {
  const hone_shape *x = &query->in[0].type.shape, *y = &query->out[0].type.shape;
  for (int d = 0; d < x->rank; ++d) scale[d] = (double)y->dim[d] / (double)x->dim[d];
  if (!has_elements(query, scales_input)) return NULL;
  const hone_tensor *scales = query->in[scales_input].constant;
  const int64_t *axes;
  const int named = hn_attr_ints(query->attrs, "axes", &axes);
  if (!scales || scales->type.dtype != HONE_F32) return "the scales are data-dependent";
  if (hn_elems(&scales->type.shape) != (named ? named : x->rank)) return "the scales have another length";
  for (int i = 0; i < (named ? named : x->rank); ++i) {
    const int64_t d = !named ? i : axes[i] < 0 ? axes[i] + x->rank : axes[i];
    if (d < 0 || d >= x->rank) return "an axis is out of range";
    scale[d] = (double)(float)hn_real(scales, i);
    if (!(scale[d] > 0) || !isfinite(scale[d])) return "a scale is out of range";
  }
  return NULL;
}

static const char *plan_axis(const hone_query *query, int d, double scale, axis *a) {
  const hone_attrs *attrs = query->attrs;
  *a = (axis){.in = query->in[0].type.shape.dim[d], .out = query->out[0].type.shape.dim[d], .scale = scale, .taps = 1};
  a->active = scale != 1 || a->in != a->out;
  const char mode = hn_attr_text(attrs, "mode")[0];
  if (a->in > INT32_MAX / 32) return "an axis is too long";
  if (!a->active || mode == 'n') return NULL;
  const double support = mode == 'l' ? 1 : 2, squeeze = hn_attr_int(attrs, "antialias") && scale < 1 ? scale : 1;
  if (support / squeeze > MAX_TAPS / 2 - 2) return "it shrinks too much";
  a->taps = 2 - 2 * ((int)floor(-support / squeeze) + 1);
  return NULL;
}

static const char *read(const hone_query *query, int scales_input, geometry *g) {
  HN_TRY_REASON(hn_cpu_check(query, 1, 4, 1));
  HN_TRY_REASON(check_words(query->attrs));
  const hone_type *x = &query->in[0].type, *y = &query->out[0].type;
  const int rank = x->shape.rank;
  double scale[HONE_MAX_RANK];
  const hone_dtype held = hn_cpu_held(query->tactic);
  if (x->dtype != held || y->dtype != held) return "it is of another type";
  const hone_format format = x->format == HONE_PLAIN ? y->format : x->format;
  if (!hn_reads_as(x, format) || !hn_reads_as(y, format) || y->shape.rank != rank)
    return "the output has another format or rank";
  if (rank < 3 || rank > 5) return "it has not one to three spatial axes";
  if (!hn_elems(&x->shape) || !hn_elems(&y->shape)) return "it is empty";
  HN_TRY_REASON(read_scales(query, scales_input, scale));
  for (int d = 0; d < 2; ++d)
    if (scale[d] != 1 || x->shape.dim[d] != y->shape.dim[d]) return "images or channels are resized";
  g->attrs = query->attrs;
  g->nearest = hn_attr_text(query->attrs, "mode")[0] == 'n';
  g->z = g->y = (axis){.in = 1, .out = 1, .scale = 1, .taps = 1};
  if (rank == 5) HN_TRY_REASON(plan_axis(query, 2, scale[2], &g->z));
  if (rank >= 4) HN_TRY_REASON(plan_axis(query, rank - 2, scale[rank - 2], &g->y));
  return plan_axis(query, rank - 1, scale[rank - 1], &g->x);
}

/* The place on the input axis that output coordinate `at` stands for. */
static double place(const char *transform, const axis *a, int64_t at) {
  const double x = (double)at, in = (double)a->in, wide = a->scale * in; /* wide: out before it was rounded */
  if (strcmp(transform, "asymmetric") == 0) return x / a->scale;
  if (strcmp(transform, "align_corners") == 0) return a->out <= 1 || wide <= 1 ? 0 : x * (in - 1) / (wide - 1);
  if (strcmp(transform, "tf_half_pixel_for_nn") == 0) return (x + 0.5) / a->scale;
  if (strcmp(transform, "pytorch_half_pixel") == 0 && a->out <= 1) return 0;
  const double centred = (x + 0.5) / a->scale - 0.5;
  if (strcmp(transform, "half_pixel_symmetric") != 0) return centred;
  return centred + in / 2 * (1 - (double)a->out / wide);
}

static double rounded(const char *how, double x) {
  if (strcmp(how, "floor") == 0) return floor(x);
  if (strcmp(how, "ceil") == 0) return ceil(x);
  return strcmp(how, "round_prefer_ceil") == 0 ? floor(x + 0.5) : ceil(x - 0.5);
}

/* The kernel's value at distance d. */
static double kernel_at(char mode, double a, double d) {
  if (mode == 'l') return d < 1 ? 1 - d : 0;
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

static int32_t inside(double at, int64_t extent) {
  return (int32_t)(at < 0 ? 0 : at > (double)(extent - 1) ? (double)(extent - 1) : at);
}

/* The table is of doubles where it is wide, else of floats. */
static void fill_axis(const geometry *g, const axis *a, void *table, bool wide, int32_t *index) {
  float *weight = wide ? NULL : table;
  double *wide_weight = wide ? table : NULL;
  const char *transform = text_or(g->attrs, "coordinate_transformation_mode", "asymmetric");
  const char *how = text_or(g->attrs, "nearest_mode", "floor"), mode = hn_attr_text(g->attrs, "mode")[0];
  const bool drops = hn_attr_int(g->attrs, "exclude_outside") != 0;
  const double cubic = hn_attr_float(g->attrs, "cubic_coeff_a");
  const double squeeze = hn_attr_int(g->attrs, "antialias") && a->scale < 1 ? a->scale : 1;
  for (int64_t at = 0; at < a->out; ++at) {
    const double x = a->active ? place(transform, a, at) : (double)at, base = floor(x);
    if (!a->active || g->nearest) {
      index[at] = a->active ? inside(rounded(how, x), a->in) : (int32_t)at;
      if (wide)
        wide_weight[at] = 1;
      else
        weight[at] = 1;
      continue;
    }
    const int first = 1 - a->taps / 2;
    double tap[MAX_TAPS], sum = 0;
    for (int t = 0; t < a->taps; ++t) {
      const double from = base + first + t;
      tap[t] = kernel_at(mode, cubic, fabs(from - x) * squeeze);
      if (drops && (from < 0 || from >= (double)a->in)) tap[t] = 0;
      sum += tap[t];
    }
    for (int t = 0; t < a->taps; ++t) {
      index[t * a->out + at] = inside(base + first + t, a->in);
      const double share = tap[t] / (sum == 0 ? 1 : sum);
      if (wide)
        wide_weight[t * a->out + at] = share;
      else
        weight[t * a->out + at] = (float)share;
    }
  }
}

static int64_t table_items(const axis *a) { return a->taps * a->out; }

/* Behind the state: weights of z, y, x, then their indices. */
static const char *plan(const hone_query *query, void *state, hone_needs *needs) {
  const row_kernel *kernel = query->tactic->kernel;
  range *s = state;
  geometry g;
  HN_TRY_REASON(read(query, kernel->scales_input, &g));
  const int64_t items = table_items(&g.z) + table_items(&g.y) + table_items(&g.x);
  const bool wide = hn_cpu_real(query->tactic) == HONE_F64;
  const size_t real_bytes = wide ? sizeof(double) : sizeof(float);
  needs->state = sizeof *s + (size_t)items * (real_bytes + sizeof(int32_t));
  if (!s) return NULL;
  const hone_type *x = &query->in[0].type;
  const int block = hn_format_block(x->format == HONE_PLAIN ? query->out[0].type.format : x->format);
  char *weight_z = (char *)(s + 1), *weight_y = weight_z + (size_t)table_items(&g.z) * real_bytes;
  char *weight_x = weight_y + (size_t)table_items(&g.y) * real_bytes;
  int32_t *index_z = (int32_t *)(void *)(weight_x + (size_t)table_items(&g.x) * real_bytes);
  int32_t *index_y = index_z + table_items(&g.z);
  int32_t *index_x = index_y + table_items(&g.y);
  fill_axis(&g, &g.z, weight_z, wide, index_z);
  fill_axis(&g, &g.y, weight_y, wide, index_y);
  fill_axis(&g, &g.x, weight_x, wide, index_x);
  s->kernel = g.nearest ? kernel->by_index : kernel->by_taps;
  s->args = (hn_resize_args){.in_h = g.y.in,
                             .in_w = g.x.in,
                             .out_h = g.y.out,
                             .out_w = g.x.out,
                             .taps_y = g.y.taps,
                             .taps_x = g.x.taps,
                             .index_y = index_y,
                             .index_x = index_x,
                             .weight_y = weight_y,
                             .weight_x = weight_x,
                             .block = block,
                             .taps_z = g.z.taps,
                             .in_d = g.z.in,
                             .out_d = g.z.out,
                             .index_z = index_z,
                             .weight_z = weight_z};
  s->units = x->shape.dim[0] * hn_ceil_div(x->shape.dim[1], block) * g.z.out * g.y.out;
  const double taps = (double)g.z.taps * (double)g.y.taps * (double)g.x.taps;
  s->grain = hn_cpu_grain(s->units, (double)hn_cpu_stored(&query->out[0].type) * (0.3 + taps * 0.15));
  return NULL;
}

#define COMMON .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = range_launch
const hone_tactic hn_tactics_cpu_resize[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.resize.f32.avx512", .version = 1, .op = "resize", .isa = HONE_ISA_AVX512,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW16C, HONE_NCHW16C}},
     .kernel = &(const row_kernel){SCALES, hn_resize_nearest_f32_avx512, hn_resize_taps_f32_avx512}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.upsample.f32.avx512", .version = 1, .op = "upsample", .isa = HONE_ISA_AVX512,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW16C, HONE_NCHW16C}},
     .kernel = &(const row_kernel){UPSAMPLE_SCALES, hn_resize_nearest_f32_avx512, hn_resize_taps_f32_avx512}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.resize.bf16.avx512", .version = 1, .op = "resize", .isa = HONE_ISA_AVX512,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}},
     .kernel = &(const row_kernel){SCALES, hn_resize_nearest_bf16_avx512, hn_resize_taps_bf16_avx512}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.upsample.bf16.avx512", .version = 1, .op = "upsample", .isa = HONE_ISA_AVX512,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}},
     .kernel = &(const row_kernel){UPSAMPLE_SCALES, hn_resize_nearest_bf16_avx512, hn_resize_taps_bf16_avx512}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.resize.f16.avx512", .version = 1, .op = "resize", .isa = HONE_ISA_AVX512,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}},
     .kernel = &(const row_kernel){SCALES, hn_resize_nearest_f16_avx512, hn_resize_taps_f16_avx512}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.upsample.f16.avx512", .version = 1, .op = "upsample", .isa = HONE_ISA_AVX512,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}},
     .kernel = &(const row_kernel){UPSAMPLE_SCALES, hn_resize_nearest_f16_avx512, hn_resize_taps_f16_avx512}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.resize.f64.avx512", .version = 1, .op = "resize", .isa = HONE_ISA_AVX512,
     .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}},
     .kernel = &(const row_kernel){SCALES, hn_resize_nearest_f64_avx512, hn_resize_taps_f64_avx512}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.upsample.f64.avx512", .version = 1, .op = "upsample", .isa = HONE_ISA_AVX512,
     .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}},
     .kernel = &(const row_kernel){UPSAMPLE_SCALES, hn_resize_nearest_f64_avx512, hn_resize_taps_f64_avx512}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.resize.f32.avx2", .version = 1, .op = "resize", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW8C, HONE_NCHW8C}},
     .kernel = &(const row_kernel){SCALES, hn_resize_nearest_f32_avx2, hn_resize_taps_f32_avx2}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.upsample.f32.avx2", .version = 1, .op = "upsample", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW8C, HONE_NCHW8C}},
     .kernel = &(const row_kernel){UPSAMPLE_SCALES, hn_resize_nearest_f32_avx2, hn_resize_taps_f32_avx2}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.resize.bf16.avx2", .version = 1, .op = "resize", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}},
     .kernel = &(const row_kernel){SCALES, hn_resize_nearest_bf16_avx2, hn_resize_taps_bf16_avx2}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.upsample.bf16.avx2", .version = 1, .op = "upsample", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}},
     .kernel = &(const row_kernel){UPSAMPLE_SCALES, hn_resize_nearest_bf16_avx2, hn_resize_taps_bf16_avx2}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.resize.f16.avx2", .version = 1, .op = "resize", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}},
     .kernel = &(const row_kernel){SCALES, hn_resize_nearest_f16_avx2, hn_resize_taps_f16_avx2}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.upsample.f16.avx2", .version = 1, .op = "upsample", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}},
     .kernel = &(const row_kernel){UPSAMPLE_SCALES, hn_resize_nearest_f16_avx2, hn_resize_taps_f16_avx2}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.resize.f64.avx2", .version = 1, .op = "resize", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}},
     .kernel = &(const row_kernel){SCALES, hn_resize_nearest_f64_avx2, hn_resize_taps_f64_avx2}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.upsample.f64.avx2", .version = 1, .op = "upsample", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}},
     .kernel = &(const row_kernel){UPSAMPLE_SCALES, hn_resize_nearest_f64_avx2, hn_resize_taps_f64_avx2}, COMMON},
#endif
    {sizeof(hone_tactic), .name = "cpu.resize.f32.c", .version = 1, .op = "resize", .isa = HONE_ISA_C,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW8C, HONE_NCHW8C}},
     .kernel = &(const row_kernel){SCALES, hn_resize_nearest_f32_c, hn_resize_taps_f32_c}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.upsample.f32.c", .version = 1, .op = "upsample", .isa = HONE_ISA_C,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW8C, HONE_NCHW8C}},
     .kernel = &(const row_kernel){UPSAMPLE_SCALES, hn_resize_nearest_f32_c, hn_resize_taps_f32_c}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.resize.bf16.c", .version = 1, .op = "resize", .isa = HONE_ISA_C,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}},
     .kernel = &(const row_kernel){SCALES, hn_resize_nearest_bf16_c, hn_resize_taps_bf16_c}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.upsample.bf16.c", .version = 1, .op = "upsample", .isa = HONE_ISA_C,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}},
     .kernel = &(const row_kernel){UPSAMPLE_SCALES, hn_resize_nearest_bf16_c, hn_resize_taps_bf16_c}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.resize.f16.c", .version = 1, .op = "resize", .isa = HONE_ISA_C,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}},
     .kernel = &(const row_kernel){SCALES, hn_resize_nearest_f16_c, hn_resize_taps_f16_c}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.upsample.f16.c", .version = 1, .op = "upsample", .isa = HONE_ISA_C,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}},
     .kernel = &(const row_kernel){UPSAMPLE_SCALES, hn_resize_nearest_f16_c, hn_resize_taps_f16_c}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.resize.f64.c", .version = 1, .op = "resize", .isa = HONE_ISA_C,
     .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}},
     .kernel = &(const row_kernel){SCALES, hn_resize_nearest_f64_c, hn_resize_taps_f64_c}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.upsample.f64.c", .version = 1, .op = "upsample", .isa = HONE_ISA_C,
     .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}},
     .kernel = &(const row_kernel){UPSAMPLE_SCALES, hn_resize_nearest_f64_c, hn_resize_taps_f64_c}, COMMON},
    {0}};
