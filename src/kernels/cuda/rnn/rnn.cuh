/* SPDX-License-Identifier: Apache-2.0 */
/* rnn.cuh - LSTM and GRU over a sequence, by one cluster of blocks for each sequence and direction. A block has some of
 * the hidden units and keeps their weights: those of the state in registers where they fit, those of the inputs in
 * shared memory. After each step it sends its part of the state into the shared memory of all blocks, where the
 * words count themselves in: that is all that the next step waits for, and its product with the inputs is made
 * meanwhile. A block that has the whole state knows that all others are done with the one before.
 *
 * A warp has one unit at a time, and a lane every 32nd four of its columns for four sums: an LSTM's gates i, o, f, c;
 * of a GRU z, r and the candidate's two, with the inputs and with the state. States and sums are f32; weights are
 * packed as f32, [unit][128 columns][sum][lane][4] (backend/cuda/rnn/recurrent.c). Source: ONNX LSTM, GRU. */
#include "kernels/cuda/cluster.cuh"
#include "kernels/cuda/half.cuh"
#include "kernels/cuda/args.h"

enum { RNN_RING = 4 }; /* inputs of so many steps */

/* ---- a unit ---- */

__device__ __forceinline__ float4 read_four(const float *from) { return *(const float4 *)from; }
__device__ __forceinline__ float4 read_four(const f16 *from) {
  const uint2 v = *(const uint2 *)from;
  const float2 a = wide_two<f16>(v.x), b = wide_two<f16>(v.y);
  return make_float4(a.x, a.y, b.x, b.y);
}
__device__ __forceinline__ float4 read_four(const bf16 *from) {
  const uint2 v = *(const uint2 *)from;
  const float2 a = wide_two<bf16>(v.x), b = wide_two<bf16>(v.y);
  return make_float4(a.x, a.y, b.x, b.y);
}
__device__ __forceinline__ float dot_four(float sum, float4 a, float4 b) {
  return fmaf(a.w, b.w, fmaf(a.z, b.z, fmaf(a.y, b.y, fmaf(a.x, b.x, sum))));
}
/* A lane gets the whole warp's sum of one of `count` values: of 4, lane 8 g + anything has value g; of 16, lane 2 g. In
 * each step two lanes share what is left of the values, or, once it is one, add it. */
template <int count, int left = count / 2, int step = 16>
__device__ __forceinline__ float sum_of_lane(float (&value)[count], int lane) {
  const bool high = lane & step;
  if constexpr (step == 0) {
    return value[0];
  } else if constexpr (left == 0) {
    value[0] += __shfl_xor_sync(0xffffffffu, value[0], step);
    return sum_of_lane<count, 0, step / 2>(value, lane);
  } else {
#pragma unroll
    for (int i = 0; i < left; ++i) {
      const float given = __shfl_xor_sync(0xffffffffu, high ? value[i] : value[left + i], step);
      value[i] = (high ? value[left + i] : value[i]) + given;
    }
    return sum_of_lane<count, left / 2, step / 2>(value, lane);
  }
}
__device__ __forceinline__ float squash(float x) { return __fdividef(1, 1 + __expf(-x)); }
__device__ __forceinline__ float squash_both(float x) { return __fdividef(2, 1 + __expf(-2 * x)) - 1; }

/* The unit's next state in all lanes of a sequence, each of which has the sum of a gate; `rows` sequences a warp. */
template <bool is_lstm, int rows> struct next_state {
  static const int lanes = 32 / rows, each = lanes / 4; /* of a sequence, of a gate */
  __device__ __forceinline__ static float of_gate(float v, int gate) {
    return __shfl_sync(0xffffffffu, v, gate * each, lanes);
  }
  __device__ __forceinline__ static float of(float v, int lane, float *c, float before) {
    const int gate = lane % lanes / each;
    if (is_lstm) {
      const float squashed = squash(gate == 3 ? 2 * v : v), opened = gate == 3 ? 2 * squashed - 1 : squashed;
      *c = of_gate(opened, 2) * *c + of_gate(opened, 0) * of_gate(opened, 3);
      return of_gate(opened, 1) * squash_both(*c);
    }
    const float opened = squash(v), z = of_gate(opened, 0);
    const float candidate = squash_both(of_gate(v, 2) + of_gate(opened, 1) * of_gate(v, 3));
    return (1 - z) * candidate + z * before;
  }
};

