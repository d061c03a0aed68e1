/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_l2.c - the square root of the sum of x^2 along some axes. */
#include "ops/common_reduce.h"
#include <math.h>

static double finish(double total, int64_t count) {
  (void)count;
  return sqrt(total);
}

const hone_op hn_op_reduce_l2 = {
    HN_REDUCE_FIELDS,
    .name = "reduce_l2",
    .doc = "the square root of the sum of x^2 along some axes",
    .in = {{"data", 'T', HONE_TYPES_NUMBER}, {"axes", 0, HONE_BIT(HONE_I64), HONE_PORT_OPTIONAL}},
    .details = &(const hn_reduction){.real = hn_reduce_add_square, .finish = finish},
    .onnx = {{"ReduceL2", 1, 17, .to_input = "axes=1"}, {"ReduceL2", 18, HONE_LATEST}},
};
