/* SPDX-License-Identifier: Apache-2.0 */
/* attention_f32_avx2.c - attention, 8 floats at a time. */
#define HN_LANES 8
#define HN_BLOCK 8
#define HN_ATTENTION hn_attention_f32_avx2
#include "kernels/cpu/attention/attention_f32.inc.h"
