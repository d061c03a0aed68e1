/* SPDX-License-Identifier: Apache-2.0 */
/* conv_dw.c - depthwise convolution on nChwBc. */
/* isa: c avx2 avx512 */
/* held: f32 bf16 f16 */
#define HN_DW_SPREADS 0
#include "kernels/cpu/conv/conv_dw.inc.h"

void HN_HELD_BLOCKED_NAME(hn_conv_dw)(const hn_conv_f32 *conv, int64_t begin, int64_t end) { dw_run(conv, begin, end); }
