/* SPDX-License-Identifier: Apache-2.0 */
/* inverted_residual.cuh - the kernels of inverted_residual.cu: see there. */
#ifndef HONE_BENCH_GPU_INVERTED_RESIDUAL_CUH
#define HONE_BENCH_GPU_INVERTED_RESIDUAL_CUH

#include "lab.cuh"

__device__ __forceinline__ float relu6(float v) { return fminf(fmaxf(v, 0.f), 6.f); }

__host__ __device__ constexpr int up(int a, int b) { return (a + b - 1) / b * b; }
__host__ __device__ constexpr int imin(int a, int b) { return a < b ? a : b; }
__host__ __device__ constexpr int imax(int a, int b) { return a > b ? a : b; }

struct ir_args {
  const half *x;
  half *y;
  const half *we, *wd, *wp;
  const float *be, *bd, *bp;
  long long *t;
};

template <int CIN_, int HID_, int COUT_, int S_, int H_, int TH_, int TW_, int HC_, int THREADS_> struct ir_shape {
  static constexpr int CIN = CIN_, HID = HID_, COUT = COUT_, S = S_, H = H_, TH = TH_, TW = TW_, HC = HC_,
                       THREADS = THREADS_;
  static constexpr bool EXPAND = CIN != HID, RES = S == 1 && CIN == COUT;
  static constexpr int HO = H / S, TY = (HO + TH - 1) / TH, TX = (HO + TW - 1) / TW, CL = (HID + HC - 1) / HC;
  static constexpr bool WY = TH >= HO,
                        WX = TW >= HO; /* the tile is the whole image along this axis: no halo is computed */
  static constexpr int IH = WY ? H : (TH - 1) * S + 3, IW = WX ? H : (TW - 1) * S + 3;
  static constexpr int P = IH * IW, MP = up(P, 16), OP = TH * TW, OM = up(OP, 16);
  static constexpr int K = up(CIN, 16), XS = (EXPAND ? K : HC) + 8, ES = HC + 8, NP = up(COUT, 16);
  static constexpr int x_bytes = EXPAND ? MP * XS * 2 : 0, e_bytes = MP * ES * 2, d_bytes = OM * ES * 2;
  static constexpr int we_bytes = EXPAND ? HC * XS * 2 : 0, wp_bytes = NP * ES * 2, wd_bytes = 9 * HC * 2,
                       b_bytes = 2 * HC * 4;
  static constexpr int QR = (OP + CL - 1) / CL, RS = COUT + 4; /* rows that a rank owns: q % CL == rank */
  static constexpr int r_bytes = CL * QR * RS * 4;
  static constexpr int front = x_bytes + e_bytes;
  static constexpr int bytes = up(front, 128) + up(d_bytes, 128) + up(we_bytes, 128) + up(wp_bytes, 128) +
                               up(wd_bytes, 128) + up(b_bytes, 128) + up(r_bytes, 128) + up(MP, 128);
};

