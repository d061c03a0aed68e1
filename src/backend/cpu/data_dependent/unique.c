/* SPDX-License-Identifier: Apache-2.0 */
/* unique.c - the distinct elements of a tensor, or slices along an axis. Elements become whole numbers in the same
 * order. Where their range fits 32 bits they are sorted by digits, each with its index below it, in all threads; what
 * is wider, and slices, are compared byte by byte and merged. Either way equal ones keep their order, so that the first
 * of a group is the first in the tensor. */
#include "backend/cpu/copy/copy.h"
#include "base/memory.h"
#include "tensor/element.h"
#include <string.h>

enum { Y, FIRSTS, INVERSE, COUNTS, OUTPUTS };
enum { DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS, AT_ONCE = 1 << 16 };

typedef struct state {
  hone_unit *unit;
  const hone_attrs *attrs;
  void *room; /* grows */
  size_t room_bytes;
} state;

static bool has_order(hone_dtype dtype) {
  switch (dtype) {
  case HONE_F64:
  case HONE_F32:
  case HONE_F16:
  case HONE_BF16:
  case HONE_I64:
  case HONE_I32:
  case HONE_I16:
  case HONE_I8:
  case HONE_U64:
  case HONE_U32:
  case HONE_U16:
  case HONE_U8:
  case HONE_BOOL: return true;
  default: return false;
  }
}

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  state *s = memory;
  if (!has_order(query->in[0].type.dtype)) return "its elements have no order of whole bytes";
  needs->state = sizeof *s;
  if (s) s->attrs = query->attrs;
  return NULL;
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

/* ---- elements as whole numbers ---- */

typedef struct ordering {
  int bytes;
  bool is_float, is_signed;
  uint64_t all, sign, infinity; /* of the element's bits */
} ordering;

static ordering ordering_of(hone_dtype dtype) {
  ordering o = {.bytes = hn_cpu_element_bytes(dtype), .is_float = hn_dtype_is_float(dtype)};
  o.is_signed = !o.is_float && dtype != HONE_BOOL && !hn_dtype_is_unsigned(dtype);
  o.all = o.bytes == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * o.bytes) - 1;
  o.sign = o.all ^ o.all >> 1;
  o.infinity = dtype == HONE_F64   ? UINT64_C(0x7ff0000000000000)
               : dtype == HONE_F32 ? 0x7f800000
               : dtype == HONE_F16 ? 0x7c00
                                   : 0x7f80;
  return o;
}

static inline uint64_t bits_at(const void *x, int bytes, int64_t i) {
  switch (bytes) {
  case 1: return ((const uint8_t *)x)[i];
  case 2: return ((const uint16_t *)x)[i];
  case 4: return ((const uint32_t *)x)[i];
  default: return ((const uint64_t *)x)[i];
  }
}

/* Zeros of both signs are one, and so is every NaN, above all numbers. */
static inline uint64_t key_at(const ordering *o, const void *x, int64_t i) {
  const uint64_t bits = bits_at(x, o->bytes, i), size = bits & ~o->sign;
  if (!o->is_float) return o->is_signed ? bits ^ o->sign : bits;
  if (size > o->infinity) return o->all;
  return size == 0 || !(bits & o->sign) ? size | o->sign : ~bits & o->all;
}

/* ---- by digits ---- */

/* Elements as (key - least) * 2^32 + index; parts of them are counted and moved at once. */
typedef struct digits {
  const void *x;
  ordering order;
  uint64_t least, *from, *to;
  int64_t count, parts;
  int shift;
  int64_t (*places)[DIGITS]; /* of each part */
  uint64_t (*ends)[2];       /* of each part: its least and largest key */
} digits;

static int64_t border(const digits *d, int64_t part) {
  return d->count / d->parts * part + d->count % d->parts * part / d->parts;
}

