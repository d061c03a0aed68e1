/* SPDX-License-Identifier: Apache-2.0 */
/* convert_held.c - values of f32 into bf16 or f16 and back, plain or in blocks of channels, in one pass, where they are
 * held so and where the graph casts them; and the same types between plain and blocks. */
#include "kernels/cpu/reorder/reorder.h"
typedef hn_reorder_held_fn range_kernel;
typedef hn_reorder_held_args range_args;
#include "backend/cpu/range.inc.h"

typedef struct row_kernel {
  hn_reorder_held_fn *run;
} row_kernel;

static bool held_as(hone_dtype dtype, hn_held *out) {
  *out = dtype == HONE_BF16 ? HN_HELD_BF16 : dtype == HONE_F16 ? HN_HELD_F16 : HN_HELD_F32;
  return *out != HN_HELD_F32 || dtype == HONE_F32;
}

/* Blocks of f32 are one vector, those of halves a cache line. */
static bool fits_blocks(const hone_type *type) {
  return type->format == HONE_PLAIN || (type->format == HONE_NCHW32C) == (type->dtype != HONE_F32);
}

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  HN_TRY_REASON(hn_cpu_check(query, 1, 1, 1));
  const hone_type *in = &query->in[0].type, *out = &query->out[0].type;
  hn_reorder_held_args args = {.channels = 1, .pixels = 1};
  if (!held_as(in->dtype, &args.x_held) || !held_as(out->dtype, &args.y_held)) return "it is not f32, bf16 or f16";
  if (!hn_shape_equal(&in->shape, &out->shape)) return "the shapes differ";
  if (args.x_held == HN_HELD_F32 && args.y_held == HN_HELD_F32) return "the row for f32 does the same";
  if (args.x_held && args.y_held && args.x_held != args.y_held) return "it leads from one narrow type to another";
  if (!fits_blocks(in) || !fits_blocks(out)) return "its blocks are of another type";
  if (in->shape.rank < 2 && in->format != out->format) return "there are no channels";
  args.images = in->shape.rank > 0 ? in->shape.dim[0] : 1;
  if (in->shape.rank > 1) args.channels = in->shape.dim[1];
  for (int i = 2; i < in->shape.rank; ++i) args.pixels *= in->shape.dim[i];
  args.x_lanes = hn_format_block(in->format), args.y_lanes = hn_format_block(out->format);
  if (args.x_lanes > HN_REORDER_HELD_MOST || args.y_lanes > HN_REORDER_HELD_MOST) return "its blocks are too large";
  needs->state = sizeof(range);
  if (!memory) return NULL;
  range *r = memory;
  *r = (range){.kernel = ((const row_kernel *)query->tactic->kernel)->run, .args = args};
  r->units = hn_reorder_held_units(&args);
  r->grain = hn_cpu_grain(r->units, 6.0 * (double)hn_elems(&in->shape) * HN_CPU_NS_PER_BYTE);
  return NULL;
}

