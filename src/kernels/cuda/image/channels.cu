/* SPDX-License-Identifier: Apache-2.0 */
/* channels.cu - channels joined, cut and shuffled where they lie last: eight of a pixel a thread, at once where they
 * lie so in one input. Any sixteen bits. */
#include "kernels/cuda/half.cuh"

#define THREADS 256
#define KERNEL extern "C" __global__ void __launch_bounds__(THREADS)

KERNEL hn_channels_16(const __grid_constant__ hn_cuda_channels a) {
  const unsigned i = blockIdx.x * THREADS + threadIdx.x, pixel = i / a.eights;
  const int eight = (int)(i - pixel * a.eights);
  int to = 0, part = 0;
  if (i >= a.count) return;
  while (eight >= a.out_eight[to + 1]) ++to;
  const int channel = (eight - a.out_eight[to]) * 8, begin = a.out_begin[to], channels = a.out_begin[to + 1] - begin;
  const int source = a.first + begin + channel;
  wait_for_previous();
  if (a.groups == 1)
    while (part + 1 < a.ins && source >= a.in_begin[part + 1]) ++part;
  const int inside = source - a.in_begin[part];
  uint4 all;
  if (a.groups == 1 && inside % 8 == 0 && channel + 8 <= channels && source + 8 <= a.in_begin[part + 1]) {
    all = *(const uint4 *)((const unsigned short *)a.in[part] + (size_t)pixel * a.in_pitch[part] + inside);
  } else {
    unsigned short one[8];
    const int each = a.total / a.groups;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      const int f = begin + channel + k, at = a.first + f % a.groups * each + f / a.groups;
      part = 0;
      while (part + 1 < a.ins && at >= a.in_begin[part + 1]) ++part;
      one[k] = channel + k < channels
                   ? ((const unsigned short *)a.in[part])[(size_t)pixel * a.in_pitch[part] + at - a.in_begin[part]]
                   : (unsigned short)0;
    }
    all = make_uint4(one[0] | (unsigned)one[1] << 16, one[2] | (unsigned)one[3] << 16, one[4] | (unsigned)one[5] << 16,
                     one[6] | (unsigned)one[7] << 16);
  }
  let_next_begin();
  const int pitch = (a.out_eight[to + 1] - a.out_eight[to]) * 8;
  *(uint4 *)((unsigned short *)a.out[to] + (size_t)pixel * pitch + channel) = all;
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

KERNEL hn_channel_planes_32(const __grid_constant__ hn_cuda_channels a) { planes<unsigned>(a); }
KERNEL hn_channel_planes_16(const __grid_constant__ hn_cuda_channels a) { planes<unsigned short>(a); }
