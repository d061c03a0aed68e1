/* SPDX-License-Identifier: Apache-2.0 */
/* activate_f32_c.c - an activation in place, with what the compiler makes of short vectors. */
#define HN_LANES 4
#define HN_ACTIVATE_F32 hn_activate_f32_c
#include "kernels/cpu/eltwise/activate_f32.inc.h"