/* held > 0: a warp has one unit, whose weights of the state stay in registers, `held` groups of 128 columns at most;
 * kept > 0: those of the inputs, too. A cluster has `rows` sequences, 1 or 4; behind the last one all is zeros. */
template <typename T, bool is_lstm, int held, int kept, int warps, int rows> struct recurrence {
  static const int threads = warps * 32;
  typedef next_state<is_lstm, rows> next;
  const hn_cuda_rnn &a;
  const T *x;
  float *state, *biases, *hiddens, *cells, *own_w, *own_r;
  T *inputs;
  unsigned barriers; /* two, of eight bytes */
  const float *r_from, *w_from;
  int lane, warp, batch, direction, first, units, h_pitch, x_pitch;
  bool backwards;
  float4 r_held[held > 0 ? held : 1][4], w_held[kept > 0 ? kept : 1][4];

  __device__ __forceinline__ int time_of(int step) const { return backwards ? a.time - 1 - step : step; }

  __device__ __forceinline__ recurrence(const hn_cuda_rnn &args, const T *x_, const float *packed, unsigned char *room)
      : a(args), x(x_) {
    const int rank = blockIdx.x % a.blocks, cluster = blockIdx.x / a.blocks, clusters = (a.batch + rows - 1) / rows;
    lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    batch = cluster % clusters * rows, direction = cluster / clusters;
    first = rank * a.units, units = max(0, min(a.units, a.hidden - first));
    backwards = a.is_reverse || direction == 1;
    h_pitch = a.h_groups * 128, x_pitch = a.x_groups * 128;
    barriers = shared_at(room);
    state = (float *)(room + 16);
    biases = state + 2 * rows * h_pitch;
    hiddens = biases + 4 * a.units;
    cells = hiddens + 2 * rows * a.units;
    own_w = cells + rows * a.units;
    own_r = own_w + (a.keeps_w ? a.units * a.x_groups * 512 : 0);
    inputs = (T *)(own_r + (a.keeps_r ? a.units * a.h_groups * 512 : 0));
    packed += (size_t)direction * a.direction_floats;
    r_from = packed + (size_t)first * a.h_groups * 512;
    w_from = packed + a.w_at + (size_t)first * a.x_groups * 512;
    read_weights(packed + a.bias_at + first * 4);
  }

  __device__ __forceinline__ float4 four_of(const float *from, int unit, int groups, int j, int sum) const {
    return *(const float4 *)(from + (((size_t)(unit * groups + j) * 4 + sum) * 32 + lane) * 4);
  }

  __device__ __forceinline__ static const float *copied(float *to, const float *from, int count) {
    for (int i = threadIdx.x * 4; i < count; i += threads * 4) *(float4 *)(to + i) = *(const float4 *)(from + i);
    return to;
  }

  __device__ __forceinline__ void read_weights(const float *bias) {
    const bool works = warp < units;
#pragma unroll
    for (int j = 0; j < held; ++j)
#pragma unroll
      for (int g = 0; g < 4; ++g)
        r_held[j][g] = works && j < a.h_groups ? four_of(r_from, warp, a.h_groups, j, g) : make_float4(0, 0, 0, 0);
#pragma unroll
    for (int j = 0; j < kept; ++j)
#pragma unroll
      for (int g = 0; g < 4; ++g)
        w_held[j][g] = works && j < a.x_groups ? four_of(w_from, warp, a.x_groups, j, g) : make_float4(0, 0, 0, 0);
    if (a.keeps_w) w_from = copied(own_w, w_from, units * a.x_groups * 512);
    if (held == 0 && a.keeps_r) r_from = copied(own_r, r_from, units * a.h_groups * 512);
    for (int i = threadIdx.x; i < units * 4; i += threads) biases[i] = bias[i];
    for (int i = threadIdx.x; i < 2 * rows * h_pitch; i += threads) state[i] = 0;
    for (int i = threadIdx.x; i < 3 * rows * a.units; i += threads) hiddens[i] = 0; /* and cells */
    for (int i = threadIdx.x; i < RNN_RING * rows * x_pitch; i += threads) inputs[i] = narrow<T>(0);
    if (threadIdx.x < 2) open_barrier(barriers + threadIdx.x * 8);
  }

  /* In words of four bytes: rows of halves have an even number of columns. Instructions count here: sixteen warps share
   * the issue slots, so that those without work leave at once. */
  __device__ __forceinline__ void fetch(int step) {
    const int words = (int)(a.input * sizeof(T) / 4);
    for (int r = 0; (int)threadIdx.x < words && r < rows && batch + r < a.batch && step < a.time; ++r) {
      const T *from = x + (size_t)time_of(step) * a.x_step + (size_t)(batch + r) * a.x_batch;
      const unsigned to = shared_at(inputs + (step % RNN_RING * rows + r) * x_pitch);
#pragma unroll 1
      for (int i = threadIdx.x; i < words; i += threads)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to + i * 4), "l"((const unsigned *)from + i));
    }
    copy_commit();
  }

  /* One four of columns of all sequences; weights from registers or from far. */
  template <typename S>
  __device__ __forceinline__ static void add_held(float (&sum)[4 * rows], const float4 (&weights)[4], const S *from,
                                                  int pitch) {
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const float4 with = read_four(from + r * pitch);
#pragma unroll
      for (int g = 0; g < 4; ++g) sum[r * 4 + g] = dot_four(sum[r * 4 + g], weights[g], with);
    }
  }
  template <typename S>
  __device__ __forceinline__ void add_far(float (&sum)[4 * rows], const float *weights, int unit, int groups, int j,
                                          const S *from, int pitch) const {
    float4 with[rows];
#pragma unroll
    for (int r = 0; r < rows; ++r) with[r] = read_four(from + r * pitch);
#pragma unroll
    for (int g = 0; g < 4; ++g) {
      const float4 w = four_of(weights, unit, groups, j, g);
#pragma unroll
      for (int r = 0; r < rows; ++r) sum[r * 4 + g] = dot_four(sum[r * 4 + g], w, with[r]);
    }
  }

  /* The biases count once in a warp. */
  __device__ __forceinline__ void with_inputs(float (&sum)[4 * rows], int step, int unit) const {
    const T *from = inputs + step % RNN_RING * rows * x_pitch + lane * 4;
    const float4 bias = read_four(biases + unit * 4);
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      sum[r * 4] = lane ? 0 : bias.x, sum[r * 4 + 1] = lane ? 0 : bias.y;
      sum[r * 4 + 2] = lane ? 0 : bias.z, sum[r * 4 + 3] = lane ? 0 : bias.w;
    }
    if (kept > 0) {
#pragma unroll
      for (int j = 0; j < kept; ++j)
        if (j < a.x_groups) add_held(sum, w_held[j], from + j * 128, x_pitch);
    } else {
#pragma unroll 1
      for (int j = 0; j < a.x_groups; ++j) add_far(sum, w_from, unit, a.x_groups, j, from + j * 128, x_pitch);
    }
  }

  __device__ __forceinline__ void with_state(float (&sum)[4 * rows], const float *now, int unit) const {
    const float *from = now + lane * 4;
    if (held > 0) {
#pragma unroll
      for (int j = 0; j < held; ++j)
        if (j < a.h_groups) add_held(sum, r_held[j], from + j * 128, h_pitch);
    } else {
#pragma unroll(rows > 1 ? 1 : 2)
      for (int j = 0; j < a.h_groups; ++j) add_far(sum, r_from, unit, a.h_groups, j, from + j * 128, h_pitch);
    }
  }

  __device__ __forceinline__ long long state_at(int row) const {
    return (long long)direction * a.state_direction + (long long)(batch + row) * a.state_batch;
  }

  __device__ __forceinline__ void begin(const T *h0, const T *c0) {
    __syncthreads();
    for (int r = 0; r < rows && batch + r < a.batch; ++r) {
      for (int i = threadIdx.x; h0 && i < a.hidden; i += threads) state[r * h_pitch + i] = wide(h0[state_at(r) + i]);
      for (int i = threadIdx.x; c0 && i < units; i += threads)
        cells[r * a.units + i] = wide(c0[state_at(r) + first + i]);
    }
    fetch(0);
    fetch(1);
    fetch(2);
    copy_wait<0>();
    __syncthreads();
    meet_cluster(); /* all barriers are open */
    let_next_begin();
  }

  /* The block's part of a state to all blocks, four units at once, and to y. */
  __device__ __forceinline__ void spread(int step, const float *own, T *y) {
    const int other = (step + 1) % 2, fours = (units + 3) / 4, shift = __ffs(a.blocks) - 1; /* of two: no divisions */
    for (int i = threadIdx.x; i < rows * fours * a.blocks && step + 1 < a.time; i += threads) {
      const int block = i & (a.blocks - 1), row = (i >> shift) % rows, four = (i >> shift) / rows * 4;
      send(at_block(shared_at(state + (other * rows + row) * h_pitch + first + four), block),
           read_four(own + row * a.units + four), at_block(barriers + other * 8, block));
    }
    const int last = threads - 1 - (int)threadIdx.x; /* other warps than those that send */
    if (!a.wants_y || last >= units) return;
    y += (size_t)time_of(step) * a.y_step + (size_t)direction * a.y_direction + first;
    for (int r = 0; r < rows && batch + r < a.batch; ++r)
      for (int i = last; i < units; i += threads)
        y[(size_t)(batch + r) * a.y_batch + i] = narrow<T>(own[r * a.units + i]);
  }

  __device__ __forceinline__ void run(const T *h0, const T *c0, T *y, T *y_h, T *y_c) {
    begin(h0, c0);
    const bool works = held > 0 && warp < units;
    const int row = lane / next::lanes;
    float sum[4 * rows], c = works ? cells[row * a.units + warp] : 0;
    if (works) with_inputs(sum, 0, warp);
    for (int step = 0; step < a.time; ++step) {
      const float *now = state + step % 2 * rows * h_pitch;
      float *own = hiddens + step % 2 * rows * a.units; /* two: the one before may still be on its way */
      if (threadIdx.x == 0) expect(barriers + (step + 1) % 2 * 8, rows * ((a.hidden + 3) / 4) * 16);
      if (step > 0) await(barriers + step % 2 * 8, (step - 1) / 2 % 2);
      for (int unit = warp; unit < units; unit += warps) {
        if (held == 0) with_inputs(sum, step, unit), c = cells[row * a.units + unit];
        with_state(sum, now, unit);
        const float h = next::of(sum_of_lane<4 * rows>(sum, lane), lane, &c, now[row * h_pitch + first + unit]);
        if (lane % next::lanes == 0) own[row * a.units + unit] = h, cells[row * a.units + unit] = c;
      }
      copy_wait<0>(); /* the inputs of step + 2; those of step + 1 are everybody's then, and the block's units */
      __syncthreads();
      spread(step, own, y);
      fetch(step + 3);
      if (works && step + 1 < a.time) with_inputs(sum, step + 1, warp);
    }
    const float *last = hiddens + (a.time - 1) % 2 * rows * a.units;
    for (int r = 0; r < rows && batch + r < a.batch; ++r)
      for (int i = threadIdx.x; i < units; i += threads) {
        if (y_h) y_h[state_at(r) + first + i] = narrow<T>(last[r * a.units + i]);
        if (y_c) y_c[state_at(r) + first + i] = narrow<T>(cells[r * a.units + i]);
      }
  }
};

template <typename T, bool is_lstm, int held, int kept, int warps, int rows>
__device__ __forceinline__ void recur(const hn_cuda_rnn &a, const T *x, const float *packed, const T *h0, const T *c0,
                                      T *y, T *y_h, T *y_c) {
  extern __shared__ __align__(16) unsigned char room[];
  recurrence<T, is_lstm, held, kept, warps, rows> r(a, x, packed, room);
  wait_for_previous();
  r.run(h0, c0, y, y_h, y_c);
}
