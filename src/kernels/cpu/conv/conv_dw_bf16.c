/* SPDX-License-Identifier: Apache-2.0 */
/* conv_dw_bf16.c - depthwise convolution on nChw32c where one instruction rounds to bf16. */
/* isa: avx512_bf16 */
#define HN_HELD_BF16
#define HN_DW_SPREADS 0
#include "kernels/cpu/conv/conv_dw.inc.h"

void HN_HELD_BLOCKED_NAME(hn_conv_dw)(const hn_conv_f32 *conv, int64_t begin, int64_t end) { dw_run(conv, begin, end); }
