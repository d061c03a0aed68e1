/* SPDX-License-Identifier: Apache-2.0 */
/* dft.c - Fourier transforms along one axis, a vector's worth of lines at a time. An axis that is known only at run
 * time has a plan for each that it may be. */
#include "backend/cpu/cpu.h"
#include "kernels/cpu/fft/fft.h"
#include "tensor/element.h"
#include <math.h>
#include <string.h>

enum { X, LENGTH, AXIS };
static const int64_t longest = 1 << 22;
static const double ns_per_element = 2;

/* Of one axis. turned: the length after Bluestein's chirp, else the length itself. Tables lie behind the state. */
typedef struct line_plan {
  int64_t length, in_len, out_len, inner, lines, grain;
  int64_t turned;
  bool chirps;
  int64_t table_at, table_floats; /* floats from the state's tables */
  hn_fft fft;
  const float *chirp, *filter; /* of `length` and `turned` complex numbers */
} line_plan;

typedef struct row_kernel {
  int lanes;
  hn_fft_f32_fn *run;
  hn_fft_turn_f32_fn *turn;
} row_kernel;

typedef struct state {
  hn_fft_f32_fn *kernel;
  hn_fft_turn_f32_fn *turn;
  int lanes, rank, axis; /* -1: known at run time */
  int64_t in_parts, out_parts;
  bool inverse, half; /* half: a real result from the first half of a spectrum that mirrors itself */
  int64_t worker_floats, all_floats;
  line_plan plan[HONE_MAX_RANK];
} state;

static bool read_int(const hone_fact *fact, int64_t *out) {
  if (!fact->constant || hn_elems(&fact->constant->type.shape) != 1) return false;
  *out = hn_int(fact->constant, 0);
  return true;
}

/* A power of two in which a convolution of a line with its chirp does not reach around. */
static int64_t convolution_length(int64_t length) {
  int64_t turned = 1;
  while (turned < 2 * length - 1) turned *= 2;
  return turned;
}

static const char *plan_axis(const hone_query *query, state *s, int axis, int64_t length) {
  const hone_shape *x = &query->in[X].type.shape, *y = &query->out[0].type.shape;
  line_plan *p = &s->plan[axis];
  int32_t radix[64];
  *p = (line_plan){.in_len = x->dim[axis], .out_len = y->dim[axis], .inner = 1, .lines = 1};
  p->length = length ? length : s->half ? 2 * (p->in_len - 1) : p->in_len;
  if (p->length < 1 || p->length > longest) return "the transform has no length, or is too long";
  const bool onesided = hn_attr_int(query->attrs, "onesided") != 0;
  if (p->out_len != (onesided && !s->inverse ? p->length / 2 + 1 : p->length)) return "the output has another extent";
  for (int d = 0; d < x->rank - 1; ++d) {
    if (d == axis) continue;
    if (x->dim[d] != y->dim[d]) return "the output has another extent";
    p->lines *= x->dim[d];
    if (d > axis) p->inner *= x->dim[d];
  }
  p->chirps = p->length > 1 && hn_fft_radixes(p->length, radix) == 0;
  p->turned = p->chirps ? convolution_length(p->length) : p->length;
  p->table_floats = hn_fft_table_floats(p->turned) + (p->chirps ? 2 * (p->length + p->turned) : 0);
  p->table_at = s->all_floats;
  s->all_floats += hn_cpu_whole_lines(p->table_floats);
  s->worker_floats = hn_cpu_greater(s->worker_floats, hn_cpu_whole_lines(4 * p->turned * s->lanes));
  const int64_t groups = hn_ceil_div(p->lines, s->lanes);
  p->grain = hn_cpu_grain(groups, (double)groups * (double)(p->turned * s->lanes) * ns_per_element);
  return NULL;
}

