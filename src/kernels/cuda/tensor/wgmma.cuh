/* SPDX-License-Identifier: Apache-2.0 */
/* wgmma.cuh - tensor cores of 9.0 by warpgroups (sm_90a): c[64 x N] += a[64 x 16] * b[N x 16]' of halves,
 * twice as deep of bytes, half as deep of tf32 (rounded by the copies), both in shared memory, and what feeds them:
 * barriers that count bytes, and copies of tensors' boxes. Rows lie mixed over 128 bytes, eight rows a group of 1,024,
 * or over 64. Source: PTX ISA 9.0 (wgmma, matrix descriptors, mbarrier, cp.async.bulk.tensor).
 */
#ifndef HN_KERNELS_CUDA_WGMMA_CUH
#define HN_KERNELS_CUDA_WGMMA_CUH

#include "kernels/cuda/half.cuh"

__device__ __forceinline__ void barrier_make(unsigned barrier, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count));
}
__device__ __forceinline__ void barriers_made() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ __forceinline__ void barrier_expect(unsigned barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void barrier_arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ __forceinline__ void barrier_wait(unsigned barrier, int parity) {
  asm volatile("{\n .reg .pred p;\n again:\n mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n @p bra done;\n"
               " bra again;\n done:\n}" ::"r"(barrier),
               "r"(parity)
               : "memory");
}

/* Pixels from one on, in the order of the outputs, of 64 channels at c, seen from tap (kx, ky). */
__device__ __forceinline__ void copy_pixels(unsigned to, const void *map, unsigned barrier, int c, int w, int h, int n,
                                            int kx, int ky) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, "
               "%5, %6}], [%2], {%7, %8};" ::"r"(to),
               "l"(map), "r"(barrier), "r"(c), "r"(w), "r"(h), "r"(n), "h"((unsigned short)kx), "h"((unsigned short)ky)
               : "memory");
}
__device__ __forceinline__ void copy_rows(unsigned to, const void *map, unsigned barrier, int k, int row) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], "
               "[%2];" ::"r"(to),
               "l"(map), "r"(barrier), "r"(k), "r"(row)
               : "memory");
}
/* Bytes side by side; all of it in sixteens. */
__device__ __forceinline__ void copy_flat(unsigned to, const void *from, unsigned barrier, int bytes) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
}
/* Rows of one head of one batch. */
__device__ __forceinline__ void copy_head(unsigned to, const void *map, unsigned barrier, int row, int head,
                                          int batch) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {0, %3, %4, "
      "%5}], [%2];" ::"r"(to),
      "l"(map), "r"(barrier), "r"(row), "r"(head), "r"(batch)
      : "memory");
}
__device__ __forceinline__ void fetch_map(const void *map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/* Boxes of shared memory out to a tensor; what lies outside of it is left out. */
__device__ __forceinline__ void store_rows(const void *map, unsigned from, int c, int row) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(c),
               "r"(row), "r"(from)
               : "memory");
}
__device__ __forceinline__ void store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int N> __device__ __forceinline__ void store_wait() { /* until all but N were read */
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}
__device__ __forceinline__ void store_done() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
__device__ __forceinline__ void buffer_written() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/* Two values, between two others; NaN stays. */
template <typename T> __device__ __forceinline__ unsigned bounded(unsigned v, unsigned low, unsigned high);
template <> __device__ __forceinline__ unsigned bounded<f16>(unsigned v, unsigned low, unsigned high) {
  asm("{\n max.NaN.f16x2 %0, %0, %1;\n min.NaN.f16x2 %0, %0, %2;\n}" : "+r"(v) : "r"(low), "r"(high));
  return v;
}
template <> __device__ __forceinline__ unsigned bounded<bf16>(unsigned v, unsigned low, unsigned high) {
  asm("{\n max.NaN.bf16x2 %0, %0, %1;\n min.NaN.bf16x2 %0, %0, %2;\n}" : "+r"(v) : "r"(low), "r"(high));
  return v;
}

/* A value, likewise. */
__device__ __forceinline__ float bounded(float v, float low, float high) {
  asm("{\n max.NaN.f32 %0, %0, %1;\n min.NaN.f32 %0, %0, %2;\n}" : "+f"(v) : "f"(low), "f"(high));
  return v;
}

