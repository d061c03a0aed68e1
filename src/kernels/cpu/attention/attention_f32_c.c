/* SPDX-License-Identifier: Apache-2.0 */
/* attention_f32_c.c - attention, 4 floats at a time. */
#define HN_LANES 4
#define HN_BLOCK 4
#define HN_ATTENTION hn_attention_f32_c
#include "kernels/cpu/attention/attention_f32.inc.h"
