/* SPDX-License-Identifier: Apache-2.0 */
/* indexed.c - elements and slices chosen by coordinates: gather_nd, scatter_nd, gather_elements, scatter_elements.
 * Every index is checked before it is used; updates are applied in the order of their indices. */
#include "backend/cpu/copy/copy.h"
#include "kernels/cpu/copy/take.h"
#include "tensor/element.h"
#include <math.h>
#include <string.h>

typedef enum reduction { REDUCE_NONE, REDUCE_ADD, REDUCE_MUL, REDUCE_MAX, REDUCE_MIN } reduction;

static const char *read_reduction(const hone_query *query, reduction *out) {
  static const char *const names[] = {"none", "add", "mul", "max", "min"};
  const char *name = hn_attr_text(query->attrs, "reduction");
  for (int i = 0; i < (int)HN_COUNT(names); ++i) {
    if (!hn_name_equal(name, names[i])) continue;
    *out = (reduction)i;
    return i == 0 || query->in[0].type.dtype == HONE_F32 ? NULL : "it joins updates that are not f32";
  }
  return "its reduction is not known";
}

static float joined(reduction how, float old, float update) {
  switch (how) {
  case REDUCE_ADD: return old + update;
  case REDUCE_MUL: return old * update;
  case REDUCE_MAX: return update > old || isnan(update) ? update : old;
  case REDUCE_MIN: return update < old || isnan(update) ? update : old;
  default: return update;
  }
}

static const char *check_indices(const hone_query *query, bool allow_i32) {
  const hone_type *indices = &query->in[1].type;
  if (indices->dtype != HONE_I64 && !(allow_i32 && indices->dtype == HONE_I32)) return "the indices are not i32 or i64";
  return indices->format == HONE_PLAIN ? NULL : "it is not plain";
}

/* Of scatter: updates beside data of the output's shape. */
static const char *check_updates(const hone_query *query) {
  const hone_type *data = &query->in[0].type, *updates = &query->in[2].type;
  if (updates->dtype != data->dtype || updates->format != HONE_PLAIN) return "the updates are of another type";
  return hn_shape_equal(&data->shape, &query->out[0].type.shape) ? NULL : "the output has another shape";
}

static hone_status bad_index(const hone_launch *l, int64_t index, int64_t extent) {
  return HN_FAIL(l->diagnostics, HONE_MALFORMED, "an index is %lld; allowed: %lld to %lld", (long long)index,
                 (long long)-extent, (long long)extent - 1);
}

static void copy_element(char *to, const char *from, size_t bytes) {
  if (bytes == 4)
    memcpy(to, from, 4);
  else if (bytes == 8)
    memcpy(to, from, 8);
  else
    memcpy(to, from, bytes);
}

/* Slices of more bytes look at the stop each. */
enum { LONG_SLICE = 1 << 16 };

static void copy_slice(hone_stream *stream, char *to, const char *from, size_t bytes) {
  if (bytes <= LONG_SLICE)
    copy_element(to, from, bytes);
  else
    (void)hn_stop_copy(hn_stream_pool(stream)->stop, to, from, bytes);
}

/* ---- slices by tuples of coordinates ---- */

typedef struct nd {
  int64_t batches, tuples, slice; /* tuples of a batch; elements of a slice */
  int64_t batch_stride;           /* elements of data */
  int depth;
  int64_t dim[HONE_MAX_RANK], stride[HONE_MAX_RANK]; /* of the coordinates */
  int element_bytes;
  reduction how;
} nd;

static const char *read_nd(const hone_query *query, int batch, int64_t wanted, nd *s) {
  const hone_shape *data = &query->in[0].type.shape, *indices = &query->in[1].type.shape;
  if (indices->rank < 1 || data->rank < 1 || batch < 0 || batch >= indices->rank || batch >= data->rank)
    return "the ranks do not fit together";
  const int64_t depth = indices->dim[indices->rank - 1];
  if (depth < 1 || depth > data->rank - batch) return "the tuples have no coordinates, or too many";
  int64_t strides[HONE_MAX_RANK];
  hn_strides(data, strides);
  s->depth = (int)depth;
  s->batches = s->tuples = s->slice = 1;
  for (int d = 0; d < indices->rank - 1; ++d) {
    if (d < batch && indices->dim[d] != data->dim[d]) return "the batches differ";
    *(d < batch ? &s->batches : &s->tuples) *= indices->dim[d];
  }
  for (int d = batch + s->depth; d < data->rank; ++d) s->slice *= data->dim[d];
  for (int d = 0; d < s->depth; ++d) {
    s->dim[d] = data->dim[batch + d];
    s->stride[d] = strides[batch + d];
  }
  s->batch_stride = batch > 0 ? strides[batch - 1] : 0;
  s->element_bytes = hn_cpu_element_bytes(query->in[0].type.dtype);
  int64_t elements;
  if (!hn_mul_i64(s->batches, s->tuples, &elements) || !hn_mul_i64(elements, s->slice, &elements) || elements != wanted)
    return "the extents do not fit together";
  return NULL;
}

