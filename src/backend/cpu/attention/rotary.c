/* SPDX-License-Identifier: Apache-2.0 */
/* rotary.c - rotary_embedding of plain f32. A unit is a row of features. */
#include "kernels/cpu/attention/attention.h"

typedef hn_rotary_f32_fn range_kernel;
typedef hn_rotary_args range_args;
#include "backend/cpu/range.inc.h"

enum { X, COS, SIN, PLACES };
static const double ns_per_float = 0.2;

typedef struct row_kernel {
  hn_rotary_f32_fn *run;
} row_kernel;

typedef struct state {
  range r;
  int64_t place_count, cache_rows;
} state;

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  state asked = {0}, *s = memory ? memory : &asked;
  HN_TRY_REASON(hn_cpu_check(query, 3, 4, 1));
  for (int i = X; i <= SIN; ++i)
    if (!hn_cpu_is(&query->in[i], HONE_F32, HONE_PLAIN)) return "it is not plain f32";
  if (!hn_cpu_is(&query->out[0], HONE_F32, HONE_PLAIN)) return "it is not plain f32";
  const hone_shape *x = &query->in[X].type.shape, *cos = &query->in[COS].type.shape;
  if (x->rank < 3 || x->rank > 4 || !hn_shape_equal(x, &query->out[0].type.shape))
    return "the ranks do not fit together";
  const int64_t heads = x->rank == 3 ? hn_attr_int(query->attrs, "num_heads") : x->dim[1];
  const int64_t len = x->rank == 3 ? x->dim[1] : x->dim[2];
  if (heads < 1 || len < 1 || (x->rank == 3 && x->dim[2] % heads)) return "the heads do not fit together";
  hn_rotary_args *a = &s->r.args;
  a->size = x->rank == 3 ? x->dim[2] / heads : x->dim[3];
  const int64_t turned = hn_attr_int(query->attrs, "rotary_embedding_dim");
  a->half = (turned ? turned : a->size) / 2;
  a->outer = heads * len;
  a->inner = len;
  a->across = x->rank == 3 ? heads : 1;
  a->is_interleaved = hn_attr_int(query->attrs, "interleaved") != 0;
  s->r.units = x->dim[0] * heads * len;
  s->place_count = hn_cpu_given(query, PLACES) ? x->dim[0] * len : 0;
  if (a->half < 1 || a->half * 2 > a->size || (turned ? turned : a->size) % 2) return "the turned features do not fit";
  const int64_t angles = hn_elems(cos) / a->half;
  s->cache_rows = angles;
  if (!hn_shape_equal(cos, &query->in[SIN].type.shape) || cos->rank < 2 || cos->dim[cos->rank - 1] != a->half)
    return "the caches do not fit together";
  if (!s->place_count && angles != x->dim[0] * len) return "the caches do not fit together";
  if (s->place_count && (!hn_cpu_is(&query->in[PLACES], HONE_I64, HONE_PLAIN) ||
                         hn_elems(&query->in[PLACES].type.shape) != s->place_count))
    return "the positions do not fit together";
  s->r.grain = hn_cpu_grain(s->r.units, (double)s->r.units * (double)a->size * ns_per_float);
  s->r.kernel = ((const row_kernel *)query->tactic->kernel)->run;
  needs->state = sizeof *s;
  return NULL;
}

static hone_status launch(void *planned, hone_stream *stream, const hone_launch *l) {
  state s = *(const state *)planned;
  s.r.args.cos = l->in[COS].data;
  s.r.args.sin = l->in[SIN].data;
  s.r.args.places = s.place_count ? l->in[PLACES].data : NULL;
  for (int64_t i = 0; i < s.place_count; ++i)
    if (s.r.args.places[i] < 0 || s.r.args.places[i] >= s.cache_rows)
      return HN_FAIL(l->diagnostics, HONE_MALFORMED, "position_ids[%lld] is %lld; allowed: 0 to %lld", (long long)i,
                     (long long)s.r.args.places[i], (long long)s.cache_rows - 1);
  range_run(&s.r, stream, l->in[X].data, l->out[0].data);
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_rotary[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.rotary_embedding.f32.avx512", .version = 1, .op = "rotary_embedding",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){hn_rotary_f32_avx512}},
    {sizeof(hone_tactic), .name = "cpu.rotary_embedding.f32.avx2", .version = 1, .op = "rotary_embedding",
     .isa = HONE_ISA_AVX2, .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){hn_rotary_f32_avx2}},
#endif
    {sizeof(hone_tactic), .name = "cpu.rotary_embedding.f32.c", .version = 1, .op = "rotary_embedding",
     .isa = HONE_ISA_C, .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){hn_rotary_f32_c}},
    {0}};
