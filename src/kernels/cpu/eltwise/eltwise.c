/* SPDX-License-Identifier: Apache-2.0 */
/* eltwise.c - the interpreter's body.
 *
 * A block is run directly on the tensors' memory where it is one piece of one row of reals in whole vectors, and
 * otherwise on staged copies, which are reals; short rows are staged several at a time, so that decoding stays cheap
 * for them too. */
/* isa: c avx2 avx512 */
/* held: f32 bf16 f16 f64 */
#include "kernels/cpu/eltwise/eltwise.h"
#include "kernels/cpu/held.inc.h"
#include "kernels/cpu/vecmath_arc.inc.h"

enum { BLOCK = HN_ELTWISE_BLOCK, REGISTERS = HN_ELTWISE_REGISTERS };

/* Where a register's current value lies. A value that is the same everywhere is one vector with step 0. */
typedef struct {
  const real *at;
  int64_t step; /* HN_LANES or 0 */
} operand;

typedef struct {
  operand in[HN_ELTWISE_INPUTS];
  real *out[HN_ELTWISE_OUTPUTS];
  int64_t count; /* elements, a multiple of HN_LANES */
} block;

typedef struct {
  _Alignas(64) real value[REGISTERS][BLOCK];
  _Alignas(64) real same[REGISTERS][HN_LANES];
  _Alignas(64) real zero[HN_LANES];
  _Alignas(64) real in[HN_ELTWISE_INPUTS][BLOCK + HN_LANES];
  _Alignas(64) real in_same[HN_ELTWISE_INPUTS][HN_LANES];
  _Alignas(64) real out[HN_ELTWISE_OUTPUTS][BLOCK];
  operand start[REGISTERS];                /* zero */
  const held *repeated[HN_ELTWISE_INPUTS]; /* what in[] has a whole block of, again and again */
} bank;

/* The place among the outer dimensions, and what it means for each tensor. */
typedef struct {
  int64_t index[HN_ELTWISE_OUTER_RANK];
  int64_t in[HN_ELTWISE_INPUTS], out[HN_ELTWISE_OUTPUTS];
} place;

static void place_set(place *p, const hn_eltwise_args *a, int64_t row) {
  memset(p, 0, sizeof *p);
  for (int32_t d = a->outer_rank - 1; d >= 0; --d) {
    p->index[d] = row % a->outer_dim[d];
    row /= a->outer_dim[d];
    for (int32_t i = 0; i < a->input_count; ++i) p->in[i] += p->index[d] * a->input[i].outer_stride[d];
    for (int32_t i = 0; i < a->output_count; ++i) p->out[i] += p->index[d] * a->output[i].outer_stride[d];
  }
}

static void place_next(place *p, const hn_eltwise_args *a) {
  for (int32_t d = a->outer_rank - 1; d >= 0; --d) {
    const int64_t by = ++p->index[d] < a->outer_dim[d] ? 1 : 1 - a->outer_dim[d];
    for (int32_t i = 0; i < a->input_count; ++i) p->in[i] += by * a->input[i].outer_stride[d];
    for (int32_t i = 0; i < a->output_count; ++i) p->out[i] += by * a->output[i].outer_stride[d];
    if (by == 1) return;
    p->index[d] = 0;
  }
}

HN_INLINE vf truth(vm m) { return v_select(m, v_set(1.0F), v_set(0.0F)); }
HN_INLINE vm is_true(vf a) { return v_ne(a, v_set(0.0F)); }
HN_INLINE vf sign_of(vf a) {
  const vf zero = v_set(0.0F);
  return v_select(v_lt(zero, a), v_set(1.0F), v_select(v_lt(a, zero), v_set(-1.0F), a));
}

#define EACH(result)                                                                                                   \
  for (int64_t i = 0; i < n; i += HN_LANES, pa += sa, pb += sb, pc += sc) v_store(to + i, (result))
#define A v_load(pa)
#define B v_load(pb)
#define C v_load(pc)

