/* SPDX-License-Identifier: Apache-2.0 */
/* inverted_residual.cuh - 1x1 convolution, depthwise convolution, 1x1 convolution and residual in one kernel over f16
 * or bf16 with the channels last; the first or the last may be left out. NVRTC compiles it for one shape and tile,
 * which are constants then: T names them, the type and the activations (src/backend/cuda/region/source.c).
 *
 * A block holds a tile of the input in shared memory. For each chunk of hidden channels it expands by mma into shared
 * memory, filters that, and multiplies the result by the projection's part into sums that stay in registers; the next
 * chunk's weights are on their way meanwhile. Where the hidden channels are split over a cluster, its members push
 * their sums to the pixel's owner, which adds them in a fixed order (reading others' sums took three times as long).
 * Source of the instructions: PTX ISA 9.0. */
#ifndef HN_KERNELS_CUDA_REGION_LAY_OUT_H
#include "kernels/cuda/region/lay_out.h"
#endif
#ifndef HN_KERNELS_CUDA_REGION_PIECES_CUH
#include "kernels/cuda/region/pieces.cuh"
#endif

typedef struct hn_region_args {
  void *y;
  const void *x, *residual, *weights;
  int images;
} hn_region_args;

/* ---- the phases ---- */

/* Row p of a tile is a pixel of an image; false: there is none. */
template <class T> HN_DEVICE bool hn_pixel_of(int p, int images, int &image, int &y, int &x) {
  constexpr hn_region r = T::region;
  constexpr hn_region_layout l = hn_region_lay_out(r);
  const int tile = blockIdx.y;
  image = (int)blockIdx.z * r.images + p / (l.in_h * l.in_w);
  y = p / l.in_w % l.in_h + (l.whole_h ? 0 : tile / l.tiles_w * r.tile_h * r.stride - r.pad_h);
  x = p % l.in_w + (l.whole_w ? 0 : tile % l.tiles_w * r.tile_w * r.stride - r.pad_w);
  return p < l.pixels && image < images && y >= 0 && y < r.in_h && x >= 0 && x < r.in_w;
}

/* Channels [first, first + count) of the tile's pixels into shared memory, in rows of `row` elements. */
template <class T, int count, int row> HN_DEVICE void hn_load_tile(unsigned to, const hn_region_args &a, int first) {
  constexpr hn_region r = T::region;
  constexpr hn_region_layout l = hn_region_lay_out(r);
  for (int i = threadIdx.x; i < l.rows * (count / 8); i += r.threads) {
    const int p = i / (count / 8), c = i % (count / 8) * 8;
    int image, y, x;
    const bool valid = hn_pixel_of<T>(p, a.images, image, y, x) && first + c < l.x_pitch;
    const long long at = valid ? (((long long)image * r.in_h + y) * r.in_w + x) * l.x_pitch + first + c : 0;
    hn_copy_sixteen(to + (p * row + c) * 2, (const unsigned short *)a.x + at, valid);
  }
}

