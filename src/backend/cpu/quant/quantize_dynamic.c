/* SPDX-License-Identifier: Apache-2.0 */
/* quantize_dynamic.c - dynamic_quantize_linear: the range of all elements, then one scale for them. Zeros that blocked
 * formats hold behind the last channel do not change a range, since zero is in it anyway. */
#include "backend/cpu/quant/quant.h"
#include "kernels/cpu/quant/quantize.h"
#include <math.h>

typedef struct row_kernel {
  hn_quantize_range_fn *range;
  hn_quantize_fn *plain, *half, *blocked; /* half: the bytes alone are blocked */
  hone_format floats;
} row_kernel;

typedef struct quantizing {
  hn_quantize_range_fn *range;
  hn_quantize_fn *quantize;
  hn_quantize_args args;
  int64_t count, parts, part_grain, units, grain;
} quantizing;

typedef struct job {
  const quantizing *q;
  hn_quantize_args args;
  float *ranges; /* of each part: low, high */
} job;

enum { PART = 4096 };
static const double ns_per_element = 0.5, ns_per_look = 0.15;

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  const row_kernel *row = query->tactic->kernel;
  HN_TRY_REASON(hn_cpu_check(query, 1, 1, 3));
  const hone_type *x = &query->in[0].type, *y = &query->out[0].type;
  if (x->dtype != HONE_F32 || y->dtype != HONE_U8) return "it is not from f32 to u8";
  if (!hn_shape_equal(&x->shape, &y->shape)) return "the output has another shape";
  for (int i = 1; i < query->out_count; ++i)
    if (query->out[i].type.kind != HONE_ABSENT && hn_elems(&query->out[i].type.shape) != 1)
      return "scale or zero point has more than one element";
  quantizing q = {.range = row->range, .args = {.outer = 1, .axis = 1, .inner = hn_elems(&x->shape)}};
  if (x->format == HONE_PLAIN && y->format == HONE_PLAIN) {
    q.quantize = row->plain;
    q.units = hn_quantize_units(&q.args);
  } else {
    if (y->format != HONE_NCHW64C || (x->format != HONE_PLAIN && x->format != row->floats) || x->shape.rank < 3)
      return "there is no kernel between these formats";
    const hn_cpu_rows rows = hn_cpu_rows_along(&x->shape, 1);
    q.args.outer = rows.outer, q.args.axis = rows.axis, q.args.inner = rows.inner;
    q.quantize = x->format == HONE_PLAIN ? row->half : row->blocked;
    q.units = hn_quantize_blocks(&q.args);
  }
  q.count = hn_cpu_stored(x);
  q.parts = hn_ceil_div(q.count, PART);
  q.part_grain = hn_cpu_grain(q.parts, (double)q.count * ns_per_look);
  q.grain = hn_cpu_grain(q.units, (double)q.count * ns_per_element);
  needs->state = sizeof q;
  needs->scratch = (size_t)(2 * q.parts) * sizeof(float);
  if (memory) *(quantizing *)memory = q;
  return NULL;
}

static void find_ranges(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  for (int64_t part = begin; part < end; ++part) {
    const int64_t first = part * PART, count = hn_cpu_lesser(PART, j->q->count - first);
    j->q->range((const float *)j->args.x + first, count, &j->ranges[2 * part], &j->ranges[2 * part + 1]);
  }
}

static void quantize(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  j->q->quantize(&j->args, begin, end);
}

/* Each step is rounded to f32, as the operator says. */
static void find_scale(const job *j, float *out_scale, uint8_t *out_zero) {
  double low = 0, high = 0;
  for (int64_t part = 0; part < j->q->parts; ++part) {
    low = fmin(low, (double)j->ranges[2 * part]);
    high = fmax(high, (double)j->ranges[2 * part + 1]);
  }
  const double span = (double)(float)(high - low), scale = span > 0 ? (double)(float)(span / 255) : 1;
  *out_scale = (float)scale;
  *out_zero = (uint8_t)nearbyint(fmin(fmax((double)(float)(-low / scale), 0), 255));
}

static hone_status launch(void *state, hone_stream *stream, const hone_launch *launch) {
  const quantizing *q = state;
  float scale = 1;
  uint8_t zero = 0;
  job j = {.q = q, .args = q->args, .ranges = launch->scratch};
  j.args.x = launch->in[0].data, j.args.y = launch->out[0].data;
  hn_pool_run(hn_stream_pool(stream), q->parts, q->part_grain, find_ranges, &j);
  find_scale(&j, &scale, &zero);
  j.args.scale = &scale, j.args.zero = &zero;
  hn_pool_run(hn_stream_pool(stream), q->units, q->grain, quantize, &j);
  if (launch->out_count > 1 && launch->out[1].data) *(float *)launch->out[1].data = scale;
  if (launch->out_count > 2 && launch->out[2].data) *(uint8_t *)launch->out[2].data = zero;
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_quantize_dynamic[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.dynamic_quantize_linear.u8.avx512", .version = 1,
     .op = "dynamic_quantize_linear", .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_PLAIN, HONE_NCHW64C}, {HONE_NCHW16C, HONE_NCHW64C}}, .plan = plan,
     .launch = launch,
     .kernel = &(const row_kernel){hn_quantize_range_avx512, hn_quantize_avx512, hn_quantize_plain_blocked_avx512,
                                   hn_quantize_blocked_avx512, HONE_NCHW16C}},
    {sizeof(hone_tactic), .name = "cpu.dynamic_quantize_linear.u8.avx2", .version = 1, .op = "dynamic_quantize_linear",
     .isa = HONE_ISA_AVX2, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_PLAIN, HONE_NCHW64C}, {HONE_NCHW8C, HONE_NCHW64C}}, .plan = plan,
     .launch = launch,
     .kernel = &(const row_kernel){hn_quantize_range_avx2, hn_quantize_avx2, hn_quantize_plain_blocked_avx2,
                                   hn_quantize_blocked_avx2, HONE_NCHW8C}},
#endif
    {sizeof(hone_tactic), .name = "cpu.dynamic_quantize_linear.u8.c", .version = 1, .op = "dynamic_quantize_linear",
     .isa = HONE_ISA_C, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_PLAIN, HONE_NCHW64C}, {HONE_NCHW8C, HONE_NCHW64C}}, .plan = plan,
     .launch = launch,
     .kernel = &(const row_kernel){hn_quantize_range_c, hn_quantize_c, hn_quantize_plain_blocked_c,
                                   hn_quantize_blocked_c, HONE_NCHW8C}},
    {0}};
