/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_l1.c - the sum of |x| along some axes. */
#include "ops/common_reduce.h"
#include <math.h>

static double reduce_real(double total, double x) { return total + fabs(x); }

static int64_t reduce_int(int64_t total, int64_t x, bool is_unsigned) {
  return (int64_t)((uint64_t)total + (x < 0 && !is_unsigned ? 0 - (uint64_t)x : (uint64_t)x));
}

const hone_op hn_op_reduce_l1 = {
    HN_REDUCE_FIELDS,
    .name = "reduce_l1",
    .doc = "the sum of |x| along some axes",
    .in = {{"data", 'T', HONE_TYPES_NUMBER}, {"axes", 0, HONE_BIT(HONE_I64), HONE_PORT_OPTIONAL}},
    .details = &(const hn_reduction){.real = reduce_real, .integer = reduce_int},
    .onnx = {{"ReduceL1", 1, 17, .to_input = "axes=1"}, {"ReduceL1", 18, HONE_LATEST}},
};
