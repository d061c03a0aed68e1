/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_sum.c - the sum of the elements along some axes. */
#include "ops/common_reduce.h"

static int64_t reduce_int(int64_t total, int64_t x, bool is_unsigned) {
  (void)is_unsigned; /* the low bits are the same */
  return (int64_t)((uint64_t)total + (uint64_t)x);
}

const hone_op hn_op_reduce_sum = {
    HN_REDUCE_FIELDS,
    .name = "reduce_sum",
    .doc = "the sum of the elements along some axes",
    .in = {{"data", 'T', HONE_TYPES_NUMBER}, {"axes", 0, HONE_BIT(HONE_I64), HONE_PORT_OPTIONAL}},
    .details = &(const hn_reduction){.real = hn_reduce_add, .integer = reduce_int, .fold = hn_dim_add},
    .onnx = {{"ReduceSum", 1, 12, .to_input = "axes=1"}, {"ReduceSum", 13, HONE_LATEST}},
};
