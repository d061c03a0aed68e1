/* SPDX-License-Identifier: Apache-2.0 */
/* reduce.c - folds of f32 over any axes, global pools, and softmax along an axis that is not the last. */
#include "backend/cuda/cuda.h"
#include "kernels/cuda/args.h"

enum { THREADS = 256, BLOCK_LEAST = 16 };

typedef struct state {
  hn_cuda_fold args;
  bool by_block;
} state;

static bool plain_f32(const hone_fact *fact) {
  return fact->type.kind == HONE_TENSOR && fact->type.dtype == HONE_F32 && fact->type.format == HONE_PLAIN;
}

/* Bits of the reduced axes; 0: they are not known here. */
static unsigned axes_of(const hone_query *query) {
  const hone_shape *shape = &query->in[0].type.shape;
  const unsigned all = (1u << shape->rank) - 1;
  if (!hn_cuda_given(query, 1)) return hn_cuda_attr_int(query->attrs, "noop_with_empty_axes", 0) ? 0 : all;
  const hone_tensor *list = query->in[1].constant;
  if (!list || !list->data || list->type.dtype != HONE_I64) return 0;
  const int64_t count = hn_cuda_elements(&list->type.shape), *axes = list->data;
  if (count == 0) return hn_cuda_attr_int(query->attrs, "noop_with_empty_axes", 0) ? 0 : all;
  unsigned bits = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + shape->rank : axes[i];
    if (axis < 0 || axis >= shape->rank) return 0;
    bits |= 1u << axis;
  }
  return bits;
}

/* Neighbours of one kind are joined; axes of one element are left out. */
static const char *plan_fold(const hone_query *query, unsigned axes, state *s) {
  if (!plain_f32(&query->in[0]) || !plain_f32(&query->out[0])) return "it is not plain f32";
  const hone_shape *shape = &query->in[0].type.shape;
  const int64_t total = hn_cuda_elements(shape);
  hn_cuda_fold *f = &s->args;
  int64_t n = 1, step = total;
  int before = -1; /* 1: the axis before is reduced, 0: kept */
  if (!axes) return "its axes are not constants, or there are none";
  if (total < 1 || total > INT32_MAX / 2) return "no elements, or more than 30 bits count";
  f->rank = f->kept_rank = 0;
  for (int d = 0; d < shape->rank; ++d) {
    const int reduced = (int)(axes >> d & 1);
    step /= shape->dim[d];
    if (reduced) n *= shape->dim[d];
    if (shape->dim[d] == 1) continue;
    int *rank = reduced ? &f->rank : &f->kept_rank, *dim = reduced ? f->dim : f->kept_dim;
    if (before == reduced)
      dim[*rank - 1] *= (int)shape->dim[d];
    else
      dim[(*rank)++] = (int)shape->dim[d];
    (reduced ? f->stride : f->kept)[*rank - 1] = (int)step;
    before = reduced;
  }
  f->n = (unsigned)n;
  f->outputs = (unsigned)(total / n);
  s->by_block = n >= BLOCK_LEAST && (f->stride[f->rank - 1] == 1 || f->outputs < 4096);
  return NULL;
}

static hone_status launch(void *made, hone_stream *stream, const hone_launch *launch) {
  state *s = made;
  void *arguments[] = {&launch->out[0].data, (void *)(uintptr_t)&launch->in[0].data, &s->args};
  const unsigned blocks = s->by_block ? s->args.outputs : (s->args.outputs + THREADS - 1) / THREADS;
  return hn_cuda_launch(stream, s->by_block ? HN_CUDA_fold_block : HN_CUDA_fold_thread, (hn_cuda_grid){blocks, 1, 1},
                        THREADS, arguments);
}

static size_t state_bytes(const hone_query *query) {
  (void)query;
  return sizeof(state);
}

static unsigned spatial(const hone_query *query) {
  const int rank = query->in[0].type.shape.rank;
  return rank > 2 ? ((1u << rank) - 1) & ~3u : 0;
}

