/* SPDX-License-Identifier: Apache-2.0 */
/* transpose_last.c - transposes that move the channels behind the planes, from a blocked format, and those that move
 * them back, into one: a border between NHWC and blocked layers is one copy, not two. */
#include "kernels/cpu/reorder/reorder.h"

typedef hn_reorder_f32_fn range_kernel;
typedef hn_reorder_args range_args;
#include "backend/cpu/range.inc.h"

typedef struct row_kernel {
  hn_reorder_f32_fn *to_last, *from_last;
} row_kernel;

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  HN_TRY_REASON(hn_cpu_check(query, 1, 1, 1));
  const hone_type *in = &query->in[0].type, *out = &query->out[0].type;
  const int rank = in->shape.rank;
  const int64_t *perm;
  if (in->dtype != HONE_F32 || out->dtype != HONE_F32) return "it is not f32";
  const bool to_last = out->format == HONE_PLAIN;
  const hone_type *blocked = to_last ? in : out;
  if (blocked->format != query->tactic->storages[0].in || (to_last ? out : in)->format != HONE_PLAIN)
    return "one format must be plain, the other blocked";
  if (rank < 3 || out->shape.rank != rank || hn_attr_ints(query->attrs, "perm", &perm) != rank)
    return "perm has another rank";
  for (int i = 0; i < rank; ++i) {
    const int moved = to_last ? (i == rank - 1 ? 1 : i + 1) : i == 1 ? rank - 1 : i - 1;
    if (perm[i] != (i == 0 ? 0 : moved)) return "it does not move the channels behind the planes or back";
    if (out->shape.dim[i] != in->shape.dim[perm[i]]) return "the output has another shape";
  }
  range *s = memory;
  needs->state = sizeof *s;
  if (!s) return NULL;
  const row_kernel *row = query->tactic->kernel;
  s->kernel = to_last ? row->to_last : row->from_last;
  s->args = (hn_reorder_args){.images = blocked->shape.dim[0], .channels = blocked->shape.dim[1], .pixels = 1};
  for (int i = 2; i < rank; ++i) s->args.pixels *= blocked->shape.dim[i];
  s->args.block = hn_format_block(blocked->format);
  s->units = hn_reorder_units(&s->args);
  s->grain = hn_cpu_grain(s->units, 8.0 * (double)hn_elems(&blocked->shape) * HN_CPU_NS_PER_BYTE);
  return NULL;
}

const hone_tactic hn_tactics_cpu_transpose_last[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.transpose.f32.channels_last.avx512", .version = 1, .op = "transpose",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_NCHW16C, HONE_PLAIN}, {HONE_PLAIN, HONE_NCHW16C}}, .plan = plan, .launch = range_launch,
     .kernel = &(const row_kernel){hn_reorder_blocked_to_last_f32_avx512, hn_reorder_last_to_blocked_f32_avx512}},
    {sizeof(hone_tactic), .name = "cpu.transpose.f32.channels_last.avx2", .version = 1, .op = "transpose",
     .isa = HONE_ISA_AVX2, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_NCHW8C, HONE_PLAIN}, {HONE_PLAIN, HONE_NCHW8C}}, .plan = plan, .launch = range_launch,
     .kernel = &(const row_kernel){hn_reorder_blocked_to_last_f32_avx2, hn_reorder_last_to_blocked_f32_avx2}},
#endif
    {sizeof(hone_tactic), .name = "cpu.transpose.f32.channels_last.c", .version = 1, .op = "transpose",
     .isa = HONE_ISA_C, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_NCHW8C, HONE_PLAIN}, {HONE_PLAIN, HONE_NCHW8C}}, .plan = plan, .launch = range_launch,
     .kernel = &(const row_kernel){hn_reorder_blocked_to_last_f32_c, hn_reorder_last_to_blocked_f32_c}},
    {0}};
