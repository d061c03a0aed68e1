/* SPDX-License-Identifier: Apache-2.0 */
/* attention_f16.cu - attention in f16 on tensor cores, by the width of a head, the query rows of a block, the keys of a
 * tile. */
#include "kernels/cuda/attention/attention_half.cuh"

typedef f16 held;

#define KERNEL(blocks) extern "C" __global__ void __launch_bounds__(128, blocks)

KERNEL(3)
hn_attention_f16_32_16_128(held *y, const held *q, const held *k, const held *v, const held *mask,
                           const __grid_constant__ hn_cuda_attention a) {
  attend<held, 32, 1, 1, 4, 128>(y, q, k, v, mask, a);
}
KERNEL(3)
hn_attention_f16_32_32_64(held *y, const held *q, const held *k, const held *v, const held *mask,
                          const __grid_constant__ hn_cuda_attention a) {
  attend<held, 32, 1, 2, 2, 64>(y, q, k, v, mask, a);
}
KERNEL(3)
hn_attention_f16_32_64_64(held *y, const held *q, const held *k, const held *v, const held *mask,
                          const __grid_constant__ hn_cuda_attention a) {
  attend<held, 32, 1, 4, 1, 64>(y, q, k, v, mask, a);
}
KERNEL(2)
hn_attention_f16_32_128_64(held *y, const held *q, const held *k, const held *v, const held *mask,
                           const __grid_constant__ hn_cuda_attention a) {
  attend<held, 32, 2, 4, 1, 64>(y, q, k, v, mask, a);
}
KERNEL(3)
hn_attention_f16_64_16_128(held *y, const held *q, const held *k, const held *v, const held *mask,
                           const __grid_constant__ hn_cuda_attention a) {
  attend<held, 64, 1, 1, 4, 128>(y, q, k, v, mask, a);
}
KERNEL(2)
hn_attention_f16_64_16_256(held *y, const held *q, const held *k, const held *v, const held *mask,
                           const __grid_constant__ hn_cuda_attention a) {
  attend<held, 64, 1, 1, 4, 256>(y, q, k, v, mask, a);
}
KERNEL(3)
hn_attention_f16_64_32_64(held *y, const held *q, const held *k, const held *v, const held *mask,
                          const __grid_constant__ hn_cuda_attention a) {
  attend<held, 64, 1, 2, 2, 64>(y, q, k, v, mask, a);
}
KERNEL(3)
hn_attention_f16_64_64_64(held *y, const held *q, const held *k, const held *v, const held *mask,
                          const __grid_constant__ hn_cuda_attention a) {
  attend<held, 64, 1, 4, 1, 64>(y, q, k, v, mask, a);
}
KERNEL(2)
hn_attention_f16_64_128_64(held *y, const held *q, const held *k, const held *v, const held *mask,
                           const __grid_constant__ hn_cuda_attention a) {
  attend<held, 64, 2, 4, 1, 64>(y, q, k, v, mask, a);
}
KERNEL(2)
hn_attention_f16_128_16_64(held *y, const held *q, const held *k, const held *v, const held *mask,
                           const __grid_constant__ hn_cuda_attention a) {
  attend<held, 128, 1, 1, 4, 64>(y, q, k, v, mask, a);
}
KERNEL(2)
hn_attention_f16_128_64_64(held *y, const held *q, const held *k, const held *v, const held *mask,
                           const __grid_constant__ hn_cuda_attention a) {
  attend<held, 128, 1, 4, 1, 64>(y, q, k, v, mask, a);
}
KERNEL(2)
hn_attention_f16_128_128_32(held *y, const held *q, const held *k, const held *v, const held *mask,
                            const __grid_constant__ hn_cuda_attention a) {
  attend<held, 128, 2, 4, 1, 32>(y, q, k, v, mask, a);
}
