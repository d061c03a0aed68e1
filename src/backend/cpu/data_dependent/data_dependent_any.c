/* SPDX-License-Identifier: Apache-2.0 */
/* data_dependent_any.c - steps whose extents are known only after running: each launch finds the tactic that takes the
 * extents of now, and keeps it as long as they stay. What none takes is evaluated as on the reference. */
#include "backend/cpu/cpu.h"
#include "base/memory.h"
#include "device/device.h"
#include <string.h>

extern const hone_backend hn_backend_cpu;

enum { ALIGNMENT = 64 };
static const double most_error = 1e-5; /* what a tactic without a bound of its own promises */

typedef struct block {
  void *bytes; /* aligned, in: */
  void *allocated;
  size_t count;
} block;

typedef struct state {
  hn_eval_state eval; /* when no tactic takes it */
  hone_unit *unit;
  const hone_tactic *tactic; /* NULL: none took the extents below */
  hone_query query;          /* in and out behind the state; types are those that the tactic was made for */
  hone_params params;
  block inner, packed, scratch;
  int64_t parts;           /* of a launch at these extents */
  bool is_bound, is_ready; /* ready: inner was prepared */
  hone_fact facts[];       /* in, out, and the inputs as they were given, with all constants */
} state;

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  bool data_dependent = false, covered = false, lists = false;
  for (int i = 0; i < query->in_count; ++i) data_dependent = data_dependent || !hn_cpu_is_sized(&query->in[i]);
  for (int i = 0; i < query->out_count; ++i) data_dependent = data_dependent || !hn_cpu_is_sized(&query->out[i]);
  for (int i = 0; i < query->in_count; ++i) lists = lists || query->in[i].type.kind > HONE_TENSOR;
  for (int i = 0; i < query->out_count; ++i) lists = lists || query->out[i].type.kind > HONE_TENSOR;
  if (lists) return "it has sequences or optionals";
  if (!data_dependent) return "its shape is not data-dependent";
  if (query->op->traits & (HONE_AFTER_RUN | HONE_HAS_BLOCKS)) return "its own extents come out of the run";
  for (const hone_tactic *const *family = hn_backend_cpu.families; *family && !covered; ++family)
    for (const hone_tactic *row = *family; row->name && !covered; ++row)
      covered = !(row->flags & HONE_TACTIC_DATA_DEPENDENT) && hn_tactic_covers(row, query->op);
  if (!covered) return "no tactic is for this operator";
  state *s = memory;
  needs->state = sizeof *s + (size_t)(2 * query->in_count + query->out_count) * sizeof(hone_fact);
  if (!s) return NULL;
  s->eval = (hn_eval_state){.op = query->op, .attrs = query->attrs};
  s->query = *query;
  s->query.in = s->facts;
  s->query.out = s->facts + query->in_count;
  memcpy(s->facts + query->in_count + query->out_count, query->in, (size_t)query->in_count * sizeof(hone_fact));
  return NULL;
}

static hone_status prepare(hone_unit *unit, const hone_query *query, void *memory, hone_diagnostics *diag) {
  (void)query, (void)diag;
  state *s = memory;
  s->unit = unit;
  s->query.facts = &unit->facts;
  return HONE_OK;
}

static void drop(const state *s, block *b) {
  hn_free(&s->unit->allocator, b->allocated, b->count);
  *b = (block){0};
}

/* At least so many bytes; what was in them is lost. */
static bool room(const state *s, block *b, size_t bytes) {
  if (b->allocated && bytes + ALIGNMENT <= b->count) return true;
  drop(s, b);
  if (bytes > SIZE_MAX - ALIGNMENT) return false;
  b->allocated = hn_alloc(&s->unit->allocator, bytes + ALIGNMENT);
  if (!b->allocated) return false;
  b->count = bytes + ALIGNMENT;
  b->bytes = (char *)b->allocated + (-(uintptr_t)b->allocated & (ALIGNMENT - 1));
  return true;
}

static void unbind(state *s) {
  if (s->is_ready && s->tactic->release) s->tactic->release(s->inner.bytes);
  s->is_ready = s->is_bound = false;
}

static void release(void *memory) {
  state *s = memory;
  unbind(s);
  drop(s, &s->inner);
  drop(s, &s->packed);
  drop(s, &s->scratch);
}

static bool same_type(const hone_type *a, const hone_type *b) {
  if (a->kind != b->kind || (a->kind == HONE_TENSOR && (a->dtype != b->dtype || a->format != b->format))) return false;
  return a->kind != HONE_TENSOR || hn_shape_equal(&a->shape, &b->shape);
}