static void find_ends(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const digits *d = arg;
  for (int64_t part = begin; part < end; ++part) {
    uint64_t least = UINT64_MAX, most = 0;
    for (int64_t i = border(d, part); i < border(d, part + 1); ++i) {
      const uint64_t key = key_at(&d->order, d->x, i);
      least = key < least ? key : least;
      most = key > most ? key : most;
    }
    d->ends[part][0] = least;
    d->ends[part][1] = most;
  }
}

static void join_index(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const digits *d = arg;
  for (int64_t i = border(d, begin); i < border(d, end); ++i)
    d->from[i] = (key_at(&d->order, d->x, i) - d->least) << 32 | (uint64_t)i;
}

static void count_digits(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const digits *d = arg;
  for (int64_t part = begin; part < end; ++part) {
    int64_t *places = d->places[part];
    memset(places, 0, sizeof d->places[part]);
    for (int64_t i = border(d, part); i < border(d, part + 1); ++i) ++places[d->from[i] >> d->shift & (DIGITS - 1)];
  }
}

static void move(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const digits *d = arg;
  for (int64_t part = begin; part < end; ++part) {
    int64_t *places = d->places[part];
    for (int64_t i = border(d, part); i < border(d, part + 1); ++i)
      d->to[places[d->from[i] >> d->shift & (DIGITS - 1)]++] = d->from[i];
  }
}

/* From how many of a digit each part has to where its first one goes. */
static void add_up(const digits *d) {
  int64_t at = 0;
  for (int digit = 0; digit < DIGITS; ++digit)
    for (int64_t part = 0; part < d->parts; ++part) {
      const int64_t count = d->places[part][digit];
      d->places[part][digit] = at;
      at += count;
    }
}

/* False: keys are wider than 32 bits. *out: from or to, in order, unless the run has to end. */
static bool sort_by_digits(digits *d, hn_pool *pool, uint64_t **out) {
  uint64_t least = UINT64_MAX, most = 0;
  *out = d->from;
  hn_pool_run(pool, d->parts, 1, find_ends, d);
  if (hn_stop_now(pool->stop)) return true; /* parts may have been skipped */
  for (int64_t part = 0; part < d->parts; ++part) {
    least = d->ends[part][0] < least ? d->ends[part][0] : least;
    most = d->ends[part][1] > most ? d->ends[part][1] : most;
  }
  if (most - least > UINT32_MAX) return false;
  d->least = least;
  hn_pool_run(pool, d->parts, 1, join_index, d);
  for (d->shift = 32; d->shift < 64 && (most - least) >> (d->shift - 32); d->shift += DIGIT_BITS) {
    hn_pool_run(pool, d->parts, 1, count_digits, d);
    if (hn_stop_now(pool->stop)) return true;
    add_up(d);
    hn_pool_run(pool, d->parts, 1, move, d);
    uint64_t *swap = d->from;
    d->from = d->to;
    d->to = swap;
  }
  *out = d->from;
  return true;
}

/* ---- by comparison ---- */

/* Item i as bytes whose order is that of its elements, one after the other. */
static void write_keys(const ordering *o, const void *x, const hn_cpu_rows *rows, uint8_t *to) {
  for (int64_t i = 0; i < rows->axis; ++i)
    for (int64_t outer = 0; outer < rows->outer; ++outer)
      for (int64_t inner = 0; inner < rows->inner; ++inner) {
        const uint64_t key = key_at(o, x, (outer * rows->axis + i) * rows->inner + inner);
        for (int b = o->bytes - 1; b >= 0; --b) *to++ = (uint8_t)(key >> 8 * b);
      }
}

/* Merges runs until one is left; *out: from or to. */
static void sort_by_bytes(const uint8_t *keys, size_t bytes, int64_t count, uint64_t *from, uint64_t *to, hn_stop *stop,
                          uint64_t **out) {
  for (int64_t i = 0; i < count; ++i) from[i] = (uint64_t)i;
  for (int64_t run = 1; run < count; run *= 2) {
    for (int64_t first = 0; first < count; first += 2 * run) {
      const int64_t middle = hn_cpu_lesser(first + run, count), last = hn_cpu_lesser(first + 2 * run, count);
      int64_t a = first, b = middle;
      for (int64_t i = first; i < last; ++i) {
        if (hn_stop_at(stop, i)) break;
        const bool left =
            b >= last || (a < middle && memcmp(keys + from[a] * bytes, keys + from[b] * bytes, bytes) <= 0);
        to[i] = left ? from[a++] : from[b++];
      }
    }
    uint64_t *swap = from;
    from = to;
    to = swap;
  }
  *out = from;
}