/* Where a tuple's slice begins, in elements of its batch. */
static hone_status locate(const nd *s, const hone_launch *l, int64_t tuple, int64_t *out) {
  *out = 0;
  for (int d = 0; d < s->depth; ++d) {
    const int64_t index = ((const int64_t *)l->in[1].data)[tuple * s->depth + d];
    if (index < -s->dim[d] || index >= s->dim[d]) return bad_index(l, index, s->dim[d]);
    *out += (index < 0 ? index + s->dim[d] : index) * s->stride[d];
  }
  return HONE_OK;
}

static const char *plan_gather_nd(const hone_query *query, void *memory, hone_needs *needs) {
  nd asked = {0}, *s = memory ? memory : &asked;
  needs->state = sizeof *s;
  HN_TRY_REASON(hn_cpu_check(query, 2, 2, 1));
  HN_TRY_REASON(hn_cpu_check_moves(query, false));
  HN_TRY_REASON(check_indices(query, false));
  return read_nd(query, (int)hn_attr_int(query->attrs, "batch_dims"), hn_elems(&query->out[0].type.shape), s);
}

static const char *plan_scatter_nd(const hone_query *query, void *memory, hone_needs *needs) {
  nd asked = {0}, *s = memory ? memory : &asked;
  needs->state = sizeof *s;
  HN_TRY_REASON(hn_cpu_check(query, 3, 3, 1));
  HN_TRY_REASON(hn_cpu_check_moves(query, false));
  HN_TRY_REASON(check_indices(query, false));
  HN_TRY_REASON(check_updates(query));
  HN_TRY_REASON(read_reduction(query, &s->how));
  return read_nd(query, 0, hn_elems(&query->in[2].type.shape), s);
}

static bool is_stopped(hone_stream *stream, int64_t turn, size_t bytes) {
  return hn_stop_at(hn_stream_pool(stream)->stop, bytes > LONG_SLICE ? 0 : turn);
}

static hone_status launch_gather_nd(void *state, hone_stream *stream, const hone_launch *l) {
  const nd *s = state;
  const size_t bytes = (size_t)s->slice * (size_t)s->element_bytes;
  if (!bytes) return HONE_OK;
  for (int64_t tuple = 0; tuple < s->batches * s->tuples && !is_stopped(stream, tuple, bytes); ++tuple) {
    int64_t from;
    HN_TRY(locate(s, l, tuple, &from));
    from += tuple / s->tuples * s->batch_stride;
    copy_slice(stream, (char *)l->out[0].data + (size_t)tuple * bytes,
               (const char *)l->in[0].data + (size_t)from * (size_t)s->element_bytes, bytes);
  }
  return HONE_OK;
}

static hone_status launch_scatter_nd(void *state, hone_stream *stream, const hone_launch *l) {
  const nd *s = state;
  const size_t bytes = (size_t)s->slice * (size_t)s->element_bytes;
  hn_cpu_copy_bytes(stream, l->in[0].data, l->out[0].data, l->out[0].bytes);
  for (int64_t tuple = 0; tuple < s->tuples && bytes && !is_stopped(stream, tuple, bytes); ++tuple) {
    int64_t at;
    HN_TRY(locate(s, l, tuple, &at));
    if (s->how == REDUCE_NONE) {
      copy_slice(stream, (char *)l->out[0].data + (size_t)at * (size_t)s->element_bytes,
                 (const char *)l->in[2].data + (size_t)tuple * bytes, bytes);
      continue;
    }
    float *to = (float *)l->out[0].data + at;
    const float *update = (const float *)l->in[2].data + tuple * s->slice;
    for (int64_t i = 0; i < s->slice; ++i) to[i] = joined(s->how, to[i], update[i]);
  }
  return HONE_OK;
}

/* ---- single elements along one axis ---- */

/* The indices' extents, walked in order; the element's other coordinates are the index's own. */
typedef struct along {
  int rank, axis;
  int64_t dim[HONE_MAX_RANK], stride[HONE_MAX_RANK]; /* of indices; of data, in elements */
  int64_t extent, count;                             /* of data along the axis; of indices */
  hn_take_fn *take;                                  /* of a row, or NULL */
  int element_bytes;
  reduction how;
} along;

