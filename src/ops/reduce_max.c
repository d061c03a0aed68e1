/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_max.c - the largest element along some axes. NaN wins, as in numpy. */
#include "ops/common_reduce.h"
#include <math.h>

static double reduce_real(double total, double x) { return x > total || isnan(x) ? x : total; }

static int64_t reduce_int(int64_t total, int64_t x, bool is_unsigned) {
  return hn_int_less(total, x, is_unsigned) ? x : total;
}

static const hn_reduction reduction = {.start = HN_START_LOWEST, .real = reduce_real, .integer = reduce_int};

static hone_status infer(hone_infer *infer) { return hn_infer_reduce_values(infer, hn_dim_max); }

static hone_status eval(hone_eval *eval, const hone_window *window) { return hn_eval_reduce(eval, window, &reduction); }

const hone_op hn_op_reduce_max = {
    HN_REDUCE_ROW("reduce_max", "the largest element along some axes", HONE_TYPES_NUMBER | HONE_TYPES_BOOL),
    .infer = infer,
    .onnx = {{"ReduceMax", 1, 17, .to_input = "axes=1"}, {"ReduceMax", 18, HONE_LATEST}},
};
