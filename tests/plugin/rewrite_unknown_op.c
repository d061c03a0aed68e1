/* SPDX-License-Identifier: Apache-2.0 */
/* rewrite_unknown_op.c - a plug-in with a wrong rewrite: it puts an operator that nobody has. */
#define FIND "relu(x)"
#define PUT "no_such_operator(x)"
#include "wrong_rewrites.inc"
