/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_mean.c - the mean of the elements along some axes. */
#include "ops/common_reduce.h"

static double finish(double total, int64_t count) { return total / (double)count; }

const hone_op hn_op_reduce_mean = {
    HN_REDUCE_FIELDS,
    .name = "reduce_mean",
    .doc = "the mean of the elements along some axes",
    .in = {{"data", 'T', HONE_TYPES_NUMBER}, {"axes", 0, HONE_BIT(HONE_I64), HONE_PORT_OPTIONAL}},
    .details = &(const hn_reduction){.real = hn_reduce_add, .finish = finish},
    .onnx = {{"ReduceMean", 1, 17, .to_input = "axes=1"},
             {"ReduceMean", 18, HONE_LATEST},
             {"QLinearReduceMean", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_qlinear_reduce_mean", .alias = true}},
};
