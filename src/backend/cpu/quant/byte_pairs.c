/* SPDX-License-Identifier: Apache-2.0 */
/* byte_pairs.c - qlinear_add and qlinear_mul: plain tensors that broadcast; blocked ones of one shape, or one of them a
 * number for each channel. */
#include "backend/cpu/quant/quant.h"
#include "kernels/cpu/quant/pointwise.h"

enum { A, A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, Y_SCALE, Y_ZERO, PORTS };

typedef struct row_kernel {
  hn_byte_pair_fn *run;
  bool is_sum;
} row_kernel;

typedef struct pairing {
  hn_byte_pair_fn *kernel;
  bool is_sum;
  hn_byte_pair args;
  int64_t units, grain;
} pairing;

static const double ns_per_element = 0.3;

static const char *check(const hone_query *query) {
  HN_TRY_REASON(hn_cpu_check(query, PORTS, PORTS, 1));
  for (int i = A; i <= Y_SCALE; i += B) {
    const int scale = i == Y_SCALE ? i : i + 1;
    const hone_type *bytes = i == Y_SCALE ? &query->out[0].type : &query->in[i].type;
    if (!hn_cpu_is_byte(bytes->dtype)) return "it is not of bytes";
    HN_TRY_REASON(hn_cpu_check_scale(query, scale, bytes->dtype));
  }
  return NULL;
}

/* The strides of an operand's dimensions that are as if y's were its own. */
static bool is_dense(int64_t stride, int64_t inner, int64_t step) { return stride == (step ? inner : 0); }

static const char *read_plain(const hone_query *query, hn_byte_rows *r) {
  const hone_shape *a = &query->in[A].type.shape, *b = &query->in[B].type.shape, *y = &query->out[0].type.shape;
  int64_t a_stride[HONE_MAX_RANK], b_stride[HONE_MAX_RANK];
  hone_shape joined;
  if (!hn_cpu_broadcast(a, b, &joined) || !hn_shape_equal(&joined, y)) return "the shapes do not fit together";
  hn_broadcast_strides(a, y, a_stride);
  hn_broadcast_strides(b, y, b_stride);
  *r = (hn_byte_rows){.inner = 1, .a_step = 1, .b_step = 1};
  int d = y->rank - 1;
  while (d >= 0 && y->dim[d] == 1) --d;
  if (d >= 0) r->a_step = a_stride[d] != 0, r->b_step = b_stride[d] != 0;
  for (; d >= 0; --d) {
    const bool joins = is_dense(a_stride[d], r->inner, r->a_step) && is_dense(b_stride[d], r->inner, r->b_step);
    if (!joins && y->dim[d] != 1) break;
    r->inner *= y->dim[d];
  }
  if (d + 1 > HN_POINTWISE_RANK) return "it has too many dimensions";
  r->rank = d + 1;
  for (; d >= 0; --d) r->dim[d] = y->dim[d], r->a_stride[d] = a_stride[d], r->b_stride[d] = b_stride[d];
  return NULL;
}

/* Strides of images, blocks and pixels. */
static bool read_operand(const hone_type *x, const hone_type *y, int64_t *stride) {
  const hn_cpu_rows rows = hn_cpu_rows_along(&y->shape, 1);
  const int64_t blocks = hn_ceil_div(rows.axis, HN_CPU_BYTES_BLOCK);
  if (!hn_reads_as(x, HONE_NCHW64C) || x->shape.rank != y->shape.rank) return false;
  const bool is_whole = hn_shape_equal(&x->shape, &y->shape);
  const int64_t pixels = is_whole ? rows.inner : 1;
  if (x->shape.dim[1] != rows.axis || (x->shape.dim[0] != y->shape.dim[0] && x->shape.dim[0] != 1)) return false;
  for (int i = 2; !is_whole && i < x->shape.rank; ++i)
    if (x->shape.dim[i] != 1) return false;
  stride[0] = x->shape.dim[0] == y->shape.dim[0] ? blocks * pixels * HN_CPU_BYTES_BLOCK : 0;
  stride[1] = pixels * HN_CPU_BYTES_BLOCK;
  stride[2] = is_whole ? HN_CPU_BYTES_BLOCK : 0;
  return true;
}