static const char *read_along(const hone_query *query, along *s) {
  const hone_shape *data = &query->in[0].type.shape, *indices = &query->in[1].type.shape;
  s->rank = data->rank;
  s->axis = hn_cpu_axis(query, "axis", data->rank);
  if (s->rank < 1 || indices->rank != s->rank || s->axis < 0) return "the ranks or the axis do not fit together";
  hn_strides(data, s->stride);
  s->count = 1;
  for (int d = 0; d < s->rank; ++d) {
    if (d != s->axis && indices->dim[d] > data->dim[d]) return "the indices are larger than the data";
    s->dim[d] = indices->dim[d];
    s->count *= indices->dim[d];
  }
  s->extent = data->dim[s->axis];
  s->element_bytes = hn_cpu_element_bytes(query->in[0].type.dtype);
  return NULL;
}

/* Of a row that takes the last axis alone. */
typedef struct take_kernel {
  hn_take_fn *take;
} take_kernel;

static const char *plan_gather_elements(const hone_query *query, void *memory, hone_needs *needs) {
  along asked = {0}, *s = memory ? memory : &asked;
  const take_kernel *kernel = query->tactic->kernel;
  needs->state = sizeof *s;
  HN_TRY_REASON(hn_cpu_check(query, 2, 2, 1));
  HN_TRY_REASON(hn_cpu_check_moves(query, false));
  HN_TRY_REASON(check_indices(query, true));
  HN_TRY_REASON(read_along(query, s));
  s->take = kernel ? kernel->take : NULL;
  if (kernel && (s->axis != s->rank - 1 || (s->element_bytes != 4 && s->element_bytes != 8)))
    return "the row takes elements of 4 or 8 bytes along the last axis";
  if (kernel && s->extent > INT32_MAX) return "the axis is too long";
  return hn_shape_equal(&query->in[1].type.shape, &query->out[0].type.shape) ? NULL : "the output has another shape";
}

static const char *plan_scatter_elements(const hone_query *query, void *memory, hone_needs *needs) {
  along asked = {0}, *s = memory ? memory : &asked;
  needs->state = sizeof *s;
  HN_TRY_REASON(hn_cpu_check(query, 3, 3, 1));
  HN_TRY_REASON(hn_cpu_check_moves(query, false));
  HN_TRY_REASON(check_indices(query, true));
  HN_TRY_REASON(check_updates(query));
  HN_TRY_REASON(read_reduction(query, &s->how));
  HN_TRY_REASON(read_along(query, s));
  return hn_shape_equal(&query->in[1].type.shape, &query->in[2].type.shape) ? NULL : "the updates have another shape";
}

/* To the next place along dimension d, or along those before it; base leaves the axis out. */
static void go_on(const along *s, int d, int64_t *place, int64_t *base) {
  for (; d >= 0; --d) {
    const int64_t step = d == s->axis ? 0 : s->stride[d];
    *base += step;
    if (++place[d] < s->dim[d]) break;
    *base -= place[d] * step;
    place[d] = 0;
  }
}

/* Calls for every index with its number and the element of data it names. */
static hone_status walk(const along *s, hone_stream *stream, const hone_launch *l,
                        void (*visit)(const along *s, const hone_launch *l, int64_t at, int64_t element)) {
  int64_t place[HONE_MAX_RANK] = {0}, base = 0;
  for (int64_t at = 0; at < s->count && !hn_stop_at(hn_stream_pool(stream)->stop, at); ++at) {
    const int64_t index = hn_cpu_index_at(&l->in[1], at);
    if (index < -s->extent || index >= s->extent) return bad_index(l, index, s->extent);
    visit(s, l, at, base + (index < 0 ? index + s->extent : index) * s->stride[s->axis]);
    go_on(s, s->rank - 1, place, &base);
  }
  return HONE_OK;
}

static void update(const along *s, const hone_launch *l, int64_t at, int64_t element) {
  const size_t bytes = (size_t)s->element_bytes;
  if (s->how == REDUCE_NONE) {
    copy_element((char *)l->out[0].data + (size_t)element * bytes, (const char *)l->in[2].data + (size_t)at * bytes,
                 bytes);
    return;
  }
  float *to = (float *)l->out[0].data + element;
  *to = joined(s->how, *to, ((const float *)l->in[2].data)[at]);
}

/* Elements of `bytes` of one row of indices; from: of data, where an index of 0 in the row's first column leads.
 * Returns the place of the first index that is out of range, or the row's length. */
