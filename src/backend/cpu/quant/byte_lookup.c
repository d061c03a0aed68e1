/* SPDX-License-Identifier: Apache-2.0 */
/* byte_lookup.c - a table of 256 bytes, plain or blocked alike but for the lanes behind the last channel. */
#include "kernels/cpu/quant/pointwise.h"
#include "backend/cpu/quant/quant.h"
typedef hn_byte_lookup_fn range_kernel;
typedef hn_byte_lookup range_args;
#include "backend/cpu/range.inc.h"

typedef struct row_kernel {
  hn_byte_lookup_fn *run;
} row_kernel;

static const double ns_per_element = 0.3;

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  HN_TRY_REASON(hn_cpu_check(query, 2, 2, 1));
  const hone_type *x = &query->in[0].type, *table = &query->in[1].type, *y = &query->out[0].type;
  if (!hn_cpu_is_byte(x->dtype) || !hn_cpu_is_byte(y->dtype) || table->dtype != y->dtype) return "it is not of bytes";
  if (table->format != HONE_PLAIN || hn_elems(&table->shape) != 256) return "the table has not 256 elements";
  if (!hn_shape_equal(&x->shape, &y->shape) || x->format != y->format) return "the output has another shape or format";
  if (x->format != HONE_PLAIN && x->format != HONE_NCHW64C) return "it is neither plain nor nchw64c";
  range r = {.kernel = ((const row_kernel *)query->tactic->kernel)->run, .args = {.count = hn_cpu_stored(x)}};
  if (x->format == HONE_NCHW64C) {
    const hn_cpu_rows rows = hn_cpu_rows_along(&x->shape, 1);
    r.args.tail = rows.axis % HN_CPU_BYTES_BLOCK;
    r.args.blocks = hn_ceil_div(rows.axis, HN_CPU_BYTES_BLOCK);
    r.args.pixels = rows.inner;
  }
  r.units = hn_byte_lookup_units(&r.args);
  r.grain = hn_cpu_grain(r.units, (double)r.args.count * ns_per_element);
  needs->state = sizeof r;
  if (memory) *(range *)memory = r;
  return NULL;
}

static hone_status launch(void *state, hone_stream *stream, const hone_launch *launch) {
  range r = *(const range *)state;
  r.args.table = launch->in[1].data;
  range_run(&r, stream, launch->in[0].data, launch->out[0].data);
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_byte_lookup[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.byte_lookup.avx512", .version = 1, .op = "byte_lookup", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW64C, HONE_NCHW64C}},
     .plan = plan, .launch = launch, .kernel = &(const row_kernel){hn_byte_lookup_avx512}},
    {sizeof(hone_tactic), .name = "cpu.byte_lookup.avx2", .version = 1, .op = "byte_lookup", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW64C, HONE_NCHW64C}},
     .plan = plan, .launch = launch, .kernel = &(const row_kernel){hn_byte_lookup_avx2}},
#endif
    {sizeof(hone_tactic), .name = "cpu.byte_lookup.c", .version = 1, .op = "byte_lookup", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW64C, HONE_NCHW64C}},
     .plan = plan, .launch = launch, .kernel = &(const row_kernel){hn_byte_lookup_c}},
    {0}};