/* Everything but the tables' contents. */
static const char *read(const hone_query *query, state *s) {
  const row_kernel *kernel = query->tactic->kernel;
  HN_TRY_REASON(hn_cpu_check(query, 1, 3, 1));
  if (!hn_cpu_is(&query->in[X], HONE_F32, HONE_PLAIN) || !hn_cpu_is(&query->out[0], HONE_F32, HONE_PLAIN))
    return "it is not plain f32";
  const hone_shape *x = &query->in[X].type.shape, *y = &query->out[0].type.shape;
  if (x->rank < 2 || y->rank != x->rank) return "the ranks do not fit together";
  *s = (state){.kernel = kernel->run, .turn = kernel->turn, .lanes = kernel->lanes, .rank = x->rank, .axis = -1};
  s->inverse = hn_attr_int(query->attrs, "inverse") != 0;
  s->half = s->inverse && hn_attr_int(query->attrs, "onesided") != 0;
  s->in_parts = x->dim[x->rank - 1];
  s->out_parts = s->half ? 1 : 2;
  if ((s->in_parts != 1 && s->in_parts != 2) || y->dim[y->rank - 1] != s->out_parts) return "it is not complex";
  int64_t length = 0, axis = hn_attr_int(query->attrs, "default_axis");
  if (hn_cpu_given(query, LENGTH) && (!read_int(&query->in[LENGTH], &length) || length < 1))
    return "its length is not known";
  if (!hn_cpu_given(query, AXIS) || read_int(&query->in[AXIS], &axis)) {
    if (axis < -x->rank || axis >= x->rank - 1 || axis == -1) return "the axis is out of range";
    s->axis = (int)(axis < 0 ? axis + x->rank : axis);
    return plan_axis(query, s, s->axis, length);
  }
  if (query->in[AXIS].type.dtype != HONE_I64 || hn_elems(&query->in[AXIS].type.shape) != 1)
    return "the axis is not an i64";
  for (int d = 0; d < x->rank - 1; ++d) {
    HN_TRY_REASON(plan_axis(query, s, d, length));
  }
  return NULL;
}

enum { TABLES_AT = (sizeof(state) + 63) / 64 * 64 };

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  state asked, *s = memory ? memory : &asked;
  HN_TRY_REASON(read(query, s));
  needs->state = TABLES_AT + (size_t)s->all_floats * sizeof(float);
  needs->scratch = (size_t)(s->worker_floats * hn_cpu_threads(query->facts)) * sizeof(float);
  return NULL;
}

/* e^(sign pi i k^2 / length): k^2 modulo twice the length keeps the angle exact. */
static void chirp_at(const line_plan *p, int64_t k, double sign, float *out) {
  const double angle = acos(-1.0) * (double)(k * k % (2 * p->length)) / (double)p->length * sign;
  out[0] = (float)cos(angle);
  out[1] = (float)sin(angle);
}

/* The chirp's transform, with the convolution's scale, from the kernel itself: lane 0 of a group of portable lanes.
 * work: two groups. */
static void make_filter(const line_plan *p, const float *chirp, float *filter, float *work) {
  enum { LANES = 4 };
  memset(work, 0, (size_t)(4 * p->turned * LANES) * sizeof(float));
  for (int64_t k = 0; k < p->length; ++k)
    for (int part = 0; part < 2; ++part) {
      const float value = part ? -chirp[2 * k + 1] : chirp[2 * k];
      work[(2 * k + part) * LANES] = value;
      if (k > 0) work[(2 * (p->turned - k) + part) * LANES] = value;
    }
  const float *result = hn_fft_f32_c(&p->fft, work, work + 2 * p->turned * LANES);
  const float scale = 1.0F / (float)p->turned; /* a power of two */
  for (int64_t i = 0; i < 2 * p->turned; ++i) filter[i] = result[i * LANES] * scale;
}

static hone_status fill_tables(hone_unit *unit, state *s, line_plan *p, float *tables, hone_diagnostics *diag) {
  float *table = tables + p->table_at;
  const float sign = s->inverse ? 1.0F : -1.0F;
  hn_fft_plan(&p->fft, p->turned, p->chirps ? -1.0F : sign, table);
  if (!p->chirps) return HONE_OK;
  float *chirp = table + hn_fft_table_floats(p->turned), *filter = chirp + 2 * p->length;
  for (int64_t k = 0; k < p->length; ++k) chirp_at(p, k, (double)sign, chirp + 2 * k);
  const size_t bytes = (size_t)(16 * p->turned) * sizeof(float);
  float *work = hn_alloc(&unit->allocator, bytes);
  if (!work) return HN_FAIL_MEMORY(diag);
  make_filter(p, chirp, filter, work);
  hn_free(&unit->allocator, work, bytes);
  p->chirp = chirp;
  p->filter = filter;
  return HONE_OK;
}

static hone_status prepare(hone_unit *unit, const hone_query *query, void *memory, hone_diagnostics *diag) {
  (void)query;
  state *s = memory;
  float *tables = (float *)((char *)memory + TABLES_AT);
  for (int d = 0; d < s->rank - 1; ++d)
    if (s->axis < 0 || s->axis == d) HN_TRY(fill_tables(unit, s, &s->plan[d], tables, diag));
  return HONE_OK;
}

typedef struct job {
  const state *state;
  const line_plan *plan;
  const float *x;
  float *y, *scratch;
} job;

