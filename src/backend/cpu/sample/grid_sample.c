/* SPDX-License-Identifier: Apache-2.0 */
/* grid_sample.c - planes of plain f32 read at the places of a grid, over one to three axes. */
#include "kernels/cpu/sample/grid.h"

typedef hn_grid_f32_fn range_kernel;
typedef hn_grid_args range_args;
#include "backend/cpu/range.inc.h"

enum { X, GRID };
static const double ns_per_tap = 0.8, ns_per_place = 20;

typedef struct row_kernel {
  hn_grid_f32_fn *run;
} row_kernel;

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  range asked = {0}, *s = memory ? memory : &asked;
  HN_TRY_REASON(hn_cpu_check(query, 2, 2, 1));
  if (!hn_cpu_is(&query->in[X], HONE_F32, HONE_PLAIN) || !hn_cpu_is(&query->in[GRID], HONE_F32, HONE_PLAIN) ||
      !hn_cpu_is(&query->out[0], HONE_F32, HONE_PLAIN))
    return "it is not plain f32";
  const hone_shape *x = &query->in[X].type.shape, *grid = &query->in[GRID].type.shape, *y = &query->out[0].type.shape;
  const int axes = x->rank - 2;
  const char *mode = hn_attr_text(query->attrs, "mode"), *padding = hn_attr_text(query->attrs, "padding_mode");
  if (axes < 1 || axes > HN_GRID_AXES || grid->rank != x->rank || y->rank != x->rank)
    return "it has not one to three axes";
  if (grid->dim[0] != x->dim[0] || grid->dim[axes + 1] != axes || y->dim[0] != x->dim[0] || y->dim[1] != x->dim[1])
    return "the extents do not fit together";
  const char kind = mode[0] == 'b' ? mode[2] : mode[0];
  s->args = (hn_grid_args){.channels = x->dim[1], .pixels = 1, .in = {1, 1, 1}, .axes = axes};
  s->args.taps = kind == 'n' ? 1 : kind == 'l' ? 2 : 4;
  s->args.padding = padding[0] == 'z' ? HN_GRID_ZEROS : padding[0] == 'b' ? HN_GRID_BORDER : HN_GRID_REFLECTION;
  s->args.is_aligned = hn_attr_int(query->attrs, "align_corners") != 0;
  int64_t plane = 1, taps = 1;
  for (int i = 0; i < axes; ++i) {
    if (grid->dim[1 + i] != y->dim[2 + i]) return "the extents do not fit together";
    s->args.in[HN_GRID_AXES - axes + i] = x->dim[2 + i];
    s->args.pixels *= y->dim[2 + i];
    if (!hn_mul_i64(plane, x->dim[2 + i], &plane)) return "a plane is too large";
    taps *= s->args.taps;
  }
  if (plane < 1) return "it is empty";
  if (plane > INT32_MAX) return "a plane is too large";
  s->units = hn_grid_units(&s->args, x->dim[0]);
  const double pixels = (double)x->dim[0] * (double)s->args.pixels;
  s->grain = hn_cpu_grain(s->units, pixels * (ns_per_place * axes + (double)(taps * x->dim[1]) * ns_per_tap));
  s->kernel = ((const row_kernel *)query->tactic->kernel)->run;
  needs->state = sizeof *s;
  return NULL;
}

static hone_status launch(void *planned, hone_stream *stream, const hone_launch *l) {
  range s = *(const range *)planned;
  s.args.grid = l->in[GRID].data;
  range_run(&s, stream, l->in[X].data, l->out[0].data);
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_grid_sample[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.grid_sample.f32.avx512", .version = 1, .op = "grid_sample",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){hn_grid_f32_avx512}},
    {sizeof(hone_tactic), .name = "cpu.grid_sample.f32.avx2", .version = 1, .op = "grid_sample", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch, .kernel = &(const row_kernel){hn_grid_f32_avx2}},
#endif
    {sizeof(hone_tactic), .name = "cpu.grid_sample.f32.c", .version = 1, .op = "grid_sample", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch, .kernel = &(const row_kernel){hn_grid_f32_c}},
    {0}};