/* One arithmetic instruction over a block of n elements. */
static void compute(const hn_eltwise_instruction *ins, const operand *r, real *to, int64_t n) {
  const real *pa = r[ins->a].at, *pb = r[ins->b].at, *pc = r[ins->c].at;
  const int64_t sa = r[ins->a].step, sb = r[ins->b].step, sc = r[ins->c].step;
  const vf imm = v_set((real)ins->imm);
  switch (ins->op) {
  case HN_ELTWISE_ADD: EACH(A + B); break;
  case HN_ELTWISE_SUB: EACH(A - B); break;
  case HN_ELTWISE_MUL: EACH(A * B); break;
  case HN_ELTWISE_DIV: EACH(A / B); break;
  case HN_ELTWISE_MIN: EACH(v_min_nan(A, B)); break;
  case HN_ELTWISE_MAX: EACH(v_max_nan(A, B)); break;
  case HN_ELTWISE_POW: EACH(v_pow(A, B)); break;
  case HN_ELTWISE_FMOD: EACH(v_fmod(A, B)); break;
  case HN_ELTWISE_FMA: EACH(A * B + C); break;
  case HN_ELTWISE_NEG: EACH(v_negate(A)); break;
  case HN_ELTWISE_ABS: EACH(v_abs(A)); break;
  case HN_ELTWISE_SIGN: EACH(sign_of(A)); break;
  case HN_ELTWISE_SQRT: EACH(v_sqrt(A)); break;
  case HN_ELTWISE_RECIPROCAL: EACH(v_set(1.0F) / A); break;
  case HN_ELTWISE_EXP: EACH(v_exp(A)); break;
  case HN_ELTWISE_EXPM1: EACH(v_expm1(A)); break;
  case HN_ELTWISE_LOG: EACH(v_log(A)); break;
  case HN_ELTWISE_LOG1P: EACH(v_log1p(A)); break;
  case HN_ELTWISE_ERF: EACH(v_erf(A)); break;
  case HN_ELTWISE_TANH: EACH(v_tanh(A)); break;
  case HN_ELTWISE_SIGMOID: EACH(v_sigmoid(A)); break;
  case HN_ELTWISE_SIN: EACH(v_sin(A)); break;
  case HN_ELTWISE_COS: EACH(v_cos(A)); break;
  case HN_ELTWISE_TAN: EACH(v_tan(A)); break;
  case HN_ELTWISE_ASIN: EACH(v_asin(A)); break;
  case HN_ELTWISE_ACOS: EACH(v_acos(A)); break;
  case HN_ELTWISE_ATAN: EACH(v_atan(A)); break;
  case HN_ELTWISE_SINH: EACH(v_sinh(A)); break;
  case HN_ELTWISE_COSH: EACH(v_cosh(A)); break;
  case HN_ELTWISE_ASINH: EACH(v_asinh(A)); break;
  case HN_ELTWISE_ACOSH: EACH(v_acosh(A)); break;
  case HN_ELTWISE_ATANH: EACH(v_atanh(A)); break;
  case HN_ELTWISE_FLOOR: EACH(v_floor(A)); break;
  case HN_ELTWISE_CEIL: EACH(v_ceil(A)); break;
  case HN_ELTWISE_ROUND: EACH(v_round(A)); break;
  case HN_ELTWISE_LT: EACH(truth(v_lt(A, B))); break;
  case HN_ELTWISE_LE: EACH(truth(v_le(A, B))); break;
  case HN_ELTWISE_EQ: EACH(truth(v_eq(A, B))); break;
  case HN_ELTWISE_NE: EACH(truth(v_ne(A, B))); break;
  case HN_ELTWISE_GT: EACH(truth(v_lt(B, A))); break;
  case HN_ELTWISE_GE: EACH(truth(v_le(B, A))); break;
  case HN_ELTWISE_NOT: EACH(truth(vm_not(is_true(A)))); break;
  case HN_ELTWISE_AND: EACH(truth(vm_and(is_true(A), is_true(B)))); break;
  case HN_ELTWISE_OR: EACH(truth(vm_or(is_true(A), is_true(B)))); break;
  case HN_ELTWISE_XOR: EACH(truth(v_ne(truth(is_true(A)), truth(is_true(B))))); break;
  case HN_ELTWISE_IS_NAN: EACH(truth(v_ne(A, A))); break;
  case HN_ELTWISE_IS_INF: EACH(truth(v_eq(v_abs(A), v_set(INFINITY)))); break;
  case HN_ELTWISE_SELECT: EACH(v_select(is_true(A), B, C)); break;
  case HN_ELTWISE_RELU: EACH(v_max(v_set(0.0F), A)); break;
  case HN_ELTWISE_LEAKY_RELU: EACH(v_select(v_lt(A, v_set(0.0F)), A * imm, A)); break;
  case HN_ELTWISE_CLIP: EACH(v_min_nan(v_max_nan(A, B), C)); break;
  case HN_ELTWISE_ADD_IMM: EACH(A + imm); break;
  case HN_ELTWISE_MUL_IMM: EACH(A * imm); break;
  case HN_ELTWISE_MIN_IMM: EACH(v_min_nan(A, imm)); break;
  case HN_ELTWISE_MAX_IMM: EACH(v_max_nan(A, imm)); break;
  default: break;
  }
}

