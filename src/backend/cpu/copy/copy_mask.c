/* SPDX-License-Identifier: Apache-2.0 */
/* copy_mask.c - copies with zeros or marks in places that indices alone decide: triangles of matrices, diagonals and
 * one-hot rows. */
#include "backend/cpu/copy/copy.h"
#include "tensor/element.h"
#include <string.h>

/* ---- trilu ---- */

typedef struct triangle {
  int64_t rows, columns, lines, grain;
  size_t element_bytes;
  bool upper;
} triangle;

static const char *plan_trilu(const hone_query *query, void *memory, hone_needs *needs) {
  triangle asked = {0}, *t = memory ? memory : &asked;
  needs->state = sizeof *t;
  HN_TRY_REASON(hn_cpu_check(query, 1, 2, 1));
  HN_TRY_REASON(hn_cpu_check_moves(query, false));
  const hone_shape *x = &query->in[0].type.shape;
  if (x->rank < 2 || !hn_shape_equal(x, &query->out[0].type.shape)) return "it is not a stack of matrices";
  if (hn_cpu_given(query, 1) && (query->in[1].type.dtype != HONE_I64 || hn_elems(&query->in[1].type.shape) != 1))
    return "the diagonal is not one i64";
  t->rows = x->dim[x->rank - 2];
  t->columns = x->dim[x->rank - 1];
  t->lines = t->columns > 0 ? hn_elems(x) / t->columns : 0;
  t->element_bytes = (size_t)hn_cpu_element_bytes(query->in[0].type.dtype);
  t->upper = hn_attr_int(query->attrs, "upper") != 0;
  t->grain = hn_cpu_grain(t->lines, 2 * (double)hn_bytes(&query->in[0].type) * HN_CPU_NS_PER_BYTE);
  return NULL;
}

typedef struct triangle_job {
  const triangle *triangle;
  const char *from;
  char *to;
  int64_t diagonal;
} triangle_job;

static int64_t within(int64_t x, int64_t low, int64_t high) { return x < low ? low : x > high ? high : x; }

static void triangle_body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const triangle_job *j = arg;
  const triangle *t = j->triangle;
  const size_t line_bytes = (size_t)t->columns * t->element_bytes;
  for (int64_t line = begin; line < end; ++line) {
    /* kept: columns from `border` on (upper), or up to and with the diagonal's (lower) */
    const int64_t border = within(line % t->rows + j->diagonal + (t->upper ? 0 : 1), 0, t->columns);
    const size_t first = (size_t)border * t->element_bytes;
    const char *from = j->from + (size_t)line * line_bytes;
    char *to = j->to + (size_t)line * line_bytes;
    memset(t->upper ? to : to + first, 0, t->upper ? first : line_bytes - first);
    memcpy(t->upper ? to + first : to, t->upper ? from + first : from, t->upper ? line_bytes - first : first);
  }
}

static hone_status launch_trilu(void *state, hone_stream *stream, const hone_launch *l) {
  const triangle *t = state;
  triangle_job j = {.triangle = t, .from = l->in[0].data, .to = l->out[0].data};
  if (l->in_count > 1 && l->in[1].data) j.diagonal = within(((const int64_t *)l->in[1].data)[0], -t->rows, t->columns);
  hn_pool_run(hn_stream_pool(stream), t->lines, t->grain, triangle_body, &j);
  return HONE_OK;
}

/* ---- eye_like ---- */

typedef struct eye {
  int64_t rows, columns, k, grain;
  size_t element_bytes;
  char one[sizeof(double)];
} eye;

typedef struct eye_job {
  const eye *eye;
  char *to;
} eye_job;

static const char *plan_eye(const hone_query *query, void *memory, hone_needs *needs) {
  eye asked = {0}, *e = memory ? memory : &asked;
  needs->state = sizeof *e;
  HN_TRY_REASON(hn_cpu_check(query, 1, 1, 1));
  const hone_type *y = &query->out[0].type;
  const int bytes = hn_cpu_element_bytes(y->dtype);
  if (!bytes || bytes > (int)sizeof e->one) return "an element is not whole bytes";
  if (y->format != HONE_PLAIN || y->shape.rank != 2) return "the output is not a plain matrix";
  e->rows = y->shape.dim[0];
  e->columns = y->shape.dim[1];
  e->element_bytes = (size_t)bytes;
  e->k = hn_attr_int(query->attrs, "k");
  e->grain = hn_cpu_grain(e->rows, (double)hn_bytes(y) * HN_CPU_NS_PER_BYTE);
  hone_tensor one = {.type = {.dtype = y->dtype}, .data = e->one};
  hn_store_int(&one, 0, 1);
  return NULL;
}