/* Of rows of so many bytes from an address on; k advances by 32 bytes, 2 here. */
template <int deep = 128> __device__ __forceinline__ unsigned long long matrix_at(unsigned address) {
  static_assert(deep == 128 || deep == 64, "rows are mixed over 128 bytes, or over 64");
  return ((unsigned long long)(address & 0x3ffff) >> 4) | 1ull << 16 | (unsigned long long)deep / 2 << 32 |
         (deep == 128 ? 1ull : 2ull) << 62;
}
__device__ __forceinline__ void group_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void group_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N> __device__ __forceinline__ void group_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

/* clang-format off */
#define EIGHT(is, i)                                                                                                   \
  is(c[i]), is(c[i + 1]), is(c[i + 2]), is(c[i + 3]), is(c[i + 4]), is(c[i + 5]), is(c[i + 6]), is(c[i + 7])
#define REGISTERS_16 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15"
#define REGISTERS_32 \
  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25," \
  "%26,%27,%28,%29,%30,%31"
#define REGISTERS_56 \
  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25," \
  "%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49," \
  "%50,%51,%52,%53,%54,%55"
#define REGISTERS_64 \
  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25," \
  "%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49," \
  "%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define REGISTERS_96 \
  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23," \
  "%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47," \
  "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,%64,%65,%66,%67,%68,%69,%70,%71," \
  "%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95"
#define REGISTERS_128 \
  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25," \
  "%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49," \
  "%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,%64,%65,%66,%67,%68,%69,%70,%71,%72,%73," \
  "%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,%96,%97," \
  "%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,%116," \
  "%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
#define OPERANDS_32(is) EIGHT(is, 0), EIGHT(is, 8)
#define OPERANDS_64(is) OPERANDS_32(is), EIGHT(is, 16), EIGHT(is, 24)
#define OPERANDS_112(is) OPERANDS_64(is), EIGHT(is, 32), EIGHT(is, 40), EIGHT(is, 48)
#define OPERANDS_128(is) OPERANDS_64(is), EIGHT(is, 32), EIGHT(is, 40), EIGHT(is, 48), EIGHT(is, 56)
#define OPERANDS_192(is) OPERANDS_128(is), EIGHT(is, 64), EIGHT(is, 72), EIGHT(is, 80), EIGHT(is, 88)
#define OPERANDS_256(is) \
  OPERANDS_128(is), EIGHT(is, 64), EIGHT(is, 72), EIGHT(is, 80), EIGHT(is, 88), EIGHT(is, 96), EIGHT(is, 104), \
  EIGHT(is, 112), EIGHT(is, 120)
#define FLOATS "+f"
#define INTEGERS "+r"
/* clang-format on */

/* The compiler must not move a sum across what is asynchronous. */
__device__ __forceinline__ void pin_sum(float &v) { asm volatile("" : "+f"(v)::"memory"); }
__device__ __forceinline__ void pin_sum(int &v) { asm volatile("" : "+r"(v)::"memory"); }

