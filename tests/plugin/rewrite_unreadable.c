/* SPDX-License-Identifier: Apache-2.0 */
/* rewrite_unreadable.c - a plug-in with a wrong rewrite: its find cannot be read. */
#define FIND "relu("
#define PUT "x"
#include "wrong_rewrites.inc"
