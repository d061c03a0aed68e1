/* SPDX-License-Identifier: Apache-2.0 */
/* wrong_forced.c - a wrong tactic for any operator, which runs where --tactic NODE=wrong.forced asks for it alone. */
#define NAME "wrong.forced"
#define OP "*"
#define EFFICIENCY 1e-9
#include "wrong_step.inc"