/* In flight until it is waited for. */
template <typename T, int N>
__device__ __forceinline__ void multiply_group(float (&c)[N / 2], unsigned long long a, unsigned long long b);
template <>
__device__ __forceinline__ void multiply_group<f16, 32>(float (&c)[16], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {" REGISTERS_16 "}, %16, %17, 1, 1, 1, 0, 0;"
               : OPERANDS_32(FLOATS)
               : "l"(a), "l"(b));
}
template <>
__device__ __forceinline__ void multiply_group<f16, 64>(float (&c)[32], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {" REGISTERS_32 "}, %32, %33, 1, 1, 1, 0, 0;"
               : OPERANDS_64(FLOATS)
               : "l"(a), "l"(b));
}
template <>
__device__ __forceinline__ void multiply_group<f16, 112>(float (&c)[56], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n112k16.f32.f16.f16 {" REGISTERS_56 "}, %56, %57, 1, 1, 1, 0, 0;"
               : OPERANDS_112(FLOATS)
               : "l"(a), "l"(b));
}
template <>
__device__ __forceinline__ void multiply_group<f16, 128>(float (&c)[64], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {" REGISTERS_64 "}, %64, %65, 1, 1, 1, 0, 0;"
               : OPERANDS_128(FLOATS)
               : "l"(a), "l"(b));
}
template <>
__device__ __forceinline__ void multiply_group<f16, 192>(float (&c)[96], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n192k16.f32.f16.f16 {" REGISTERS_96 "}, %96, %97, 1, 1, 1, 0, 0;"
               : OPERANDS_192(FLOATS)
               : "l"(a), "l"(b));
}
template <>
__device__ __forceinline__ void multiply_group<f16, 256>(float (&c)[128], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {" REGISTERS_128 "}, %128, %129, 1, 1, 1, 0, 0;"
               : OPERANDS_256(FLOATS)
               : "l"(a), "l"(b));
}
template <>
__device__ __forceinline__ void multiply_group<bf16, 32>(float (&c)[16], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {" REGISTERS_16 "}, %16, %17, 1, 1, 1, 0, 0;"
               : OPERANDS_32(FLOATS)
               : "l"(a), "l"(b));
}
template <>
__device__ __forceinline__ void multiply_group<bf16, 64>(float (&c)[32], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" REGISTERS_32 "}, %32, %33, 1, 1, 1, 0, 0;"
               : OPERANDS_64(FLOATS)
               : "l"(a), "l"(b));
}
template <>
__device__ __forceinline__ void multiply_group<bf16, 112>(float (&c)[56], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n112k16.f32.bf16.bf16 {" REGISTERS_56 "}, %56, %57, 1, 1, 1, 0, 0;"
               : OPERANDS_112(FLOATS)
               : "l"(a), "l"(b));
}
template <>
__device__ __forceinline__ void multiply_group<bf16, 128>(float (&c)[64], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" REGISTERS_64 "}, %64, %65, 1, 1, 1, 0, 0;"
               : OPERANDS_128(FLOATS)
               : "l"(a), "l"(b));
}
template <>
__device__ __forceinline__ void multiply_group<bf16, 192>(float (&c)[96], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n192k16.f32.bf16.bf16 {" REGISTERS_96 "}, %96, %97, 1, 1, 1, 0, 0;"
               : OPERANDS_192(FLOATS)
               : "l"(a), "l"(b));
}
template <>
__device__ __forceinline__ void multiply_group<bf16, 256>(float (&c)[128], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {" REGISTERS_128 "}, %128, %129, 1, 1, 1, 0, 0;"
               : OPERANDS_256(FLOATS)
               : "l"(a), "l"(b));
}
template <>
__device__ __forceinline__ void multiply_group<tf32, 32>(float (&c)[16], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n32k8.f32.tf32.tf32 {" REGISTERS_16 "}, %16, %17, 1, 1, 1;"
               : OPERANDS_32(FLOATS)
               : "l"(a), "l"(b));
}
template <>
__device__ __forceinline__ void multiply_group<tf32, 64>(float (&c)[32], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 {" REGISTERS_32 "}, %32, %33, 1, 1, 1;"
               : OPERANDS_64(FLOATS)
               : "l"(a), "l"(b));
}
template <>
__device__ __forceinline__ void multiply_group<tf32, 128>(float (&c)[64], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 {" REGISTERS_64 "}, %64, %65, 1, 1, 1;"
               : OPERANDS_128(FLOATS)
               : "l"(a), "l"(b));
}
template <>
__device__ __forceinline__ void multiply_group<tf32, 192>(float (&c)[96], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n192k8.f32.tf32.tf32 {" REGISTERS_96 "}, %96, %97, 1, 1, 1;"
               : OPERANDS_192(FLOATS)
               : "l"(a), "l"(b));
}
template <>
__device__ __forceinline__ void multiply_group<tf32, 256>(float (&c)[128], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32 {" REGISTERS_128 "}, %128, %129, 1, 1, 1;"
               : OPERANDS_256(FLOATS)
               : "l"(a), "l"(b));
}
template <>
__device__ __forceinline__ void multiply_group<e4m3, 256>(float (&c)[128], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n256k32.f32.e4m3.e4m3 {" REGISTERS_128 "}, %128, %129, 1, 1, 1;"
               : OPERANDS_256(FLOATS)
               : "l"(a), "l"(b));
}
template <typename T, int N>
__device__ __forceinline__ void multiply_group(int (&c)[N / 2], unsigned long long a, unsigned long long b);
template <>
__device__ __forceinline__ void multiply_group<u8, 32>(int (&c)[16], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n32k32.s32.u8.s8 {" REGISTERS_16 "}, %16, %17, 1;"
               : OPERANDS_32(INTEGERS)
               : "l"(a), "l"(b));
}
template <>
__device__ __forceinline__ void multiply_group<u8, 64>(int (&c)[32], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k32.s32.u8.s8 {" REGISTERS_32 "}, %32, %33, 1;"
               : OPERANDS_64(INTEGERS)
               : "l"(a), "l"(b));
}
template <>
__device__ __forceinline__ void multiply_group<u8, 128>(int (&c)[64], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k32.s32.u8.s8 {" REGISTERS_64 "}, %64, %65, 1;"
               : OPERANDS_128(INTEGERS)
               : "l"(a), "l"(b));
}
template <>
__device__ __forceinline__ void multiply_group<u8, 192>(int (&c)[96], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n192k32.s32.u8.s8 {" REGISTERS_96 "}, %96, %97, 1;"
               : OPERANDS_192(INTEGERS)
               : "l"(a), "l"(b));
}
template <>
__device__ __forceinline__ void multiply_group<u8, 256>(int (&c)[128], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n256k32.s32.u8.s8 {" REGISTERS_128 "}, %128, %129, 1;"
               : OPERANDS_256(INTEGERS)
               : "l"(a), "l"(b));
}
template <>
__device__ __forceinline__ void multiply_group<i8, 32>(int (&c)[16], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n32k32.s32.s8.s8 {" REGISTERS_16 "}, %16, %17, 1;"
               : OPERANDS_32(INTEGERS)
               : "l"(a), "l"(b));
}
template <>
__device__ __forceinline__ void multiply_group<i8, 64>(int (&c)[32], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8 {" REGISTERS_32 "}, %32, %33, 1;"
               : OPERANDS_64(INTEGERS)
               : "l"(a), "l"(b));
}
template <>
__device__ __forceinline__ void multiply_group<i8, 128>(int (&c)[64], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k32.s32.s8.s8 {" REGISTERS_64 "}, %64, %65, 1;"
               : OPERANDS_128(INTEGERS)
               : "l"(a), "l"(b));
}
template <>
__device__ __forceinline__ void multiply_group<i8, 192>(int (&c)[96], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n192k32.s32.s8.s8 {" REGISTERS_96 "}, %96, %97, 1;"
               : OPERANDS_192(INTEGERS)
               : "l"(a), "l"(b));
}
template <>
__device__ __forceinline__ void multiply_group<i8, 256>(int (&c)[128], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8 {" REGISTERS_128 "}, %128, %129, 1;"
               : OPERANDS_256(INTEGERS)
               : "l"(a), "l"(b));
}