/* ---- groups ---- */

/* Items in order, each with the number of its group above it. */
typedef struct groups {
  uint64_t *items, *other; /* other: room for as many */
  int64_t item_count, count;
} groups;

static void number_groups(groups *g, const uint8_t *keys, size_t bytes) {
  uint64_t before = 0;
  g->count = 0;
  for (int64_t i = 0; i < g->item_count; ++i) {
    const uint64_t item = g->items[i], at = item & UINT32_MAX;
    const bool same =
        i > 0 && (keys ? memcmp(keys + before * bytes, keys + at * bytes, bytes) == 0 : before == item >> 32);
    before = keys ? at : item >> 32;
    g->count += !same;
    g->items[i] = (uint64_t)(g->count - 1) << 32 | at;
  }
}

/* In the order of first appearance: the new number of each group. */
static uint32_t *renumber(const groups *g) {
  uint32_t *numbers = (uint32_t *)(void *)g->other, *group_at = numbers + g->count, next = 0;
  memset(group_at, 0xff, (size_t)g->item_count * sizeof *group_at);
  for (int64_t i = 0; i < g->item_count; ++i)
    if (i == 0 || g->items[i] >> 32 != g->items[i - 1] >> 32)
      group_at[g->items[i] & UINT32_MAX] = (uint32_t)(g->items[i] >> 32);
  for (int64_t i = 0; i < g->item_count; ++i)
    if (group_at[i] != UINT32_MAX) numbers[group_at[i]] = next++;
  return numbers;
}

static bool is_wanted(const hone_launch *l, int output) {
  return output < l->out_count && l->out[output].type.kind != HONE_ABSENT;
}

/* The output's memory for these extents: the session's, unless it was there before. */
static hone_status place(const hone_launch *l, int output, const hone_shape *shape) {
  if (!is_wanted(l, output)) return HONE_OK;
  if (!l->out[output].data) return l->resize(l->host, output, shape->rank, shape->dim);
  return hn_shape_equal(shape, &l->out[output].type.shape)
             ? HONE_OK
             : HN_FAIL(l->diagnostics, HONE_MALFORMED, "what is distinct does not fit output %d", output);
}

static void write_group(const hone_launch *l, const hn_cpu_rows *rows, int element_bytes, const groups *g,
                        int64_t first, int64_t to, int64_t size) {
  const size_t run = (size_t)rows->inner * (size_t)element_bytes;
  for (int64_t outer = 0; is_wanted(l, Y) && outer < rows->outer; ++outer)
    memcpy((char *)l->out[Y].data + (size_t)(outer * g->count + to) * run,
           (const char *)l->in[0].data + (size_t)(outer * rows->axis + first) * run, run);
  if (is_wanted(l, FIRSTS)) ((int64_t *)l->out[FIRSTS].data)[to] = first;
  if (is_wanted(l, COUNTS)) ((int64_t *)l->out[COUNTS].data)[to] = size;
}

static void write_outputs(const state *s, const hone_launch *l, const hn_cpu_rows *rows, const groups *g,
                          hn_stop *stop) {
  const uint32_t *numbers = hn_attr_int(s->attrs, "sorted") ? NULL : renumber(g);
  const int bytes = hn_cpu_element_bytes(l->in[0].type.dtype);
  int64_t *inverse = is_wanted(l, INVERSE) ? l->out[INVERSE].data : NULL;
  for (int64_t i = 0, end = 0; i < g->item_count; i = end) {
    const uint64_t group = g->items[i] >> 32;
    const int64_t to = numbers ? numbers[group] : (int64_t)group;
    for (end = i; end < g->item_count && g->items[end] >> 32 == group; ++end)
      if (inverse) inverse[g->items[end] & UINT32_MAX] = to;
    if (hn_stop_at(stop, i)) return;
    write_group(l, rows, bytes, g, (int64_t)(g->items[i] & UINT32_MAX), to, end - i);
  }
}