#define FOLD(row, axes, fold_kind, of_kind, then_kind)                                                                 \
  static const char *reject_##row(const hone_query *query) {                                                           \
    state s;                                                                                                           \
    return plan_fold(query, axes(query), &s);                                                                          \
  }                                                                                                                    \
  static hone_status prepare_##row(hone_unit *unit, const hone_query *query, void *made, hone_diagnostics *diag) {     \
    state *s = made;                                                                                                   \
    const char *reason = plan_fold(query, axes(query), s);                                                             \
    s->args.fold = HN_CUDA_FOLD_##fold_kind;                                                                           \
    s->args.of = HN_CUDA_OF_##of_kind;                                                                                 \
    s->args.then = HN_CUDA_THEN_##then_kind;                                                                           \
    return reason ? unit->host->fail(diag, HONE_UNSUPPORTED, reason) : HONE_OK;                                        \
  }                                                                                                                    \
  const hone_tactic hn_tactic_cuda_##row = {                                                                           \
      .struct_size = sizeof(hone_tactic),                                                                              \
      .name = "cuda." #row ".f32",                                                                                     \
      .version = 1,                                                                                                    \
      .op = #row,                                                                                                      \
      .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,                                                        \
      .reject = reject_##row,                                                                                          \
      .state_bytes = state_bytes,                                                                                      \
      .prepare = prepare_##row,                                                                                        \
      .launch = launch,                                                                                                \
  };
FOLD(reduce_sum, axes_of, SUM, SELF, SELF)
FOLD(reduce_mean, axes_of, SUM, SELF, MEAN)
FOLD(reduce_max, axes_of, MAX, SELF, SELF)
FOLD(reduce_min, axes_of, MIN, SELF, SELF)
FOLD(reduce_prod, axes_of, PROD, SELF, SELF)
FOLD(reduce_l1, axes_of, SUM, ABS, SELF)
FOLD(reduce_l2, axes_of, SUM, SQUARE, ROOT)
FOLD(reduce_sum_square, axes_of, SUM, SQUARE, SELF)
FOLD(reduce_log_sum, axes_of, SUM, SELF, LOG)
FOLD(global_average_pool, spatial, SUM, SELF, MEAN)
FOLD(global_max_pool, spatial, MAX, SELF, SELF)

/* ---- softmax across rows ---- */

typedef struct across {
  unsigned rows;
  int length, inner, logarithm;
} across;

static const char *plan_across(const hone_query *query, across *s) {
  if (!plain_f32(&query->in[0]) || !plain_f32(&query->out[0])) return "it is not plain f32";
  const hone_shape *shape = &query->in[0].type.shape;
  const int64_t total = hn_cuda_elements(shape);
  int64_t axis = hn_cuda_attr_int(query->attrs, "axis", -1), inner = 1;
  if (axis < 0) axis += shape->rank;
  if (axis < 0 || axis >= shape->rank - 1) return "its axis is the last";
  if (total < 1 || total > INT32_MAX / 2) return "no elements, or more than 30 bits count";
  for (int d = (int)axis + 1; d < shape->rank; ++d) inner *= shape->dim[d];
  *s = (across){.rows = (unsigned)(total / shape->dim[axis]), .length = (int)shape->dim[axis], .inner = (int)inner};
  return NULL;
}

static const char *reject_across(const hone_query *query) {
  across s;
  return plan_across(query, &s);
}
static size_t across_bytes(const hone_query *query) {
  (void)query;
  return sizeof(across);
}
static hone_status prepare_across(hone_unit *unit, const hone_query *query, across *s, bool logarithm,
                                  hone_diagnostics *diag) {
  const char *reason = plan_across(query, s);
  s->logarithm = logarithm;
  return reason ? unit->host->fail(diag, HONE_UNSUPPORTED, reason) : HONE_OK;
}
static hone_status prepare_softmax(hone_unit *unit, const hone_query *query, void *s, hone_diagnostics *diag) {
  return prepare_across(unit, query, s, false, diag);
}
static hone_status prepare_log_softmax(hone_unit *unit, const hone_query *query, void *s, hone_diagnostics *diag) {
  return prepare_across(unit, query, s, true, diag);
}
static hone_status launch_across(void *made, hone_stream *stream, const hone_launch *launch) {
  across *s = made;
  void *arguments[] = {&launch->out[0].data, (void *)(uintptr_t)&launch->in[0].data, &s->rows, &s->length, &s->inner,
                       &s->logarithm};
  return hn_cuda_launch(stream, HN_CUDA_softmax_across, (hn_cuda_grid){(s->rows + THREADS - 1) / THREADS, 1, 1},
                        THREADS, arguments);
}

#define ACROSS(row, row_op)                                                                                            \
  const hone_tactic hn_tactic_cuda_##row = {                                                                           \
      .struct_size = sizeof(hone_tactic),                                                                              \
      .name = "cuda." #row_op ".f32.across",                                                                           \
      .version = 1,                                                                                                    \
      .op = #row_op,                                                                                                   \
      .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE | HONE_TACTIC_IN_PLACE,                                 \
      .reject = reject_across,                                                                                         \
      .state_bytes = across_bytes,                                                                                     \
      .prepare = prepare_##row_op,                                                                                     \
      .launch = launch_across,                                                                                         \
  };
ACROSS(softmax_across, softmax)
ACROSS(log_softmax_across, log_softmax)