static const char *read_blocked(const hone_query *query, hn_byte_rows *r) {
  const hone_type *a = &query->in[A].type, *b = &query->in[B].type, *y = &query->out[0].type;
  if (y->shape.rank < 3 || !hn_reads_as(y, HONE_NCHW64C)) return "the formats differ";
  const hn_cpu_rows rows = hn_cpu_rows_along(&y->shape, 1);
  *r = (hn_byte_rows){.rank = 3, .inner = HN_CPU_BYTES_BLOCK, .a_step = 1, .b_step = 1};
  if (!read_operand(a, y, r->a_stride) || !read_operand(b, y, r->b_stride)) return "the shapes do not fit together";
  r->dim[0] = rows.outer, r->dim[1] = hn_ceil_div(rows.axis, HN_CPU_BYTES_BLOCK), r->dim[2] = rows.inner;
  r->tail = rows.axis % HN_CPU_BYTES_BLOCK;
  r->blocks = r->dim[1], r->pixels = r->dim[2];
  if (r->tail || !hn_shape_equal(&a->shape, &b->shape)) return NULL;
  r->rank = 0; /* one row */
  r->inner = hn_cpu_stored(y);
  return NULL;
}

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  const row_kernel *row = query->tactic->kernel;
  HN_TRY_REASON(check(query));
  const hone_type *a = &query->in[A].type, *b = &query->in[B].type, *y = &query->out[0].type;
  pairing p = {.kernel = row->run, .is_sum = row->is_sum};
  const bool is_plain = a->format == HONE_PLAIN && b->format == HONE_PLAIN && y->format == HONE_PLAIN;
  HN_TRY_REASON(is_plain ? read_plain(query, &p.args.rows) : read_blocked(query, &p.args.rows));
  hn_cpu_byte_bounds(query, &p.args.low, &p.args.high);
  p.args.a_flip = hn_cpu_flip(a->dtype), p.args.b_flip = hn_cpu_flip(b->dtype), p.args.y_flip = hn_cpu_flip(y->dtype);
  p.units = hn_byte_rows_units(&p.args.rows);
  p.grain = hn_cpu_grain(p.units, (double)hn_cpu_stored(y) * ns_per_element);
  needs->state = sizeof p;
  if (memory) *(pairing *)memory = p;
  return NULL;
}

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const pairing *p = arg;
  p->kernel(&p->args, begin, end);
}

/* Each step is rounded to f32, as the operators say. */
static hone_status launch(void *state, hone_stream *stream, const hone_launch *launch) {
  pairing p = *(const pairing *)state;
  const float a_scale = *(const float *)launch->in[A_SCALE].data, b_scale = *(const float *)launch->in[B_SCALE].data;
  const float y_scale = *(const float *)launch->in[Y_SCALE].data;
  const float y_zero = (float)hn_cpu_byte(&launch->in[Y_ZERO]);
  hn_byte_pair *args = &p.args;
  args->a = launch->in[A].data, args->b = launch->in[B].data, args->y = launch->out[0].data;
  args->a_zero = (float)hn_cpu_byte(&launch->in[A_ZERO]), args->b_zero = (float)hn_cpu_byte(&launch->in[B_ZERO]);
  if (p.is_sum) {
    args->a_ratio = a_scale / y_scale, args->b_ratio = b_scale / y_scale;
    args->shift = y_zero - (args->a_ratio * args->a_zero + args->b_ratio * args->b_zero);
  } else {
    args->a_ratio = a_scale * b_scale / y_scale;
    args->shift = y_zero;
  }
  hn_pool_run(hn_stream_pool(stream), p.units, p.grain, body, &p);
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_byte_pairs[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.qlinear_add.bytes.avx512", .version = 2, .op = "qlinear_add",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_IN_PLACE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW64C, HONE_NCHW64C}}, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){hn_byte_add_avx512, true}},
    {sizeof(hone_tactic), .name = "cpu.qlinear_mul.bytes.avx512", .version = 1, .op = "qlinear_mul",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_IN_PLACE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW64C, HONE_NCHW64C}}, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){hn_byte_mul_avx512, false}},
    {sizeof(hone_tactic), .name = "cpu.qlinear_add.bytes.avx2", .version = 2, .op = "qlinear_add", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_IN_PLACE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW64C, HONE_NCHW64C}}, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){hn_byte_add_avx2, true}},
    {sizeof(hone_tactic), .name = "cpu.qlinear_mul.bytes.avx2", .version = 1, .op = "qlinear_mul", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_IN_PLACE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW64C, HONE_NCHW64C}}, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){hn_byte_mul_avx2, false}},
#endif
    {sizeof(hone_tactic), .name = "cpu.qlinear_add.bytes.c", .version = 1, .op = "qlinear_add", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_IN_PLACE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW64C, HONE_NCHW64C}}, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){hn_byte_add_c, true}},
    {sizeof(hone_tactic), .name = "cpu.qlinear_mul.bytes.c", .version = 1, .op = "qlinear_mul", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_IN_PLACE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW64C, HONE_NCHW64C}}, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){hn_byte_mul_c, false}},
    {0}};
