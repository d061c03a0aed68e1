/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_l1.c - the sum of |x| along some axes. */
#include "ops/common_reduce.h"
#include <math.h>

static double reduce_real(double total, double x) { return total + fabs(x); }

static int64_t reduce_int(int64_t total, int64_t x, bool is_unsigned) {
  return (int64_t)((uint64_t)total + (x < 0 && !is_unsigned ? 0 - (uint64_t)x : (uint64_t)x));
}

static const hn_reduction reduction = {.start = HN_START_ZERO, .real = reduce_real, .integer = reduce_int};

static hone_status eval(hone_eval *eval, const hone_window *window) { return hn_eval_reduce(eval, window, &reduction); }

const hone_op hn_op_reduce_l1 = {
    HN_REDUCE_ROW("reduce_l1", "the sum of |x| along some axes", HONE_TYPES_NUMBER),
    .infer = hn_infer_reduce,
    .onnx = {{"ReduceL1", 1, 17, .to_input = "axes=1"}, {"ReduceL1", 18, HONE_LATEST}},
};
