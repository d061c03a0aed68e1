/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_max.c - the largest element along some axes. NaN wins, as in numpy. */
#include "ops/common_reduce.h"
#include <math.h>

static double reduce_real(double total, double x) { return x > total || isnan(x) ? x : total; }

static int64_t reduce_int(int64_t total, int64_t x, bool is_unsigned) {
  return hn_int_less(total, x, is_unsigned) ? x : total;
}

const hone_op hn_op_reduce_max = {
    HN_REDUCE_FIELDS,
    .name = "reduce_max",
    .doc = "the largest element along some axes",
    .in = {{"data", 'T', HONE_TYPES_NUMBER | HONE_TYPES_BOOL}, {"axes", 0, HONE_BIT(HONE_I64), HONE_PORT_OPTIONAL}},
    .details =
        &(const hn_reduction){.start = HN_START_LOWEST, .real = reduce_real, .integer = reduce_int, .fold = hn_dim_max},
    .onnx = {{"ReduceMax", 1, 17, .to_input = "axes=1"}, {"ReduceMax", 18, HONE_LATEST}},
};