static void copy_block(real *to, operand from, int64_t n) {
  for (int64_t i = 0; i < n; i += HN_LANES, from.at += from.step) v_store(to + i, v_load(from.at));
}

static void run_block(const hn_eltwise_args *a, bank *k, const block *b) {
  operand r[REGISTERS];
  memcpy(r, k->start, sizeof r);
  for (int32_t i = 0; i < a->code_count; ++i) {
    const hn_eltwise_instruction *ins = a->code + i;
    switch (ins->op) {
    case HN_ELTWISE_LOAD: r[ins->dst] = b->in[ins->a]; break;
    case HN_ELTWISE_STORE: copy_block(b->out[ins->dst], r[ins->a], b->count); break;
    case HN_ELTWISE_CONST:
      v_store(k->same[ins->dst], v_set((real)ins->imm));
      r[ins->dst] = (operand){k->same[ins->dst], 0};
      break;
    default: {
      const hn_eltwise_instruction *next = ins + 1;
      const int stored = i + 1 < a->code_count && next->op == HN_ELTWISE_STORE && next->a == ins->dst;
      real *to = stored ? b->out[next->dst] : k->value[ins->dst];
      compute(ins, r, to, b->count);
      r[ins->dst] = (operand){to, HN_LANES};
      i += stored;
      break;
    }
    }
  }
}

/* Whether inputs may be read where they lie: a store must not change what a later instruction still reads. */
static int may_run_direct(const hn_eltwise_args *a) {
  for (int32_t i = 0; i + 1 < a->code_count; ++i) {
    if (a->code[i].op != HN_ELTWISE_STORE) continue;
    for (int32_t j = 0; j < a->input_count; ++j)
      if (a->input[j].data == a->output[a->code[i].dst].data) return 0;
  }
  return 1;
}

/* n elements from memory, and to it. */
static void read_run(real *to, const held *from, int64_t n) {
  if (HN_HELD_IS_REAL) {
    memcpy(to, from, (size_t)n * sizeof *to);
    return;
  }
  int64_t i = 0;
  for (; n - i >= HN_LANES; i += HN_LANES) v_store(to + i, h_load(from + i));
  if (i < n) v_store_part(to + i, n - i, h_load_part(from + i, n - i));
}
static void write_run(held *to, const real *from, int64_t n) {
  if (HN_HELD_IS_REAL) {
    memcpy(to, from, (size_t)n * sizeof *to);
    return;
  }
  int64_t i = 0;
  for (; n - i >= HN_LANES; i += HN_LANES) h_store(to + i, v_load(from + i));
  if (i < n) h_store_part(to + i, n - i, v_load_part(from + i, n - i));
}

