/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_min.c - the smallest element along some axes. NaN wins, as in numpy. */
#include "ops/common_reduce.h"
#include <math.h>

static double reduce_real(double total, double x) { return x < total || isnan(x) ? x : total; }

static int64_t reduce_int(int64_t total, int64_t x, bool is_unsigned) {
  return hn_int_less(x, total, is_unsigned) ? x : total;
}

const hone_op hn_op_reduce_min = {
    HN_REDUCE_FIELDS,
    .name = "reduce_min",
    .doc = "the smallest element along some axes",
    .in = {{"data", 'T', HONE_TYPES_NUMBER | HONE_TYPES_BOOL}, {"axes", 0, HONE_BIT(HONE_I64), HONE_PORT_OPTIONAL}},
    .details = &(
        const hn_reduction){.start = HN_START_HIGHEST, .real = reduce_real, .integer = reduce_int, .fold = hn_dim_min},
    .onnx = {{"ReduceMin", 1, 17, .to_input = "axes=1"}, {"ReduceMin", 18, HONE_LATEST}},
};