static bool same_types(const state *s, const hone_launch *l) {
  for (int i = 0; i < l->in_count; ++i)
    if (!same_type(&s->query.in[i].type, &l->in[i].type)) return false;
  for (int i = 0; i < l->out_count; ++i)
    if (!same_type(&s->query.out[i].type, &l->out[i].type)) return false;
  return true;
}

static void read_types(state *s, const hone_launch *l) {
  const hone_fact *given = s->facts + l->in_count + l->out_count;
  hone_fact *in = s->facts, *out = s->facts + l->in_count;
  s->query.constant_mask = 0;
  for (int i = 0; i < l->in_count; ++i) {
    in[i] = (hone_fact){.type = l->in[i].type, .constant = given[i].constant};
    if (given[i].constant) s->query.constant_mask |= hn_mask_bit(i);
  }
  for (int i = 0; i < l->out_count; ++i) out[i] = (hone_fact){.type = l->out[i].type};
}

/* Whether it takes the extents of now, and is of a wider instruction set or promises more than the best so far. */
static bool is_better(state *s, const hone_tactic *t, const hone_tactic *best) {
  hone_needs needs;
  if ((t->flags & HONE_TACTIC_DATA_DEPENDENT) || (t->isa & s->unit->facts.isa) != t->isa ||
      !hn_tactic_covers(t, s->query.op) || t->bound > most_error || t->compute || t->storages[0].in != HONE_PLAIN ||
      t->storages[0].out != HONE_PLAIN)
    return false;
  if (best && (t->isa < best->isa || (t->isa == best->isa && t->efficiency <= best->efficiency))) return false;
  s->query.tactic = t;
  return !hn_tactic_plan(&s->query, NULL, &needs);
}

static const hone_tactic *choose(state *s) {
  const hone_tactic *best = NULL;
  for (const hone_tactic *const *family = hn_backend_cpu.families; *family; ++family)
    for (const hone_tactic *row = *family; row->name; ++row)
      if (is_better(s, row, best)) best = row;
  return best;
}

static hone_status make(state *s, hone_diagnostics *diag) {
  const hone_tactic *t = s->tactic;
  const hone_query *q = &s->query;
  hone_needs needs;
  if (hn_tactic_plan(q, NULL, &needs)) return HONE_INTERNAL;
  if (!room(s, &s->inner, needs.state) || !room(s, &s->packed, needs.packed) || !room(s, &s->scratch, needs.scratch))
    return HN_FAIL_MEMORY(diag);
  if (needs.state) {
    memset(s->inner.bytes, 0, needs.state);
    if (hn_tactic_plan(q, s->inner.bytes, &needs)) return HONE_INTERNAL;
  }
  if (needs.packed) HN_TRY(t->pack(q, s->packed.bytes));
  if (t->prepare) HN_TRY(t->prepare(s->unit, q, s->inner.bytes, diag));
  s->parts = hn_launch_parts(q, needs.scratch);
  s->is_ready = true;
  return HONE_OK;
}

static hone_status bind(state *s, const hone_launch *l) {
  unbind(s);
  read_types(s, l);
  s->params = (hone_params){0};
  s->query.params = NULL;
  s->tactic = choose(s);
  s->query.params = &s->params;
  s->query.tactic = s->tactic;
  if (s->tactic && s->tactic->variants) (void)s->tactic->variants(&s->query, &s->params, 1);
  if (s->tactic) HN_TRY(make(s, l->diagnostics));
  s->is_bound = true;
  return HONE_OK;
}

static hone_status launch(void *memory, hone_stream *stream, const hone_launch *l) {
  state *s = memory;
  if (!s->is_bound || !same_types(s, l)) HN_TRY(bind(s, l));
  if (!s->tactic) return hn_eval_launch(&s->eval, stream, l);
  hone_launch inner = *l;
  inner.packed = s->packed.bytes;
  inner.scratch = s->scratch.bytes;
  hn_pool *pool = hn_stream_pool(stream);
  const int64_t outer = pool->at_least;
  pool->at_least = s->parts;
  const hone_status status = s->tactic->launch(s->inner.bytes, stream, &inner);
  pool->at_least = outer;
  return status;
}

const hone_tactic hn_tactics_cpu_data_dependent_any[] = {
    {sizeof(hone_tactic), .name = "cpu.data_dependent.any.c", .version = 1, .op = "*",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_DATA_DEPENDENT, .plan = plan, .prepare = prepare, .release = release,
     .launch = launch},
    {0}};