template <class T> __global__ void __launch_bounds__(T::THREADS) ir_kernel(ir_args a) {
#define TICHECK(i)                                                                                                     \
  if (a.t && threadIdx.x == 0 && blockIdx.x == 0 && blockIdx.y == 0) a.t[i] = clock64()
  TICHECK(0);
  extern __shared__ __align__(128) unsigned char smem[];
  half *xs = (half *)smem, *es = (half *)(smem + T::x_bytes);
  unsigned char *at = smem + up(T::front, 128);
  half *ds = (half *)at;
  at += up(T::d_bytes, 128);
  half *we = (half *)at;
  at += up(T::we_bytes, 128);
  half *wp = (half *)at;
  at += up(T::wp_bytes, 128);
  half *wd = (half *)at;
  at += up(T::wd_bytes, 128);
  float *be = (float *)at, *bd = be + T::HC;
  at += up(T::b_bytes, 128);
  float *rs = (float *)at;
  at += up(T::r_bytes, 128);
  unsigned char *valid = at;
  const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
  constexpr int WARPS = T::THREADS / 32;
  const int rank = blockIdx.x, tile = blockIdx.y, tx = tile % T::TX, ty = tile / T::TX, n = blockIdx.z;
  const int h0 = rank * T::HC;
  const half *x = a.x + (size_t)n * T::H * T::H * T::CIN;
  half *y = a.y + (size_t)n * T::HO * T::HO * T::COUT;
  /* weights do not depend on the layer before: they are on their way before it has ended */
  if (T::EXPAND)
    for (int i = tid; i < T::HC * (T::K / 8); i += T::THREADS) {
      const int r = i / (T::K / 8), c = i % (T::K / 8) * 8;
      copy_async<16>(smem_of(we + r * T::XS + c), a.we + (size_t)(h0 + r) * T::CIN + c, c < T::CIN && h0 + r < T::HID);
    }
  for (int i = tid; i < T::NP * (T::HC / 8); i += T::THREADS) {
    const int r = i / (T::HC / 8), c = i % (T::HC / 8) * 8;
    copy_async<16>(smem_of(wp + r * T::ES + c), a.wp + (size_t)r * T::HID + h0 + c, r < T::COUT && h0 + c < T::HID);
  }
  for (int i = tid; i < 9 * (T::HC / 8); i += T::THREADS) {
    const int r = i / (T::HC / 8), c = i % (T::HC / 8) * 8;
    copy_async<16>(smem_of(wd + r * T::HC + c), a.wd + (size_t)r * T::HID + h0 + c, h0 + c < T::HID);
  }
  for (int i = tid; i < T::HC / 4; i += T::THREADS) {
    const bool in = h0 + i * 4 < T::HID;
    if (T::EXPAND) copy_async<16>(smem_of(be + i * 4), a.be + h0 + i * 4, in);
    copy_async<16>(smem_of(bd + i * 4), a.bd + h0 + i * 4, in);
  }
  if (T::CL > 1) cluster_arrive();
  const int y0 = T::WY ? 0 : ty * T::TH * T::S - 1, x0 = T::WX ? 0 : tx * T::TW * T::S - 1;
  for (int p = tid; p < T::MP; p += T::THREADS) {
    const int iy = y0 + p / T::IW, ix = x0 + p % T::IW;
    valid[p] = p < T::P && iy >= 0 && iy < T::H && ix >= 0 && ix < T::H;
  }
  TICHECK(1);
  pdl_wait();
  TICHECK(2);
  {
    half *to = T::EXPAND ? xs : es;
    constexpr int stride = T::EXPAND ? T::XS : T::ES, C = T::EXPAND ? T::K : T::HC;
    for (int i = tid; i < T::MP * (C / 8); i += T::THREADS) {
      const int p = i / (C / 8), c = i % (C / 8) * 8, iy = y0 + p / T::IW, ix = x0 + p % T::IW,
                cc = T::EXPAND ? c : h0 + c;
      const bool in = p < T::P && iy >= 0 && iy < T::H && ix >= 0 && ix < T::H && cc < T::CIN;
      copy_async<16>(smem_of(to + p * stride + c), in ? x + ((size_t)iy * T::H + ix) * T::CIN + cc : x, in);
    }
  }
  copy_commit();
  copy_wait<0>();
  __syncthreads();
  TICHECK(3);
  if (T::EXPAND) {
    constexpr int MT = T::MP / 16,
                  NJ = T::HC % 32 == 0 && MT * (T::HC / 32) >= WARPS   ? 2
                       : T::HC % 48 == 0 && MT * (T::HC / 48) >= WARPS ? 3
                                                                       : 1,
                  NT = T::HC / 16 / NJ;
    for (int u = warp; u < MT * NT; u += WARPS) {
      const int m = u / NT, nn = u % NT;
      float c[2 * NJ][4] = {};
      const unsigned aa = smem_of(xs + (m * 16 + (lane & 15)) * T::XS + (lane >> 4) * 8);
      const unsigned bb = smem_of(we + (nn * 16 * NJ + (lane & 7) + (lane >> 4) * 8) * T::XS + ((lane >> 3) & 1) * 8);
#pragma unroll
      for (int k = 0; k < T::K; k += 16) {
        unsigned fa[4], fb[NJ][4];
        ldm4(fa, aa + k * 2);
#pragma unroll
        for (int j = 0; j < NJ; ++j) ldm4(fb[j], bb + (j * 16 * T::XS + k) * 2);
#pragma unroll
        for (int j = 0; j < NJ; ++j) {
          mma(c[2 * j], fa, fb[j][0], fb[j][1]);
          mma(c[2 * j + 1], fa, fb[j][2], fb[j][3]);
        }
      }
#pragma unroll
      for (int hrow = 0; hrow < 2; ++hrow) {
        const int p = m * 16 + (lane >> 2) + hrow * 8;
        const bool in = valid[p]; /* padding is zero, not relu(bias) */
#pragma unroll
        for (int j = 0; j < 2 * NJ; ++j) {
          const int col = nn * 16 * NJ + j * 8 + (lane & 3) * 2;
          const float v0 = relu6(c[j][hrow * 2] + be[col]), v1 = relu6(c[j][hrow * 2 + 1] + be[col + 1]);
          *(half2 *)(es + p * T::ES + col) = in ? __floats2half2_rn(v0, v1) : __floats2half2_rn(0.f, 0.f);
        }
      }
    }
    __syncthreads();
  }
  pdl_go(); /* here: at the beginning the network takes a third longer, after the projection a tenth */
  TICHECK(4);
  for (int i = tid; i < T::OM * (T::HC / 8); i += T::THREADS) {
    const int q = i / (T::HC / 8), c = i % (T::HC / 8) * 8, qy = q / T::TW, qx = q % T::TW;
    float s[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) s[j] = bd[c + j];
    if (q < T::OP) {
#pragma unroll
      for (int ky = 0; ky < 3; ++ky) {
        half2 row[4] = {};
#pragma unroll
        for (int kx = 0; kx < 3; ++kx) {
          const int ry = qy * T::S + ky - (T::WY ? 1 : 0), rx = qx * T::S + kx - (T::WX ? 1 : 0);
          if (T::WY && (ry < 0 || ry >= T::IH)) continue;
          if (T::WX && (rx < 0 || rx >= T::IW)) continue;
          const uint4 e = *(const uint4 *)(es + (ry * T::IW + rx) * T::ES + c),
                      w = *(const uint4 *)(wd + (ky * 3 + kx) * T::HC + c);
          const half2 *eh = (const half2 *)&e, *wh = (const half2 *)&w;
#pragma unroll
          for (int j = 0; j < 4; ++j) row[j] = __hfma2(eh[j], wh[j], row[j]);
        }
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const float2 f = __half22float2(row[j]);
          s[2 * j] += f.x;
          s[2 * j + 1] += f.y;
        }
      }
    }
    half2 o[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) o[j] = __floats2half2_rn(relu6(s[2 * j]), relu6(s[2 * j + 1]));
    *(uint4 *)(ds + q * T::ES + c) = *(uint4 *)o;
  }
  __syncthreads();
  TICHECK(5);
  cg::cluster_group cluster = cg::this_cluster();
  if (T::CL > 1) cluster_wait(); /* the others have begun: their memory may be written */
  {
    constexpr int MT = T::OM / 16, NT = T::NP / 16;
    for (int u = warp; u < MT * NT; u += WARPS) {
      const int m = u / NT, nn = u % NT;
      float c[2][4] = {};
      const unsigned aa = smem_of(ds + (m * 16 + (lane & 15)) * T::ES + (lane >> 4) * 8);
      const unsigned bb = smem_of(wp + (nn * 16 + (lane & 7) + (lane >> 4) * 8) * T::ES + ((lane >> 3) & 1) * 8);
#pragma unroll
      for (int k = 0; k < T::HC; k += 16) {
        unsigned fa[4], fb[4];
        ldm4(fa, aa + k * 2);
        ldm4(fb, bb + k * 2);
        mma(c[0], fa, fb[0], fb[1]);
        mma(c[1], fa, fb[2], fb[3]);
      }
#pragma unroll
      for (int hrow = 0; hrow < 2; ++hrow) {
        const int q = m * 16 + (lane >> 2) + hrow * 8;
        if (q >= T::OP) continue;
        float *to = T::CL > 1 ? cluster.map_shared_rank(rs, q % T::CL) : rs;
        to += (rank * T::QR + q / T::CL) * T::RS;
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          const int col = nn * 16 + j * 8 + (lane & 3) * 2;
          if (col < T::COUT) *(float2 *)(to + col) = make_float2(c[j][hrow * 2], c[j][hrow * 2 + 1]);
        }
      }
    }
  }
  TICHECK(6);
  if (T::CL > 1)
    cluster.sync();
  else
    __syncthreads();
  TICHECK(7);
  constexpr int VV = T::COUT / 8;
  for (int i = tid; i < T::QR * VV; i += T::THREADS) {
    const int q = i / VV * T::CL + rank, c = i % VV * 8, oy = ty * T::TH + q / T::TW, ox = tx * T::TW + q % T::TW;
    if (q >= T::OP || oy >= T::HO || ox >= T::HO) continue;
    float s[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) s[j] = a.bp[c + j];
#pragma unroll
    for (int r = 0; r < T::CL; ++r) {
      const float *p = rs + (r * T::QR + i / VV) * T::RS + c;
      const float4 lo = *(const float4 *)p, hi = *(const float4 *)(p + 4);
      s[0] += lo.x;
      s[1] += lo.y;
      s[2] += lo.z;
      s[3] += lo.w;
      s[4] += hi.x;
      s[5] += hi.y;
      s[6] += hi.z;
      s[7] += hi.w;
    }
    const size_t o = ((size_t)oy * T::HO + ox) * T::COUT + c;
    if (T::RES) {
      const uint4 xr = *(const uint4 *)(x + o);
      const half2 *xh = (const half2 *)&xr;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float2 f = __half22float2(xh[j]);
        s[2 * j] += f.x;
        s[2 * j + 1] += f.y;
      }
    }
    half2 out[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) out[j] = __floats2half2_rn(s[2 * j], s[2 * j + 1]);
    *(uint4 *)(y + o) = *(uint4 *)out;
  }
  TICHECK(8);
  TICHECK(9);
}

