/* SPDX-License-Identifier: Apache-2.0 */
/* data_dependent.c - operators whose own extents come out of the run: non_zero, compress, non_max_suppression. Nothing
 * about their inputs' extents is known before a launch. */
#include "backend/cpu/copy/copy.h"
#include "base/memory.h"
#include "tensor/element.h"
#include <math.h>
#include <string.h>

typedef struct state {
  hone_unit *unit;
  const hone_attrs *attrs;
  void *room; /* of non_max_suppression: grows */
  size_t room_bytes;
} state;

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  state *s = memory;
  needs->state = sizeof *s;
  if (s) s->attrs = query->attrs;
  return NULL;
}

static const char *plan_moves(const hone_query *query, void *memory, hone_needs *needs) {
  if (!hn_cpu_element_bytes(query->in[0].type.dtype)) return "its elements are not moved by whole bytes";
  return plan(query, memory, needs);
}

static hone_status prepare(hone_unit *unit, const hone_query *query, void *memory, hone_diagnostics *diag) {
  (void)query, (void)diag;
  ((state *)memory)->unit = unit;
  return HONE_OK;
}

static void release(void *memory) {
  state *s = memory;
  hn_free(&s->unit->allocator, s->room, s->room_bytes);
}

/* The output's memory for these extents: the session's, unless it was there before. */
static hone_status place(const hone_launch *l, int rank, const int64_t *dims) {
  if (!l->out[0].data) return l->resize(l->host, 0, rank, dims);
  const hone_shape wanted = hn_shape(rank, dims);
  return hn_shape_equal(&wanted, &l->out[0].type.shape)
             ? HONE_OK
             : HN_FAIL(l->diagnostics, HONE_MALFORMED, "what is selected does not fit the output");
}

/* ---- non_zero ---- */

/* The bits that make an element other than zero: a float's sign does not. */
static uint64_t magnitude(hone_dtype dtype) {
  const int bits = 8 * hn_cpu_element_bytes(dtype);
  const uint64_t all = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
  return hn_dtype_is_float(dtype) ? all >> 1 : all;
}

#define COUNT(type)                                                                                                    \
  for (int64_t i = 0; i < elements; ++i) count += (((const type *)data)[i] & (type)mask) != 0;                         \
  break;
static int64_t count_non_zero(const void *data, int element_bytes, uint64_t mask, int64_t elements) {
  int64_t count = 0;
  switch (element_bytes) {
  case 1: COUNT(uint8_t)
  case 2: COUNT(uint16_t)
  case 4: COUNT(uint32_t)
  default: COUNT(uint64_t)
  }
  return count;
}

static bool is_zero(const void *data, int element_bytes, uint64_t mask, int64_t i) {
  switch (element_bytes) {
  case 1: return (((const uint8_t *)data)[i] & mask) == 0;
  case 2: return (((const uint16_t *)data)[i] & mask) == 0;
  case 4: return (((const uint32_t *)data)[i] & mask) == 0;
  default: return (((const uint64_t *)data)[i] & mask) == 0;
  }
}

/* Elements between two looks at the stop. */
enum { AT_ONCE = 1 << 20 };

static hone_status launch_non_zero(void *memory, hone_stream *stream, const hone_launch *l) {
  (void)memory;
  hn_stop *stop = hn_stream_pool(stream)->stop;
  const hone_shape *shape = &l->in[0].type.shape;
  const int bytes = hn_cpu_element_bytes(l->in[0].type.dtype);
  const uint64_t mask = magnitude(l->in[0].type.dtype);
  const int64_t elements = hn_elems(shape);
  int64_t count = 0;
  for (int64_t at = 0; at < elements; at += AT_ONCE) {
    if (stop) HN_TRY(hn_stop_check(stop, l->diagnostics));
    count += count_non_zero((const char *)l->in[0].data + (size_t)at * (size_t)bytes, bytes, mask,
                            hn_cpu_lesser(AT_ONCE, elements - at));
  }
  HN_TRY(place(l, 2, (int64_t[]){shape->rank, count}));
  int64_t *to = l->out[0].data, index[HONE_MAX_RANK] = {0}, column = 0;
  const int last = shape->rank - 1;
  const int64_t width = last < 0 ? 1 : shape->dim[last];
  for (int64_t begin = 0; begin < elements && column < count; begin += width) {
    for (int64_t i = 0; i < width; ++i) {
      if (hn_stop_at(stop, begin + i)) return HONE_OK;
      if (is_zero(l->in[0].data, bytes, mask, begin + i)) continue;
      for (int d = 0; d < last; ++d) to[d * count + column] = index[d];
      if (last >= 0) to[last * count + column] = i;
      ++column;
    }
    for (int d = last - 1; d >= 0 && ++index[d] == shape->dim[d]; --d) index[d] = 0;
  }
  return HONE_OK;
}

/* ---- compress ---- */

