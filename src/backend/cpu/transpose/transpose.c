/* SPDX-License-Identifier: Apache-2.0 */
/* transpose.c - permuted dimensions: transpose, depth_to_space and space_to_depth, of plain tensors of any whole-byte
 * elements. */
#include "kernels/cpu/transpose/transpose.h"
#include "backend/cpu/copy/copy.h"

typedef struct state {
  hn_transpose_fn *kernel;
  hn_transpose_plan plan;
  int64_t grain;
} state;

typedef struct permutation {
  int rank;
  int64_t dim[HONE_MAX_RANK]; /* of the input */
  int32_t perm[HONE_MAX_RANK];
} permutation;

/* NULL and the permutation that the op is, or the reason against it. */
typedef const char *read_fn(const hone_query *query, permutation *p);

typedef struct row_kernel {
  read_fn *read;
  hn_transpose_fn *run;
} row_kernel;

static const char *check(const hone_query *query) {
  HN_TRY_REASON(hn_cpu_check(query, 1, 1, 1));
  return hn_cpu_check_moves(query, false);
}

static const char *read_transpose(const hone_query *query, permutation *p) {
  HN_TRY_REASON(check(query));
  const hone_shape *in = &query->in[0].type.shape, *out = &query->out[0].type.shape;
  const int64_t *perm;
  const int count = hn_attr_ints(query->attrs, "perm", &perm);
  bool seen[HONE_MAX_RANK] = {false};
  if ((count != 0 && count != in->rank) || out->rank != in->rank) return "perm has another rank";
  p->rank = in->rank;
  for (int d = 0; d < in->rank; ++d) {
    const int64_t from = count ? perm[d] : in->rank - 1 - d;
    if (from < 0 || from >= in->rank || seen[from]) return "perm is not a permutation";
    seen[from] = true;
    if (out->dim[d] != in->dim[from]) return "the output has another shape";
    p->perm[d] = (int32_t)from;
    p->dim[d] = in->dim[d];
  }
  return NULL;
}

/* deep: the shape with many channels, flat: with many pixels. */
static const char *check_blocks(const hone_query *query, const hone_shape *deep, const hone_shape *flat) {
  const int64_t b = hn_attr_int(query->attrs, "blocksize");
  if (deep->rank != 4 || flat->rank != 4) return "the rank is not 4";
  if (b < 1 || b > 1 << 20) return "the block's size is out of range";
  if (deep->dim[0] != flat->dim[0] || deep->dim[1] != flat->dim[1] * b * b || flat->dim[2] != deep->dim[2] * b ||
      flat->dim[3] != deep->dim[3] * b)
    return "the extents do not divide into blocks";
  return NULL;
}

static const char *read_depth_to_space(const hone_query *query, permutation *p) {
  HN_TRY_REASON(check(query));
  const hone_shape *deep = &query->in[0].type.shape, *flat = &query->out[0].type.shape;
  HN_TRY_REASON(check_blocks(query, deep, flat));
  const int64_t b = hn_attr_int(query->attrs, "blocksize"), n = deep->dim[0], c = flat->dim[1];
  const bool outer = hn_name_equal(hn_attr_text(query->attrs, "mode"), "DCR");
  *p = outer ? (permutation){6, {n, b, b, c, deep->dim[2], deep->dim[3]}, {0, 3, 4, 1, 5, 2}}
             : (permutation){6, {n, c, b, b, deep->dim[2], deep->dim[3]}, {0, 1, 4, 2, 5, 3}};
  return NULL;
}