template <class T> HN_DEVICE void hn_expand(unsigned char *shared, const unsigned char *weights) {
  constexpr hn_region r = T::region;
  constexpr hn_region_layout l = hn_region_lay_out(r);
  typedef typename T::number N;
  constexpr int warps = r.threads / 32, tiles_h = l.rows / 16, tiles_w = r.chunk / 16;
  constexpr hn_units unit = hn_units_of(tiles_h, tiles_w, warps);
  constexpr int high = unit.high, broad = unit.broad, across = tiles_w / broad;
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
  const float *bias = (const float *)(weights + l.be);
  for (int u = warp; u < hn_region_parts(tiles_h, high) * across; u += warps) {
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
    for (int i = 0; i < high; ++i)
      from[i] =
          hn_shared(shared + l.x) + ((min(m + i, tiles_h - 1) * 16 + (lane & 15)) * l.x_row + (lane >> 4) * 8) * 2;
    const unsigned with =
        hn_shared(weights + l.we) + ((n * 16 + (lane & 7) + (lane >> 4) * 8) * l.x_row + ((lane >> 3) & 1) * 8) * 2;
#pragma unroll(l.deep / 16 <= 6 ? 6 : 4)
    for (int k = 0; k < l.deep; k += 16) {
      unsigned fa[high][4], fb[broad][4];
#pragma unroll
      for (int i = 0; i < high; ++i) hn_load_four(fa[i], from[i] + k * 2);
#pragma unroll
      for (int j = 0; j < broad; ++j) hn_load_four(fb[j], with + (j * 16 * l.x_row + k) * 2);
#pragma unroll
      for (int i = 0; i < high; ++i)
#pragma unroll
        for (int j = 0; j < broad; ++j) {
          N::multiply(c[i][2 * j], fa[i], fb[j][0], fb[j][1]);
          N::multiply(c[i][2 * j + 1], fa[i], fb[j][2], fb[j][3]);
        }
    }
#pragma unroll
    for (int i = 0; i < high; ++i) {
      if (m + i >= tiles_h) break;
      unsigned upper = ~0u, lower = ~0u; /* padding is zeros, not act(bias) */
      if (!l.whole_h || !l.whole_w) {
        upper = shared[l.mask + (m + i) * 16 + (lane >> 2)] ? ~0u : 0;
        lower = shared[l.mask + (m + i) * 16 + (lane >> 2) + 8] ? ~0u : 0;
      }
      const unsigned to =
          hn_shared(shared + l.e) + (((m + i) * 16 + (lane & 15)) * l.e_row + n * 16 + (lane >> 4) * 8) * 2;
#pragma unroll
      for (int j = 0; j < broad; ++j) {
        const float(&p)[4] = c[i][2 * j], (&q)[4] = c[i][2 * j + 1];
        typedef typename T::expand_act A;
        hn_store_four(to + j * 32, hn_region_two<N, A>(p[0], p[1]) & upper, hn_region_two<N, A>(p[2], p[3]) & lower,
                      hn_region_two<N, A>(q[0], q[1]) & upper, hn_region_two<N, A>(q[2], q[3]) & lower);
      }
    }
  }
}

/* Where a run of outputs goes, where nothing is projected. */
template <class T> HN_DEVICE void hn_store_filtered(const hn_region_args &a, int q, int channel, const uint4 &value) {
  constexpr hn_region r = T::region;
  constexpr hn_region_layout l = hn_region_lay_out(r);
  const int tile = blockIdx.y, image = (int)blockIdx.z * r.images + q / (r.tile_h * r.tile_w),
            y = tile / l.tiles_w * r.tile_h + q / r.tile_w % r.tile_h, x = tile % l.tiles_w * r.tile_w + q % r.tile_w;
  if (image >= a.images || y >= r.out_h || x >= r.out_w || channel >= l.y_pitch) return;
  uint4 v = value;
  if (r.hid % 8 && channel + 8 > r.hid) { /* the tail is zeros, not act(0) */
    unsigned two[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int j = 0; j < 4; ++j)
      two[j] &= (channel + 2 * j < r.hid ? 0xffffu : 0) | (channel + 2 * j + 1 < r.hid ? 0xffff0000u : 0);
    v = make_uint4(two[0], two[1], two[2], two[3]);
  }
  *(uint4 *)((unsigned short *)a.y + (((long long)image * r.out_h + y) * r.out_w + x) * l.y_pitch + channel) = v;
}

