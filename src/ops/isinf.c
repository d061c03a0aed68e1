/* SPDX-License-Identifier: Apache-2.0 */
/* isinf.c - whether an element is an infinity of a sign that is looked for. */
#include "ops/op.h"

const hone_op hn_op_isinf = {
    HN_ELEMENTWISE("isinf", "whether an element is an infinity of a sign that is looked for",
                   "and(isinf(x), select(lt(x, 0), $detect_negative, $detect_positive))"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"x", 0, HONE_TYPES_FLOAT | HONE_TYPES_F8}},
    .out = {{"y", 0, HONE_TYPES_BOOL}},
    .attr = {HONE_INT_ATTR("detect_negative", 1), HONE_INT_ATTR("detect_positive", 1)},
    .onnx = {{"IsInf", 10, HONE_LATEST}},
};
