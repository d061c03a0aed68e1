/* SPDX-License-Identifier: Apache-2.0 */
/* col2im.c - columns of blocks added back into images of plain f32, over one or two axes. */
#include "kernels/cpu/conv/col2im.h"

typedef hn_col2im_fn range_kernel;
typedef hn_col2im_args range_args;
#include "backend/cpu/range.inc.h"
#include "tensor/element.h"

enum { COLUMNS, IMAGE, BLOCK };
static const double ns_per_element = 0.15, ns_per_row = 20;

typedef struct row_kernel {
  hn_col2im_fn *run;
} row_kernel;

/* Of one axis; the geometry that the operator's row has checked before is checked again: an engine's file may lie. */
static bool read_axis(const hone_query *query, int axis, int axes, int64_t *count, int64_t *stride, int64_t *dilation,
                      int64_t *pad) {
  const int64_t most = 1 << 30, image = query->out[0].type.shape.dim[2 + axis];
  const int64_t block = hn_int(query->in[BLOCK].constant, axis),
                end = hn_attr_ints_at(query->attrs, "pads", axes + axis, 0);
  *stride = hn_attr_ints_at(query->attrs, "strides", axis, 1);
  *dilation = hn_attr_ints_at(query->attrs, "dilations", axis, 1);
  *pad = hn_attr_ints_at(query->attrs, "pads", axis, 0);
  if (image < 1 || image > most || block < 1 || block > most || *stride < 1 || *stride > most || *dilation < 1 ||
      *dilation > most || *pad < 0 || *pad > most || end < 0 || end > most)
    return false;
  const int64_t span = image + *pad + end - (block - 1) * *dilation - 1;
  *count = span / *stride + 1;
  return span >= 0;
}

static const char *read(const hone_query *query, hn_col2im_args *a) {
  HN_TRY_REASON(hn_cpu_check(query, 3, 3, 1));
  if (!hn_cpu_is(&query->in[COLUMNS], HONE_F32, HONE_PLAIN) || !hn_cpu_is(&query->out[0], HONE_F32, HONE_PLAIN))
    return "it is not plain f32";
  const hone_shape *x = &query->in[COLUMNS].type.shape, *y = &query->out[0].type.shape;
  const hone_tensor *block = query->in[BLOCK].constant;
  const int axes = y->rank - 2;
  if (axes < 1 || axes > 2 || x->rank != 3 || x->dim[0] != y->dim[0]) return "it has not one or two axes";
  if (!block || !block->data || block->type.dtype != HONE_I64 || hn_elems(&block->type.shape) != axes)
    return "its block is not constant";
  *a = (hn_col2im_args){.out_h = 1, .block_h = 1, .count_h = 1, .stride_h = 1, .dilation_h = 1};
  const int w = axes - 1;
  if ((axes == 2 && !read_axis(query, 0, axes, &a->count_h, &a->stride_h, &a->dilation_h, &a->pad_top)) ||
      !read_axis(query, w, axes, &a->count_w, &a->stride_w, &a->dilation_w, &a->pad_left))
    return "its block does not fit the image";
  if (axes == 2) a->out_h = y->dim[2], a->block_h = hn_int(block, 0);
  a->out_w = y->dim[2 + w];
  a->block_w = hn_int(block, w);
  int64_t rows;
  if (!hn_mul_i64(y->dim[1], a->block_h, &rows) || !hn_mul_i64(rows, a->block_w, &rows) || rows != x->dim[1] ||
      (double)a->count_h * (double)a->count_w != (double)x->dim[2])
    return "the extents do not fit together";
  return NULL;
}

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  range asked = {0}, *s = memory ? memory : &asked;
  HN_TRY_REASON(read(query, &s->args));
  const hone_shape *y = &query->out[0].type.shape;
  const double elements = (double)hn_elems(&query->in[COLUMNS].type.shape) + 2 * (double)hn_elems(y);
  s->kernel = ((const row_kernel *)query->tactic->kernel)->run;
  s->units = y->dim[0] * y->dim[1] * s->args.out_h;
  s->grain = hn_cpu_grain(s->units, (double)s->units * ns_per_row + elements * ns_per_element);
  needs->state = sizeof *s;
  return NULL;
}

const hone_tactic hn_tactics_cpu_col2im[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.col2im.f32.avx512", .version = 2, .op = "col2im", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = range_launch,
     .kernel = &(const row_kernel){hn_col2im_f32_avx512}},
    {sizeof(hone_tactic), .name = "cpu.col2im.f32.avx2", .version = 2, .op = "col2im", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = range_launch,
     .kernel = &(const row_kernel){hn_col2im_f32_avx2}},
#endif
    {sizeof(hone_tactic), .name = "cpu.col2im.f32.c", .version = 2, .op = "col2im", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = range_launch,
     .kernel = &(const row_kernel){hn_col2im_f32_c}},
    {0}};