/* The same of 64 columns, whose left operand lies in registers, as sums of products lie, and whose right one lies
 * across: rows of k, of 64 columns each. */
template <typename T>
__device__ __forceinline__ void multiply_held(float (&c)[32], const unsigned (&a)[4], unsigned long long b);
template <>
__device__ __forceinline__ void multiply_held<f16>(float (&c)[32], const unsigned (&a)[4], unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {" REGISTERS_32 "}, {%32, %33, %34, %35}, %36, 1, "
               "1, 1, 1;"
               : OPERANDS_64(FLOATS)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
template <>
__device__ __forceinline__ void multiply_held<bf16>(float (&c)[32], const unsigned (&a)[4], unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" REGISTERS_32 "}, {%32, %33, %34, %35}, %36, 1, "
               "1, 1, 1;"
               : OPERANDS_64(FLOATS)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
#undef FLOATS
#undef INTEGERS
#undef EIGHT
#undef REGISTERS_16
#undef REGISTERS_32
#undef REGISTERS_56
#undef REGISTERS_64
#undef REGISTERS_96
#undef REGISTERS_128
#undef OPERANDS_32
#undef OPERANDS_64
#undef OPERANDS_112
#undef OPERANDS_128
#undef OPERANDS_192
#undef OPERANDS_256

#endif
