/* SPDX-License-Identifier: Apache-2.0 */
/* byte_mean.c - qlinear_global_average_pool, plain and blocked. */
#include "kernels/cpu/quant/pointwise.h"
#include "backend/cpu/quant/quant.h"
typedef hn_byte_mean_fn range_kernel;
typedef hn_byte_mean range_args;
#include "backend/cpu/range.inc.h"

enum { X, X_SCALE, X_ZERO, Y_SCALE, Y_ZERO, PORTS };

typedef struct row_kernel {
  hn_byte_mean_fn *run;
} row_kernel;

static const double ns_per_element = 0.15;
static const int64_t most_pixels = (1 << 23) - 1; /* their sum is below 2^31 */

static bool is_known(hone_format format) { return format == HONE_PLAIN || format == HONE_NCHW64C; }

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  HN_TRY_REASON(hn_cpu_check(query, PORTS, PORTS, 1));
  const hone_type *x = &query->in[X].type, *y = &query->out[0].type;
  if (!hn_cpu_is_byte(x->dtype) || !hn_cpu_is_byte(y->dtype)) return "it is not of bytes";
  HN_TRY_REASON(hn_cpu_check_scale(query, X_SCALE, x->dtype));
  HN_TRY_REASON(hn_cpu_check_scale(query, Y_SCALE, y->dtype));
  if (!is_known(x->format) || !is_known(y->format)) return "it is neither plain nor nchw64c";
  if (x->shape.rank < 3 || x->shape.rank != y->shape.rank) return "it has no pixels";
  const hn_cpu_rows from = hn_cpu_rows_along(&x->shape, 1), to = hn_cpu_rows_along(&y->shape, 1);
  if (from.outer != to.outer || from.axis != to.axis || to.inner != 1) return "the output has another shape";
  if (from.inner < 1 || from.inner > most_pixels) return "it has too few or too many pixels";
  range r = {.kernel = ((const row_kernel *)query->tactic->kernel)->run};
  r.args = (hn_byte_mean){.x_flip = hn_cpu_flip(x->dtype),
                          .y_flip = hn_cpu_flip(y->dtype),
                          .channels = from.axis,
                          .pixels = from.inner,
                          .x_blocked = x->format == HONE_NCHW64C,
                          .y_blocked = y->format == HONE_NCHW64C};
  r.units = from.outer * hn_ceil_div(from.axis, HN_CPU_BYTES_BLOCK);
  r.grain = hn_cpu_grain(r.units, (double)hn_cpu_stored(x) * ns_per_element);
  needs->state = sizeof r;
  if (memory) *(range *)memory = r;
  return NULL;
}

/* Each step is rounded to f32, as the operator says. */
static hone_status launch(void *state, hone_stream *stream, const hone_launch *launch) {
  range r = *(const range *)state;
  const float divisor = *(const float *)launch->in[Y_SCALE].data * (float)r.args.pixels;
  r.args.scale = *(const float *)launch->in[X_SCALE].data / divisor;
  r.args.x_zero = *(const uint8_t *)launch->in[X_ZERO].data ^ r.args.x_flip;
  r.args.y_zero = *(const uint8_t *)launch->in[Y_ZERO].data ^ r.args.y_flip;
  range_run(&r, stream, launch->in[X].data, launch->out[0].data);
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_byte_mean[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.qlinear_global_average_pool.bytes.avx512", .version = 1,
     .op = "qlinear_global_average_pool", .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW64C, HONE_NCHW64C}, {HONE_NCHW64C, HONE_PLAIN}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){hn_byte_mean_avx512}},
    {sizeof(hone_tactic), .name = "cpu.qlinear_global_average_pool.bytes.avx2", .version = 1,
     .op = "qlinear_global_average_pool", .isa = HONE_ISA_AVX2, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW64C, HONE_NCHW64C}, {HONE_NCHW64C, HONE_PLAIN}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){hn_byte_mean_avx2}},
#endif
    {sizeof(hone_tactic), .name = "cpu.qlinear_global_average_pool.bytes.c", .version = 1,
     .op = "qlinear_global_average_pool", .isa = HONE_ISA_C, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW64C, HONE_NCHW64C}, {HONE_NCHW64C, HONE_PLAIN}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){hn_byte_mean_c}},
    {0}};
