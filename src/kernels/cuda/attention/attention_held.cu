/* SPDX-License-Identifier: Apache-2.0 */
/* held: f16 bf16 */
/* attention_held.cu - attention of halves on tensor cores, by the width of a head, the query rows of a block, the keys
 * of a tile. */
#include "kernels/cuda/attention/attention_half.cuh"

#define KERNEL(blocks) extern "C" __global__ void __launch_bounds__(128, blocks)

KERNEL(3)
HN_HELD_KERNEL(attention, 32_16_128)
(held *y, const held *q, const held *k, const held *v, const held *mask, const __grid_constant__ hn_cuda_attention a) {
  attend<held, 32, 1, 1, 4, 128>(y, q, k, v, mask, a);
}
KERNEL(3)
HN_HELD_KERNEL(attention, 32_32_64)
(held *y, const held *q, const held *k, const held *v, const held *mask, const __grid_constant__ hn_cuda_attention a) {
  attend<held, 32, 1, 2, 2, 64>(y, q, k, v, mask, a);
}
KERNEL(3)
HN_HELD_KERNEL(attention, 32_64_64)
(held *y, const held *q, const held *k, const held *v, const held *mask, const __grid_constant__ hn_cuda_attention a) {
  attend<held, 32, 1, 4, 1, 64>(y, q, k, v, mask, a);
}
KERNEL(2)
HN_HELD_KERNEL(attention, 32_128_64)
(held *y, const held *q, const held *k, const held *v, const held *mask, const __grid_constant__ hn_cuda_attention a) {
  attend<held, 32, 2, 4, 1, 64>(y, q, k, v, mask, a);
}
KERNEL(3)
HN_HELD_KERNEL(attention, 64_16_128)
(held *y, const held *q, const held *k, const held *v, const held *mask, const __grid_constant__ hn_cuda_attention a) {
  attend<held, 64, 1, 1, 4, 128>(y, q, k, v, mask, a);
}
KERNEL(2)
HN_HELD_KERNEL(attention, 64_16_256)
(held *y, const held *q, const held *k, const held *v, const held *mask, const __grid_constant__ hn_cuda_attention a) {
  attend<held, 64, 1, 1, 4, 256>(y, q, k, v, mask, a);
}
KERNEL(3)
HN_HELD_KERNEL(attention, 64_32_64)
(held *y, const held *q, const held *k, const held *v, const held *mask, const __grid_constant__ hn_cuda_attention a) {
  attend<held, 64, 1, 2, 2, 64>(y, q, k, v, mask, a);
}
KERNEL(6) /* of short rows: few turns, so that more blocks are worth a few values out of registers */
HN_HELD_KERNEL(attention, 64_64_32)
(held *y, const held *q, const held *k, const held *v, const held *mask, const __grid_constant__ hn_cuda_attention a) {
  attend<held, 64, 1, 4, 1, 32>(y, q, k, v, mask, a);
}
KERNEL(3)
HN_HELD_KERNEL(attention, 64_64_64)
(held *y, const held *q, const held *k, const held *v, const held *mask, const __grid_constant__ hn_cuda_attention a) {
  attend<held, 64, 1, 4, 1, 64>(y, q, k, v, mask, a);
}
KERNEL(2)
HN_HELD_KERNEL(attention, 64_128_64)
(held *y, const held *q, const held *k, const held *v, const held *mask, const __grid_constant__ hn_cuda_attention a) {
  attend<held, 64, 2, 4, 1, 64>(y, q, k, v, mask, a);
}
KERNEL(2)
HN_HELD_KERNEL(attention, 128_16_64)
(held *y, const held *q, const held *k, const held *v, const held *mask, const __grid_constant__ hn_cuda_attention a) {
  attend<held, 128, 1, 1, 4, 64>(y, q, k, v, mask, a);
}
KERNEL(2)
HN_HELD_KERNEL(attention, 128_64_64)
(held *y, const held *q, const held *k, const held *v, const held *mask, const __grid_constant__ hn_cuda_attention a) {
  attend<held, 128, 1, 4, 1, 64>(y, q, k, v, mask, a);
}
KERNEL(2)
HN_HELD_KERNEL(attention, 128_128_32)
(held *y, const held *q, const held *k, const held *v, const held *mask, const __grid_constant__ hn_cuda_attention a) {
  attend<held, 128, 2, 4, 1, 32>(y, q, k, v, mask, a);
}
