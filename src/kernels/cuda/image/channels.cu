/* SPDX-License-Identifier: Apache-2.0 */
/* channels.cu - channels joined, cut and shuffled where they lie last: sixteen bytes of a pixel a thread, at once where
 * they lie so in one input. Any 32 bits, sixteen or eight. */
#include "kernels/cuda/half.cuh"

#define THREADS 256
#define KERNEL extern "C" __global__ void __launch_bounds__(THREADS)

template <typename word> __device__ __forceinline__ void last(const hn_cuda_channels &a) {
  constexpr int lanes = 16 / sizeof(word);
  const unsigned i = blockIdx.x * THREADS + threadIdx.x, pixel = i / a.eights;
  const int eight = (int)(i - pixel * a.eights);
  int to = 0, part = 0;
  if (i >= a.count) return;
  while (eight >= a.out_eight[to + 1]) ++to;
  const int channel = (eight - a.out_eight[to]) * lanes, begin = a.out_begin[to],
            channels = a.out_begin[to + 1] - begin;
  const int source = a.first + begin + channel;
  wait_for_previous();
  if (a.groups == 1)
    while (part + 1 < a.ins && source >= a.in_begin[part + 1]) ++part;
  const int inside = source - a.in_begin[part];
  uint4 all;
  if (a.groups == 1 && inside % lanes == 0 && channel + lanes <= channels && source + lanes <= a.in_begin[part + 1]) {
    all = *(const uint4 *)((const word *)a.in[part] + (size_t)pixel * a.in_pitch[part] + inside);
  } else {
    __align__(16) word one[lanes];
    const int each = a.total / a.groups;
#pragma unroll
    for (int k = 0; k < lanes; ++k) {
      const int f = begin + channel + k, at = a.first + f % a.groups * each + f / a.groups;
      part = 0;
      while (part + 1 < a.ins && at >= a.in_begin[part + 1]) ++part;
      one[k] = channel + k < channels
                   ? ((const word *)a.in[part])[(size_t)pixel * a.in_pitch[part] + at - a.in_begin[part]]
                   : (word)0;
    }
    all = *(const uint4 *)one;
  }
  let_next_begin();
  const int pitch = (a.out_eight[to + 1] - a.out_eight[to]) * lanes;
  *(uint4 *)((word *)a.out[to] + (size_t)pixel * pitch + channel) = all;
}

template <typename word> __device__ __forceinline__ void planes(const hn_cuda_channels &a) {
  const unsigned i = blockIdx.x * THREADS + threadIdx.x, plane = i / (unsigned)a.pixels;
  const int all = a.out_begin[a.outs], image = (int)(plane / (unsigned)all), f = (int)plane - image * all;
  const int pixel = (int)(i - plane * (unsigned)a.pixels), each = a.total / a.groups;
  const int from = a.first + f % a.groups * each + f / a.groups;
  int to = 0, part = 0;
  if (i >= a.count) return;
  while (f >= a.out_begin[to + 1]) ++to;
  while (part + 1 < a.ins && from >= a.in_begin[part + 1]) ++part;
  const int ins = a.in_begin[part + 1] - a.in_begin[part], outs = a.out_begin[to + 1] - a.out_begin[to];
  const size_t source = ((size_t)image * ins + from - a.in_begin[part]) * a.pixels + pixel;
  wait_for_previous();
  ((word *)a.out[to])[((size_t)image * outs + f - a.out_begin[to]) * a.pixels + pixel] =
      ((const word *)a.in[part])[source];
  let_next_begin();
}

KERNEL hn_channels_32(const __grid_constant__ hn_cuda_channels a) { last<unsigned>(a); }
KERNEL hn_channels_16(const __grid_constant__ hn_cuda_channels a) { last<unsigned short>(a); }
KERNEL hn_channels_8(const __grid_constant__ hn_cuda_channels a) { last<u8>(a); }
KERNEL hn_channel_planes_32(const __grid_constant__ hn_cuda_channels a) { planes<unsigned>(a); }
KERNEL hn_channel_planes_16(const __grid_constant__ hn_cuda_channels a) { planes<unsigned short>(a); }