const hone_tactic hn_tactics_cpu_convert_held[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.convert.bf16.avx512", .version = 1, .op = "convert", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_BF16_PLAIN},
                  {HONE_BF16_PLAIN, HONE_PLAIN},
                  {HONE_PLAIN, HONE_BF16_NCHW32C},
                  {HONE_BF16_NCHW32C, HONE_PLAIN}},
     .plan = plan, .launch = range_launch, .kernel = &(const row_kernel){hn_reorder_held_avx512}},
    {sizeof(hone_tactic), .name = "cpu.convert.bf16.blocks.avx512", .version = 1, .op = "convert",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_NCHW16C, HONE_BF16_NCHW32C},
                  {HONE_BF16_NCHW32C, HONE_NCHW16C},
                  {HONE_NCHW8C, HONE_BF16_NCHW32C},
                  {HONE_BF16_NCHW32C, HONE_NCHW8C}},
     .plan = plan, .launch = range_launch, .kernel = &(const row_kernel){hn_reorder_held_avx512}},
    {sizeof(hone_tactic), .name = "cpu.convert.bf16.own.avx512", .version = 1, .op = "convert", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_NCHW32C}, {HONE_BF16_NCHW32C, HONE_BF16_PLAIN}}, .plan = plan,
     .launch = range_launch, .kernel = &(const row_kernel){hn_reorder_held_avx512}},
    {sizeof(hone_tactic), .name = "cpu.convert.f16.avx512", .version = 1, .op = "convert", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_F16_PLAIN},
                  {HONE_F16_PLAIN, HONE_PLAIN},
                  {HONE_PLAIN, HONE_F16_NCHW32C},
                  {HONE_F16_NCHW32C, HONE_PLAIN}},
     .plan = plan, .launch = range_launch, .kernel = &(const row_kernel){hn_reorder_held_avx512}},
    {sizeof(hone_tactic), .name = "cpu.convert.f16.blocks.avx512", .version = 1, .op = "convert",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_NCHW16C, HONE_F16_NCHW32C},
                  {HONE_F16_NCHW32C, HONE_NCHW16C},
                  {HONE_NCHW8C, HONE_F16_NCHW32C},
                  {HONE_F16_NCHW32C, HONE_NCHW8C}},
     .plan = plan, .launch = range_launch, .kernel = &(const row_kernel){hn_reorder_held_avx512}},
    {sizeof(hone_tactic), .name = "cpu.convert.f16.own.avx512", .version = 1, .op = "convert", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_NCHW32C}, {HONE_F16_NCHW32C, HONE_F16_PLAIN}}, .plan = plan,
     .launch = range_launch, .kernel = &(const row_kernel){hn_reorder_held_avx512}},
    {sizeof(hone_tactic), .name = "cpu.cast.halves.blocks.avx512", .version = 1, .op = "cast", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_NCHW16C, HONE_NCHW32C},
                  {HONE_NCHW32C, HONE_NCHW16C},
                  {HONE_NCHW16C, HONE_PLAIN},
                  {HONE_PLAIN, HONE_NCHW16C}},
     .plan = plan, .launch = range_launch, .kernel = &(const row_kernel){hn_reorder_held_avx512}},
    {sizeof(hone_tactic), .name = "cpu.convert.bf16.avx2", .version = 1, .op = "convert", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_BF16_PLAIN},
                  {HONE_BF16_PLAIN, HONE_PLAIN},
                  {HONE_PLAIN, HONE_BF16_NCHW32C},
                  {HONE_BF16_NCHW32C, HONE_PLAIN}},
     .plan = plan, .launch = range_launch, .kernel = &(const row_kernel){hn_reorder_held_avx2}},
    {sizeof(hone_tactic), .name = "cpu.convert.bf16.blocks.avx2", .version = 1, .op = "convert", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_NCHW16C, HONE_BF16_NCHW32C},
                  {HONE_BF16_NCHW32C, HONE_NCHW16C},
                  {HONE_NCHW8C, HONE_BF16_NCHW32C},
                  {HONE_BF16_NCHW32C, HONE_NCHW8C}},
     .plan = plan, .launch = range_launch, .kernel = &(const row_kernel){hn_reorder_held_avx2}},
    {sizeof(hone_tactic), .name = "cpu.convert.bf16.own.avx2", .version = 1, .op = "convert", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_NCHW32C}, {HONE_BF16_NCHW32C, HONE_BF16_PLAIN}}, .plan = plan,
     .launch = range_launch, .kernel = &(const row_kernel){hn_reorder_held_avx2}},
    {sizeof(hone_tactic), .name = "cpu.convert.f16.avx2", .version = 1, .op = "convert", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_F16_PLAIN},
                  {HONE_F16_PLAIN, HONE_PLAIN},
                  {HONE_PLAIN, HONE_F16_NCHW32C},
                  {HONE_F16_NCHW32C, HONE_PLAIN}},
     .plan = plan, .launch = range_launch, .kernel = &(const row_kernel){hn_reorder_held_avx2}},
    {sizeof(hone_tactic), .name = "cpu.convert.f16.blocks.avx2", .version = 1, .op = "convert", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_NCHW16C, HONE_F16_NCHW32C},
                  {HONE_F16_NCHW32C, HONE_NCHW16C},
                  {HONE_NCHW8C, HONE_F16_NCHW32C},
                  {HONE_F16_NCHW32C, HONE_NCHW8C}},
     .plan = plan, .launch = range_launch, .kernel = &(const row_kernel){hn_reorder_held_avx2}},
    {sizeof(hone_tactic), .name = "cpu.convert.f16.own.avx2", .version = 1, .op = "convert", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_NCHW32C}, {HONE_F16_NCHW32C, HONE_F16_PLAIN}}, .plan = plan,
     .launch = range_launch, .kernel = &(const row_kernel){hn_reorder_held_avx2}},
    {sizeof(hone_tactic), .name = "cpu.cast.halves.blocks.avx2", .version = 1, .op = "cast", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_NCHW8C, HONE_NCHW32C},
                  {HONE_NCHW32C, HONE_NCHW8C},
                  {HONE_NCHW8C, HONE_PLAIN},
                  {HONE_PLAIN, HONE_NCHW8C}},
     .plan = plan, .launch = range_launch, .kernel = &(const row_kernel){hn_reorder_held_avx2}},
