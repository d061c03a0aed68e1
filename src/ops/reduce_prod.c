/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_prod.c - the product of the elements along some axes. */
#include "ops/common_reduce.h"

static double reduce_real(double total, double x) { return total * x; }

static int64_t reduce_int(int64_t total, int64_t x, bool is_unsigned) {
  (void)is_unsigned; /* the low bits are the same */
  return (int64_t)((uint64_t)total * (uint64_t)x);
}

const hone_op hn_op_reduce_prod = {
    HN_REDUCE_FIELDS,
    .name = "reduce_prod",
    .doc = "the product of the elements along some axes",
    .in = {{"data", 'T', HONE_TYPES_NUMBER}, {"axes", 0, HONE_BIT(HONE_I64), HONE_PORT_OPTIONAL}},
    .details =
        &(const hn_reduction){.start = HN_START_ONE, .real = reduce_real, .integer = reduce_int, .fold = hn_dim_mul},
    .onnx = {{"ReduceProd", 1, 17, .to_input = "axes=1"}, {"ReduceProd", 18, HONE_LATEST}},
};
