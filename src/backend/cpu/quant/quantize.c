/* SPDX-License-Identifier: Apache-2.0 */
/* quantize.c - quantize_linear and dequantize_linear between f32 and bytes or words of 16 bits, one scale or one for
 * each index of an axis; plain, or bytes blocked on their side, or on both. */
#include "kernels/cpu/quant/quantize.h"
#include "backend/cpu/quant/quant.h"
typedef hn_quantize_fn range_kernel;
typedef hn_quantize_args range_args;
#include "backend/cpu/range.inc.h"

typedef struct row_kernel {
  hn_quantize_fn *plain, *half, *blocked; /* half: the bytes alone are blocked; NULL: of words of 16 bits */
  hone_format floats;                     /* how blocked floats lie */
} row_kernel;

static const double ns_per_element = 0.5;

static bool is_held(const row_kernel *row, hone_dtype dtype) {
  return row->half ? hn_cpu_is_byte(dtype) : dtype == HONE_U16 || dtype == HONE_I16;
}

static const char *read_scale(const hone_query *query, const hone_type *bytes, hn_quantize_args *a) {
  const hone_type *scale = &query->in[1].type, *zero = &query->in[2].type;
  const hone_shape *shape = &bytes->shape;
  if (scale->dtype != HONE_F32) return "the scale is not f32";
  if (scale->shape.rank > 1 || hn_attr_int(query->attrs, "block_size") != 0) return "it has scales of blocks";
  if (hn_cpu_given(query, 2) && (zero->dtype != bytes->dtype || hn_elems(&zero->shape) != hn_elems(&scale->shape)))
    return "the zero points do not belong to the scales";
  *a = (hn_quantize_args){.outer = 1, .axis = 1, .inner = hn_elems(shape)};
  a->flip = bytes->dtype == HONE_I16 ? 0x8000 : hn_cpu_flip(bytes->dtype);
  a->each = hn_elems(&scale->shape) != 1;
  if (!a->each) return NULL;
  const int axis = hn_cpu_axis(query, "axis", shape->rank);
  if (axis < 0 || hn_elems(&scale->shape) != shape->dim[axis]) return "the scales do not lie along an axis";
  const hn_cpu_rows rows = hn_cpu_rows_along(shape, axis);
  a->outer = rows.outer, a->axis = rows.axis, a->inner = rows.inner;
  return NULL;
}

/* Images, channels and pixels. */
static const char *read_blocked(const hone_query *query, const hone_type *bytes, hn_quantize_args *a) {
  const hone_shape *shape = &bytes->shape;
  if (shape->rank < 3) return "it has no channels";
  if (a->each && hn_cpu_axis(query, "axis", shape->rank) != 1) return "the scales do not lie along the channels";
  const hn_cpu_rows rows = hn_cpu_rows_along(shape, 1);
  a->outer = rows.outer, a->axis = rows.axis, a->inner = rows.inner;
  return NULL;
}

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  const row_kernel *row = query->tactic->kernel;
  HN_TRY_REASON(hn_cpu_check(query, 2, 3, 1));
  const hone_type *x = &query->in[0].type, *y = &query->out[0].type;
  const bool quantizes = y->dtype != HONE_F32;
  const hone_type *bytes = quantizes ? y : x, *floats = quantizes ? x : y;
  const int64_t precision = hn_attr_int(query->attrs, "precision");
  if (floats->dtype != HONE_F32 || !is_held(row, bytes->dtype))
    return row->half ? "it is not between f32 and bytes" : "it is not between f32 and words of 16 bits";
  if (precision != 0 && precision != 1) return "it does not divide in f32";
  if (!hn_shape_equal(&x->shape, &y->shape)) return "the output has another shape";
  range r = {0};
  HN_TRY_REASON(read_scale(query, bytes, &r.args));
  if (bytes->format == HONE_PLAIN && floats->format == HONE_PLAIN) {
    r.kernel = row->plain;
    r.units = hn_quantize_units(&r.args);
  } else {
    if (!row->half) return "words of 16 bits are plain";
    HN_TRY_REASON(read_blocked(query, bytes, &r.args));
    if (bytes->format != HONE_NCHW64C || (floats->format != HONE_PLAIN && floats->format != row->floats))
      return "there is no kernel between these formats";
    r.kernel = floats->format == HONE_PLAIN ? row->half : row->blocked;
    r.units = hn_quantize_blocks(&r.args);
  }
  r.grain = hn_cpu_grain(r.units, (double)hn_elems(&x->shape) * ns_per_element);
  needs->state = sizeof r;
  if (memory) *(range *)memory = r;
  return NULL;
}