/* How much of a row one block may hold: a program of one instruction keeps nothing in registers, and decoding it once a
 * row is cheaper than once for each 256 elements. */
static int64_t block_limit(const hn_eltwise_args *a) {
  int32_t arithmetic = 0;
  for (int32_t i = 0; i < a->code_count; ++i) {
    const uint8_t op = a->code[i].op;
    const int is_stored = i + 1 < a->code_count && a->code[i + 1].op == HN_ELTWISE_STORE;
    if (op != HN_ELTWISE_LOAD && op != HN_ELTWISE_STORE && op != HN_ELTWISE_CONST) arithmetic += is_stored ? 1 : 2;
  }
  for (int32_t i = 0; i < a->input_count; ++i)
    if (a->input[i].period && a->input[i].period != HN_LANES) return BLOCK;
  return arithmetic == 1 && HN_HELD_IS_REAL ? INT64_MAX : BLOCK;
}

/* period values again and again; n is a multiple of it. */
static void repeat(real *to, const held *from, int64_t period, int64_t n) {
  const int64_t first = HN_HELD_IS_REAL ? 0 : period;
  if (first) read_run(to, from, period);
  const real *values = HN_HELD_IS_REAL ? (const real *)from : to;
  for (int64_t i = first; i < n; i += period)
    for (int64_t j = 0; j < period; j += 8) memcpy(to + i + j, values + j, 8 * sizeof *to);
}

/* A program that is x * scale or x * scale + shift, perhaps rectified, on halves: a channel's weight, or a batch norm
 * that no convolution took. It goes from memory to memory in registers, with the same arithmetic. */
typedef struct affine {
  int32_t x, scale, shift; /* inputs */
  int is_there, shifts, rectifies;
} affine;

#if HN_HELD_IS_REAL
static affine find_affine(const hn_eltwise_args *a) {
  (void)a;
  return (affine){0};
}
static void run_affine(const hn_eltwise_args *a, const affine *f, const place *p, int64_t first, int64_t n) {
  (void)a, (void)f, (void)p, (void)first, (void)n;
}
#else
static int is_repeated(const hn_eltwise_input *in) { return in->period == HN_HELD_BLOCK; }

static affine find_affine(const hn_eltwise_args *a) {
  int32_t input[REGISTERS] = {0}, i = 0;
  for (; i < a->code_count && a->code[i].op == HN_ELTWISE_LOAD; ++i) input[a->code[i].dst] = a->code[i].a;
  const hn_eltwise_instruction *ins = a->code + i;
  const int32_t left = a->code_count - i;
  const int shifts = ins->op == HN_ELTWISE_FMA, loads = shifts ? 3 : 2;
  if (i != loads || a->input_count != loads || left < 2 || left > 3 || (!shifts && ins->op != HN_ELTWISE_MUL))
    return (affine){0};
  const hn_eltwise_instruction *last = ins + left - 1;
  affine f = {.x = input[ins->a], .scale = input[ins->b], .shifts = shifts, .rectifies = left == 3};
  f.shift = shifts ? input[ins->c] : f.scale;
  if (a->input[f.x].period) f.x = input[ins->b], f.scale = input[ins->a];
  f.is_there = (left == 2 || (ins[1].op == HN_ELTWISE_RELU && ins[1].a == ins->dst)) && last->op == HN_ELTWISE_STORE &&
               last->a == last[-1].dst && !a->input[f.x].period && a->input[f.x].inner_stride == 1 &&
               is_repeated(a->input + f.scale) && (!shifts || is_repeated(a->input + f.shift));
  return f;
}

