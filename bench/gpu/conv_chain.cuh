/* SPDX-License-Identifier: Apache-2.0 */
/* conv_chain.cuh - the kernels of conv_chain.cu: see there. */
#ifndef HONE_BENCH_GPU_CONV_CHAIN_CUH
#define HONE_BENCH_GPU_CONV_CHAIN_CUH

#include "lab.cuh"

struct conv_args {
  const half *x, *w; /* w: [cout][taps * cin padded to 64] */
  const float *b;
  const half *r; /* residual, NULL: none */
  half *y;
  int h, ho, cin, cout, k, taps_x, stride, pad, m, kb, cl,
      relu; /* square images; k: taps * cin; kb: blocks of 64 in k */
};

/* 64 halves a row, in 8 chunks of 16 bytes, swizzled by the row: ldmatrix and cp.async meet no bank twice. */
__device__ __forceinline__ unsigned at(int row, int chunk) { return row * 128 + ((chunk ^ (row & 7)) << 4); }

/* BM rows of BN sums that met in shared memory, `stride` halves apart, by T threads: residual, ReLU, and whole lines
 * written. */
template <int BM, int BN, int T>
__device__ __forceinline__ void store_rows(const conv_args &a, const half *rows, int stride, int m0, int n0) {
#pragma unroll 4
  for (int i = threadIdx.x; i < BM * (BN / 8); i += T) {
    const int q = i / (BN / 8), c = i % (BN / 8) * 8, p = m0 + q;
    if (p >= a.m) continue;
    uint4 v = *(const uint4 *)(rows + q * stride + c);
    half2 *h = (half2 *)&v;
    const size_t o = (size_t)p * a.cout + n0 + c;
    if (a.r) {
      const uint4 xr = *(const uint4 *)(a.r + o);
      const half2 *xh = (const half2 *)&xr;
#pragma unroll
      for (int j = 0; j < 4; ++j) h[j] = __hadd2(h[j], xh[j]);
    }
    if (a.relu)
#pragma unroll
      for (int j = 0; j < 4; ++j) h[j] = __hmax2(h[j], __float2half2_rn(0.f));
    *(uint4 *)(a.y + o) = v;
  }
}

template <int BM, int BN, int WM, int WN, int ST, int VEC> struct cfg {
  static constexpr int WARPS = (BM / WM) * (BN / WN), T = WARPS * 32;
  static constexpr int stage = (BM + BN) * 128, RS = BN + 4;
  static constexpr int bytes(int cl) { return ST * stage + (cl > 1 ? cl * ((BM + cl - 1) / cl) * RS * 4 : 0); }
};