static hone_status launch_compress(void *memory, hone_stream *stream, const hone_launch *l) {
  const state *s = memory;
  hn_stop *stop = hn_stream_pool(stream)->stop;
  const uint8_t *condition = l->in[1].data;
  hone_shape shape = l->in[0].type.shape;
  int axis;
  HN_TRY(hn_cpu_axis_or_flat(s->attrs, &shape, &axis, l->diagnostics));
  const hn_cpu_rows rows = hn_cpu_rows_along(&shape, axis);
  const int64_t length = hn_cpu_lesser(hn_elems(&l->in[1].type.shape), rows.axis);
  const size_t run = (size_t)rows.inner * (size_t)hn_cpu_element_bytes(l->in[0].type.dtype);
  shape.dim[axis] = 0;
  for (int64_t i = 0; i < length; ++i) shape.dim[axis] += condition[i] != 0;
  HN_TRY(place(l, shape.rank, shape.dim));
  char *to = l->out[0].data;
  for (int64_t o = 0; o < rows.outer && run > 0; ++o) {
    const char *from = (const char *)l->in[0].data + (size_t)(o * rows.axis) * run;
    for (int64_t i = 0, turn = 0; i < length; ++turn) {
      if (hn_stop_at(stop, turn)) return HONE_OK;
      int64_t end = i; /* neighbours go together */
      while (end < length && condition[end]) ++end;
      if (!hn_stop_copy(stop, to, from + (size_t)i * run, (size_t)(end - i) * run)) return HONE_OK;
      to += (size_t)(end - i) * run;
      i = end + 1;
    }
  }
  return HONE_OK;
}

/* ---- non_max_suppression ---- */

enum { BOXES, SCORES, MOST, OVERLAP, LEAST, NMS_INPUTS };

typedef struct candidate {
  float score;
  int32_t box;
} candidate;

/* Kept boxes of the class at work, one list for each number. */
typedef struct kept {
  double *y0, *x0, *y1, *x1, *area;
} kept;

typedef struct selection {
  const float *boxes;
  bool is_centred;
  double limit;
  candidate *heap;
  kept kept;
  int64_t *rows; /* batch, class, box: of all that are selected */
  int64_t count;
  hn_stop *stop;
} selection;

/* The better score first, of equals the earlier box. */
static bool is_before(const candidate *a, const candidate *b) {
  return a->score > b->score || (a->score == b->score && a->box < b->box);
}

static void sink(candidate *heap, int64_t count, int64_t at) {
  const candidate moved = heap[at];
  for (int64_t child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && is_before(&heap[child + 1], &heap[child])) ++child;
    if (!is_before(&heap[child], &moved)) break;
    heap[at] = heap[child];
  }
  heap[at] = moved;
}

static void read_box(const selection *s, int64_t at, double *b) {
  const float *n = s->boxes + at * 4;
  const double a0 = (double)n[0], a1 = (double)n[1], a2 = (double)n[2], a3 = (double)n[3];
  b[0] = s->is_centred ? a1 - a3 / 2 : fmin(a0, a2);
  b[1] = s->is_centred ? a0 - a2 / 2 : fmin(a1, a3);
  b[2] = s->is_centred ? a1 + a3 / 2 : fmax(a0, a2);
  b[3] = s->is_centred ? a0 + a2 / 2 : fmax(a1, a3);
}

static bool overlaps(const kept *k, int64_t count, const double *b, double limit) {
  enum { RUN = 16 };
  const double area = (b[2] - b[0]) * (b[3] - b[1]);
  for (int64_t first = 0; first < count; first += RUN) {
    const int64_t last = hn_cpu_lesser(first + RUN, count);
    int any = 0;
    for (int64_t i = first; i < last; ++i) {
      const double height = (k->y1[i] < b[2] ? k->y1[i] : b[2]) - (k->y0[i] > b[0] ? k->y0[i] : b[0]);
      const double width = (k->x1[i] < b[3] ? k->x1[i] : b[3]) - (k->x0[i] > b[1] ? k->x0[i] : b[1]);
      const double inner = height > 0 && width > 0 ? height * width : 0, both = k->area[i] + area - inner;
      any |= (both > 0 ? inner / both : 0) > limit;
    }
    if (any) return true;
  }
  return false;
}

static void select_class(selection *s, int64_t batch, int64_t class, const float *scores, int64_t boxes, int64_t most,
                         float least) {
  int64_t count = 0, found = 0;
  for (int64_t i = 0; i < boxes; ++i)
    if (scores[i] > least) s->heap[count++] = (candidate){scores[i], (int32_t)i};
  for (int64_t at = count / 2 - 1; at >= 0; --at) sink(s->heap, count, at);
  while (count > 0 && found < most && !hn_stop_now(s->stop)) {
    double b[4];
    const int64_t box = s->heap[0].box;
    s->heap[0] = s->heap[--count];
    if (count > 0) sink(s->heap, count, 0);
    read_box(s, batch * boxes + box, b);
    if (overlaps(&s->kept, found, b, s->limit)) continue;
    s->kept.y0[found] = b[0], s->kept.x0[found] = b[1], s->kept.y1[found] = b[2], s->kept.x1[found] = b[3];
    s->kept.area[found++] = (b[2] - b[0]) * (b[3] - b[1]);
    memcpy(s->rows + 3 * s->count++, (const int64_t[]){batch, class, box}, 3 * sizeof(int64_t));
  }
}

