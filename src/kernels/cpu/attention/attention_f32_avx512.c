/* SPDX-License-Identifier: Apache-2.0 */
/* attention_f32_avx512.c - attention, 16 floats at a time. */
#define HN_LANES 16
#define HN_BLOCK 16
#define HN_ATTENTION hn_attention_f32_avx512
#include "kernels/cpu/attention/attention_f32.inc.h"