static hone_status launch(void *state, hone_stream *stream, const hone_launch *launch) {
  range r = *(const range *)state;
  r.args.scale = launch->in[1].data;
  r.args.zero = launch->in_count > 2 ? launch->in[2].data : NULL;
  range_run(&r, stream, launch->in[0].data, launch->out[0].data);
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_quantize[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.quantize_linear.bytes.avx512", .version = 1, .op = "quantize_linear",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_PLAIN, HONE_NCHW64C}, {HONE_NCHW16C, HONE_NCHW64C}}, .plan = plan,
     .launch = launch,
     .kernel = &(const row_kernel){hn_quantize_avx512, hn_quantize_plain_blocked_avx512, hn_quantize_blocked_avx512,
                                   HONE_NCHW16C}},
    {sizeof(hone_tactic), .name = "cpu.dequantize_linear.bytes.avx512", .version = 1, .op = "dequantize_linear",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW64C, HONE_PLAIN}, {HONE_NCHW64C, HONE_NCHW16C}}, .plan = plan,
     .launch = launch,
     .kernel = &(const row_kernel){hn_dequantize_avx512, hn_dequantize_blocked_plain_avx512,
                                   hn_dequantize_blocked_avx512, HONE_NCHW16C}},
    {sizeof(hone_tactic), .name = "cpu.quantize_linear.words.avx512", .version = 1, .op = "quantize_linear",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){.plain = hn_quantize_words_avx512}},
    {sizeof(hone_tactic), .name = "cpu.dequantize_linear.words.avx512", .version = 1, .op = "dequantize_linear",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){.plain = hn_dequantize_words_avx512}},
    {sizeof(hone_tactic), .name = "cpu.quantize_linear.bytes.avx2", .version = 1, .op = "quantize_linear",
     .isa = HONE_ISA_AVX2, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_PLAIN, HONE_NCHW64C}, {HONE_NCHW8C, HONE_NCHW64C}}, .plan = plan,
     .launch = launch,
     .kernel =
         &(const row_kernel){hn_quantize_avx2, hn_quantize_plain_blocked_avx2, hn_quantize_blocked_avx2, HONE_NCHW8C}},
    {sizeof(hone_tactic), .name = "cpu.dequantize_linear.bytes.avx2", .version = 1, .op = "dequantize_linear",
     .isa = HONE_ISA_AVX2, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW64C, HONE_PLAIN}, {HONE_NCHW64C, HONE_NCHW8C}}, .plan = plan,
     .launch = launch,
     .kernel = &(const row_kernel){hn_dequantize_avx2, hn_dequantize_blocked_plain_avx2, hn_dequantize_blocked_avx2,
                                   HONE_NCHW8C}},
    {sizeof(hone_tactic), .name = "cpu.quantize_linear.words.avx2", .version = 1, .op = "quantize_linear",
     .isa = HONE_ISA_AVX2, .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){.plain = hn_quantize_words_avx2}},
    {sizeof(hone_tactic), .name = "cpu.dequantize_linear.words.avx2", .version = 1, .op = "dequantize_linear",
     .isa = HONE_ISA_AVX2, .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){.plain = hn_dequantize_words_avx2}},
#endif
    {sizeof(hone_tactic), .name = "cpu.quantize_linear.bytes.c", .version = 1, .op = "quantize_linear",
     .isa = HONE_ISA_C, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_PLAIN, HONE_NCHW64C}, {HONE_NCHW8C, HONE_NCHW64C}}, .plan = plan,
     .launch = launch,
     .kernel = &(const row_kernel){hn_quantize_c, hn_quantize_plain_blocked_c, hn_quantize_blocked_c, HONE_NCHW8C}},
    {sizeof(hone_tactic), .name = "cpu.dequantize_linear.bytes.c", .version = 1, .op = "dequantize_linear",
     .isa = HONE_ISA_C, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW64C, HONE_PLAIN}, {HONE_NCHW64C, HONE_NCHW8C}}, .plan = plan,
     .launch = launch,
     .kernel =
         &(const row_kernel){hn_dequantize_c, hn_dequantize_blocked_plain_c, hn_dequantize_blocked_c, HONE_NCHW8C}},
    {sizeof(hone_tactic), .name = "cpu.quantize_linear.words.c", .version = 1, .op = "quantize_linear",
     .isa = HONE_ISA_C, .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){.plain = hn_quantize_words_c}},
    {sizeof(hone_tactic), .name = "cpu.dequantize_linear.words.c", .version = 1, .op = "dequantize_linear",
     .isa = HONE_ISA_C, .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){.plain = hn_dequantize_words_c}},
    {0}};
