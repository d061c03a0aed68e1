/* SPDX-License-Identifier: Apache-2.0 */
/* epilogue.h - what a matrix product or a convolution does to a result before it is stored.
 *
 *   stored = activation(sum + bias + residual)
 *
 * Every step is optional; a zeroed struct stores the sum. */
#ifndef HN_KERNELS_CPU_EPILOGUE_H
#define HN_KERNELS_CPU_EPILOGUE_H

#include <stdint.h>

#include "kernels/activation.h"

typedef struct hn_epilogue_f32 {
  const float *bias;       /* NULL for none; its length is stated by the kernel */
  const float *residual;   /* NULL for none; laid out as the output */
  int64_t residual_stride; /* GEMM: floats between rows; convolutions ignore it */
  hn_activation activation;
  float alpha, beta;  /* see hn_activation; unused ones are ignored */
  const float *slope; /* for PRELU alone; as long as bias */
} hn_epilogue_f32;

/* The same of doubles. */
typedef struct hn_epilogue_f64 {
  const double *bias, *residual;
  int64_t residual_stride;
  hn_activation activation;
  double alpha, beta;
  const double *slope;
} hn_epilogue_f64;

/* ---- an activation alone, in place, for kernels whose results are sums in memory (eltwise/activate_f32.c) ---- */
/* x[i] = activation(x[i]) for i in 0..count; bias and residual of the epilogue are ignored. An element's result does
 * not depend on its place. */
typedef void hn_activate_f32_fn(float *x, int64_t count, const hn_epilogue_f32 *epilogue);
hn_activate_f32_fn hn_activate_f32_c, hn_activate_f32_avx2, hn_activate_f32_avx512;

#endif
