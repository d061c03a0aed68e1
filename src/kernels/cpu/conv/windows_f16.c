/* SPDX-License-Identifier: Apache-2.0 */
/* windows_f16.c - windows of plain images as products of f16 read them. */
/* isa: c avx512_fp16 */
#define HN_HELD_F16
#include "kernels/cpu/conv/windows_half.inc.h"
