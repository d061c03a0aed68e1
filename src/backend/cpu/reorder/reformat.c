/* SPDX-License-Identifier: Apache-2.0 */
/* reformat.c - f32 between plain and channel-blocked formats; and from one block size to another by way of the plain
 * format in scratch memory: rare, since the layers of a model mostly agree. */
#include "kernels/cpu/reorder/reorder.h"

typedef hn_reorder_f32_fn range_kernel;
typedef hn_reorder_args range_args;
#include "backend/cpu/range.inc.h"

typedef struct two_ranges {
  range unblock, block;
} two_ranges;

static const char *check(const hone_query *query) {
  const char *reason = hn_cpu_check(query, 1, 1, 1);
  if (reason) return reason;
  const hone_type *in = &query->in[0].type, *out = &query->out[0].type;
  if (in->dtype != HONE_F32 || out->dtype != HONE_F32) return "it is not f32";
  if (in->shape.rank < 2 || !hn_shape_equal(&in->shape, &out->shape)) return "the shapes differ or have no channels";
  return NULL;
}

static const char *reject(const hone_query *query) {
  const char *reason = check(query);
  if (reason) return reason;
  const bool to_blocked = query->in[0].type.format == HONE_PLAIN, to_plain = query->out[0].type.format == HONE_PLAIN;
  return to_blocked == to_plain ? "one format must be plain, the other blocked" : NULL;
}

static const char *reject_blocks(const hone_query *query) {
  const char *reason = check(query);
  if (reason) return reason;
  const hone_format in = query->in[0].type.format, out = query->out[0].type.format;
  if (in == HONE_PLAIN || out == HONE_PLAIN || in == out) return "the formats are not blocks of different sizes";
  return NULL;
}

static size_t scratch_blocks(const hone_query *query) {
  return (size_t)hn_elems(&query->in[0].type.shape) * sizeof(float);
}

static size_t bytes_blocks(const hone_query *query) {
  (void)query;
  return sizeof(two_ranges);
}

static range plan(hn_reorder_f32_fn *kernel, const hone_shape *shape, hone_format blocked) {
  range r = {.kernel = kernel, .args = {.images = shape->dim[0], .channels = shape->dim[1], .pixels = 1}};
  for (int i = 2; i < shape->rank; ++i) r.args.pixels *= shape->dim[i];
  r.args.block = hn_format_block(blocked);
  r.units = hn_reorder_units(&r.args);
  r.grain = hn_cpu_grain(r.units, 8.0 * (double)hn_elems(shape) * HN_CPU_NS_PER_BYTE);
  return r;
}

static hone_status prepare(const hone_query *query, range *s, hn_reorder_f32_fn *to, hn_reorder_f32_fn *from) {
  const hone_type *in = &query->in[0].type, *out = &query->out[0].type;
  *s = in->format == HONE_PLAIN ? plan(to, &in->shape, out->format) : plan(from, &in->shape, in->format);
  return HONE_OK;
}

static hone_status prepare_blocks(const hone_query *query, two_ranges *s, hn_reorder_f32_fn *to,
                                  hn_reorder_f32_fn *from) {
  const hone_type *in = &query->in[0].type, *out = &query->out[0].type;
  s->unblock = plan(from, &in->shape, in->format);
  s->block = plan(to, &in->shape, out->format);
  return HONE_OK;
}

static hone_status launch_blocks(void *state, hone_stream *stream, const hone_launch *launch) {
  const two_ranges *s = state;
  range_run(&s->unblock, stream, launch->in[0].data, launch->scratch);
  range_run(&s->block, stream, launch->scratch, launch->out[0].data);
  return HONE_OK;
}

/* A reformat's ports take the formats of the tensors that it connects; the pairs are those that it can. */
#define ROW_OF(symbol, tactic_name, prepare_of, reject_of, bytes_of, launch_of, suffix, ISA, ...)                      \
  static hone_status prepare_##symbol##_##suffix(hone_unit *unit, const hone_query *query, void *s,                    \
                                                 hone_diagnostics *diag) {                                             \
    (void)unit, (void)diag;                                                                                            \
    return prepare_of(query, s, hn_reorder_to_blocked_f32_##suffix, hn_reorder_from_blocked_f32_##suffix);             \
  }                                                                                                                    \
  const hone_tactic hn_tactic_cpu_##symbol##_##suffix = {                                                              \
      .struct_size = sizeof(hone_tactic),                                                                              \
      .name = tactic_name "." #suffix,                                                                                 \
      .version = 1,                                                                                                    \
      .op = "reformat",                                                                                                \
      .isa = HONE_ISA_##ISA,                                                                                           \
      .flags = HONE_TACTIC_REPEATABLE,                                                                                 \
      .reject = reject_of,                                                                                             \
      .state_bytes = bytes_of,                                                                                         \
      .prepare = prepare_##symbol##_##suffix,                                                                          \
      .launch = launch_of,                                                                                             \
      __VA_ARGS__,                                                                                                     \
  };
#define ROW(suffix, ISA)                                                                                               \
  ROW_OF(reformat_f32, "cpu.reformat.f32", prepare, reject, range_bytes, range_launch, suffix, ISA,                    \
         .formats = {{HONE_PLAIN, HONE_NCHW16C},                                                                       \
                     {HONE_NCHW16C, HONE_PLAIN},                                                                       \
                     {HONE_PLAIN, HONE_NCHW8C},                                                                        \
                     {HONE_NCHW8C, HONE_PLAIN}})                                                                       \
  ROW_OF(reformat_f32_blocks, "cpu.reformat.f32.blocks", prepare_blocks, reject_blocks, bytes_blocks, launch_blocks,   \
         suffix, ISA, .scratch = scratch_blocks,                                                                       \
         .formats = {{HONE_NCHW8C, HONE_NCHW16C}, {HONE_NCHW16C, HONE_NCHW8C}})
HN_EACH_ISA(ROW)
