/* SPDX-License-Identifier: Apache-2.0 */
/* wrong_chosen.c - a wrong tactic for softmax, which estimates choose. */
#define NAME "wrong.chosen"
#define OP "softmax"
#define EFFICIENCY 1e6
#include "wrong_step.inc"