/* Elements of `count` lines from `line` on into lanes; what a line lacks, and lines beyond the last, are zeros. */
static void load(const job *j, int64_t line, int count, float *to) {
  const state *s = j->state;
  const line_plan *p = j->plan;
  const int64_t bins = s->half ? p->length / 2 + 1 : p->length, known = hn_cpu_lesser(p->in_len, bins);
  const int lanes = s->lanes;
  memset(to, 0, (size_t)(2 * p->turned * lanes) * sizeof(float));
  for (int lane = 0; lane < count; ++lane) {
    const int64_t at = line + lane, step = p->inner * s->in_parts;
    const float *x = j->x + (at / p->inner * p->in_len * p->inner + at % p->inner) * s->in_parts;
    for (int64_t i = 0; i < known; ++i, x += step) {
      to[2 * i * lanes + lane] = x[0];
      if (s->in_parts == 2) to[(2 * i + 1) * lanes + lane] = x[1];
      if (!s->half || i == 0 || 2 * i == p->length) continue;
      to[2 * (p->length - i) * lanes + lane] = x[0];
      if (s->in_parts == 2) to[(2 * (p->length - i) + 1) * lanes + lane] = -x[1];
    }
  }
}

/* A real line's spectrum is its own mirror image, and real where it meets itself: said so exactly, not to a rounding.
 */
static void store(const job *j, int64_t line, int count, const float *from) {
  const state *s = j->state;
  const line_plan *p = j->plan;
  const bool mirrors = s->in_parts == 1 && s->out_parts == 2;
  const float scale = s->inverse ? (float)(1.0 / (double)p->length) : 1.0F;
  for (int lane = 0; lane < count; ++lane) {
    const int64_t at = line + lane, step = p->inner * s->out_parts;
    float *y = j->y + (at / p->inner * p->out_len * p->inner + at % p->inner) * s->out_parts;
    for (int64_t k = 0; k < p->out_len; ++k, y += step) {
      const bool is_image = mirrors && 2 * k > p->length;
      const float *element = from + 2 * (is_image ? p->length - k : k) * s->lanes + lane;
      y[0] = element[0] * scale;
      if (s->out_parts == 2) y[1] = (is_image ? -element[s->lanes] : element[s->lanes]) * scale;
      if (mirrors && (k == 0 || 2 * k == p->length)) y[1] = 0;
    }
  }
}

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  const job *j = arg;
  const state *s = j->state;
  const line_plan *p = j->plan;
  float *a = j->scratch + worker * s->worker_floats, *b = a + 2 * p->turned * s->lanes;
  for (int64_t group = begin; group < end; ++group) {
    const int64_t line = group * s->lanes;
    const int count = (int)hn_cpu_lesser(s->lanes, p->lines - line);
    load(j, line, count, a);
    if (p->chirps) s->turn(a, p->chirp, p->length, 0);
    float *result = s->kernel(&p->fft, a, b);
    if (p->chirps) {
      float *other = result == a ? b : a;
      s->turn(result, p->filter, p->turned, 1);
      float *back = s->kernel(&p->fft, result, other);
      for (int64_t i = 0; i < p->length * s->lanes; ++i) { /* the second swap */
        float *re = back + i / s->lanes * 2 * s->lanes + i % s->lanes, kept = re[0];
        re[0] = re[s->lanes];
        re[s->lanes] = kept;
      }
      s->turn(back, p->chirp, p->length, 0);
      result = back;
    }
    store(j, line, count, result);
  }
}

static hone_status launch(void *memory, hone_stream *stream, const hone_launch *l) {
  const state *s = memory;
  int64_t axis = s->axis;
  if (axis < 0) {
    axis = ((const int64_t *)l->in[AXIS].data)[0];
    if (axis < -s->rank || axis >= s->rank - 1 || axis == -1)
      return HN_FAIL(l->diagnostics, HONE_MALFORMED, "axis %lld, expected one of [%d, %d] but not the last",
                     (long long)axis, -s->rank, s->rank - 2);
    if (axis < 0) axis += s->rank;
  }
  job j = {.state = s, .plan = &s->plan[axis], .x = l->in[X].data, .y = l->out[0].data, .scratch = l->scratch};
  hn_pool_run(hn_stream_pool(stream), hn_ceil_div(j.plan->lines, s->lanes), j.plan->grain, body, &j);
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_dft[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.dft.f32.avx512", .version = 1, .op = "dft", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .prepare = prepare, .launch = launch,
     .kernel = &(const row_kernel){16, hn_fft_f32_avx512, hn_fft_turn_f32_avx512}},
    {sizeof(hone_tactic), .name = "cpu.dft.f32.avx2", .version = 1, .op = "dft", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .prepare = prepare, .launch = launch,
     .kernel = &(const row_kernel){8, hn_fft_f32_avx2, hn_fft_turn_f32_avx2}},
#endif
    {sizeof(hone_tactic), .name = "cpu.dft.f32.c", .version = 1, .op = "dft", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .prepare = prepare, .launch = launch,
     .kernel = &(const row_kernel){4, hn_fft_f32_c, hn_fft_turn_f32_c}},
    {0}};
