/* SPDX-License-Identifier: Apache-2.0 */
/* rows_half.cuh - norms and softmax over rows held in f16 or bf16, reckoned in f32: a warp a row, or a block of eight
 * warps where rows are long. Rows of whole sixteen bytes that fit stay in registers, so that they are read once; others
 * are read again for each pass. Scale and bias are f32, and read before the wait where they are weights. */
#include "kernels/cuda/half.cuh"
#include "kernels/cuda/args.h"

enum { ROWS_HELD = 4 }; /* times eight values of a thread */

template <int warps> struct row_team {
  static const int threads = warps * 32;

  template <typename how> __device__ __forceinline__ static float join(float value, how of) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) value = of(value, __shfl_xor_sync(0xffffffffu, value, step));
    if (warps == 1) return value;
    __shared__ float parts[warps];
    __syncthreads(); /* parts may still be read from the call before */
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
    __syncthreads();
    value = parts[0];
#pragma unroll
    for (int i = 1; i < warps; ++i) value = of(value, parts[i]);
    return value;
  }
  __device__ __forceinline__ static float sum(float value) {
    return join(value, [](float a, float b) { return a + b; });
  }
  __device__ __forceinline__ static float highest(float value) {
    return join(value, [](float a, float b) { return a != a || a > b ? a : b; });
  }
};

__device__ __forceinline__ void read_eight(float (&to)[8], const float *from) {
  const float4 low = *(const float4 *)from, high = *(const float4 *)(from + 4);
  to[0] = low.x, to[1] = low.y, to[2] = low.z, to[3] = low.w;
  to[4] = high.x, to[5] = high.y, to[6] = high.z, to[7] = high.w;
}

/* A row in registers: vector v of thread t is values 8 (t + v threads) on. */
template <typename T, int warps> struct held_row {
  float value[ROWS_HELD][8];

  __device__ __forceinline__ static bool fits(int length) {
    return length % 8 == 0 && length <= ROWS_HELD * 8 * row_team<warps>::threads;
  }
  __device__ __forceinline__ static int place(int thread, int v) { return (thread + v * row_team<warps>::threads) * 8; }
  template <typename how> __device__ __forceinline__ void each(int thread, int length, how of) {
#pragma unroll
    for (int v = 0; v < ROWS_HELD; ++v)
      if (place(thread, v) < length)
#pragma unroll
        for (int i = 0; i < 8; ++i) of(value[v][i], v, i);
  }
  __device__ __forceinline__ void read(const T *x, int thread, int length) {
    uint4 raw[ROWS_HELD];
#pragma unroll
    for (int v = 0; v < ROWS_HELD; ++v)
      if (place(thread, v) < length) raw[v] = *(const uint4 *)(x + place(thread, v));
#pragma unroll
    for (int v = 0; v < ROWS_HELD; ++v)
      if (place(thread, v) < length) widen_eight<T>(value[v], raw[v]);
  }
  __device__ __forceinline__ void write(T *y, int thread, int length) {
#pragma unroll
    for (int v = 0; v < ROWS_HELD; ++v)
      if (place(thread, v) < length) *(uint4 *)(y + place(thread, v)) = narrow_eight<T>(value[v]);
  }
  /* Two lanes change four values, so that a store writes whole sectors of 32 bytes. */
  __device__ __forceinline__ void write_f32(float *y, int thread, int length) {
    const int odd = thread & 1;
#pragma unroll
    for (int v = 0; v < ROWS_HELD; ++v) {
      const int at = place(thread - odd, v); /* of the even lane's eight, and the odd one's behind them */
      float own[4], other[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        own[i] = odd ? value[v][4 + i] : value[v][i];
        other[i] = __shfl_xor_sync(0xffffffffu, odd ? value[v][i] : value[v][4 + i], 1);
      }
      const float4 mine = make_float4(own[0], own[1], own[2], own[3]);
      const float4 given = make_float4(other[0], other[1], other[2], other[3]);
      if (at < length) *(float4 *)(y + at + odd * 4) = odd ? given : mine;
      if (at + 8 < length) *(float4 *)(y + at + 8 + odd * 4) = odd ? mine : given;
    }
  }
};

/* y: of T, or of f32 where a says so. late: scale and bias are read when they are asked for, so that a thread has few
 * registers. */