/* ---- a launch ---- */

static hone_status make_room(state *s, size_t bytes, hone_diagnostics *diag) {
  if (bytes <= s->room_bytes) return HONE_OK;
  hn_free(&s->unit->allocator, s->room, s->room_bytes);
  s->room = hn_alloc(&s->unit->allocator, bytes);
  s->room_bytes = s->room ? bytes : 0;
  return s->room ? HONE_OK : HN_FAIL_MEMORY(diag);
}

static hone_status sort(state *s, hn_pool *pool, const hone_launch *l, const hn_cpu_rows *rows, groups *g) {
  const int64_t count = rows->axis, parts = count < 2 * AT_ONCE ? 1 : hn_pool_threads(pool);
  const ordering order = ordering_of(l->in[0].type.dtype);
  const size_t list = (size_t)count * sizeof(uint64_t), table = (size_t)parts * (DIGITS + 2) * sizeof(uint64_t);
  size_t bytes, all;
  if (!hn_mul_size((size_t)rows->outer * (size_t)rows->inner, (size_t)order.bytes, &bytes) ||
      !hn_mul_size(bytes, (size_t)count, &all) || !hn_add_size(all, 2 * list + table + sizeof(uint64_t), &all) ||
      count >= UINT32_MAX)
    return HN_FAIL(l->diagnostics, HONE_LIMIT, "there are too many elements");
  HN_TRY(make_room(s, all, l->diagnostics));
  uint64_t *from = s->room, *to = from + count;
  const bool is_flat = rows->outer * rows->inner == 1;
  digits d = {.x = l->in[0].data, .order = order, .from = from, .to = to, .count = count, .parts = parts};
  d.ends = (uint64_t(*)[2])(void *)(to + count);
  d.places = (int64_t(*)[DIGITS])(void *)(d.ends + parts);
  const uint8_t *keys = NULL;
  if (count > 0 && !(is_flat && sort_by_digits(&d, pool, &g->items))) {
    uint8_t *written = (uint8_t *)(d.places + parts);
    write_keys(&order, l->in[0].data, rows, written);
    sort_by_bytes(written, bytes, count, from, to, pool->stop, &g->items);
    keys = written;
  }
  g->other = g->items == from ? to : from;
  g->item_count = count;
  if (pool->stop) HN_TRY(hn_stop_check(pool->stop, l->diagnostics));
  number_groups(g, keys, bytes);
  return HONE_OK;
}

static hone_status launch(void *memory, hone_stream *stream, const hone_launch *l) {
  state *s = memory;
  hn_pool *pool = hn_stream_pool(stream);
  hone_shape shape = l->in[0].type.shape;
  int axis;
  HN_TRY(hn_cpu_axis_or_flat(s->attrs, &shape, &axis, l->diagnostics));
  const hn_cpu_rows rows = hn_cpu_rows_along(&shape, axis);
  groups g = {0};
  HN_TRY(sort(s, pool, l, &rows, &g));
  shape.dim[axis] = g.count;
  const hone_shape groups_list = hn_shape(1, &g.count), items_list = hn_shape(1, &rows.axis);
  for (int i = 0; i < OUTPUTS; ++i) HN_TRY(place(l, i, i == Y ? &shape : i == INVERSE ? &items_list : &groups_list));
  write_outputs(s, l, &rows, &g, pool->stop);
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_unique[] = {{sizeof(hone_tactic), .name = "cpu.unique.data_dependent.c", .version = 1,
                                              .op = "unique",
                                              .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_DATA_DEPENDENT,
                                              .plan = plan, .prepare = prepare, .release = release, .launch = launch},
                                             {0}};