template <class T>
HN_DEVICE void hn_filter(unsigned char *shared, const unsigned char *weights, const hn_region_args &a, int first) {
  constexpr hn_region r = T::region;
  constexpr hn_region_layout l = hn_region_lay_out(r);
  typedef typename T::number N;
  constexpr int eights = r.chunk / 8, run = hn_run_of(r, l.turns), runs = r.tile_w / run,
                reads = (run - 1) * r.stride + r.kernel;
  const unsigned short *e = (const unsigned short *)(shared + l.e);
  for (int i = threadIdx.x; i < r.images * r.tile_h * runs * eights; i += r.threads) {
    const int c = i % eights * 8, q = i / eights * run, qx = q % r.tile_w, qy = q / r.tile_w % r.tile_h,
              image = q / (r.tile_h * r.tile_w);
    const int x0 = qx * r.stride - (l.whole_w ? r.pad_w : 0), y0 = qy * r.stride - (l.whole_h ? r.pad_h : 0);
    float s[run][8];
    const float4 low = *(const float4 *)(weights + l.bd + c * 4), high = *(const float4 *)(weights + l.bd + c * 4 + 16);
#pragma unroll
    for (int p = 0; p < run; ++p) {
      s[p][0] = low.x, s[p][1] = low.y, s[p][2] = low.z, s[p][3] = low.w;
      s[p][4] = high.x, s[p][5] = high.y, s[p][6] = high.z, s[p][7] = high.w;
    }
#pragma unroll
    for (int ky = 0; ky < r.kernel; ++ky) {
      const int y = y0 + ky;
      if (l.whole_h && (y < 0 || y >= l.in_h)) continue;
      const unsigned short *line = e + (image * l.in_h + y) * l.in_w * l.e_row + c;
      uint4 w[r.kernel];
      typename N::row row[run];
#pragma unroll
      for (int kx = 0; kx < r.kernel; ++kx)
        w[kx] = *(const uint4 *)(weights + l.wd + ((ky * r.kernel + kx) * r.chunk + c) * 2);
#pragma unroll
      for (int p = 0; p < run; ++p) row[p].begin();
#pragma unroll
      for (int at = 0; at < reads; ++at) {
        uint4 v = make_uint4(0, 0, 0, 0);
        if (!l.whole_w || (x0 + at >= 0 && x0 + at < l.in_w)) v = *(const uint4 *)(line + (x0 + at) * l.e_row);
#pragma unroll
        for (int p = 0; p < run; ++p)
          if (at >= p * r.stride && at < p * r.stride + r.kernel) row[p].add(v, w[at - p * r.stride]);
      }
#pragma unroll
      for (int p = 0; p < run; ++p) row[p].end(s[p]);
    }
#pragma unroll
    for (int p = 0; p < run; ++p) {
      const uint4 v = hn_region_eight<N, typename T::filter_act>(s[p]);
      if (r.projects)
        *(uint4 *)(shared + l.d + ((q + p) * l.e_row + c) * 2) = v;
      else
        hn_store_filtered<T>(a, q + p, first + c, v);
    }
  }
}

/* The sums of a block's pixels, which stay in registers from chunk to chunk. */
template <class T> struct hn_projection {
  static constexpr hn_region r = T::region;
  static constexpr hn_region_layout l = hn_region_lay_out(r);
  typedef typename T::number N;
  static constexpr int warps = r.threads / 32, tiles_h = l.out_rows / 16, tiles_w = r.projects ? l.wide / 16 : 1,
                       down = hn_warps_down(tiles_h, tiles_w, warps), high = hn_region_parts(tiles_h, down),
                       broad = hn_region_parts(tiles_w, warps / down);
  float c[high][2 * broad][4];

  HN_DEVICE void begin(const unsigned char *weights) {
    const float *bias = (const float *)(weights + l.bp);
    const int lane = threadIdx.x & 31, n = threadIdx.x / 32 / down * broad;
#pragma unroll
    for (int j = 0; j < 2 * broad; ++j) {
      const float2 b = *(const float2 *)(bias + min(n + j / 2, tiles_w - 1) * 16 + j % 2 * 8 + (lane & 3) * 2);
#pragma unroll
      for (int i = 0; i < high; ++i) c[i][j][0] = c[i][j][2] = b.x, c[i][j][1] = c[i][j][3] = b.y;
    }
  }

  HN_DEVICE void add(const unsigned char *shared, const unsigned char *weights) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x / 32, m = warp % down * high, n = warp / down * broad;
    if (m >= tiles_h || n >= tiles_w) return;
    unsigned from[high], with[broad];
#pragma unroll
    for (int i = 0; i < high; ++i)
      from[i] =
          hn_shared(shared + l.d) + ((min(m + i, tiles_h - 1) * 16 + (lane & 15)) * l.e_row + (lane >> 4) * 8) * 2;
#pragma unroll
    for (int j = 0; j < broad; ++j)
      with[j] = hn_shared(weights + l.wp) +
                ((min(n + j, tiles_w - 1) * 16 + (lane & 7) + (lane >> 4) * 8) * l.e_row + ((lane >> 3) & 1) * 8) * 2;
#pragma unroll(r.chunk / 16 <= 6 ? 6 : 4)
    for (int k = 0; k < r.chunk; k += 16) {
      unsigned fa[high][4], fb[4];
#pragma unroll
      for (int i = 0; i < high; ++i) hn_load_four(fa[i], from[i] + k * 2);
#pragma unroll
      for (int j = 0; j < broad; ++j) {
        hn_load_four(fb, with[j] + k * 2);
#pragma unroll
        for (int i = 0; i < high; ++i) {
          N::multiply(c[i][2 * j], fa[i], fb[0], fb[1]);
          N::multiply(c[i][2 * j + 1], fa[i], fb[2], fb[3]);
        }
      }
    }
  }

  /* To each pixel's owner. */
  HN_DEVICE void hand_over(unsigned char *shared, int rank) const {
    const int lane = threadIdx.x & 31, warp = threadIdx.x / 32, m = warp % down * high, n = warp / down * broad;
#pragma unroll
    for (int i = 0; i < high; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int q = (m + i) * 16 + (lane >> 2) + half * 8;
        if (q >= l.outs) continue;
        unsigned to = hn_shared(shared + l.sums) + (rank * l.owned + q / r.split) * l.sums_row * 4;
        if (r.split > 1) to = hn_shared_of(to, q % r.split);
#pragma unroll
        for (int j = 0; j < 2 * broad; ++j) {
          if (n + j / 2 >= tiles_w) continue;
          hn_push_two(to + (n * 16 + j * 8 + (lane & 3) * 2) * 4, c[i][j][half * 2], c[i][j][half * 2 + 1]);
        }
      }
  }
};

