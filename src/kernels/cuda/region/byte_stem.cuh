/* SPDX-License-Identifier: Apache-2.0 */
/* byte_stem.cuh - the first layers of a network of bytes: an image of at most 4 channels, quantised as it is read, a
 * convolution, and the maxima under windows of what it makes; NVRTC compiles it for one shape, as conv_pool.cuh. A
 * pixel is a word of shared memory, and a word of a fragment is a tap of a pixel, so that fragments are read where the
 * image lies, whatever the stride. Weights stay in a warp's registers. Maxima are those of sums: requantising keeps
 * their order, as scales are above zero. A warp has tiles of sixteen convolved pixels, 32 channels; with a pool a
 * lane's two pixels are neighbours, and it goes from row to row with what the next window needs, too. */
#ifndef HN_KERNELS_CUDA_REGION_LAY_OUT_H
#include "kernels/cuda/region/lay_out.h"
#endif
#ifndef HN_KERNELS_CUDA_REGION_PIECES_CUH
#include "kernels/cuda/region/pieces.cuh"
#endif
#ifndef HN_KERNELS_CUDA_REGION_BYTE_STEM_H
#include "kernels/cuda/region/byte_stem.h"
#endif

typedef struct hn_byte_stem_args {
  void *y;
  const void *x, *weights;
  const float *x_scale;
  int images;
} hn_byte_stem_args;

/* Below 2^22 a float added to this one is rounded to an integer, half to even (tensor/bytes.cuh). */
#define HN_STEM_ROUNDING 12582912.0f
#define HN_STEM_ROUNDING_BITS 0x4b400000
#define HN_STEM_LEAST (-2147483647 - 1)

template <class T> HN_DEVICE unsigned hn_stem_pack(int a, int b, int c, int d) {
  unsigned upper, all;
  if constexpr (T::stem.is_signed) {
    asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, 0;" : "=r"(upper) : "r"(d), "r"(c));
    asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;" : "=r"(all) : "r"(b), "r"(a), "r"(upper));
  } else {
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, 0;" : "=r"(upper) : "r"(d), "r"(c));
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(all) : "r"(b), "r"(a), "r"(upper));
  }
  return all;
}

/* ---- pixels ---- */

/* By the true division; not a number is 0. */
static __device__ __noinline__ int hn_stem_exact(float x, float scale, int zero) {
  const float q = __fdiv_rn(x, scale);
  return (q != q ? 0 : __float2int_rn(fminf(fmaxf(q, -1024.0f), 1024.0f))) + zero;
}

/* By a product, where none of them is near a tie: the product of 512 and less is off by 2^-14 at most. */
template <class T> HN_DEVICE unsigned hn_stem_quantised(const float (&v)[4], float scale, float by) {
  constexpr hn_byte_stem r = T::stem;
  bool sure = true;
  int q[4] = {};
#pragma unroll
  for (int c = 0; c < r.cin; ++c) {
    const float x = v[c] * by, rounded = __fadd_rn(fmaxf(x, -4194304.0f), HN_STEM_ROUNDING);
    const float off = x - __fadd_rn(rounded, -HN_STEM_ROUNDING);
    sure = sure && fabsf(off) < 0.4998f;
    q[c] = __float_as_int(rounded) + (r.x_zero - HN_STEM_ROUNDING_BITS);
  }
  if (!sure)
#pragma unroll
    for (int c = 0; c < r.cin; ++c) q[c] = hn_stem_exact(v[c], scale, r.x_zero);
  return hn_stem_pack<T>(q[0], q[1], q[2], q[3]);
}

