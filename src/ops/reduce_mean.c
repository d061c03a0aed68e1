/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_mean.c - the mean of the elements along some axes. */
#include "ops/common_reduce.h"

static double reduce_real(double total, double x) { return total + x; }

static double finish(double total, int64_t count) { return total / (double)count; }

static const hn_reduction reduction = {.start = HN_START_ZERO, .real = reduce_real, .finish = finish};

static hone_status eval(hone_eval *eval, const hone_window *window) { return hn_eval_reduce(eval, window, &reduction); }

const hone_op hn_op_reduce_mean = {
    HN_REDUCE_ROW("reduce_mean", "the mean of the elements along some axes", HONE_TYPES_NUMBER),
    .infer = hn_infer_reduce,
    .onnx = {{"ReduceMean", 1, 17, .to_input = "axes=1"}, {"ReduceMean", 18, HONE_LATEST}},
};
