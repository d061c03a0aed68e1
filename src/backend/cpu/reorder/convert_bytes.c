/* SPDX-License-Identifier: Apache-2.0 */
/* convert_bytes.c - u8 and i8 between plain and nchw64c. */
#include "backend/cpu/quant/quant.h"
#include "kernels/cpu/reorder/reorder.h"
typedef hn_reorder_bytes_fn range_kernel;
typedef hn_reorder_bytes_args range_args;
#include "backend/cpu/range.inc.h"

typedef struct row_kernel {
  hn_reorder_bytes_fn *to_blocked, *from_blocked;
} row_kernel;

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  const row_kernel *row = query->tactic->kernel;
  HN_TRY_REASON(hn_cpu_check(query, 1, 1, 1));
  const hone_type *in = &query->in[0].type, *out = &query->out[0].type;
  if (!hn_cpu_is_byte(in->dtype) || in->dtype != out->dtype) return "it is not of bytes";
  if (in->shape.rank < 2 || !hn_shape_equal(&in->shape, &out->shape)) return "the shapes differ or have no channels";
  const bool blocks = in->format == HONE_PLAIN && out->format == HONE_NCHW64C;
  if (!blocks && (in->format != HONE_NCHW64C || out->format != HONE_PLAIN))
    return "one format must be plain, the other nchw64c";
  const hn_cpu_rows rows = hn_cpu_rows_along(&in->shape, 1);
  range r = {.kernel = blocks ? row->to_blocked : row->from_blocked,
             .args = {.images = rows.outer, .channels = rows.axis, .pixels = rows.inner}};
  r.units = hn_reorder_bytes_units(&r.args);
  r.grain = hn_cpu_grain(r.units, 2.0 * (double)hn_elems(&in->shape) * HN_CPU_NS_PER_BYTE);
  needs->state = sizeof r;
  if (memory) *(range *)memory = r;
  return NULL;
}

const hone_tactic hn_tactics_cpu_convert_bytes[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.convert.bytes.avx512", .version = 1, .op = "convert", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_PLAIN, HONE_NCHW64C}, {HONE_NCHW64C, HONE_PLAIN}},
     .plan = plan, .launch = range_launch,
     .kernel = &(const row_kernel){hn_reorder_to_blocked_bytes_avx512, hn_reorder_from_blocked_bytes_avx512}},
    {sizeof(hone_tactic), .name = "cpu.convert.bytes.avx2", .version = 1, .op = "convert", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_PLAIN, HONE_NCHW64C}, {HONE_NCHW64C, HONE_PLAIN}},
     .plan = plan, .launch = range_launch,
     .kernel = &(const row_kernel){hn_reorder_to_blocked_bytes_avx2, hn_reorder_from_blocked_bytes_avx2}},
#endif
    {sizeof(hone_tactic), .name = "cpu.convert.bytes.c", .version = 1, .op = "convert", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_PLAIN, HONE_NCHW64C}, {HONE_NCHW64C, HONE_PLAIN}},
     .plan = plan, .launch = range_launch,
     .kernel = &(const row_kernel){hn_reorder_to_blocked_bytes_c, hn_reorder_from_blocked_bytes_c}},
    {0}};
