/* SPDX-License-Identifier: Apache-2.0 */
/* not.c - logical not. */
#include "ops/op.h"

const hone_op hn_op_not = {
    HN_ELEMENTWISE("not", "logical not", "not(x)"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"x", 'T', HONE_TYPES_BOOL}},
    .out = {{"y", 'T'}},
    .onnx = {{"Not", 1, HONE_LATEST}},
};