HN_INLINE void affine_run(held *to, const held *x, const held *scales, const held *shifts, int64_t n, vf low,
                          const int has_shift) {
  enum { VECTORS = HN_HELD_BLOCK / HN_LANES };
  vf scale[VECTORS], shift[VECTORS];
  for (int v = 0; v < VECTORS; ++v) {
    scale[v] = h_load(scales + v * HN_LANES);
    shift[v] = has_shift ? h_load(shifts + v * HN_LANES) : v_set(0.0F);
  }
  for (int64_t i = 0; i < n; i += HN_HELD_BLOCK) {
    HN_UNROLL
    for (int v = 0; v < VECTORS; ++v) {
      const int64_t at = i + v * HN_LANES;
      const vf y = has_shift ? h_load(x + at) * scale[v] + shift[v] : h_load(x + at) * scale[v];
      h_store(to + at, v_max(low, y));
    }
  }
}

static void run_affine(const hn_eltwise_args *a, const affine *f, const place *p, int64_t first, int64_t n) {
  const held *x = (const held *)a->input[f->x].data + p->in[f->x] + first;
  const held *scales = (const held *)a->input[f->scale].data + p->in[f->scale];
  const held *shifts = (const held *)a->input[f->shift].data + p->in[f->shift];
  held *to = (held *)a->output[0].data + p->out[0] + first;
  const vf low = v_set(f->rectifies ? 0.0F : -INFINITY);
  if (f->shifts)
    affine_run(to, x, scales, shifts, n, low, 1);
  else
    affine_run(to, x, scales, shifts, n, low, 0);
}
#endif

static void run_direct(const hn_eltwise_args *a, bank *k, const place *p, int64_t first, int64_t n) {
  block b; /* clearing it would take as long as an instruction */
  b.count = n;
  for (int32_t i = 0; i < a->input_count; ++i) {
    const held *at = (const held *)a->input[i].data + p->in[i];
    if (HN_HELD_IS_REAL && a->input[i].period == HN_LANES) {
      b.in[i] = (operand){(const real *)at, 0};
    } else if (a->input[i].period) {
      if (k->repeated[i] != at) repeat(k->in[i], at, a->input[i].period, BLOCK);
      k->repeated[i] = at;
      b.in[i] = (operand){k->in[i], HN_LANES};
    } else if (a->input[i].inner_stride && !HN_HELD_IS_REAL) {
      read_run(k->in[i], at + first, n);
      b.in[i] = (operand){k->in[i], HN_LANES};
    } else if (a->input[i].inner_stride) {
      b.in[i] = (operand){(const real *)at + first, HN_LANES};
    } else {
      v_store(k->in_same[i], v_set(h_load_one(at)));
      b.in[i] = (operand){k->in_same[i], 0};
    }
  }
  for (int32_t i = 0; i < a->output_count; ++i)
    b.out[i] = HN_HELD_IS_REAL ? (real *)a->output[i].data + p->out[i] + first : k->out[i];
  run_block(a, k, &b);
  for (int32_t i = 0; !HN_HELD_IS_REAL && i < a->output_count; ++i)
    write_run((held *)a->output[i].data + p->out[i] + first, k->out[i], n);
}

/* Whether the rows from p on follow one another without a gap, as one piece of memory. */
static int rows_touch(const hn_eltwise_args *a, const place *p, const int64_t *stride, int64_t rows) {
  const int32_t last = a->outer_rank - 1;
  return rows > 1 && stride[last] == a->inner && p->index[last] + rows <= a->outer_dim[last];
}

static void gather_rows(const hn_eltwise_args *a, const place *p, int32_t input, int64_t rows, int64_t first, int64_t n,
                        real *to) {
  const hn_eltwise_input *in = &a->input[input];
  if (in->inner_stride && !in->period && rows_touch(a, p, in->outer_stride, rows)) {
    read_run(to, (const held *)in->data + p->in[input], rows * n);
    return;
  }
  place here = *p;
  for (int64_t row = 0; row < rows; ++row, to += n) {
    const held *from = (const held *)in->data + here.in[input];
    if (in->period)
      repeat(to, from, in->period, n);
    else if (in->inner_stride)
      read_run(to, from + first, n);
    else
      for (int64_t j = 0; j < n; j += HN_LANES) /* runs into the next row's place, which is written after this one */
        v_store(to + j, v_set(h_load_one(from)));
    if (row + 1 < rows) place_next(&here, a);
  }
}

