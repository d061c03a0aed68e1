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
#include "kernels/cuda/half.cuh"
#include "kernels/cuda/args.h"

enum { RNN_RING = 4 }; /* inputs of so many steps */

/* ---- the cluster: words that are sent count themselves in at a barrier where they arrive ---- */

#if __CUDA_ARCH__ >= 900
__device__ __forceinline__ void meet_cluster() {
  asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");
}
__device__ __forceinline__ unsigned at_block(unsigned here, int block) {
  unsigned there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(block));
  return there;
}
__device__ __forceinline__ void send(unsigned to, float4 value, unsigned barrier) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(to),
               "r"(__float_as_uint(value.x)), "r"(__float_as_uint(value.y)), "r"(__float_as_uint(value.z)),
               "r"(__float_as_uint(value.w)), "r"(barrier)
               : "memory");
}
__device__ __forceinline__ void open_barrier(unsigned barrier) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" ::"r"(barrier)
               : "memory");
}
__device__ __forceinline__ void expect(unsigned barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void await(unsigned barrier, int parity) {
  asm volatile("{\n.reg .pred there;\nagain:\n"
               "mbarrier.try_wait.parity.shared::cta.b64 there, [%0], %1;\n@!there bra again;\n}" ::"r"(barrier),
               "r"(parity)
               : "memory");
}
#else /* nothing runs there: the rows want sm_90 */
__device__ __forceinline__ void meet_cluster() {}
__device__ __forceinline__ unsigned at_block(unsigned here, int) { return here; }
__device__ __forceinline__ void send(unsigned, float4, unsigned) {}
__device__ __forceinline__ void open_barrier(unsigned) {}
__device__ __forceinline__ void expect(unsigned, int) {}
__device__ __forceinline__ void await(unsigned, int) {}
#endif

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
/* Lane 8 g + anything gets sum g of the whole warp. */
__device__ __forceinline__ float sum_of_lane(const float (&sum)[4], int lane) {
  const bool high = lane & 16, odd = lane & 8;
  float first = high ? sum[2] : sum[0], second = high ? sum[3] : sum[1];
  first += __shfl_xor_sync(0xffffffffu, high ? sum[0] : sum[2], 16);
  second += __shfl_xor_sync(0xffffffffu, high ? sum[1] : sum[3], 16);
  float v = (odd ? second : first) + __shfl_xor_sync(0xffffffffu, odd ? first : second, 8);
  v += __shfl_xor_sync(0xffffffffu, v, 4);
  v += __shfl_xor_sync(0xffffffffu, v, 2);
  return v + __shfl_xor_sync(0xffffffffu, v, 1);
}
__device__ __forceinline__ float squash(float x) { return __fdividef(1, 1 + __expf(-x)); }
__device__ __forceinline__ float squash_both(float x) { return __fdividef(2, 1 + __expf(-2 * x)) - 1; }
__device__ __forceinline__ float of_gate(float v, int gate) { return __shfl_sync(0xffffffffu, v, gate * 8); }

/* The unit's next state, in all lanes, of the sum of the lane's gate. */
template <bool is_lstm> __device__ __forceinline__ float next_state(float v, int gate, float *c, float before) {
  if (is_lstm) {
    const float squashed = squash(gate == 3 ? 2 * v : v), opened = gate == 3 ? 2 * squashed - 1 : squashed;
    *c = of_gate(opened, 2) * *c + of_gate(opened, 0) * of_gate(opened, 3);
    return of_gate(opened, 1) * squash_both(*c);
  }
  const float opened = squash(v), z = of_gate(opened, 0);
  const float candidate = squash_both(of_gate(v, 2) + of_gate(opened, 1) * of_gate(v, 3));
  return (1 - z) * candidate + z * before;
}

/* held > 0: a warp has one unit, whose weights of the state stay in registers, `held` groups of 128 columns at most;
 * kept > 0: those of the inputs, too. */
template <typename T, bool is_lstm, int held, int kept, int warps> struct recurrence {
  static const int threads = warps * 32;
  const hn_cuda_rnn &a;
  const T *x;
  float *state, *biases, *hiddens, *cells, *own_w, *own_r;
  T *inputs;
  unsigned barriers; /* two, of eight bytes */
  const float *r_from, *w_from;
  int lane, warp, batch, direction, first, units;
  bool backwards;
  float4 r_held[held > 0 ? held : 1][4], w_held[kept > 0 ? kept : 1][4];

  __device__ __forceinline__ int time_of(int step) const { return backwards ? a.time - 1 - step : step; }

  __device__ __forceinline__ recurrence(const hn_cuda_rnn &args, const T *x_, const float *packed, unsigned char *room)
      : a(args), x(x_) {
    const int rank = blockIdx.x % a.blocks, sequence = blockIdx.x / a.blocks;
    lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    batch = sequence % a.batch, direction = sequence / a.batch;
    first = rank * a.units, units = max(0, min(a.units, a.hidden - first));
    backwards = a.is_reverse || direction == 1;
    barriers = shared_at(room);
    state = (float *)(room + 16);
    biases = state + 2 * a.h_groups * 128;
    hiddens = biases + 4 * a.units;
    cells = hiddens + 2 * a.units;
    own_w = cells + a.units;
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
    for (int i = threadIdx.x; i < 2 * a.h_groups * 128; i += threads) state[i] = 0;
    for (int i = threadIdx.x; i < 2 * a.units; i += threads) hiddens[i] = 0;
    for (int i = threadIdx.x; i < RNN_RING * a.x_groups * 128; i += threads) inputs[i] = narrow<T>(0);
    if (threadIdx.x < 2) open_barrier(barriers + threadIdx.x * 8);
  }

  /* In words of four bytes: rows of halves have an even number of columns. */
  __device__ __forceinline__ void fetch(int step) {
    if (step < a.time) {
      const T *from = x + (size_t)time_of(step) * a.x_step + (size_t)batch * a.x_batch;
      const unsigned to = shared_at(inputs + step % RNN_RING * a.x_groups * 128);
#pragma unroll 1
      for (int i = threadIdx.x; i < (int)(a.input * sizeof(T) / 4); i += threads)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to + i * 4), "l"((const unsigned *)from + i));
    }
    copy_commit();
  }

  __device__ __forceinline__ static void add_four(float (&sum)[4], const float4 (&weights)[4], float4 with) {
#pragma unroll
    for (int g = 0; g < 4; ++g) sum[g] = dot_four(sum[g], weights[g], with);
  }

  /* The biases count once in a warp. */
  __device__ __forceinline__ void with_inputs(float (&sum)[4], int step, int unit) const {
    const T *from = inputs + step % RNN_RING * a.x_groups * 128 + lane * 4;
    const float4 bias = read_four(biases + unit * 4);
    sum[0] = lane ? 0 : bias.x, sum[1] = lane ? 0 : bias.y, sum[2] = lane ? 0 : bias.z, sum[3] = lane ? 0 : bias.w;
    if (kept > 0) {
#pragma unroll
      for (int j = 0; j < kept; ++j)
        if (j < a.x_groups) add_four(sum, w_held[j], read_four(from + j * 128));
    } else {
#pragma unroll 1
      for (int j = 0; j < a.x_groups; ++j) add_far(sum, w_from, unit, a.x_groups, j, read_four(from + j * 128));
    }
  }

  __device__ __forceinline__ void add_far(float (&sum)[4], const float *from, int unit, int groups, int j,
                                          float4 with) const {
#pragma unroll
    for (int g = 0; g < 4; ++g) sum[g] = dot_four(sum[g], four_of(from, unit, groups, j, g), with);
  }

  __device__ __forceinline__ void with_state(float (&sum)[4], const float *now, int unit) const {
    const float *from = now + lane * 4;
    if (held > 0) {
#pragma unroll
      for (int j = 0; j < held; ++j)
        if (j < a.h_groups) add_four(sum, r_held[j], read_four(from + j * 128));
    } else {
#pragma unroll 2
      for (int j = 0; j < a.h_groups; ++j) add_far(sum, r_from, unit, a.h_groups, j, read_four(from + j * 128));
    }
  }

  __device__ __forceinline__ long long state_at() const {
    return (long long)direction * a.state_direction + (long long)batch * a.state_batch + first;
  }

  __device__ __forceinline__ void begin(const T *h0, const T *c0) {
    __syncthreads();
    for (int i = threadIdx.x; i < a.hidden; i += threads) state[i] = h0 ? wide(h0[state_at() - first + i]) : 0;
    for (int i = threadIdx.x; i < units; i += threads) cells[i] = c0 ? wide(c0[state_at() + i]) : 0;
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
    const int other = (step + 1) % 2, fours = (units + 3) / 4;
    for (int i = threadIdx.x; i < fours * a.blocks && step + 1 < a.time; i += threads) {
      const int four = i / a.blocks * 4, block = i % a.blocks;
      send(at_block(shared_at(state + other * a.h_groups * 128 + first + four), block), read_four(own + four),
           at_block(barriers + other * 8, block));
    }
    for (int i = threads - 1 - threadIdx.x; i < units && a.wants_y; i += threads)
      y[(size_t)time_of(step) * a.y_step + i] = narrow<T>(own[i]);
  }

  __device__ __forceinline__ void run(const T *h0, const T *c0, T *y, T *y_h, T *y_c) {
    begin(h0, c0);
    const bool works = held > 0 && warp < units;
    float sum[4], c = works ? cells[warp] : 0;
    if (works) with_inputs(sum, 0, warp);
    y += (size_t)batch * a.y_batch + (size_t)direction * a.y_direction + first;
    for (int step = 0; step < a.time; ++step) {
      const float *now = state + step % 2 * a.h_groups * 128;
      float *own = hiddens + step % 2 * a.units; /* two: the one before may still be on its way */
      if (threadIdx.x == 0) expect(barriers + (step + 1) % 2 * 8, (a.hidden + 3) / 4 * 16);
      if (step > 0) await(barriers + step % 2 * 8, (step - 1) / 2 % 2);
      for (int unit = warp; unit < units; unit += warps) {
        if (held == 0) with_inputs(sum, step, unit), c = cells[unit];
        with_state(sum, now, unit);
        const float h = next_state<is_lstm>(sum_of_lane(sum, lane), lane / 8, &c, now[first + unit]);
        if (lane == 0) own[unit] = h, cells[unit] = c;
      }
      copy_wait<0>(); /* the inputs of step + 2; those of step + 1 are everybody's then, and the block's units */
      __syncthreads();
      spread(step, own, y);
      fetch(step + 3);
      if (works && step + 1 < a.time) with_inputs(sum, step + 1, warp);
    }
    for (int i = threadIdx.x; i < units; i += threads) {
      if (y_h) y_h[state_at() + i] = narrow<T>(hiddens[(a.time - 1) % 2 * a.units + i]);
      if (y_c) y_c[state_at() + i] = narrow<T>(cells[i]);
    }
  }
};

template <typename T, bool is_lstm, int held, int kept, int warps>
__device__ __forceinline__ void recur(const hn_cuda_rnn &a, const T *x, const float *packed, const T *h0, const T *c0,
                                      T *y, T *y_h, T *y_c) {
  extern __shared__ __align__(16) unsigned char room[];
  recurrence<T, is_lstm, held, kept, warps> r(a, x, packed, room);
  wait_for_previous();
  r.run(h0, c0, y, y_h, y_c);
}