#endif
    {sizeof(hone_tactic), .name = "cpu.convert.bf16.c", .version = 1, .op = "convert", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_BF16_PLAIN},
                  {HONE_BF16_PLAIN, HONE_PLAIN},
                  {HONE_PLAIN, HONE_BF16_NCHW32C},
                  {HONE_BF16_NCHW32C, HONE_PLAIN}},
     .plan = plan, .launch = range_launch, .kernel = &(const row_kernel){hn_reorder_held_c}},
    {sizeof(hone_tactic), .name = "cpu.convert.bf16.blocks.c", .version = 1, .op = "convert", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_NCHW16C, HONE_BF16_NCHW32C},
                  {HONE_BF16_NCHW32C, HONE_NCHW16C},
                  {HONE_NCHW8C, HONE_BF16_NCHW32C},
                  {HONE_BF16_NCHW32C, HONE_NCHW8C}},
     .plan = plan, .launch = range_launch, .kernel = &(const row_kernel){hn_reorder_held_c}},
    {sizeof(hone_tactic), .name = "cpu.convert.bf16.own.c", .version = 1, .op = "convert", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_NCHW32C}, {HONE_BF16_NCHW32C, HONE_BF16_PLAIN}}, .plan = plan,
     .launch = range_launch, .kernel = &(const row_kernel){hn_reorder_held_c}},
    {sizeof(hone_tactic), .name = "cpu.convert.f16.c", .version = 1, .op = "convert", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_F16_PLAIN},
                  {HONE_F16_PLAIN, HONE_PLAIN},
                  {HONE_PLAIN, HONE_F16_NCHW32C},
                  {HONE_F16_NCHW32C, HONE_PLAIN}},
     .plan = plan, .launch = range_launch, .kernel = &(const row_kernel){hn_reorder_held_c}},
    {sizeof(hone_tactic), .name = "cpu.convert.f16.blocks.c", .version = 1, .op = "convert", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_NCHW16C, HONE_F16_NCHW32C},
                  {HONE_F16_NCHW32C, HONE_NCHW16C},
                  {HONE_NCHW8C, HONE_F16_NCHW32C},
                  {HONE_F16_NCHW32C, HONE_NCHW8C}},
     .plan = plan, .launch = range_launch, .kernel = &(const row_kernel){hn_reorder_held_c}},
    {sizeof(hone_tactic), .name = "cpu.convert.f16.own.c", .version = 1, .op = "convert", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_NCHW32C}, {HONE_F16_NCHW32C, HONE_F16_PLAIN}}, .plan = plan,
     .launch = range_launch, .kernel = &(const row_kernel){hn_reorder_held_c}},
    {sizeof(hone_tactic), .name = "cpu.cast.halves.blocks.c", .version = 1, .op = "cast", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_NCHW8C, HONE_NCHW32C},
                  {HONE_NCHW32C, HONE_NCHW8C},
                  {HONE_NCHW8C, HONE_PLAIN},
                  {HONE_PLAIN, HONE_NCHW8C}},
     .plan = plan, .launch = range_launch, .kernel = &(const row_kernel){hn_reorder_held_c}},
    {0}};
