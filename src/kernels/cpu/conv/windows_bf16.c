/* SPDX-License-Identifier: Apache-2.0 */
/* windows_bf16.c - windows of plain images as products of bf16 read them. */
/* isa: c avx512_bf16 amx_bf16 */
#define HN_HELD_BF16
#include "kernels/cpu/conv/windows_half.inc.h"