static void scatter_rows(const hn_eltwise_args *a, const place *p, int32_t output, int64_t rows, int64_t first,
                         int64_t n, const real *from) {
  const hn_eltwise_output *out = &a->output[output];
  if (rows_touch(a, p, out->outer_stride, rows)) {
    write_run((held *)out->data + p->out[output], from, rows * n);
    return;
  }
  place here = *p;
  for (int64_t row = 0; row < rows; ++row, from += n) {
    write_run((held *)out->data + here.out[output] + first, from, n);
    if (row + 1 < rows) place_next(&here, a);
  }
}

/* Elements [first, first + n) of each of `rows` rows, side by side in one block. */
static void run_staged(const hn_eltwise_args *a, bank *k, const place *p, int64_t rows, int64_t first, int64_t n) {
  const int64_t count = rows * n, padded = (count + HN_LANES - 1) / HN_LANES * HN_LANES;
  block b;
  b.count = padded;
  for (int32_t i = 0; i < a->input_count; ++i) {
    gather_rows(a, p, i, rows, first, n, k->in[i]);
    k->repeated[i] = NULL;
    memset(k->in[i] + count, 0, (size_t)(padded - count) * sizeof(real));
    b.in[i] = (operand){k->in[i], HN_LANES};
  }
  for (int32_t i = 0; i < a->output_count; ++i) b.out[i] = k->out[i];
  run_block(a, k, &b);
  for (int32_t i = 0; i < a->output_count; ++i) scatter_rows(a, p, i, rows, first, n, k->out[i]);
}

void HN_HELD_NAME(hn_eltwise)(const hn_eltwise_args *a, int64_t begin, int64_t end) {
  if (begin >= end || a->inner <= 0) return;
  bank k;
  place p;
  v_store(k.zero, v_set(0.0F));
  for (int i = 0; i < REGISTERS; ++i) k.start[i] = (operand){k.zero, 0};
  memset(k.repeated, 0, sizeof k.repeated);
  const int64_t part = a->part > 0 && a->part < a->inner ? a->part : a->inner;
  const int64_t parts = (a->inner + part - 1) / part;
  const int direct = may_run_direct(a);
  const affine f = find_affine(a);
  const int64_t limit = block_limit(a);
  int64_t row_count = 1;
  for (int32_t d = 0; d < a->outer_rank; ++d) row_count *= a->outer_dim[d];
  place_set(&p, a, a->parts_first ? begin % row_count : begin / parts);
  for (int64_t unit = begin; unit < end;) {
    if (parts == 1 && a->inner <= BLOCK / 2) {
      const int64_t fit = BLOCK / a->inner, rows = end - unit < fit ? end - unit : fit;
      run_staged(a, &k, &p, rows, 0, a->inner);
      for (int64_t row = 0; row < rows; ++row) place_next(&p, a);
      unit += rows;
      continue;
    }
    const int64_t first = (a->parts_first ? unit / row_count : unit % parts) * part;
    const int64_t last = first + part < a->inner ? first + part : a->inner;
    int64_t i = first;
    if (f.is_there && direct) {
      run_affine(a, &f, &p, first, last - first);
      i = last;
    }
    for (; direct && last - i >= HN_LANES;) {
      const int64_t n = last - i < limit ? (last - i) / HN_LANES * HN_LANES : limit;
      run_direct(a, &k, &p, i, n);
      i += n;
    }
    for (; i < last; i += BLOCK) run_staged(a, &k, &p, 1, i, last - i < BLOCK ? last - i : BLOCK);
    ++unit;
    if (a->parts_first || unit % parts == 0) place_next(&p, a); /* the last row's next is the first */
  }
}
