/* SPDX-License-Identifier: Apache-2.0 */
/* affine_grid.c - grids of plain f32 from affine maps, over two or three axes. */
#include "backend/cpu/cpu.h"
#include "kernels/cpu/sample/affine.h"

enum { THETA, SIZE };
static const double ns_per_element = 0.1, ns_per_row = 20;

typedef struct row_kernel {
  hn_affine_f32_fn *run;
} row_kernel;

typedef struct state {
  hn_affine_f32_fn *run;
  hn_affine_args args;
  int64_t units, grain;
} state;

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  state asked = {0}, *s = memory ? memory : &asked;
  HN_TRY_REASON(hn_cpu_check(query, 2, 2, 1));
  if (!hn_cpu_is(&query->in[THETA], HONE_F32, HONE_PLAIN) || !hn_cpu_is(&query->out[0], HONE_F32, HONE_PLAIN))
    return "it is not plain f32";
  const hone_shape *theta = &query->in[THETA].type.shape, *y = &query->out[0].type.shape;
  const int axes = y->rank - 2;
  if (axes < 2 || axes > HN_AFFINE_AXES || theta->rank != 3 || theta->dim[0] != y->dim[0] || theta->dim[1] != axes ||
      theta->dim[2] != axes + 1 || y->dim[axes + 1] != axes)
    return "the extents do not fit together";
  s->args = (hn_affine_args){.size = {1, 1, 1}, .axes = axes};
  s->args.is_aligned = hn_attr_int(query->attrs, "align_corners") != 0;
  for (int i = 0; i < axes; ++i) s->args.size[HN_AFFINE_AXES - axes + i] = y->dim[1 + i];
  const double rows = (double)y->dim[0] * (double)s->args.size[0] * (double)s->args.size[1];
  s->run = ((const row_kernel *)query->tactic->kernel)->run;
  s->units = y->dim[0] * s->args.size[0] * s->args.size[1];
  if (hn_elems(y) < 1) s->units = 0;
  s->grain = hn_cpu_grain(s->units, rows * ns_per_row + (double)hn_elems(y) * ns_per_element);
  needs->state = sizeof *s;
  needs->scratch = (size_t)(axes * s->args.size[HN_AFFINE_AXES - 1]) * sizeof(float);
  return NULL;
}

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const state *s = arg;
  s->run(&s->args, begin, end);
}

static hone_status launch(void *memory, hone_stream *stream, const hone_launch *l) {
  state s = *(const state *)memory;
  float *places = l->scratch;
  const int64_t width = s.args.size[HN_AFFINE_AXES - 1];
  for (int64_t i = 0; s.units > 0 && i < width; ++i)
    for (int k = 0; k < s.args.axes; ++k) *places++ = (float)hn_affine_place(&s.args, i, width);
  s.args.theta = l->in[THETA].data;
  s.args.places = l->scratch;
  s.args.y = l->out[0].data;
  hn_pool_run(hn_stream_pool(stream), s.units, s.grain, body, &s);
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_affine_grid[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.affine_grid.f32.avx512", .version = 1, .op = "affine_grid",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){hn_affine_f32_avx512}},
    {sizeof(hone_tactic), .name = "cpu.affine_grid.f32.avx2", .version = 1, .op = "affine_grid", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){hn_affine_f32_avx2}},
#endif
    {sizeof(hone_tactic), .name = "cpu.affine_grid.f32.c", .version = 1, .op = "affine_grid", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch, .kernel = &(const row_kernel){hn_affine_f32_c}},
    {0}};
