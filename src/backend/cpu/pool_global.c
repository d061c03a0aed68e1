/* SPDX-License-Identifier: Apache-2.0 */
/* pool_global.c - the mean or maximum of each channel's whole plane, f32, plain or blocked. */
#include "kernels/cpu/pool/pool.h"

typedef hn_pool_global_f32_fn range_kernel;
typedef hn_pool_global_args range_args;
#include "backend/cpu/range.inc.h"

static const char *reject(const hone_query *query) {
  const char *reason = hn_cpu_check(query, 1, 1, 1);
  if (reason) return reason;
  const hone_type *x = &query->in[0].type, *y = &query->out[0].type;
  if (x->dtype != HONE_F32 || y->dtype != HONE_F32) return "it is not f32";
  if (x->format != y->format) return "input and output have different formats";
  hone_shape shape = x->shape;
  for (int i = 2; i < shape.rank; ++i) shape.dim[i] = 1;
  if (shape.rank < 3 || !hn_shape_equal(&shape, &y->shape)) return "the output has another shape";
  for (int i = 2; i < shape.rank; ++i)
    if (x->shape.dim[i] == 0) return "the planes are empty";
  return NULL;
}

static hone_status prepare(const hone_query *query, range *s, hn_pool_global_f32_fn *kernel) {
  const hone_type *x = &query->in[0].type;
  s->kernel = kernel;
  s->args = (hn_pool_global_args){.pixels = 1, .block = hn_format_block(x->format)};
  for (int i = 2; i < x->shape.rank; ++i) s->args.pixels *= x->shape.dim[i];
  s->units = x->shape.dim[0] * hn_ceil_div(x->shape.dim[1], s->args.block);
  s->grain = hn_cpu_grain(s->units, (double)hn_bytes(x) * HN_CPU_NS_PER_BYTE);
  return HONE_OK;
}

#define ROW_OF(op_name, suffix, ISA, prepared)                                                                         \
  HN_CPU_ROW(op_name, f32, suffix, ISA, prepared, .flags = HONE_TACTIC_REPEATABLE, .formats = HN_CPU_FORMATS_##suffix, \
             .reject = reject, .state_bytes = range_bytes, .launch = range_launch)
#define ROW(suffix, ISA)                                                                                               \
  ROW_OF(global_max_pool, suffix, ISA, prepare(query, s, hn_pool_global_max_f32_##suffix))                             \
  ROW_OF(global_average_pool, suffix, ISA, prepare(query, s, hn_pool_global_average_f32_##suffix))
HN_EACH_ISA(ROW)
