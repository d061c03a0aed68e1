/* SPDX-License-Identifier: Apache-2.0 */
/* lab.cuh - what the kernel labs of this folder share: tensor-core and copy instructions of sm_80 and sm_90, launches
 * in clusters with programmatic dependence, and times of chains inside a CUDA graph. Sources: PTX ISA 9.0 (ldmatrix,
 * mma, cp.async, griddepcontrol, barrier.cluster). */
#ifndef HONE_BENCH_GPU_LAB_CUH
#define HONE_BENCH_GPU_LAB_CUH

#include <algorithm>
#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <vector>

namespace cg = cooperative_groups;

#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    cudaError_t error_ = (call);                                                                                       \
    if (error_ != cudaSuccess) {                                                                                       \
      printf("%s:%d %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error_));                                 \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

__device__ __forceinline__ unsigned smem_of(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void ldm4(unsigned (&r)[4], unsigned a) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(a));
}
__device__ __forceinline__ void mma(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
/* N bytes, 8 or 16, to shared memory; zeros when not valid. */
template <int N> __device__ __forceinline__ void copy_async(unsigned to, const void *from, bool valid) {
  const int bytes = valid ? N : 0;
  if (N == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes));
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(from), "r"(bytes));
}
__device__ __forceinline__ void copy_commit() { asm volatile("cp.async.commit_group;"); }
template <int N> __device__ __forceinline__ void copy_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N)); }
/* Programmatic dependent launch: wait for the kernel before; let the kernel after begin. */
__device__ __forceinline__ void pdl_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
__device__ __forceinline__ void pdl_go() { asm volatile("griddepcontrol.launch_dependents;"); }
__device__ __forceinline__ void cluster_arrive() { asm volatile("barrier.cluster.arrive.relaxed.aligned;"); }
__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.aligned;" ::: "memory"); }
/* Adds eight halves, or eight floats, to sums. */
__device__ __forceinline__ void add_halves(float (&s)[8], const half *from) {
  const uint4 v = *(const uint4 *)from;
  const half2 *h = (const half2 *)&v;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const float2 f = __half22float2(h[j]);
    s[2 * j] += f.x;
    s[2 * j + 1] += f.y;
  }
}
__device__ __forceinline__ void add_floats(float (&s)[8], const float *from) {
  const float4 lo = *(const float4 *)from, hi = *(const float4 *)(from + 4);
  s[0] += lo.x, s[1] += lo.y, s[2] += lo.z, s[3] += lo.w;
  s[4] += hi.x, s[5] += hi.y, s[6] += hi.z, s[7] += hi.w;
}
/* One row of a product with a vector, by one warp; 256 * PARTS columns. The weights are loaded before the wait. */
template <int PARTS>
__global__ void __launch_bounds__(256) fc_kernel(const half *x, float *y, const half *w, const float *b, int rows) {
  const int row = blockIdx.x * 8 + (threadIdx.x >> 5), lane = threadIdx.x & 31;
  uint4 wv[PARTS];
#pragma unroll
  for (int i = 0; i < PARTS; ++i) wv[i] = *(const uint4 *)(w + ((size_t)row * PARTS * 32 + i * 32 + lane) * 8);
  pdl_go();
  pdl_wait();
  float s = 0;
#pragma unroll
  for (int i = 0; i < PARTS; ++i) {
    const uint4 v = *(const uint4 *)(x + ((size_t)blockIdx.y * PARTS * 32 + i * 32 + lane) * 8);
    const half2 *vh = (const half2 *)&v, *wh = (const half2 *)&wv[i];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const float2 f = __half22float2(vh[j]), g = __half22float2(wh[j]);
      s += f.x * g.x + f.y * g.y;
    }
  }
  for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
  if (lane == 0) y[(size_t)blockIdx.y * rows + row] = s + b[row];
}

/* ---- host ---- */

static bool use_pdl = true;
static cudaError_t launch_error = cudaSuccess; /* of the last launch that did not succeed */

template <class... P, class... A>
static void launch(void (*kernel)(P...), dim3 grid, int cluster, int threads, int bytes, cudaStream_t s, A... args) {
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute attributes[2];
  int count = 0;
  config.gridDim = grid;
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = bytes;
  config.stream = s;
  if (cluster > 1) {
    attributes[count].id = cudaLaunchAttributeClusterDimension;
    attributes[count].val.clusterDim.x = cluster;
    attributes[count].val.clusterDim.y = attributes[count].val.clusterDim.z = 1;
    ++count;
  }
  if (use_pdl) {
    attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[count++].val.programmaticStreamSerializationAllowed = 1;
  }
  config.attrs = attributes;
  config.numAttrs = count;
  const cudaError_t error = cudaLaunchKernelEx(&config, kernel, args...);
  if (error != cudaSuccess) {
    launch_error = error;
    (void)cudaGetLastError();
  }
}

/* Uniform in [-1, 1), the same every time. */
static double number() {
  static unsigned long long seed = 1;
  seed = seed * 6364136223846793005ull + 1442695040888963407ull;
  return ((double)(seed >> 33) / 2147483648.0 - 0.5) * 2;
}
static std::vector<half> halves(size_t count, double scale) {
  std::vector<half> v(count);
  for (half &e : v) e = __float2half((float)(number() * scale));
  return v;
}
static std::vector<float> floats(size_t count, double scale) {
  std::vector<float> v(count);
  for (float &e : v) e = (float)(number() * scale);
  return v;
}
template <class T> static T *at_device(const std::vector<T> &v) {
  T *d;
  CHECK(cudaMalloc(&d, v.size() * sizeof(T)));
  CHECK(cudaMemcpy(d, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
  return d;
}
/* Median time of one of `repeat` calls in a row inside a graph, so that launches overlap as in a network. */
template <class F> static float time_us(F what, int repeat, cudaStream_t s) {
  enum { ROUNDS = 30, WARM = 6 };
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaEvent_t begin, end;
  std::vector<float> us;
  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
  for (int i = 0; i < repeat; ++i) what();
  CHECK(cudaStreamEndCapture(s, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  for (int i = 0; i < ROUNDS; ++i) {
    float ms;
    CHECK(cudaEventRecord(begin, s));
    CHECK(cudaGraphLaunch(exec, s));
    CHECK(cudaEventRecord(end, s));
    CHECK(cudaStreamSynchronize(s));
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    if (i >= WARM) us.push_back(ms * 1e3f / repeat);
  }
  CHECK(cudaEventDestroy(begin));
  CHECK(cudaEventDestroy(end));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  std::sort(us.begin(), us.end());
  return us[us.size() / 2];
}

#endif