/* Item i of those that a block finishes: eight channels of a pixel; -1: there is none, else its place. */
template <class T> HN_DEVICE long long hn_finished(int i, int rank, int images) {
  constexpr hn_region r = T::region;
  constexpr hn_region_layout l = hn_region_lay_out(r);
  constexpr int eights = l.y_pitch / 8;
  const int q = i / eights * r.split + rank, tile = blockIdx.y,
            image = (int)blockIdx.z * r.images + q / (r.tile_h * r.tile_w),
            y = tile / l.tiles_w * r.tile_h + q / r.tile_w % r.tile_h, x = tile % l.tiles_w * r.tile_w + q % r.tile_w;
  if (i >= l.owned * eights || q >= l.outs || image >= images || y >= r.out_h || x >= r.out_w) return -1;
  return (((long long)image * r.out_h + y) * r.out_w + x) * l.y_pitch + i % eights * 8;
}

template <class T>
HN_DEVICE void hn_finish(const unsigned char *shared, const hn_region_args &a, int i, long long at,
                         const uint4 &added) {
  constexpr hn_region r = T::region;
  constexpr hn_region_layout l = hn_region_lay_out(r);
  typedef typename T::number N;
  constexpr int eights = l.y_pitch / 8;
  const int channel = i % eights * 8;
  float s[8] = {};
  if (r.has_residual)
    N::wide(added.x, s[0], s[1]), N::wide(added.y, s[2], s[3]), N::wide(added.z, s[4], s[5]),
        N::wide(added.w, s[6], s[7]);
#pragma unroll
  for (int k = 0; k < r.split; ++k) {
    const float *from = (const float *)(shared + l.sums) + (k * l.owned + i / eights) * l.sums_row + channel;
    const float4 low = *(const float4 *)from, high = *(const float4 *)(from + 4);
    s[0] += low.x, s[1] += low.y, s[2] += low.z, s[3] += low.w;
    s[4] += high.x, s[5] += high.y, s[6] += high.z, s[7] += high.w;
  }
  uint4 v = hn_region_eight<N, typename T::project_act>(s);
  if (r.cout % 8 && channel + 8 > r.cout) { /* the tail is zeros, not act(0) */
    unsigned two[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int j = 0; j < 4; ++j)
      two[j] &= (channel + 2 * j < r.cout ? 0xffffu : 0) | (channel + 2 * j + 1 < r.cout ? 0xffff0000u : 0);
    v = make_uint4(two[0], two[1], two[2], two[3]);
  }
  *(uint4 *)((unsigned short *)a.y + at) = v;
}

