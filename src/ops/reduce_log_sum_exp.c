/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_log_sum_exp.c - the logarithm of the sum of exp(x) along some axes. The largest is subtracted first so that
 * exp cannot overflow. */
#include "ops/common_reduce.h"
#include <math.h>

static double reduce_real(double total, double x) { return total + exp(x); }

const hone_op hn_op_reduce_log_sum_exp = {
    HN_REDUCE_FIELDS,
    .name = "reduce_log_sum_exp",
    .doc = "the logarithm of the sum of exp(x) along some axes",
    .in = {{"data", 'T', HONE_TYPES_NUMBER}, {"axes", 0, HONE_BIT(HONE_I64), HONE_PORT_OPTIONAL}},
    .details = &(const hn_reduction){.real = reduce_real, .finish = hn_reduce_log, .shift_by_largest = true},
    .onnx = {{"ReduceLogSumExp", 1, 17, .to_input = "axes=1"}, {"ReduceLogSumExp", 18, HONE_LATEST}},
};