/* stem: 3x3 stride 2, 3 -> 32 channels; input half NHWC with 4 channels (the last is zero). One thread: a pixel, 8
 * channels. */
struct stem_args {
  const half *x;
  half *y;
  const float *w, *b;
};
__global__ void __launch_bounds__(256) stem_kernel(stem_args a) {
  __shared__ float w[27 * 32], b[32];
  for (int i = threadIdx.x; i < 27 * 32; i += 256) w[i] = a.w[i];
  if (threadIdx.x < 32) b[threadIdx.x] = a.b[threadIdx.x];
  pdl_go();
  pdl_wait();
  __syncthreads();
  const int i = blockIdx.x * 256 + threadIdx.x, c = i % 4 * 8, p = i / 4, oy = p / 112, ox = p % 112;
  const half *x = a.x + (size_t)blockIdx.z * 224 * 224 * 4;
  float s[8];
#pragma unroll
  for (int j = 0; j < 8; ++j) s[j] = b[c + j];
#pragma unroll
  for (int ky = 0; ky < 3; ++ky)
#pragma unroll
    for (int kx = 0; kx < 3; ++kx) {
      const int iy = oy * 2 + ky - 1, ix = ox * 2 + kx - 1;
      if (iy < 0 || iy >= 224 || ix < 0 || ix >= 224) continue;
      const uint2 v = *(const uint2 *)(x + ((size_t)iy * 224 + ix) * 4);
      const float2 f01 = __half22float2(*(const half2 *)&v.x), f23 = __half22float2(*(const half2 *)&v.y);
      const float f[3] = {f01.x, f01.y, f23.x};
#pragma unroll
      for (int k = 0; k < 3; ++k)
#pragma unroll
        for (int j = 0; j < 8; ++j) s[j] += f[k] * w[((ky * 3 + kx) * 3 + k) * 32 + c + j];
    }
  half2 o[4];
#pragma unroll
  for (int j = 0; j < 4; ++j) o[j] = __floats2half2_rn(relu6(s[2 * j]), relu6(s[2 * j + 1]));
  *(uint4 *)(a.y + ((size_t)blockIdx.z * 112 * 112 + p) * 32 + c) = *(uint4 *)o;
}

