/* SPDX-License-Identifier: Apache-2.0 */
/* cum_sum.c - the running sum along one axis; exclusive leaves the element itself out. */
#include "ops/common_reduce.h"

const hone_op hn_op_cum_sum = {
    .struct_size = sizeof(hone_op),
    .name = "cum_sum",
    .doc = "the running sum along one axis",
    .in = {{"x", 'T', HONE_TYPES_NUMBER}, {"axis", 0, HONE_TYPES_INDEX}},
    .out = {{"y", 'T'}},
    .attr = {HONE_INT_ATTR("exclusive", 0), HONE_INT_ATTR("reverse", 0)},
    .infer = hn_infer_cumulate,
    .eval = hn_eval_cumulate,
    .cost = hn_cost_reduce,
    .details = &(const bool){false},
    .onnx = {{"CumSum", 11, HONE_LATEST}},
};
