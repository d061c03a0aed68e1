/* SPDX-License-Identifier: Apache-2.0 */
/* activate_f32_avx512.c - an activation in place, 16 floats at a time. */
#define HN_LANES 16
#define HN_ACTIVATE_F32 hn_activate_f32_avx512
#include "kernels/cpu/eltwise/activate_f32.inc.h"
