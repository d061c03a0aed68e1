/* SPDX-License-Identifier: Apache-2.0 */
/* expr_build.h - how the expression's own files append instructions. */
#ifndef HN_TENSOR_EXPR_BUILD_H
#define HN_TENSOR_EXPR_BUILD_H

#include "tensor/expr.h"

/* The place of this instruction, joined with an equal one that is there; -1 when the expression is full. */
int hn_expr_emit(hn_expr *expr, hn_expr_step step);
/* Keeps what root needs, in canonical order, root last. */
void hn_expr_finish(hn_expr *expr, int root);

#endif
