/* SPDX-License-Identifier: Apache-2.0 */
/* conv_bulk.cuh - implicit-GEMM convolution for batches: wgmma fed by bulk tensor copies, im2col mode for the pixels.
 * One warp copies, two warpgroups multiply 64 rows each, rows meet in shared memory before they are stored.
 * Sources: PTX ISA 9.0 (wgmma, matrix descriptors, cp.async.bulk.tensor im2col), CUDA driver API (tensor maps). */
#ifndef HONE_BENCH_GPU_CONV_BULK_CUH
#define HONE_BENCH_GPU_CONV_BULK_CUH

#include "conv_chain.cuh"
#include <cuda.h>

struct bulk_maps {
  CUtensorMap x, w;
};

/* 128 bytes a row, 128-byte swizzle, eight rows a group of 1,024 bytes; k advances by 32 bytes inside the row. */
__device__ __forceinline__ unsigned long long descriptor(unsigned address) {
  return ((unsigned long long)(address & 0x3ffff) >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}
__device__ __forceinline__ void barrier_init(unsigned bar, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(count));
}
__device__ __forceinline__ void barrier_expect(unsigned bar, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}
__device__ __forceinline__ void barrier_arrive(unsigned bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory");
}
__device__ __forceinline__ void barrier_wait(unsigned bar, int parity) {
  asm volatile(
      "{\n .reg .pred p;\n again:\n mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n @p bra done;\n bra "
      "again;\n done:\n}" ::"r"(bar),
      "r"(parity)
      : "memory");
}
__device__ __forceinline__ void copy_pixels(unsigned to, const CUtensorMap *map, unsigned bar, int c, int w, int h,
                                            int n, unsigned short kx, unsigned short ky) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, "
               "%5, %6}], [%2], {%7, %8};" ::"r"(to),
               "l"(map), "r"(bar), "r"(c), "r"(w), "r"(h), "r"(n), "h"(kx), "h"(ky)
               : "memory");
}
__device__ __forceinline__ void copy_weights(unsigned to, const CUtensorMap *map, unsigned bar, int k, int o) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], "
               "[%2];" ::"r"(to),
               "l"(map), "r"(bar), "r"(k), "r"(o)
               : "memory");
}
#define C8(i)                                                                                                          \
  "+f"(c[i]), "+f"(c[i + 1]), "+f"(c[i + 2]), "+f"(c[i + 3]), "+f"(c[i + 4]), "+f"(c[i + 5]), "+f"(c[i + 6]),          \
      "+f"(c[i + 7])