static void eye_body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const eye_job *j = arg;
  const eye *e = j->eye;
  const size_t row_bytes = (size_t)e->columns * e->element_bytes;
  memset(j->to + (size_t)begin * row_bytes, 0, (size_t)(end - begin) * row_bytes);
  for (int64_t row = begin; row < end; ++row) {
    int64_t column; /* k may be any number */
    if (!hn_add_i64(row, e->k, &column) || column < 0 || column >= e->columns) continue;
    memcpy(j->to + (size_t)row * row_bytes + (size_t)column * e->element_bytes, e->one, e->element_bytes);
  }
}

static hone_status launch_eye(void *state, hone_stream *stream, const hone_launch *l) {
  const eye *e = state;
  eye_job j = {.eye = e, .to = l->out[0].data};
  hn_pool_run(hn_stream_pool(stream), e->columns > 0 ? e->rows : 0, e->grain, eye_body, &j);
  return HONE_OK;
}

/* ---- one_hot ---- */

typedef struct hot {
  hn_cpu_rows rows;
  int element_bytes;
  hone_dtype dtype; /* of the indices */
} hot;

static const char *plan_one_hot(const hone_query *query, void *memory, hone_needs *needs) {
  hot asked = {0}, *h = memory ? memory : &asked;
  needs->state = sizeof *h;
  HN_TRY_REASON(hn_cpu_check(query, 3, 3, 1));
  const hone_type *indices = &query->in[0].type, *values = &query->in[2].type, *out = &query->out[0].type;
  if (indices->dtype != HONE_I64 && indices->dtype != HONE_I32) return "the indices are not i32 or i64";
  h->element_bytes = hn_cpu_element_bytes(values->dtype);
  if (!h->element_bytes || values->dtype != out->dtype || hn_elems(&values->shape) != 2)
    return "the values are not two numbers of whole bytes";
  if (indices->format != HONE_PLAIN || out->format != HONE_PLAIN) return "it is not plain";
  const int axis = hn_cpu_axis(query, "axis", out->shape.rank);
  if (axis < 0) return "the axis is out of range";
  h->rows = hn_cpu_rows_along(&out->shape, axis);
  h->dtype = indices->dtype;
  return h->rows.outer * h->rows.inner == hn_elems(&indices->shape) ? NULL : "the output has another size";
}

static hone_status launch_one_hot(void *state, hone_stream *stream, const hone_launch *l) {
  const hot *h = state;
  const size_t bytes = (size_t)h->element_bytes;
  const char *off = l->in[2].data, *on = off + bytes;
  char *to = l->out[0].data;
  hn_cpu_fill(stream, to, off, h->element_bytes, h->rows.outer * h->rows.axis * h->rows.inner);
  for (int64_t row = 0; row < h->rows.outer * h->rows.inner; ++row) {
    int64_t index =
        h->dtype == HONE_I64 ? ((const int64_t *)l->in[0].data)[row] : ((const int32_t *)l->in[0].data)[row];
    if (index < 0) index += h->rows.axis;
    if (index < 0 || index >= h->rows.axis) continue; /* off everywhere */
    const int64_t at = (row / h->rows.inner * h->rows.axis + index) * h->rows.inner + row % h->rows.inner;
    memcpy(to + (size_t)at * bytes, on, bytes);
  }
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_copy_mask[] = {
    {sizeof(hone_tactic), .name = "cpu.trilu.any.c", .version = 1, .op = "trilu", .flags = HONE_TACTIC_REPEATABLE,
     .plan = plan_trilu, .launch = launch_trilu},
    {sizeof(hone_tactic), .name = "cpu.eye_like.any.c", .version = 1, .op = "eye_like", .flags = HONE_TACTIC_REPEATABLE,
     .plan = plan_eye, .launch = launch_eye},
    {sizeof(hone_tactic), .name = "cpu.one_hot.any.c", .version = 1, .op = "one_hot", .flags = HONE_TACTIC_REPEATABLE,
     .plan = plan_one_hot, .launch = launch_one_hot},
    {0}};
