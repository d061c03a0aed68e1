/* SPDX-License-Identifier: Apache-2.0 */
/* activate.cuh - activations by number, where they follow a product in the same kernel. */
#include "kernels/cuda/args.h"

/* src/ops/common_epilogue.c says what each is. */
__device__ __forceinline__ float activated(int act, float alpha, float beta, float x) {
  switch (act) {
  case HN_CUDA_ACT_RELU: return x < 0 ? 0 : x;
  case HN_CUDA_ACT_GELU: return 0.5f * x * (1 + erff(x * 0.70710678118654752f));
  case HN_CUDA_ACT_SILU: return x / (1 + expf(-x));
  case HN_CUDA_ACT_TANH: return tanhf(x);
  case HN_CUDA_ACT_CLIP: return x < alpha ? alpha : x > beta ? beta : x;
  case HN_CUDA_ACT_LEAKY_RELU: return x < 0 ? alpha * x : x;
  case HN_CUDA_ACT_ELU: return x < 0 ? alpha * expm1f(x) : x;
  case HN_CUDA_ACT_SIGMOID: return 1 / (1 + expf(-x));
  case HN_CUDA_ACT_GELU_TANH: return x / (1 + expf(-2 * 0.79788456080286536f * (x + 0.044715f * x * x * x)));
  case HN_CUDA_ACT_MISH: return x > 40 ? x : x * tanhf(log1pf(expf(x)));
  case HN_CUDA_ACT_HARD_SIGMOID: return fminf(fmaxf(alpha * x + beta, 0), 1);
  case HN_CUDA_ACT_HARD_SWISH: return x * fminf(fmaxf(x / 6 + 0.5f, 0), 1);
  default: return x;
  }
}