template <typename T, bool centred, int warps, bool late = (warps > 1)>
__device__ __forceinline__ void norm(void *y, const T *x, const float *scale, const float *bias,
                                     const hn_cuda_rows &a) {
  typedef row_team<warps> team;
  typedef held_row<T, warps> held;
  const int thread = threadIdx.x % team::threads, n = a.length;
  const unsigned row = blockIdx.x * (blockDim.x / team::threads) + threadIdx.x / team::threads;
  const bool fits = held::fits(n);
  float factor[ROWS_HELD][8], shift[ROWS_HELD][8], mean = 0, square = 0;
  auto read_weights = [&]() {
#pragma unroll
    for (int v = 0; v < ROWS_HELD; ++v)
      if (held::place(thread, v) < n) {
        if (scale) read_eight(factor[v], scale + held::place(thread, v));
        if (bias) read_eight(shift[v], bias + held::place(thread, v));
      }
  };
  if (row >= a.rows) return;
  let_next_begin(); /* all blocks run at once, or wait: who comes next copies weights meanwhile */
  if (!late && fits && a.early) read_weights(); /* few values a thread: registers to spare */
  wait_for_previous();
  x += (size_t)row * n;
  T *const narrow_y = (T *)y + (size_t)row * n;
  float *const wide_y = (float *)y + (size_t)row * n;
  if (!fits) {
    if (centred) {
      for (int i = thread; i < n; i += team::threads) mean += wide(x[i]);
      mean = team::sum(mean) / (float)n;
    }
    for (int i = thread; i < n; i += team::threads) square += (wide(x[i]) - mean) * (wide(x[i]) - mean);
    const float inverse = 1 / sqrtf(team::sum(square) / (float)n + a.epsilon);
    for (int i = thread; i < n; i += team::threads) {
      const float value = (wide(x[i]) - mean) * inverse * (scale ? scale[i] : 1) + (bias ? bias[i] : 0);
      if (a.to_f32)
        wide_y[i] = value;
      else
        narrow_y[i] = narrow<T>(value);
    }
    return;
  }
  held h;
  h.read(x, thread, n);
  if (!late && !a.early) read_weights();
  if (centred) {
    h.each(thread, n, [&](float v, int, int) { mean += v; });
    mean = team::sum(mean) / (float)n;
  }
  h.each(thread, n, [&](float v, int, int) { square += (v - mean) * (v - mean); });
  const float inverse = 1 / sqrtf(team::sum(square) / (float)n + a.epsilon);
#pragma unroll
  for (int v = 0; v < ROWS_HELD; ++v) {
    if (held::place(thread, v) >= n) continue;
    if (late) { /* one vector's at a time */
      if (scale) read_eight(factor[0], scale + held::place(thread, v));
      if (bias) read_eight(shift[0], bias + held::place(thread, v));
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      float &value = h.value[v][i];
      value = (value - mean) * inverse;
      if (scale) value *= factor[late ? 0 : v][i];
      if (bias) value += shift[late ? 0 : v][i];
    }
  }
  if (a.to_f32)
    h.write_f32(wide_y, thread, n);
  else
    h.write(narrow_y, thread, n);
}

template <typename T, bool logarithm, int warps>
__device__ __forceinline__ void softmax(T *y, const T *x, const hn_cuda_rows &a) {
  typedef row_team<warps> team;
  typedef held_row<T, warps> held;
  const int thread = threadIdx.x % team::threads, n = a.length;
  const unsigned row = blockIdx.x * (blockDim.x / team::threads) + threadIdx.x / team::threads;
  float top = -__int_as_float(0x7f800000), sum = 0;
  if (row >= a.rows) return;
  wait_for_previous();
  x += (size_t)row * n;
  y += (size_t)row * n;
  if (!held::fits(n)) {
    for (int i = thread; i < n; i += team::threads) top = fmaxf(top, wide(x[i]));
    top = team::highest(top);
    for (int i = thread; i < n; i += team::threads) sum += expf(wide(x[i]) - top);
    sum = team::sum(sum);
    const float below = logf(sum), inverse = 1 / sum;
    for (int i = thread; i < n; i += team::threads) {
      const float v = wide(x[i]) - top;
      y[i] = narrow<T>(logarithm ? v - below : expf(v) * inverse);
    }
    let_next_begin();
    return;
  }
  held h;
  h.read(x, thread, n);
  h.each(thread, n, [&](float v, int, int) { top = fmaxf(top, v); });
  top = team::highest(top);
  h.each(thread, n, [&](float &v, int, int) {
    const float e = expf(v - top);
    sum += e;
    v = logarithm ? v - top : e;
  });
  sum = team::sum(sum);
  const float below = logf(sum), inverse = 1 / sum;
  let_next_begin();
  h.each(thread, n, [&](float &v, int, int) { v = logarithm ? v - below : v * inverse; });
  h.write(y, thread, n);
}