/* Everything that is read from the kernel before, and everything that is written, comes after the wait. */
template <class T> HN_DEVICE void hn_inverted_residual(const hn_region_args &a) {
  constexpr hn_region r = T::region;
  constexpr hn_region_layout l = hn_region_lay_out(r);
  extern __shared__ __align__(128) unsigned char shared[];
  const int tid = threadIdx.x, rank = blockIdx.x;
  const unsigned barriers = hn_shared(shared + l.barriers);
  const unsigned char *mine = (const unsigned char *)a.weights + (long long)rank * l.turns * l.blob;
  if (tid == 0) {
    hn_make_barrier(barriers), hn_make_barrier(barriers + 8);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    for (int t = 0; t < l.buffers; ++t)
      hn_fetch(hn_shared(shared + l.weights) + t * l.blob, mine + t * l.blob, l.blob, barriers + t * 8);
  }
  __syncwarp();
  if (r.projects && r.split > 1) hn_cluster_arrive();
  if (!l.whole_h || !l.whole_w)
    for (int p = tid; p < l.rows; p += r.threads) {
      int image, y, x;
      shared[l.mask + p] = hn_pixel_of<T>(p, a.images, image, y, x);
    }
  hn_wait_for_previous();
  if (r.expands) hn_load_tile<T, l.deep, l.x_row>(hn_shared(shared + l.x), a, 0);
  hn_projection<T> sums;
#pragma unroll 1
  for (int t = 0; t < l.turns; ++t) {
    const unsigned char *weights = shared + l.weights + (t & 1) * l.blob;
    const int first = (rank * l.turns + t) * r.chunk;
    if (!r.expands) hn_load_tile<T, r.chunk, l.e_row>(hn_shared(shared + l.e), a, first);
    if (!r.expands || t == 0) {
      hn_wait_copies();
      __syncthreads();
    }
    hn_await(barriers + (t & 1) * 8, t >> 1 & 1);
    if (r.expands) {
      hn_expand<T>(shared, weights);
      __syncthreads();
    }
    if (l.turns > 2 && tid == 0 && t > 0 && t + 1 < l.turns) /* the turn before is done with its weights */
      hn_fetch(hn_shared(shared + l.weights) + (t + 1 & 1) * l.blob, mine + (t + 1) * l.blob, l.blob,
               barriers + (t + 1 & 1) * 8);
    /* Earlier, blocks of the next kernel would hold memory and slots; after the projection is late for its loads. */
    if (t == l.turns - 1) hn_let_next_begin();
    hn_filter<T>(shared, weights, a, first);
    __syncthreads();
    if constexpr (r.projects) {
      if (t == 0) sums.begin(weights);
      sums.add(shared, weights);
    }
  }
  if constexpr (r.projects) {
    constexpr int items = l.owned * (l.y_pitch / 8);
    if (r.split > 1)
      hn_cluster_wait(); /* the others have begun: their memory may be written */
    else
      __syncthreads(); /* the sums lie over what is multiplied */
    sums.hand_over(shared, rank);
    if (r.split > 1) hn_cluster_arrive();
    const unsigned short *residual = (const unsigned short *)a.residual;
    long long at = hn_finished<T>(tid, rank, a.images);
    uint4 added = make_uint4(0, 0, 0, 0);
    if (r.has_residual && at >= 0) added = *(const uint4 *)(residual + at);
    if (r.split > 1)
      hn_cluster_wait();
    else
      __syncthreads();
    if (at >= 0) hn_finish<T>(shared, a, tid, at, added);
    for (int i = tid + r.threads; i < items; i += r.threads) {
      at = hn_finished<T>(i, rank, a.images);
      if (at < 0) continue;
      if (r.has_residual) added = *(const uint4 *)(residual + at);
      hn_finish<T>(shared, a, i, at, added);
    }
  }
}