#define R8(a, b, c, d, e, f, g, h) "%" #a ",%" #b ",%" #c ",%" #d ",%" #e ",%" #f ",%" #g ",%" #h
template <int N> struct wgmma;
template <> struct wgmma<64> {
  static __device__ __forceinline__ void go(float (&c)[32], unsigned long long a, unsigned long long b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {" R8(0, 1, 2, 3, 4, 5, 6, 7) "," R8(
                     8, 9, 10, 11, 12, 13, 14, 15) "," R8(16, 17, 18, 19, 20, 21, 22,
                                                          23) "," R8(24, 25, 26, 27, 28, 29, 30,
                                                                     31) "}, %32, %33, 1, 1, 1, 0, 0;"
                 : C8(0), C8(8), C8(16), C8(24)
                 : "l"(a), "l"(b));
  }
};
template <> struct wgmma<128> {
  static __device__ __forceinline__ void go(float (&c)[64], unsigned long long a, unsigned long long b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {" R8(0, 1, 2, 3, 4, 5, 6, 7) "," R8(
                     8, 9, 10, 11, 12, 13, 14,
                     15) "," R8(16, 17, 18, 19, 20, 21, 22,
                                23) "," R8(24, 25, 26, 27, 28, 29, 30,
                                           31) "," R8(32, 33, 34, 35, 36, 37, 38,
                                                      39) "," R8(40, 41, 42, 43, 44, 45, 46,
                                                                 47) "," R8(48, 49, 50, 51, 52, 53, 54,
                                                                            55) "," R8(56, 57, 58, 59, 60, 61, 62,
                                                                                       63) "}, %64, %65, 1, 1, 1, 0, 0;"
                 : C8(0), C8(8), C8(16), C8(24), C8(32), C8(40), C8(48), C8(56)
                 : "l"(a), "l"(b));
  }
};
template <> struct wgmma<256> {
  static __device__ __forceinline__ void go(float (&c)[128], unsigned long long a, unsigned long long b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {" R8(0, 1, 2, 3, 4, 5, 6, 7) "," R8(8, 9, 10, 11, 12, 13, 14, 15) "," R8(16, 17, 18, 19, 20, 21, 22, 23) "," R8(
            24, 25, 26, 27, 28,
            29, 30,
            31) "," R8(32, 33, 34, 35, 36, 37, 38,
                       39) "," R8(40, 41, 42, 43, 44, 45, 46,
                                  47) "," R8(48, 49, 50, 51, 52, 53, 54,
                                             55) "," R8(56, 57, 58, 59, 60, 61, 62,
                                                        63) "," R8(64, 65, 66, 67, 68, 69, 70,
                                                                   71) "," R8(72, 73, 74, 75, 76, 77, 78,
                                                                              79) "," R8(80, 81, 82, 83, 84, 85, 86,
                                                                                         87) "," R8(88, 89, 90, 91, 92,
                                                                                                    93, 94,
                                                                                                    95) "," R8(96, 97,
                                                                                                               98, 99,
                                                                                                               100, 101,
                                                                                                               102,
                                                                                                               103) "," R8(104,
                                                                                                                           105,
                                                                                                                           106,
                                                                                                                           107,
                                                                                                                           108,
                                                                                                                           109,
                                                                                                                           110,
                                                                                                                           111) "," R8(112,
                                                                                                                                       113,
                                                                                                                                       114,
                                                                                                                                       115,
                                                                                                                                       116,
                                                                                                                                       117,
                                                                                                                                       118,
                                                                                                                                       119) "," R8(120,
                                                                                                                                                   121,
                                                                                                                                                   122,
                                                                                                                                                   123,
                                                                                                                                                   124,
                                                                                                                                                   125,
                                                                                                                                                   126,
                                                                                                                                                   127) "}, %128, %129, 1, 1, 1, 0, 0;"
        : C8(0), C8(8), C8(16), C8(24), C8(32), C8(40), C8(48), C8(56), C8(64), C8(72), C8(80), C8(88), C8(96), C8(104),
          C8(112), C8(120)
        : "l"(a), "l"(b));
  }
};

template <int BN, int ST> struct bulk_cfg {
  static constexpr int BM = 128, T = 384, a_bytes = BM * 128, b_bytes = BN * 128, stage = a_bytes + b_bytes;
  static constexpr int out_stride = BN + 8, out_bytes = BM * out_stride * 2;
  static constexpr int bytes = 1024 + (ST * stage > out_bytes ? ST * stage : out_bytes) + 2 * ST * 8;
};

