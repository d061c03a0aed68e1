/* SPDX-License-Identifier: Apache-2.0 */
/* epilogue.h - what a matrix product or a convolution does to a result before it is stored.
 *
 *   stored = activation(sum + bias + residual)
 *
 * Every step is optional; a zeroed struct stores the sum. */
#ifndef HN_KERNELS_CPU_EPILOGUE_H
#define HN_KERNELS_CPU_EPILOGUE_H

#include <stdint.h>

/* The numbers are not stored anywhere; callers map their own attribute to them. */
typedef enum hn_activation {
  HN_ACTIVATION_NONE = 0,
  HN_ACTIVATION_RELU,        /* max(0, x) */
  HN_ACTIVATION_CLIP,        /* min(beta, max(alpha, x)) */
  HN_ACTIVATION_LEAKY_RELU,  /* x < 0 ? alpha * x : x */
  HN_ACTIVATION_SIGMOID,     /* 1 / (1 + exp(-x)) */
  HN_ACTIVATION_SILU,        /* x * sigmoid(x) */
  HN_ACTIVATION_HARDSWISH,   /* x * min(1, max(0, x / 6 + 0.5)) */
  HN_ACTIVATION_HARDSIGMOID, /* min(1, max(0, alpha * x + beta)) */
  HN_ACTIVATION_GELU_ERF,    /* x * 0.5 * (1 + erf(x / sqrt(2))) */
  HN_ACTIVATION_TANH,
  HN_ACTIVATION_GELU_TANH, /* 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) */
  HN_ACTIVATION_ELU,       /* x < 0 ? alpha * (exp(x) - 1) : x */
  HN_ACTIVATION_MISH,      /* x * tanh(log(1 + exp(x))) */
  HN_ACTIVATION_PRELU,     /* x < 0 ? slope * x : x, a slope for each channel */
  HN_ACTIVATION_COUNT
} hn_activation;

/* NaN passes through every activation. */
typedef struct hn_epilogue_f32 {
  const float *bias;       /* NULL for none; its length is stated by the kernel */
  const float *residual;   /* NULL for none; laid out as the output */
  int64_t residual_stride; /* GEMM: floats between rows; convolutions ignore it */
  hn_activation activation;
  float alpha, beta;  /* see hn_activation; unused ones are ignored */
  const float *slope; /* for PRELU alone; as long as bias */
} hn_epilogue_f32;

#endif