/* A pixel as it lies, and as a word of bytes. */
template <class T> struct hn_stem_pixel {
  static constexpr hn_byte_stem r = T::stem;
  uint2 two;  /* of halves, or of bytes the first word */
  float v[4]; /* of planes */

  HN_DEVICE void read(const void *x, long long at) {
    if constexpr (r.source == HN_STEM_BYTES) {
      two.x = *(const unsigned *)((const char *)x + at * 16);
    } else if constexpr (r.source == HN_STEM_PLANES) {
#pragma unroll
      for (int c = 0; c < r.cin; ++c) v[c] = ((const float *)x)[at + (long long)c * (r.in_h * r.in_w)];
    } else {
      two = *(const uint2 *)((const char *)x + at * 16);
    }
  }
  HN_DEVICE unsigned word(float scale, float by) {
    if constexpr (r.source == HN_STEM_BYTES) return two.x;
    if constexpr (r.source != HN_STEM_PLANES) {
      typedef typename T::number N;
      N::wide(two.x, v[0], v[1]);
      N::wide(two.y, v[2], v[3]);
    }
    return hn_stem_quantised<T>(v, scale, by);
  }
};

/* A warp a row of the image, four pixels a lane on their way at once; what is beside it is the byte that pads are. */
template <class T> HN_DEVICE void hn_stem_load(unsigned *to, const hn_byte_stem_args &a, int image, int top) {
  constexpr hn_byte_stem r = T::stem;
  constexpr hn_byte_stem_layout l = hn_byte_stem_lay_out(r);
  constexpr int left = (r.pool > 1 ? -r.pool_pad_w : 0) * r.stride - r.pad_w, plane = r.in_h * r.in_w, once = 4;
  constexpr unsigned pad = (unsigned)(r.x_zero & 255) * 0x01010101u;
  float scale = 1, by = 1;
  if constexpr (r.source != HN_STEM_BYTES) scale = *a.x_scale, by = __fdiv_rn(1.0f, scale);
#pragma unroll 1
  for (int row = threadIdx.x / 32; row < l.in_rows; row += r.threads / 32) {
    const int y = top + row;
    const long long line = (long long)image * plane * (r.source == HN_STEM_PLANES ? r.cin : 1) + y * r.in_w;
#pragma unroll 1
    for (int first = threadIdx.x & 31; first < l.in_row; first += 32 * once) {
      hn_stem_pixel<T> pixels[once];
      bool valid[once];
#pragma unroll
      for (int i = 0; i < once; ++i) {
        const int x = left + first + i * 32;
        valid[i] = y >= 0 && y < r.in_h && x >= 0 && x < r.in_w;
        if (valid[i]) pixels[i].read(a.x, line + x);
      }
#pragma unroll
      for (int i = 0; i < once; ++i)
        if (first + i * 32 < l.in_row) to[row * l.in_row + first + i * 32] = valid[i] ? pixels[i].word(scale, by) : pad;
    }
  }
}

/* ---- products ---- */

HN_DEVICE unsigned hn_stem_read(unsigned from) {
  unsigned v;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(v) : "r"(from));
  return v;
}
HN_DEVICE int4 hn_stem_read_four(unsigned from) {
  int4 v;
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(from));
  return v;
}

template <class T> HN_DEVICE void hn_stem_multiply(int (&c)[4], const unsigned (&a)[4], const uint2 &b) {
  if constexpr (T::stem.is_signed)
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.x), "r"(b.y));
  else
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.x), "r"(b.y));
}

template <class T> struct hn_stem_warp {
  static constexpr hn_byte_stem r = T::stem;
  static constexpr hn_byte_stem_layout l = hn_byte_stem_lay_out(r);
  static constexpr int own = r.pool > 1 ? 2 * r.stride : r.stride;   /* words from a lane's pixel to the next lane's */
  static constexpr int other = r.pool > 1 ? r.stride : 8 * r.stride; /* to the lane's second one */

  uint2 w[l.steps][4];
  unsigned tap[l.by_rows ? 1 : 2 * l.steps]; /* bytes to a lane's taps, where they are not those of one row */

  HN_DEVICE void begin(const void *weights, int group) {
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int k = 0; k < l.steps; ++k)
#pragma unroll
      for (int j = 0; j < 4; ++j) w[k][j] = ((const uint2 *)weights)[((group * l.steps + k) * 4 + j) * 32 + lane];
    if constexpr (!l.by_rows)
#pragma unroll
      for (int k = 0; k < 2 * l.steps; ++k) {
        const int t = k * 4 + (lane & 3), y = t / r.kernel, x = t % r.kernel;
        tap[k] = t < r.kernel * r.kernel ? (y * l.in_row + x) * 4 : 0;
      }
  }

  /* Sums of sixteen pixels; from: a lane's first pixel, its tap with it where taps are those of a row. */
  HN_DEVICE void convolve(int (&c)[4][4], unsigned from) const {
#pragma unroll
    for (int j = 0; j < 4; ++j) c[j][0] = c[j][1] = c[j][2] = c[j][3] = 0;
#pragma unroll
    for (int k = 0; k < l.steps; ++k) {
      const unsigned first = l.by_rows ? from + k * l.in_row * 4 : from + tap[l.by_rows ? 0 : 2 * k];
      const unsigned second = l.by_rows ? first + 16 : from + tap[l.by_rows ? 0 : 2 * k + 1];
      const unsigned f[4] = {hn_stem_read(first), hn_stem_read(first + other * 4), hn_stem_read(second),
                             hn_stem_read(second + other * 4)};
#pragma unroll
      for (int j = 0; j < 4; ++j) hn_stem_multiply<T>(c[j], f, w[k][j]);
    }
  }
};

