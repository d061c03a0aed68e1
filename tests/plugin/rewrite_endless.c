/* SPDX-License-Identifier: Apache-2.0 */
/* rewrite_endless.c - a plug-in with a wrong rewrite: it never ends. */
#define FIND "relu(x)"
#define PUT "relu(relu(x))"
#include "wrong_rewrites.inc"
