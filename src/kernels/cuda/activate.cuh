/* SPDX-License-Identifier: Apache-2.0 */
/* activate.cuh - activations by number, where they follow a product in the same kernel. */
#include "kernels/cuda/args.h"

__device__ __forceinline__ float activated(int act, float alpha, float beta, float x) {
  switch (act) {
#define HN_ACT(NUMBER, name, expression, reference, vector, half, cuda)                                                \
  case HN_ACTIVATION_##NUMBER:                                                                                         \
    return cuda;
#include "kernels/activations.inc"
#undef HN_ACT
  default: return x;
  }
}
