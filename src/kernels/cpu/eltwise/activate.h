/* SPDX-License-Identifier: Apache-2.0 */
/* activate.h - an activation alone, in place, for kernels whose results are sums in memory. */
#ifndef HN_KERNELS_CPU_ELTWISE_ACTIVATE_H
#define HN_KERNELS_CPU_ELTWISE_ACTIVATE_H

#include "kernels/cpu/epilogue.h"

/* x[i] = activation(x[i]) for i in 0..count; bias and residual of the epilogue are ignored. An element's result does
 * not depend on its place. */
typedef void hn_activate_f32_fn(float *x, int64_t count, const hn_epilogue_f32 *epilogue);
hn_activate_f32_fn hn_activate_f32_c, hn_activate_f32_avx2, hn_activate_f32_avx512;

#endif