static inline int64_t take_row(const along *s, const void *indices, const bool wide, const void *from, void *to,
                               const int bytes) {
  const int64_t count = s->dim[s->rank - 1], step = s->stride[s->axis], column_step = s->axis < s->rank - 1;
  for (int64_t c = 0; c < count; ++c) {
    int64_t index = wide ? ((const int64_t *)indices)[c] : ((const int32_t *)indices)[c];
    index += index < 0 ? s->extent : 0;
    if ((uint64_t)index >= (uint64_t)s->extent) return c;
    const int64_t element = index * step + c * column_step;
    switch (bytes) {
    case 4: ((uint32_t *)to)[c] = ((const uint32_t *)from)[element]; break;
    case 8: ((uint64_t *)to)[c] = ((const uint64_t *)from)[element]; break;
    default:
      copy_element((char *)to + c * s->element_bytes, (const char *)from + element * s->element_bytes,
                   (size_t)s->element_bytes);
    }
  }
  return count;
}

static int64_t take_any_row(const along *s, const void *indices, bool wide, const void *from, void *to) {
  switch (s->element_bytes) {
  case 4: return wide ? take_row(s, indices, true, from, to, 4) : take_row(s, indices, false, from, to, 4);
  case 8: return wide ? take_row(s, indices, true, from, to, 8) : take_row(s, indices, false, from, to, 8);
  default: return wide ? take_row(s, indices, true, from, to, 0) : take_row(s, indices, false, from, to, 0);
  }
}

static hone_status launch_gather_elements(void *state, hone_stream *stream, const hone_launch *l) {
  enum { LONG_ROW = 4096 };
  const along *s = state;
  const int last = s->rank - 1;
  const bool wide = l->in[1].type.dtype == HONE_I64;
  int64_t place[HONE_MAX_RANK] = {0}, base = 0;
  hn_stop *stop = hn_stream_pool(stream)->stop;
  for (int64_t at = 0, row = 0; at < s->count; at += s->dim[last], ++row) {
    if (s->dim[last] >= LONG_ROW ? hn_stop_now(stop) : hn_stop_at(stop, row)) return HONE_OK;
    const char *indices = (const char *)l->in[1].data + at * (wide ? 8 : 4);
    const char *from = (const char *)l->in[0].data + base * s->element_bytes;
    char *to = (char *)l->out[0].data + at * s->element_bytes;
    const hn_take_args args = {.from = from, .extent = s->extent, .bytes = s->element_bytes, .wide = wide};
    const int64_t taken =
        s->take ? s->take(&args, indices, to, s->dim[last]) : take_any_row(s, indices, wide, from, to);
    if (taken < s->dim[last]) return bad_index(l, hn_cpu_index_at(&l->in[1], at + taken), s->extent);
    go_on(s, last - 1, place, &base);
  }
  return HONE_OK;
}

static hone_status launch_scatter_elements(void *state, hone_stream *stream, const hone_launch *l) {
  hn_cpu_copy_bytes(stream, l->in[0].data, l->out[0].data, l->out[0].bytes);
  return walk(state, stream, l, update);
}

const hone_tactic hn_tactics_cpu_indexed[] = {
    {sizeof(hone_tactic), .name = "cpu.gather_nd.any.c", .version = 1, .op = "gather_nd",
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_gather_nd, .launch = launch_gather_nd},
    {sizeof(hone_tactic), .name = "cpu.scatter_nd.any.c", .version = 1, .op = "scatter_nd",
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_scatter_nd, .launch = launch_scatter_nd},
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.gather_elements.last.avx512", .version = 1, .op = "gather_elements",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE, .plan = plan_gather_elements,
     .launch = launch_gather_elements, .kernel = &(const take_kernel){hn_take_avx512}},
    {sizeof(hone_tactic), .name = "cpu.gather_elements.last.avx2", .version = 1, .op = "gather_elements",
     .isa = HONE_ISA_AVX2, .flags = HONE_TACTIC_REPEATABLE, .plan = plan_gather_elements,
     .launch = launch_gather_elements, .kernel = &(const take_kernel){hn_take_avx2}},
#endif
    {sizeof(hone_tactic), .name = "cpu.gather_elements.any.c", .version = 1, .op = "gather_elements",
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_gather_elements, .launch = launch_gather_elements},
    {sizeof(hone_tactic), .name = "cpu.scatter_elements.any.c", .version = 1, .op = "scatter_elements",
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_scatter_elements, .launch = launch_scatter_elements},
    {0}};
