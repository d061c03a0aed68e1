/* SPDX-License-Identifier: Apache-2.0 */
/* conv_pool.cuh - a convolution of an image of at most 8 channels and the maxima under windows of what it makes, over
 * f16 or bf16 with the channels last; NVRTC compiles it for one shape and tile, as inverted_residual.cuh. The weights
 * stay in shared memory while a block goes from tile to tile. The rows which a matrix load takes, sixteen bytes, are
 * pixels of the image itself: one of 8 channels, or two of 4 where the stride keeps them aligned. Two are a step in k.
 */
#ifndef HN_KERNELS_CUDA_REGION_LAY_OUT_H
#include "kernels/cuda/region/lay_out.h"
#endif
#ifndef HN_KERNELS_CUDA_REGION_PIECES_CUH
#include "kernels/cuda/region/pieces.cuh"
#endif
#ifndef HN_KERNELS_CUDA_REGION_CONV_POOL_H
#include "kernels/cuda/region/conv_pool.h"
#endif

typedef struct hn_conv_pool_args {
  void *y;
  const void *x, *weights;
  int images;
} hn_conv_pool_args;

/* Where a tile begins: among the pooled pixels, the convolved ones, those of the image. */
struct hn_tile {
  int image, out_y, out_x, mid_y, mid_x, in_y, in_x;
};
template <class T> HN_DEVICE hn_tile hn_tile_at(int i) {
  constexpr hn_conv_pool r = T::region;
  constexpr hn_conv_pool_layout l = hn_conv_pool_lay_out(r);
  hn_tile t;
  t.image = i / (l.tiles_h * l.tiles_w);
  t.out_y = i / l.tiles_w % l.tiles_h * r.tile_h, t.out_x = i % l.tiles_w * r.tile_w;
  t.mid_y = t.out_y * r.pool_stride - r.pool_pad_h, t.mid_x = t.out_x * r.pool_stride - r.pool_pad_w;
  t.in_y = t.mid_y * r.stride - r.pad_h, t.in_x = t.mid_x * r.stride - r.pad_w;
  return t;
}

template <class T> HN_DEVICE void hn_load_image(unsigned char *shared, const void *x, const hn_tile &t) {
  constexpr hn_conv_pool r = T::region;
  constexpr hn_conv_pool_layout l = hn_conv_pool_lay_out(r);
  const uint4 *from = (const uint4 *)x + (long long)t.image * r.in_h * r.in_w;
  for (int i = threadIdx.x; i < l.in_h * l.in_w; i += r.threads) {
    const int row = i / l.in_w, column = i % l.in_w, y = t.in_y + row, xx = t.in_x + column;
    const bool valid = y >= 0 && y < r.in_h && xx >= 0 && xx < r.in_w;
    const uint4 *pixel = from + (valid ? y * r.in_w + xx : 0);
    if constexpr (r.quads)
      hn_copy_eight(hn_shared(shared + l.x) + (row * l.in_row + column) * 8, pixel, valid);
    else
      hn_copy_sixteen(hn_shared(shared + l.x) + (row * l.in_row + column % r.stride * l.part + column / r.stride) * 16,
                      pixel, valid);
  }
}

/* What a chunk has beside its window counts nothing, whatever it is: zero times infinity is not a number. */
template <int inside> HN_DEVICE void hn_keep_inside(unsigned &a, unsigned &b, int lane) {
  if (inside == 0 || (inside == 4 && (lane & 3) >= 2)) a = b = 0;
}

/* One step of k, whose number is a constant; the upper half of the lanes loads the second chunk. */
template <class T, int high, int broad, int k>
HN_DEVICE void hn_step(float (&c)[high][2 * broad][4], const unsigned (&from)[high], unsigned with, int lane) {
  constexpr hn_conv_pool r = T::region;
  constexpr hn_conv_pool_layout l = hn_conv_pool_lay_out(r);
  constexpr int last = l.chunks - 1, first = hn_conv_pool_chunk(r, l, 2 * k),
                second = hn_conv_pool_chunk(r, l, 2 * k + 1 < l.chunks ? 2 * k + 1 : last);
  const unsigned chunk = lane < 16 ? first : second;
  unsigned fa[high][4], fb[4];
#pragma unroll
  for (int i = 0; i < high; ++i) {
    hn_load_four(fa[i], from[i] + chunk);
    hn_keep_inside<hn_conv_pool_inside(r, l, 2 * k)>(fa[i][0], fa[i][1], lane);
    hn_keep_inside<hn_conv_pool_inside(r, l, 2 * k + 1)>(fa[i][2], fa[i][3], lane);
  }
#pragma unroll
  for (int j = 0; j < broad; ++j) {
    hn_load_four(fb, with + (j * 16 * l.w_row + k * 16) * 2);
#pragma unroll
    for (int i = 0; i < high; ++i) {
      T::number::multiply(c[i][2 * j], fa[i], fb[0], fb[1]);
      T::number::multiply(c[i][2 * j + 1], fa[i], fb[2], fb[3]);
    }
  }
}

template <class T, int high, int broad, int k, int steps>
HN_DEVICE void hn_steps(float (&c)[high][2 * broad][4], const unsigned (&from)[high], unsigned with, int lane) {
  if constexpr (k < steps) {
    hn_step<T, high, broad, k>(c, from, with, lane);
    hn_steps<T, high, broad, k + 1, steps>(c, from, with, lane);
  }
}