template <int BN, int ST>
__global__ void __launch_bounds__(384) bulk_kernel(conv_args a, const __grid_constant__ bulk_maps maps) {
  typedef bulk_cfg<BN, ST> C;
  extern __shared__ unsigned char raw[];
  const unsigned base = (smem_of(raw) + 1023) & ~1023u;
  unsigned char *const smem = raw + (base - smem_of(raw));
  const unsigned full = base + C::bytes - 1024 - 2 * ST * 8, empty = full + ST * 8;
  const int tid = threadIdx.x, warp = tid >> 5, lane = tid & 31, group = tid / 128;
  const int n0 = blockIdx.x * BN, m0 = blockIdx.y * C::BM, taps = a.taps_x * a.taps_x, blocks = a.cin / 64,
            count = taps * blocks;
  if (tid == 0) {
    for (int s = 0; s < ST; ++s) {
      barrier_init(full + s * 8, 1);
      barrier_init(empty + s * 8, 2);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  pdl_go();
  pdl_wait();
  if (group == 2) {
    if (BN == 256) asm volatile("setmaxnreg.dec.sync.aligned.u32 40;"); /* 168 a thread were given: 384 * 168 */
    if (warp == 8 && lane == 0) {
      const int hw = a.ho * a.ho, image = m0 / hw, p = m0 % hw;
      const int w = p % a.ho * a.stride - a.pad, h = p / a.ho * a.stride - a.pad;
      for (int it = 0; it < count; ++it) {
        const int s = it % ST, turn = it / ST, tap = it / blocks, c = it % blocks * 64;
        if (turn > 0) barrier_wait(empty + s * 8, (turn - 1) & 1);
        barrier_expect(full + s * 8, C::stage);
        copy_pixels(base + s * C::stage, &maps.x, full + s * 8, c, w, h, image, (unsigned short)(tap % a.taps_x),
                    (unsigned short)(tap / a.taps_x));
        copy_weights(base + s * C::stage + C::a_bytes, &maps.w, full + s * 8, it * 64, n0);
      }
    }
  } else if (BN == 256) {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;"); /* 256 * 232 + 128 * 40 */
  }
  float acc[BN / 2] = {};
  if (group < 2)
    for (int it = 0; it < count; ++it) {
      const int s = it % ST;
      barrier_wait(full + s * 8, it / ST & 1);
      const unsigned long long da = descriptor(base + s * C::stage + group * 64 * 128);
      const unsigned long long db = descriptor(base + s * C::stage + C::a_bytes);
#pragma unroll
      for (int i = 0; i < BN / 2; ++i) asm volatile("" : "+f"(acc[i])::"memory");
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
      for (int k = 0; k < 4; ++k) wgmma<BN>::go(acc, da + k * 2, db + k * 2);
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory"); /* the block before is done: its stage is free */
      if (it > 0 && tid % 128 == 0) barrier_arrive(empty + (it - 1) % ST * 8);
    }
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
  for (int i = 0; i < BN / 2; ++i) asm volatile("" : "+f"(acc[i])::"memory");
  __syncthreads();
  half *const out = (half *)smem;
  if (group < 2)
#pragma unroll
    for (int j = 0; j < BN / 8; ++j)
#pragma unroll
      for (int hrow = 0; hrow < 2; ++hrow) {
        const int q = group * 64 + warp % 4 * 16 + (lane >> 2) + hrow * 8, c = j * 8 + (lane & 3) * 2;
        const float2 bias = *(const float2 *)(a.b + n0 + c);
        *(half2 *)(out + q * C::out_stride + c) =
            __floats2half2_rn(acc[j * 4 + hrow * 2] + bias.x, acc[j * 4 + hrow * 2 + 1] + bias.y);
      }
  __syncthreads();
  store_rows<C::BM, BN, C::T>(a, out, C::out_stride, m0, n0);
}

/* ---- host ---- */

template <class F> static F driver_function(const char *name) {
  void *function = nullptr;
  cudaDriverEntryPointQueryResult found;
  CHECK(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found));
  return (F)function;
}

static bulk_maps maps_of(const conv_args &a, int bn) {
  static const auto im2col = driver_function<decltype(&cuTensorMapEncodeIm2col)>("cuTensorMapEncodeIm2col");
  static const auto tiled = driver_function<decltype(&cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
  bulk_maps maps;
  const cuuint64_t images = a.m / (a.ho * a.ho), c = a.cin, h = a.h;
  const cuuint64_t dims[4] = {c, h, h, images}, strides[3] = {c * 2, h * c * 2, h * h * c * 2};
  const int lower[2] = {-a.pad, -a.pad}, upper[2] = {a.pad - (a.taps_x - 1), a.pad - (a.taps_x - 1)};
  const cuuint32_t steps[4] = {1, (cuuint32_t)a.stride, (cuuint32_t)a.stride, 1};
  CUresult result = im2col(&maps.x, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 4, (void *)a.x, dims, strides, lower, upper, 64,
                           128, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                           CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  const cuuint64_t wdims[2] = {(cuuint64_t)a.kb * 64, (cuuint64_t)a.cout}, wstrides[1] = {(cuuint64_t)a.kb * 128};
  const cuuint32_t box[2] = {64, (cuuint32_t)bn}, ones[2] = {1, 1};
  if (result == CUDA_SUCCESS)
    result = tiled(&maps.w, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, (void *)a.w, wdims, wstrides, box, ones,
                   CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                   CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    printf("tensor map: error %d\n", (int)result);
    exit(1);
  }
  return maps;
}

template <int BN, int ST> struct bulk_maker {
  typedef bulk_cfg<BN, ST> C;
  static void go(const conv_args &a, int, cudaStream_t s) {
    launch(bulk_kernel<BN, ST>, dim3(a.cout / BN, (a.m + C::BM - 1) / C::BM), 1, C::T, C::bytes, s, a, maps_of(a, BN));
  }
  static void init() {
    CHECK(cudaFuncSetAttribute(bulk_kernel<BN, ST>, cudaFuncAttributeMaxDynamicSharedMemorySize, C::bytes));
  }
  static int bytes(int split) { return split > 1 ? 1 << 30 : C::bytes; }
};

#endif