/* Eight channels of a pixel, behind what sums begin with; vectors: begins and scales in shared memory. */
template <class T>
HN_DEVICE void hn_stem_store(void *y, long long pixel, int channel, const int (&sums)[8], unsigned vectors) {
  constexpr hn_byte_stem r = T::stem;
  constexpr hn_byte_stem_layout l = hn_byte_stem_lay_out(r);
  constexpr int least = r.is_signed ? -128 : 0, most = least + 255;
  int q[8];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int4 begin = hn_stem_read_four(vectors + (channel + half * 4) * 4);
    const int4 bits = hn_stem_read_four(vectors + (l.groups * 32 + channel + half * 4) * 4);
    const int begins[4] = {begin.x, begin.y, begin.z, begin.w}, scales[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float scaled = __fmul_rn(__int2float_rn(sums[half * 4 + i] + begins[i]), __int_as_float(scales[i]));
      int v = __float_as_int(__fadd_rn(scaled, HN_STEM_ROUNDING)) + (r.zero - HN_STEM_ROUNDING_BITS);
      if constexpr (r.low > least || r.high < most) v = min(max(v, r.low), r.high);
      if constexpr (r.cout % 16 != 0) v = channel + half * 4 + i < r.cout ? v : 0;
      q[half * 4 + i] = v;
    }
  }
  if (l.pitch % 32 == 0 || channel < l.pitch)
    *(uint2 *)((char *)y + pixel * l.pitch + channel) =
        make_uint2(hn_stem_pack<T>(q[0], q[1], q[2], q[3]), hn_stem_pack<T>(q[4], q[5], q[6], q[7]));
}

/* The maxima of a row's windows, or nothing where the row is outside. Pixels outside count less than any. */
template <class T>
HN_DEVICE void hn_stem_maxima(int (&h)[8], const hn_stem_warp<T> &warp, unsigned from, int mid_y, int mid_x,
                              bool at_edge) {
  constexpr hn_byte_stem r = T::stem;
  if (mid_y < 0 || mid_y >= r.mid_h) {
#pragma unroll
    for (int i = 0; i < 8; ++i) h[i] = HN_STEM_LEAST;
    return;
  }
  int c[4][4];
  warp.convolve(c, from);
  if (at_edge)
#pragma unroll
    for (int half = 0; half < 2; ++half)
      if (mid_x + half < 0 || mid_x + half >= r.mid_w)
#pragma unroll
        for (int j = 0; j < 4; ++j) c[j][half * 2] = c[j][half * 2 + 1] = HN_STEM_LEAST;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    h[i] = max(c[i / 2][i % 2], c[i / 2][2 + i % 2]);
    if constexpr (r.pool == 3) h[i] = max(h[i], __shfl_down_sync(0xffffffffu, c[i / 2][i % 2], 4));
  }
}

