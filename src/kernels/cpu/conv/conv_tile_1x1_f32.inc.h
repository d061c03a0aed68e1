/* SPDX-License-Identifier: Apache-2.0 */
/* conv_tile_1x1_f32.inc.h - tiles whose pixels lie next to each other and have one tap: products of matrices. */
#ifndef HN_KERNELS_CPU_CONV_TILE_1X1_F32_INC_H
#define HN_KERNELS_CPU_CONV_TILE_1X1_F32_INC_H

#include "kernels/cpu/conv/conv_tile_f32.inc.h"

/* [blocks][pixels]. conv_f32_1x1.c has them; products of Winograd.s kind are tiles of the same shape. */
extern void (*const HN_BLOCKED_NAME(hn_conv_f32_1x1_tiles)[HN_TILE_BLOCKS + 1][15])(const conv_tile *)
    __attribute__((visibility("hidden")));

#endif
