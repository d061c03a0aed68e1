/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_l2.c - the square root of the sum of x^2 along some axes. */
#include "ops/common_reduce.h"
#include <math.h>

static double reduce_real(double total, double x) { return total + x * x; }

static double finish(double total, int64_t count) {
  (void)count;
  return sqrt(total);
}

static const hn_reduction reduction = {.start = HN_START_ZERO, .real = reduce_real, .finish = finish};

static hone_status eval(hone_eval *eval, const hone_window *window) { return hn_eval_reduce(eval, window, &reduction); }

const hone_op hn_op_reduce_l2 = {
    HN_REDUCE_ROW("reduce_l2", "the square root of the sum of x^2 along some axes", HONE_TYPES_NUMBER),
    .infer = hn_infer_reduce,
    .onnx = {{"ReduceL2", 1, 17, .to_input = "axes=1"}, {"ReduceL2", 18, HONE_LATEST}},
};