/* A warp's tile of a strip, rows from top to bottom. */
template <class T>
HN_DEVICE void hn_stem_tile(const hn_stem_warp<T> &warp, const hn_byte_stem_args &a, unsigned pixels, unsigned vectors,
                            int image, int out_y, int tile, int group) {
  constexpr hn_byte_stem r = T::stem;
  constexpr hn_byte_stem_layout l = hn_byte_stem_lay_out(r);
  const int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3, out_x = tile * l.made + g,
            channel = group * 32 + t * 8;
  unsigned from = pixels + (tile * l.step * r.stride + g * hn_stem_warp<T>::own + (l.by_rows ? t : 0)) * 4;
  constexpr unsigned row = r.stride * l.in_row * 4;
  const int rows = min(r.rows, r.out_h - out_y);
  long long pixel = ((long long)image * r.out_h + out_y) * r.out_w + out_x;
  if constexpr (r.pool == 1) {
    for (int i = 0; i < rows; ++i, from += row, pixel += r.out_w) {
      int c[4][4];
      warp.convolve(c, from);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int sums[8] = {c[0][half * 2], c[0][half * 2 + 1], c[1][half * 2], c[1][half * 2 + 1],
                             c[2][half * 2], c[2][half * 2 + 1], c[3][half * 2], c[3][half * 2 + 1]};
        if (out_x + half * 8 < r.out_w) hn_stem_store<T>(a.y, pixel + half * 8, channel, sums, vectors);
      }
    }
  } else {
    const int mid_x = 2 * out_x - r.pool_pad_w, first = tile * l.step - r.pool_pad_w;
    const bool at_edge = first < 0 || first + 16 > r.mid_w, works = g < l.made && out_x < r.out_w;
    int mid_y = 2 * out_y - r.pool_pad_h, above[8];
    if constexpr (r.pool == 3) {
      hn_stem_maxima(above, warp, from, mid_y, mid_x, at_edge);
      from += row, ++mid_y;
    }
    for (int i = 0; i < rows; ++i, pixel += r.out_w, mid_y += 2) {
      int top[8], last[8];
      hn_stem_maxima(top, warp, from, mid_y, mid_x, at_edge);
      if constexpr (r.pool == 3)
#pragma unroll
        for (int k = 0; k < 8; ++k) top[k] = max(top[k], above[k]);
      hn_stem_maxima(last, warp, from + row, mid_y + 1, mid_x, at_edge);
#pragma unroll
      for (int k = 0; k < 8; ++k) top[k] = max(top[k], last[k]), above[k] = last[k];
      if (works) hn_stem_store<T>(a.y, pixel, channel, top, vectors);
      from += 2 * row;
    }
  }
}

/* Everything that is read from the kernel before, and everything that is written, comes after the wait. */
template <class T> HN_DEVICE void hn_stem(const hn_byte_stem_args &a) {
  constexpr hn_byte_stem r = T::stem;
  constexpr hn_byte_stem_layout l = hn_byte_stem_lay_out(r);
  constexpr int vectors_words = 2 * l.groups * 32;
  extern __shared__ __align__(128) unsigned shared[];
  const int strips = a.images * l.strips, id = threadIdx.x / 32, group = id % l.groups;
  hn_stem_warp<T> warp;
  warp.begin(a.weights, group);
  for (int i = threadIdx.x; i < vectors_words; i += r.threads)
    shared[i] = ((const unsigned *)((const char *)a.weights + l.vectors))[i];
  hn_wait_for_previous();
#pragma unroll 1
  for (int strip = blockIdx.x; strip < strips; strip += gridDim.x) {
    const int image = strip / l.strips, out_y = strip % l.strips * r.rows;
    const int mid_y = r.pool > 1 ? 2 * out_y - r.pool_pad_h : out_y;
    hn_stem_load<T>(shared + vectors_words, a, image, mid_y * r.stride - r.pad_h);
    __syncthreads();
    if (strip + (int)gridDim.x >= strips) hn_let_next_begin();
#pragma unroll 1
    for (int tile = id / l.groups; tile < l.tiles; tile += l.along)
      hn_stem_tile(warp, a, hn_shared(shared + vectors_words), hn_shared(shared), image, out_y, tile, group);
    __syncthreads();
  }
}
