/* SPDX-License-Identifier: Apache-2.0 */
/* activate_f32_avx2.c - an activation in place, 8 floats at a time. */
#define HN_LANES 8
#define HN_ACTIVATE_F32 hn_activate_f32_avx2
#include "kernels/cpu/eltwise/activate_f32.inc.h"