template <int BM, int BN, int WM, int WN, int ST, int VEC>
__global__ void __launch_bounds__((BM / WM) * (BN / WN) * 32) conv_kernel(conv_args a) {
  typedef cfg<BM, BN, WM, WN, ST, VEC> C;
  extern __shared__ __align__(1024) unsigned char smem[];
  float *rs = (float *)(smem + ST * C::stage);
  const unsigned base = smem_of(smem);
  const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5, wm = warp / (BN / WN) * WM, wn = warp % (BN / WN) * WN;
  const int rank = blockIdx.x, n0 = blockIdx.y * BN, m0 = blockIdx.z * BM, CL = a.cl;
  const int k_begin = a.kb * rank / CL, k_end = a.kb * (rank + 1) / CL, count = k_end - k_begin;
  constexpr int AV = BM * 64 / VEC / C::T, BV = BN * 8 / C::T;
  static_assert(AV >= 1 && BV >= 1, "tile too small for its threads");
  /* rows that this thread loads */
  int iy0[AV], ix0[AV], im[AV];
#pragma unroll
  for (int i = 0; i < AV; ++i) {
    const int row = (tid + i * C::T) / (64 / VEC), p = m0 + row, hw = a.ho * a.ho;
    im[i] = p / hw;
    const int q = p % hw;
    iy0[i] = p < a.m ? q / a.ho * a.stride - a.pad : -100000;
    ix0[i] = q % a.ho * a.stride - a.pad;
  }
  auto load_a = [&](int kb, int s) {
    const int tap64 = VEC == 8 ? kb * 64 / a.cin : 0,
              c64 = VEC == 8 ? kb * 64 % a.cin : 0; /* 64 divides cin: one tap a block */
#pragma unroll
    for (int i = 0; i < AV; ++i) {
      const int v = tid + i * C::T, row = v / (64 / VEC), kc = v % (64 / VEC) * VEC, k = kb * 64 + kc;
      const int tap = VEC == 8 ? tap64 : k / a.cin, c = VEC == 8 ? c64 + kc : k % a.cin;
      const int iy = iy0[i] + tap / a.taps_x, ix = ix0[i] + tap % a.taps_x;
      const bool in = iy >= 0 && iy < a.h && ix >= 0 && ix < a.h && k < a.k;
      const half *from = in ? a.x + (((size_t)im[i] * a.h + iy) * a.h + ix) * a.cin + c : a.x;
      copy_async<VEC * 2>(base + s * C::stage + at(row, kc / 8) + (VEC == 4 ? (kc & 4) * 2 : 0), from, in);
    }
  };
  auto load_b = [&](int kb, int s) {
#pragma unroll
    for (int i = 0; i < BV; ++i) {
      const int v = tid + i * C::T, row = v / 8, ch = v % 8;
      copy_async<16>(base + s * C::stage + BM * 128 + at(row, ch),
                     a.w + (size_t)(n0 + row) * (a.kb * 64) + kb * 64 + ch * 8, true);
    }
  };
#pragma unroll
  for (int s = 0; s < ST - 1; ++s)
    if (s < count) load_b(k_begin + s, s);
  if (CL > 1) cluster_arrive();
  pdl_wait();
#pragma unroll
  for (int s = 0; s < ST - 1; ++s) {
    if (s < count) load_a(k_begin + s, s);
    copy_commit();
  }
  pdl_go();
  float acc[WM / 16][WN / 8][4] = {};
  for (int it = 0; it < count; ++it) {
    copy_wait<ST - 2>();
    __syncthreads();
    {
      const int nx = it + ST - 1;
      if (nx < count) {
        load_b(k_begin + nx, nx % ST);
        load_a(k_begin + nx, nx % ST);
      }
      copy_commit();
    }
    const unsigned sa = base + it % ST * C::stage, sb = sa + BM * 128;
#pragma unroll
    for (int kk = 0; kk < 4; ++kk) {
      unsigned fa[WM / 16][4], fb[WN / 16][4];
#pragma unroll
      for (int i = 0; i < WM / 16; ++i) ldm4(fa[i], sa + at(wm + i * 16 + (lane & 15), kk * 2 + (lane >> 4)));
#pragma unroll
      for (int j = 0; j < WN / 16; ++j)
        ldm4(fb[j], sb + at(wn + j * 16 + (lane & 7) + (lane >> 4) * 8, kk * 2 + ((lane >> 3) & 1)));
#pragma unroll
      for (int i = 0; i < WM / 16; ++i)
#pragma unroll
        for (int j = 0; j < WN / 16; ++j) {
          mma(acc[i][2 * j], fa[i], fb[j][0], fb[j][1]);
          mma(acc[i][2 * j + 1], fa[i], fb[j][2], fb[j][3]);
        }
    }
  }
  if (CL == 1 &&
      BM * (BN + 8) * 2 <= ST * C::stage) { /* rows meet in shared memory: whole lines are read and written */
    constexpr int S = BN + 8;
    half *os = (half *)smem;
    copy_wait<0>();
    __syncthreads();
#pragma unroll
    for (int i = 0; i < WM / 16; ++i)
#pragma unroll
      for (int hrow = 0; hrow < 2; ++hrow)
#pragma unroll
        for (int j = 0; j < WN / 8; ++j) {
          const int q = wm + i * 16 + (lane >> 2) + hrow * 8, c = wn + j * 8 + (lane & 3) * 2;
          *(half2 *)(os + q * S + c) =
              __floats2half2_rn(acc[i][j][hrow * 2] + a.b[n0 + c], acc[i][j][hrow * 2 + 1] + a.b[n0 + c + 1]);
        }
    __syncthreads();
    store_rows<BM, BN, C::T>(a, os, S, m0, n0);
    return;
  }
  if (CL == 1) {
#pragma unroll
    for (int i = 0; i < WM / 16; ++i)
#pragma unroll
      for (int hrow = 0; hrow < 2; ++hrow) {
        const int p = m0 + wm + i * 16 + (lane >> 2) + hrow * 8;
        if (p >= a.m) continue;
#pragma unroll
        for (int j = 0; j < WN / 8; ++j) {
          const int col = n0 + wn + j * 8 + (lane & 3) * 2;
          float v0 = acc[i][j][hrow * 2] + a.b[col], v1 = acc[i][j][hrow * 2 + 1] + a.b[col + 1];
          if (a.r) {
            const float2 f = __half22float2(*(const half2 *)(a.r + (size_t)p * a.cout + col));
            v0 += f.x;
            v1 += f.y;
          }
          if (a.relu) {
            v0 = fmaxf(v0, 0.f);
            v1 = fmaxf(v1, 0.f);
          }
          *(half2 *)(a.y + (size_t)p * a.cout + col) = __floats2half2_rn(v0, v1);
        }
      }
    return;
  }
  cg::cluster_group cluster = cg::this_cluster();
  cluster_wait();
  const int QR = (BM + CL - 1) / CL;
#pragma unroll
  for (int i = 0; i < WM / 16; ++i)
#pragma unroll
    for (int hrow = 0; hrow < 2; ++hrow) {
      const int q = wm + i * 16 + (lane >> 2) + hrow * 8;
      float *to = cluster.map_shared_rank(rs, q % CL) + (rank * QR + q / CL) * C::RS;
#pragma unroll
      for (int j = 0; j < WN / 8; ++j)
        *(float2 *)(to + wn + j * 8 + (lane & 3) * 2) = make_float2(acc[i][j][hrow * 2], acc[i][j][hrow * 2 + 1]);
    }
  cluster.sync();
  for (int i = tid; i < QR * (BN / 8); i += C::T) {
    const int q = i / (BN / 8) * CL + rank, c = i % (BN / 8) * 8, p = m0 + q;
    if (q >= BM || p >= a.m) continue;
    float s[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) s[j] = a.b[n0 + c + j];
    for (int r = 0; r < CL; ++r) add_floats(s, rs + (r * QR + i / (BN / 8)) * C::RS + c);
    const size_t o = (size_t)p * a.cout + n0 + c;
    if (a.r) add_halves(s, a.r + o);
    half2 out[4];
#pragma unroll
    for (int j = 0; j < 4; ++j)
      out[j] = a.relu ? __floats2half2_rn(fmaxf(s[2 * j], 0.f), fmaxf(s[2 * j + 1], 0.f))
                      : __floats2half2_rn(s[2 * j], s[2 * j + 1]);
    *(uint4 *)(a.y + o) = *(uint4 *)out;
  }
}