static const char *read_space_to_depth(const hone_query *query, permutation *p) {
  HN_TRY_REASON(check(query));
  const hone_shape *deep = &query->out[0].type.shape, *flat = &query->in[0].type.shape;
  HN_TRY_REASON(check_blocks(query, deep, flat));
  const int64_t b = hn_attr_int(query->attrs, "blocksize"), n = deep->dim[0], c = flat->dim[1];
  const bool outer = hn_name_equal(hn_attr_text(query->attrs, "mode"), "DCR");
  *p = outer ? (permutation){6, {n, c, deep->dim[2], b, deep->dim[3], b}, {0, 3, 5, 1, 2, 4}}
             : (permutation){6, {n, c, deep->dim[2], b, deep->dim[3], b}, {0, 1, 3, 5, 2, 4}};
  return NULL;
}

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  const row_kernel *row = query->tactic->kernel;
  permutation p;
  state *s = memory;
  const char *reason = row->read(query, &p);
  needs->state = sizeof *s;
  if (reason || !s) return reason;
  s->kernel = row->run;
  hn_transpose_plan_make(&s->plan, p.rank, p.dim, p.perm, hn_cpu_element_bytes(query->in[0].type.dtype));
  s->grain = hn_cpu_grain(s->plan.units, 3 * (double)hn_bytes(&query->in[0].type) * HN_CPU_NS_PER_BYTE);
  return NULL;
}

typedef struct job {
  const state *state;
  const void *from;
  void *to;
} job;

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  j->state->kernel(&j->state->plan, j->from, j->to, begin, end);
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = state_memory;
  job j = {s, launch->in[0].data, launch->out[0].data};
  if (s->plan.units) hn_pool_run(hn_stream_pool(stream), s->plan.units, s->grain, body, &j);
  return HONE_OK;
}

#define COMMON .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch
const hone_tactic hn_tactics_cpu_transpose[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.transpose.any.avx512", .version = 1, .op = "transpose", .isa = HONE_ISA_AVX512,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_F16_PLAIN, HONE_F16_PLAIN}},
     .kernel = &(const row_kernel){read_transpose, hn_transpose_avx512}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.depth_to_space.any.avx512", .version = 1, .op = "depth_to_space",
     .isa = HONE_ISA_AVX512,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_F16_PLAIN, HONE_F16_PLAIN}},
     .kernel = &(const row_kernel){read_depth_to_space, hn_transpose_avx512}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.space_to_depth.any.avx512", .version = 1, .op = "space_to_depth",
     .isa = HONE_ISA_AVX512,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_F16_PLAIN, HONE_F16_PLAIN}},
     .kernel = &(const row_kernel){read_space_to_depth, hn_transpose_avx512}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.transpose.any.avx2", .version = 1, .op = "transpose", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_F16_PLAIN, HONE_F16_PLAIN}},
     .kernel = &(const row_kernel){read_transpose, hn_transpose_avx2}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.depth_to_space.any.avx2", .version = 1, .op = "depth_to_space",
     .isa = HONE_ISA_AVX2,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_F16_PLAIN, HONE_F16_PLAIN}},
     .kernel = &(const row_kernel){read_depth_to_space, hn_transpose_avx2}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.space_to_depth.any.avx2", .version = 1, .op = "space_to_depth",
     .isa = HONE_ISA_AVX2,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_F16_PLAIN, HONE_F16_PLAIN}},
     .kernel = &(const row_kernel){read_space_to_depth, hn_transpose_avx2}, COMMON},
#endif
    {sizeof(hone_tactic), .name = "cpu.transpose.any.c", .version = 1, .op = "transpose", .isa = HONE_ISA_C,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_F16_PLAIN, HONE_F16_PLAIN}},
     .kernel = &(const row_kernel){read_transpose, hn_transpose_c}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.depth_to_space.any.c", .version = 1, .op = "depth_to_space", .isa = HONE_ISA_C,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_F16_PLAIN, HONE_F16_PLAIN}},
     .kernel = &(const row_kernel){read_depth_to_space, hn_transpose_c}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.space_to_depth.any.c", .version = 1, .op = "space_to_depth", .isa = HONE_ISA_C,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_F16_PLAIN, HONE_F16_PLAIN}},
     .kernel = &(const row_kernel){read_space_to_depth, hn_transpose_c}, COMMON},
    {0}};