/* Room for a class's candidates and boxes, and all rows. */
static hone_status make_room(state *s, int64_t boxes, int64_t rows, selection *out, hone_diagnostics *diag) {
  size_t bytes, more;
  if (!hn_mul_size((size_t)boxes, sizeof(candidate) + 5 * sizeof(double), &bytes) ||
      !hn_mul_size((size_t)rows, 3 * sizeof(int64_t), &more) || !hn_add_size(bytes, more, &bytes))
    return HN_FAIL(diag, HONE_LIMIT, "there are too many boxes");
  if (bytes > s->room_bytes) {
    hn_free(&s->unit->allocator, s->room, s->room_bytes);
    s->room = hn_alloc(&s->unit->allocator, bytes);
    s->room_bytes = s->room ? bytes : 0;
    if (!s->room) return HN_FAIL_MEMORY(diag);
  }
  out->rows = s->room;
  double *numbers = (double *)(void *)(out->rows + 3 * rows);
  out->kept = (kept){numbers, numbers + boxes, numbers + 2 * boxes, numbers + 3 * boxes, numbers + 4 * boxes};
  out->heap = (candidate *)(void *)(numbers + 5 * boxes);
  return HONE_OK;
}

static bool given(const hone_launch *l, int i) { return i < l->in_count && l->in[i].type.kind == HONE_TENSOR; }

static hone_status launch_non_max_suppression(void *memory, hone_stream *stream, const hone_launch *l) {
  state *s = memory;
  const hone_shape *boxes = &l->in[BOXES].type.shape, *scores = &l->in[SCORES].type.shape;
  if (boxes->rank != 3 || scores->rank != 3 || boxes->dim[2] != 4 || boxes->dim[0] != scores->dim[0] ||
      boxes->dim[1] != scores->dim[2] || boxes->dim[1] > INT32_MAX)
    return HN_FAIL(l->diagnostics, HONE_MALFORMED, "boxes and scores do not fit together");
  for (int i = MOST; i < NMS_INPUTS; ++i)
    if (given(l, i) && hn_elems(&l->in[i].type.shape) < 1)
      return HN_FAIL(l->diagnostics, HONE_MALFORMED, "input %d is empty", i);
  const int64_t count = boxes->dim[1], classes = scores->dim[1];
  int64_t most = given(l, MOST) ? *(const int64_t *)l->in[MOST].data : 0, rows;
  most = hn_cpu_greater(0, hn_cpu_lesser(most, count));
  selection all = {.boxes = l->in[BOXES].data,
                   .is_centred = hn_attr_int(s->attrs, "center_point_box") != 0,
                   .stop = hn_stream_pool(stream)->stop};
  all.limit = given(l, OVERLAP) ? (double)*(const float *)l->in[OVERLAP].data : 0;
  const float least = given(l, LEAST) ? *(const float *)l->in[LEAST].data : -INFINITY;
  if (!hn_mul_i64(scores->dim[0], classes, &rows) || !hn_mul_i64(rows, most, &rows))
    return HN_FAIL(l->diagnostics, HONE_LIMIT, "there are too many boxes");
  HN_TRY(make_room(s, count, rows, &all, l->diagnostics));
  for (int64_t b = 0; b < scores->dim[0]; ++b)
    for (int64_t c = 0; c < classes; ++c)
      select_class(&all, b, c, (const float *)l->in[SCORES].data + (b * classes + c) * count, count, most, least);
  HN_TRY(place(l, 2, (int64_t[]){all.count, 3}));
  if (all.count) memcpy(l->out[0].data, all.rows, (size_t)all.count * 3 * sizeof(int64_t));
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_data_dependent[] = {
    {sizeof(hone_tactic), .name = "cpu.non_zero.data_dependent.c", .version = 1, .op = "non_zero",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_DATA_DEPENDENT, .plan = plan_moves, .prepare = prepare,
     .release = release, .launch = launch_non_zero},
    {sizeof(hone_tactic), .name = "cpu.compress.data_dependent.c", .version = 1, .op = "compress",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_DATA_DEPENDENT, .plan = plan_moves, .prepare = prepare,
     .release = release, .launch = launch_compress},
    {sizeof(hone_tactic), .name = "cpu.non_max_suppression.data_dependent.c", .version = 1, .op = "non_max_suppression",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_DATA_DEPENDENT, .plan = plan, .prepare = prepare, .release = release,
     .launch = launch_non_max_suppression},
    {0}};
