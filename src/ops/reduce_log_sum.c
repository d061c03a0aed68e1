/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_log_sum.c - the logarithm of the sum along some axes. */
#include "ops/common_reduce.h"

const hone_op hn_op_reduce_log_sum = {
    HN_REDUCE_FIELDS,
    .name = "reduce_log_sum",
    .doc = "the logarithm of the sum along some axes",
    .in = {{"data", 'T', HONE_TYPES_NUMBER}, {"axes", 0, HONE_BIT(HONE_I64), HONE_PORT_OPTIONAL}},
    .details = &(const hn_reduction){.real = hn_reduce_add, .finish = hn_reduce_log},
    .onnx = {{"ReduceLogSum", 1, 17, .to_input = "axes=1"}, {"ReduceLogSum", 18, HONE_LATEST}},
};
