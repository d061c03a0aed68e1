/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_sum_square.c - the sum of x^2 along some axes. */
#include "ops/common_reduce.h"

static int64_t reduce_int(int64_t total, int64_t x, bool is_unsigned) {
  (void)is_unsigned; /* the low bits are the same */
  return (int64_t)((uint64_t)total + (uint64_t)x * (uint64_t)x);
}

const hone_op hn_op_reduce_sum_square = {
    HN_REDUCE_FIELDS,
    .name = "reduce_sum_square",
    .doc = "the sum of x^2 along some axes",
    .in = {{"data", 'T', HONE_TYPES_NUMBER}, {"axes", 0, HONE_BIT(HONE_I64), HONE_PORT_OPTIONAL}},
    .details = &(const hn_reduction){.real = hn_reduce_add_square, .integer = reduce_int},
    .onnx = {{"ReduceSumSquare", 1, 17, .to_input = "axes=1"}, {"ReduceSumSquare", 18, HONE_LATEST}},
};
