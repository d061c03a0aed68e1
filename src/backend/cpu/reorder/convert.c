/* SPDX-License-Identifier: Apache-2.0 */
/* convert.c - f32 between plain and channel-blocked formats; and from one block size to another by way of the plain
 * format in scratch memory: rare, since the layers of a model mostly agree. */
#include "kernels/cpu/reorder/reorder.h"

typedef hn_reorder_f32_fn range_kernel;
typedef hn_reorder_args range_args;
#include "backend/cpu/range.inc.h"

typedef struct row_kernel {
  hn_reorder_f32_fn *to_blocked, *from_blocked;
} row_kernel;

typedef struct two_ranges {
  range unblock, block;
} two_ranges;

static const char *check(const hone_query *query) {
  HN_TRY_REASON(hn_cpu_check(query, 1, 1, 1));
  const hone_type *in = &query->in[0].type, *out = &query->out[0].type;
  if (in->dtype != HONE_F32 || out->dtype != HONE_F32) return "it is not f32";
  if (in->shape.rank < 2 || !hn_shape_equal(&in->shape, &out->shape)) return "the shapes differ or have no channels";
  return NULL;
}

static range range_of(hn_reorder_f32_fn *kernel, const hone_shape *shape, hone_format blocked) {
  range r = {.kernel = kernel, .args = {.images = shape->dim[0], .channels = shape->dim[1], .pixels = 1}};
  for (int i = 2; i < shape->rank; ++i) r.args.pixels *= shape->dim[i];
  r.args.block = hn_format_block(blocked);
  r.units = hn_reorder_units(&r.args);
  r.grain = hn_cpu_grain(r.units, 8.0 * (double)hn_elems(shape) * HN_CPU_NS_PER_BYTE);
  return r;
}

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  const row_kernel *row = query->tactic->kernel;
  HN_TRY_REASON(check(query));
  const hone_shape *shape = &query->in[0].type.shape;
  const hone_format in = query->in[0].type.format, out = query->out[0].type.format;
  if ((in == HONE_PLAIN) == (out == HONE_PLAIN)) return "one format must be plain, the other blocked";
  range *s = memory;
  needs->state = sizeof *s;
  if (s) *s = in == HONE_PLAIN ? range_of(row->to_blocked, shape, out) : range_of(row->from_blocked, shape, in);
  return NULL;
}

static const char *plan_blocks(const hone_query *query, void *memory, hone_needs *needs) {
  const row_kernel *row = query->tactic->kernel;
  HN_TRY_REASON(check(query));
  const hone_shape *shape = &query->in[0].type.shape;
  const hone_format in = query->in[0].type.format, out = query->out[0].type.format;
  if (in == HONE_PLAIN || out == HONE_PLAIN || in == out) return "the formats are not blocks of different sizes";
  two_ranges *s = memory;
  needs->state = sizeof *s;
  needs->scratch = (size_t)hn_elems(shape) * sizeof(float);
  if (s) *s = (two_ranges){range_of(row->from_blocked, shape, in), range_of(row->to_blocked, shape, out)};
  return NULL;
}

static hone_status launch_blocks(void *state, hone_stream *stream, const hone_launch *launch) {
  const two_ranges *s = state;
  range_run(&s->unblock, stream, launch->in[0].data, launch->scratch);
  range_run(&s->block, stream, launch->scratch, launch->out[0].data);
  return HONE_OK;
}

/* A convert's ports take the formats of the tensors that it connects; the pairs are those that it can. */
const hone_tactic hn_tactics_cpu_convert[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.convert.f32.avx512", .version = 1, .op = "convert", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages =
         {{HONE_PLAIN, HONE_NCHW16C}, {HONE_NCHW16C, HONE_PLAIN}, {HONE_PLAIN, HONE_NCHW8C}, {HONE_NCHW8C, HONE_PLAIN}},
     .plan = plan, .launch = range_launch,
     .kernel = &(const row_kernel){hn_reorder_to_blocked_f32_avx512, hn_reorder_from_blocked_f32_avx512}},
    {sizeof(hone_tactic), .name = "cpu.convert.f32.blocks.avx512", .version = 1, .op = "convert",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_NCHW8C, HONE_NCHW16C}, {HONE_NCHW16C, HONE_NCHW8C}}, .plan = plan_blocks,
     .launch = launch_blocks,
     .kernel = &(const row_kernel){hn_reorder_to_blocked_f32_avx512, hn_reorder_from_blocked_f32_avx512}},
    {sizeof(hone_tactic), .name = "cpu.convert.f32.avx2", .version = 1, .op = "convert", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages =
         {{HONE_PLAIN, HONE_NCHW16C}, {HONE_NCHW16C, HONE_PLAIN}, {HONE_PLAIN, HONE_NCHW8C}, {HONE_NCHW8C, HONE_PLAIN}},
     .plan = plan, .launch = range_launch,
     .kernel = &(const row_kernel){hn_reorder_to_blocked_f32_avx2, hn_reorder_from_blocked_f32_avx2}},
    {sizeof(hone_tactic), .name = "cpu.convert.f32.blocks.avx2", .version = 1, .op = "convert", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_NCHW8C, HONE_NCHW16C}, {HONE_NCHW16C, HONE_NCHW8C}},
     .plan = plan_blocks, .launch = launch_blocks,
     .kernel = &(const row_kernel){hn_reorder_to_blocked_f32_avx2, hn_reorder_from_blocked_f32_avx2}},
#endif
    {sizeof(hone_tactic), .name = "cpu.convert.f32.c", .version = 1, .op = "convert", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages =
         {{HONE_PLAIN, HONE_NCHW16C}, {HONE_NCHW16C, HONE_PLAIN}, {HONE_PLAIN, HONE_NCHW8C}, {HONE_NCHW8C, HONE_PLAIN}},
     .plan = plan, .launch = range_launch,
     .kernel = &(const row_kernel){hn_reorder_to_blocked_f32_c, hn_reorder_from_blocked_f32_c}},
    {sizeof(hone_tactic), .name = "cpu.convert.f32.blocks.c", .version = 1, .op = "convert", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_NCHW8C, HONE_NCHW16C}, {HONE_NCHW16C, HONE_NCHW8C}},
     .plan = plan_blocks, .launch = launch_blocks,
     .kernel = &(const row_kernel){hn_reorder_to_blocked_f32_c, hn_reorder_from_blocked_f32_c}},
    {0}};
