/* SPDX-License-Identifier: Apache-2.0 */
/* pieces.cuh - what kernels that NVRTC compiles for one shape are made of: it has none of CUDA's headers, so these are
 * its halves and its instructions. half.cuh has the same for kernels that are compiled beforehand. Source: PTX ISA 9.0.
 */
#ifndef HN_KERNELS_CUDA_REGION_PIECES_CUH
#define HN_KERNELS_CUDA_REGION_PIECES_CUH

#define HN_DEVICE __device__ __forceinline__

/* ---- numbers: two halves a register, the first in the lower half ---- */

struct hn_f16 {
  static HN_DEVICE unsigned two(float a, float b) {
    unsigned r;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a));
    return r;
  }
  static HN_DEVICE unsigned two_above_zero(float a, float b) {
    unsigned r;
    asm("cvt.rn.relu.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a));
    return r;
  }
  static HN_DEVICE unsigned lesser(unsigned a, unsigned b) {
    unsigned r;
    asm("min.NaN.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
  }
  static HN_DEVICE unsigned greater(unsigned a, unsigned b) {
    unsigned r;
    asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
  }
  static HN_DEVICE unsigned least() { return 0xfc00fc00u; } /* minus infinity, twice */
  static HN_DEVICE void wide(unsigned v, float &a, float &b) {
    asm("{.reg .b16 lo, hi;\n mov.b32 {lo, hi}, %2;\n cvt.f32.f16 %0, lo;\n cvt.f32.f16 %1, hi;}"
        : "=f"(a), "=f"(b)
        : "r"(v));
  }
  static HN_DEVICE void multiply(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
  /* Sums of one row of a window: products of halves, which the next row's sum gets as floats. */
  struct row {
    unsigned sum[4];
    HN_DEVICE void begin() { sum[0] = sum[1] = sum[2] = sum[3] = 0; }
    HN_DEVICE void add(const uint4 &e, const uint4 &w) {
      const unsigned es[4] = {e.x, e.y, e.z, e.w}, ws[4] = {w.x, w.y, w.z, w.w};
#pragma unroll
      for (int j = 0; j < 4; ++j) asm("fma.rn.f16x2 %0, %1, %2, %0;" : "+r"(sum[j]) : "r"(es[j]), "r"(ws[j]));
    }
    HN_DEVICE void end(float (&s)[8]) const {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        float a, b;
        wide(sum[j], a, b);
        s[2 * j] += a, s[2 * j + 1] += b;
      }
    }
  };
};

struct hn_bf16 {
  static HN_DEVICE unsigned two(float a, float b) {
    unsigned r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a));
    return r;
  }
  static HN_DEVICE unsigned two_above_zero(float a, float b) {
    unsigned r;
    asm("cvt.rn.relu.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a));
    return r;
  }
  static HN_DEVICE unsigned lesser(unsigned a, unsigned b) {
    unsigned r;
    asm("min.NaN.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
  }
  static HN_DEVICE unsigned greater(unsigned a, unsigned b) {
    unsigned r;
    asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
  }
  static HN_DEVICE unsigned least() { return 0xff80ff80u; } /* minus infinity, twice */
  static HN_DEVICE void wide(unsigned v, float &a, float &b) {
    a = __uint_as_float(v << 16), b = __uint_as_float(v & 0xffff0000u);
  }
  static HN_DEVICE void multiply(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
  struct row { /* eight bits are too few for sums */
    float sum[8];
    HN_DEVICE void begin() {
#pragma unroll
      for (int j = 0; j < 8; ++j) sum[j] = 0;
    }
    HN_DEVICE void add(const uint4 &e, const uint4 &w) {
      const unsigned es[4] = {e.x, e.y, e.z, e.w}, ws[4] = {w.x, w.y, w.z, w.w};
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        float a, b, c, d;
        wide(es[j], a, b), wide(ws[j], c, d);
        sum[2 * j] += a * c, sum[2 * j + 1] += b * d;
      }
    }
    HN_DEVICE void end(float (&s)[8]) const {
#pragma unroll
      for (int j = 0; j < 8; ++j) s[j] += sum[j];
    }
  };
};

/* An activation's KIND: bounds are applied after rounding, which gives the same and takes half as long. */
enum { HN_REGION_NO_ACT, HN_REGION_RELU, HN_REGION_RELU_UP_TO, HN_REGION_OTHER_ACT };

template <class N, class A> HN_DEVICE unsigned hn_region_two(float a, float b) {
  if constexpr (A::KIND == HN_REGION_NO_ACT)
    return N::two(a, b);
  else if constexpr (A::KIND == HN_REGION_RELU)
    return N::two_above_zero(a, b);
  else if constexpr (A::KIND == HN_REGION_RELU_UP_TO)
    return N::lesser(N::two_above_zero(a, b), N::two(A::most(), A::most()));
  else
    return N::two(A::of(a), A::of(b));
}

template <class N, class A> HN_DEVICE uint4 hn_region_eight(const float (&s)[8]) {
  return make_uint4(hn_region_two<N, A>(s[0], s[1]), hn_region_two<N, A>(s[2], s[3]), hn_region_two<N, A>(s[4], s[5]),
                    hn_region_two<N, A>(s[6], s[7]));
}

/* ---- instructions ---- */

HN_DEVICE unsigned hn_shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
HN_DEVICE void hn_load_four(unsigned (&r)[4], unsigned from) { /* four 8 x 8 matrices */
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(from));
}
HN_DEVICE void hn_store_four(unsigned to, unsigned a, unsigned b, unsigned c, unsigned d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(to), "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
}
HN_DEVICE void hn_copy_sixteen(unsigned to, const void *from, bool valid) { /* zeros when not valid */
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid ? 16 : 0));
}
HN_DEVICE void hn_copy_eight(unsigned to, const void *from, bool valid) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(from), "r"(valid ? 8 : 0));
}
HN_DEVICE void hn_wait_copies() { asm volatile("cp.async.commit_group;\n cp.async.wait_group 0;" ::: "memory"); }
HN_DEVICE void hn_make_barrier(unsigned at) { asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at) : "memory"); }
HN_DEVICE void hn_fetch(unsigned to, const void *from, int bytes,
                        unsigned barrier) { /* one thread's; waited for at the barrier */
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
}
HN_DEVICE void hn_await(unsigned barrier, int phase) {
  asm volatile("{.reg .pred done;\n"
               "again:\n mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n @!done bra again;}" ::"r"(barrier),
               "r"(phase)
               : "memory");
}
HN_DEVICE void hn_cluster_arrive() { asm volatile("barrier.cluster.arrive.release;" ::: "memory"); }
HN_DEVICE void hn_cluster_wait() { asm volatile("barrier.cluster.wait.acquire;" ::: "memory"); }
HN_DEVICE unsigned hn_shared_of(unsigned at, int rank) { /* the same place in another block of the cluster */
  unsigned r;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(at), "r"(rank));
  return r;
}
HN_DEVICE void hn_push_two(unsigned to, float a, float b) {
  asm volatile("st.shared::cluster.v2.f32 [%0], {%1, %2};" ::"r"(to), "f"(a), "f"(b) : "memory");
}
/* Dependent launch: what the kernel before wrote is read after the wait alone. */
HN_DEVICE void hn_wait_for_previous() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
HN_DEVICE void hn_let_next_begin() { asm volatile("griddepcontrol.launch_dependents;"); }

#endif
