/* SPDX-License-Identifier: Apache-2.0 */
/* conv_dw_multiplier.c - depthwise convolution with a channel multiplier on nChwBc. */
/* isa: c avx2 avx512 */
#define HN_DW_SPREADS 1
#include "kernels/cpu/conv/conv_dw.inc.h"

void HN_HELD_BLOCKED_NAME(hn_conv_dw_multiplier)(const hn_conv_f32 *conv, int64_t begin, int64_t end) {
  dw_run(conv, begin, end);
}
