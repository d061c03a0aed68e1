/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_sum.c - the sum of the elements along some axes. */
#include "ops/common_reduce.h"

static double reduce_real(double total, double x) { return total + x; }

static int64_t reduce_int(int64_t total, int64_t x, bool is_unsigned) {
  (void)is_unsigned; /* the low bits are the same */
  return (int64_t)((uint64_t)total + (uint64_t)x);
}

static const hn_reduction reduction = {.start = HN_START_ZERO, .real = reduce_real, .integer = reduce_int};

static hone_status infer(hone_infer *infer) { return hn_infer_reduce_values(infer, hn_dim_add); }

static hone_status eval(hone_eval *eval, const hone_window *window) { return hn_eval_reduce(eval, window, &reduction); }

const hone_op hn_op_reduce_sum = {
    HN_REDUCE_ROW("reduce_sum", "the sum of the elements along some axes", HONE_TYPES_NUMBER),
    .infer = infer,
    .onnx = {{"ReduceSum", 1, 12, .to_input = "axes=1"}, {"ReduceSum", 13, HONE_LATEST}},
};