/* head: 1x1 320 -> 1280 at 49 pixels, ReLU6, mean over pixels. One block: 16 channels; warps split k, sums meet in
 * shared memory. */
struct head_args {
  const half *x;
  half *y;
  const half *w;
  const float *b;
};
__global__ void __launch_bounds__(256) head_kernel(head_args a) {
  constexpr int K = 320, S = K + 8;
  extern __shared__ __align__(128) unsigned char smem[];
  half *xs = (half *)smem, *ws = xs + 64 * S;
  float *rs = (float *)(ws + 16 * S); /* [2][64][20] */
  __shared__ float sums[16][17];
  const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5, c0 = blockIdx.x * 16;
  const half *x = a.x + (size_t)blockIdx.z * 49 * K;
  pdl_go();
  for (int i = tid; i < 16 * (K / 8); i += 256)
    copy_async<16>(smem_of(ws + i / (K / 8) * S + i % (K / 8) * 8),
                   a.w + (size_t)(c0 + i / (K / 8)) * K + i % (K / 8) * 8, true);
  pdl_wait();
  for (int i = tid; i < 64 * (K / 8); i += 256) {
    const int p = i / (K / 8), c = i % (K / 8) * 8;
    copy_async<16>(smem_of(xs + p * S + c), p < 49 ? x + (size_t)p * K + c : x, p < 49);
  }
  copy_commit();
  copy_wait<0>();
  __syncthreads();
  const int m = warp & 3, ks = warp >> 2; /* two halves of k */
  float c[2][4] = {};
  const unsigned aa = smem_of(xs + (m * 16 + (lane & 15)) * S + (lane >> 4) * 8),
                 bb = smem_of(ws + ((lane & 7) + (lane >> 4) * 8) * S + ((lane >> 3) & 1) * 8);
#pragma unroll
  for (int k = 0; k < K / 2; k += 16) {
    unsigned fa[4], fb[4];
    ldm4(fa, aa + (ks * (K / 2) + k) * 2);
    ldm4(fb, bb + (ks * (K / 2) + k) * 2);
    mma(c[0], fa, fb[0], fb[1]);
    mma(c[1], fa, fb[2], fb[3]);
  }
#pragma unroll
  for (int hrow = 0; hrow < 2; ++hrow)
#pragma unroll
    for (int j = 0; j < 2; ++j)
      *(float2 *)(rs + (ks * 64 + m * 16 + (lane >> 2) + hrow * 8) * 20 + j * 8 + (lane & 3) * 2) =
          make_float2(c[j][hrow * 2], c[j][hrow * 2 + 1]);
  __syncthreads();
  const int ch = tid & 15, part = tid >> 4;
  float s = 0;
  for (int p = part; p < 49; p += 16) s += relu6(rs[p * 20 + ch] + rs[(64 + p) * 20 + ch] + a.b[c0 + ch]);
  sums[part][ch] = s;
  __syncthreads();
  if (tid < 16) {
    float t = 0;
    for (int i = 0; i < 16; ++i) t += sums[i][tid];
    a.y[(size_t)blockIdx.z * 1280 + c0 + tid] = __float2half(t / 49.f);
  }
}

#endif