/* Convolved pixels into shared memory; those that lie outside count less than any. */
template <class T> HN_DEVICE void hn_convolve(unsigned char *shared, const hn_tile &t) {
  constexpr hn_conv_pool r = T::region;
  constexpr hn_conv_pool_layout l = hn_conv_pool_lay_out(r);
  typedef typename T::number N;
  constexpr int high = 2, broad = l.wide / 16 % 4 == 0 ? 4 : l.wide / 16 % 2 == 0 ? 2 : 1;
  constexpr int tiles_h = l.mid_rows / 16, across = l.wide / 16 / broad, down = (tiles_h + high - 1) / high;
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
  const float *bias = (const float *)(shared + l.bias);
  for (int u = warp; u < down * across; u += r.threads / 32) {
    const int m = u / across * high, n = u % across * broad;
    float c[high][2 * broad][4];
    unsigned from[high];
#pragma unroll
    for (int j = 0; j < 2 * broad; ++j) {
      const float2 b = *(const float2 *)(bias + n * 16 + j * 8 + (lane & 3) * 2);
#pragma unroll
      for (int i = 0; i < high; ++i) c[i][j][0] = c[i][j][2] = b.x, c[i][j][1] = c[i][j][3] = b.y;
    }
#pragma unroll
    for (int i = 0; i < high; ++i) {
      const int p = min((m + i) * 16 + (lane & 15), l.mid_h * l.mid_w - 1);
      from[i] = hn_shared(shared + l.x) + hn_conv_pool_place(r, l, p / l.mid_w, p % l.mid_w);
    }
    const unsigned with =
        hn_shared(shared) + ((n * 16 + (lane & 7) + (lane >> 4) * 8) * l.w_row + ((lane >> 3) & 1) * 8) * 2;
    hn_steps<T, high, broad, 0, l.deep / 16>(c, from, with, lane);
#pragma unroll
    for (int i = 0; i < high; ++i) {
      if (m + i >= tiles_h) break;
      bool inside[2];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int p = (m + i) * 16 + (lane >> 2) + half * 8, y = t.mid_y + p / l.mid_w, x = t.mid_x + p % l.mid_w;
        inside[half] = y >= 0 && y < r.mid_h && x >= 0 && x < r.mid_w;
      }
      const unsigned to =
          hn_shared(shared + l.mid) + (((m + i) * 16 + (lane & 15)) * l.m_row + n * 16 + (lane >> 4) * 8) * 2;
#pragma unroll
      for (int j = 0; j < broad; ++j) {
        const float(&p)[4] = c[i][2 * j], (&q)[4] = c[i][2 * j + 1];
        typedef typename T::conv_act A;
        hn_store_four(to + j * 32, inside[0] ? hn_region_two<N, A>(p[0], p[1]) : N::least(),
                      inside[1] ? hn_region_two<N, A>(p[2], p[3]) : N::least(),
                      inside[0] ? hn_region_two<N, A>(q[0], q[1]) : N::least(),
                      inside[1] ? hn_region_two<N, A>(q[2], q[3]) : N::least());
      }
    }
  }
}

template <class T> HN_DEVICE void hn_pool(const unsigned char *shared, const hn_conv_pool_args &a, const hn_tile &t) {
  constexpr hn_conv_pool r = T::region;
  constexpr hn_conv_pool_layout l = hn_conv_pool_lay_out(r);
  typedef typename T::number N;
  constexpr int eights = (r.cout + 7) / 8;
  for (int i = threadIdx.x; i < r.tile_h * r.tile_w * eights; i += r.threads) {
    const int c = i % eights * 8, q = i / eights, qy = q / r.tile_w, qx = q % r.tile_w, y = t.out_y + qy,
              x = t.out_x + qx;
    if (y >= r.out_h || x >= r.out_w) continue;
    unsigned top[4] = {N::least(), N::least(), N::least(), N::least()};
#pragma unroll
    for (int ky = 0; ky < r.pool; ++ky)
#pragma unroll
      for (int kx = 0; kx < r.pool; ++kx) {
        const int p = (qy * r.pool_stride + ky) * l.mid_w + qx * r.pool_stride + kx;
        const uint4 v = *(const uint4 *)(shared + l.mid + (p * l.m_row + c) * 2);
        top[0] = N::greater(top[0], v.x), top[1] = N::greater(top[1], v.y);
        top[2] = N::greater(top[2], v.z), top[3] = N::greater(top[3], v.w);
      }
#pragma unroll
    for (int j = 0; j < 4; ++j) /* the tail is zeros, not act(0) */
      if (r.cout % 8) top[j] &= (c + 2 * j < r.cout ? 0xffffu : 0) | (c + 2 * j + 1 < r.cout ? 0xffff0000u : 0);
    uint4 *to = (uint4 *)a.y + (((long long)t.image * r.out_h + y) * r.out_w + x) * eights + c / 8;
    *to = make_uint4(top[0], top[1], top[2], top[3]);
  }
}

/* Everything that is read from the kernel before, and everything that is written, comes after the wait. */
template <class T> HN_DEVICE void hn_convolve_and_pool(const hn_conv_pool_args &a) {
  constexpr hn_conv_pool r = T::region;
  constexpr hn_conv_pool_layout l = hn_conv_pool_lay_out(r);
  extern __shared__ __align__(128) unsigned char shared[];
  const int tiles = a.images * l.tiles_h * l.tiles_w;
  for (int i = threadIdx.x; i < l.packed / 16; i += r.threads)
    hn_copy_sixteen(hn_shared(shared) + i * 16, (const uint4 *)a.weights + i, true);
  hn_wait_for_previous();
#pragma unroll 1
  for (int i = blockIdx.x; i < tiles; i += gridDim.x) {
    const hn_tile t = hn_tile_at<T>(i);
    hn_load_image<T>(shared, a.x, t);
    hn_wait_copies();
    __syncthreads();
    if (i + (int)gridDim.x >= tiles) hn_let_next_begin();
    hn_convolve<T>(shared, t);
    __syncthreads();
    hn_pool<T>(shared, a, t);
  }
}