__global__ void __launch_bounds__(256)
    maxpool_kernel(const half *x, half *y, int n) { /* 3x3 s2 p1, 112 -> 56, 64 channels */
  pdl_go();
  pdl_wait();
  const int i = blockIdx.x * 256 + threadIdx.x, c = i % 8 * 8, p = i / 8;
  if (p >= n * 56 * 56) return;
  const int im = p / 3136, q = p % 3136, oy = q / 56, ox = q % 56;
  half2 m[4];
  for (int j = 0; j < 4; ++j) m[j] = __float2half2_rn(-65504.f);
  for (int ky = -1; ky < 2; ++ky)
    for (int kx = -1; kx < 2; ++kx) {
      const int iy = oy * 2 + ky, ix = ox * 2 + kx;
      if (iy < 0 || ix < 0 || iy > 111 || ix > 111) continue;
      const uint4 v = *(const uint4 *)(x + (((size_t)im * 112 + iy) * 112 + ix) * 64 + c);
      const half2 *h = (const half2 *)&v;
      for (int j = 0; j < 4; ++j) m[j] = __hmax2(m[j], h[j]);
    }
  *(uint4 *)(y + (size_t)p * 64 + c) = *(uint4 *)m;
}
__global__ void __launch_bounds__(256) pool_kernel(const half *x, half *y) { /* 7x7 mean, 2048 channels */
  pdl_go();
  pdl_wait();
  const int c = (blockIdx.x * 256 + threadIdx.x) * 2;
  const half *from = x + (size_t)blockIdx.y * 49 * 2048 + c;
  float s0 = 0, s1 = 0;
  for (int p = 0; p < 49; ++p) {
    const float2 f = __half22float2(*(const half2 *)(from + (size_t)p * 2048));
    s0 += f.x;
    s1 += f.y;
  }
  *(half2 *)(y + (size_t)blockIdx.y * 2048 + c) = __floats2half2_rn(s0 / 49, s1 / 49);
}

#endif
