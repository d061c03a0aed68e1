/* SPDX-License-Identifier: Apache-2.0 */
/* transpose_last.c - transposes that move the channels behind the planes, from a blocked format, and those that move
 * them back, into one: a border between NHWC and blocked layers is one copy, not two. */
#include "kernels/cpu/reorder/reorder.h"

typedef hn_reorder_f32_fn range_kernel;
typedef hn_reorder_args range_args;
#include "backend/cpu/range.inc.h"

static const char *reject(const hone_query *query, hone_format blocked) {
  const char *reason = hn_cpu_check(query, 1, 1, 1);
  if (reason) return reason;
  const hone_type *in = &query->in[0].type, *out = &query->out[0].type;
  const int rank = in->shape.rank;
  const int64_t *perm;
  if (in->dtype != HONE_F32 || out->dtype != HONE_F32) return "it is not f32";
  const bool to_last = out->format == HONE_PLAIN;
  if ((to_last ? in : out)->format != blocked || (to_last ? out : in)->format != HONE_PLAIN)
    return "one format must be plain, the other blocked";
  if (rank < 3 || out->shape.rank != rank || hn_attr_ints(query->attrs, "perm", &perm) != rank)
    return "perm has another rank";
  for (int i = 0; i < rank; ++i) {
    const int moved = to_last ? (i == rank - 1 ? 1 : i + 1) : i == 1 ? rank - 1 : i - 1;
    if (perm[i] != (i == 0 ? 0 : moved)) return "it does not move the channels behind the planes or back";
    if (out->shape.dim[i] != in->shape.dim[perm[i]]) return "the output has another shape";
  }
  return NULL;
}

static hone_status prepare(const hone_query *query, range *s, hn_reorder_f32_fn *to_last,
                           hn_reorder_f32_fn *from_last) {
  const hone_type *in = &query->in[0].type, *out = &query->out[0].type;
  const bool last = out->format == HONE_PLAIN;
  const hone_type *blocked = last ? in : out;
  *s = (range){.kernel = last ? to_last : from_last,
               .args = {.images = blocked->shape.dim[0], .channels = blocked->shape.dim[1], .pixels = 1}};
  for (int i = 2; i < blocked->shape.rank; ++i) s->args.pixels *= blocked->shape.dim[i];
  s->args.block = hn_format_block(blocked->format);
  s->units = hn_reorder_units(&s->args);
  s->grain = hn_cpu_grain(s->units, 8.0 * (double)hn_elems(&blocked->shape) * HN_CPU_NS_PER_BYTE);
  return HONE_OK;
}

#define BLOCKED_c HONE_NCHW8C
#define BLOCKED_avx2 HONE_NCHW8C
#define BLOCKED_avx512 HONE_NCHW16C
#define ROW(suffix, ISA)                                                                                               \
  static const char *reject_##suffix(const hone_query *query) { return reject(query, BLOCKED_##suffix); }              \
  HN_CPU_ROW_NAMED(                                                                                                    \
      transpose, "cpu.transpose.f32.channels_last." #suffix, channels_last, suffix, ISA,                               \
      prepare(query, s, hn_reorder_blocked_to_last_f32_##suffix, hn_reorder_last_to_blocked_f32_##suffix),             \
      .flags = HONE_TACTIC_REPEATABLE, .formats = {{BLOCKED_##suffix, HONE_PLAIN}, {HONE_PLAIN, BLOCKED_##suffix}},    \
      .reject = reject_##suffix, .state_bytes = range_bytes, .launch = range_launch)
HN_EACH_ISA(ROW)
