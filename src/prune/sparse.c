/* SPDX-License-Identifier: Apache-2.0 */
/* sparse.c - magnitudes by columns, swaps of columns that keep more of them, and the zeros. */
#include "prune/sparse.h"
#include "base/random.h"
#include "tensor/element.h"
#include "tensor/shape.h"
#include <math.h>

enum { FOUR = 4, TRIES_PER_CHANNEL = 100 };
static const double most_work = 2e9; /* magnitudes looked at, of one group's search */

static hone_status no_memory(const hn_sparse *s) { return HN_FAIL_MEMORY(&s->coupling->graph->context->diag); }

/* Weights seen as [outer][place along the axis][inner]. */
typedef struct around {
  int64_t outer, extent, inner;
} around;

static around split_at(const hone_shape *shape, int axis) {
  around a = {.outer = 1, .extent = shape->dim[axis], .inner = 1};
  for (int i = 0; i < shape->rank; ++i) *(i < axis ? &a.outer : &a.inner) *= i == axis ? 1 : shape->dim[i];
  return a;
}

static inline float larger(float a, float b) { return a > b ? a : b; }

static inline float most_two(float a, float b, float c, float d) {
  return larger(larger(a, b) + larger(c, d), larger(a + b, c + d));
}

/* What stays of the four columns at places 4 quad .. Sums of their own for LANES rows side by side become vectors. */
static double quad_kept(const hn_sparse_reader *r, int64_t quad) {
  enum { LANES = 16 };
  const float *w[FOUR];
  float sums[LANES] = {0};
  double kept = 0;
  int64_t k = 0;
  for (int i = 0; i < FOUR; ++i) w[i] = r->magnitudes + r->column[quad * FOUR + i] * r->rows;
  for (; k + LANES <= r->rows; k += LANES)
    for (int j = 0; j < LANES; ++j) sums[j] += most_two(w[0][k + j], w[1][k + j], w[2][k + j], w[3][k + j]);
  for (; k < r->rows; ++k) kept += (double)most_two(w[0][k], w[1][k], w[2][k], w[3][k]);
  for (int j = 0; j < LANES; ++j) kept += (double)sums[j];
  return kept;
}

static double all_kept(const hn_sparse_reader *r) {
  double kept = 0;
  for (int64_t q = 0; q < r->columns / FOUR; ++q) kept += quad_kept(r, q);
  return kept;
}

static const char *why_dense(const hn_coupling *c, const hn_coupled_layer *layer, bool dense) {
  if (dense) return "it was named to stay";
  if (layer->inputs < 0) return "each of its groups reads channels of its own, or they are not known";
  if (!hn_dtype_is_float(layer->weights->fact.type.dtype)) return "its weights are no floats";
  return c->axes[layer->inputs].extent % FOUR ? "its input channels are no multiple of 4" : NULL;
}

static hone_status read_weights(hn_sparse *s, const hn_coupled_layer *layer, hn_sparse_reader *r) {
  const hone_tensor *weights = layer->weights->fact.constant;
  const around a = split_at(&weights->type.shape, s->coupling->axes[layer->inputs].axis);
  r->columns = a.extent;
  r->rows = a.outer * a.inner;
  r->magnitudes = hn_arena_alloc(s->arena, (size_t)(r->rows * r->columns + 1) * sizeof(float), 64);
  r->column = HN_NEW(s->arena, int, r->columns + 1);
  if (!r->magnitudes || !r->column) return no_memory(s);
  for (int64_t o = 0, at = 0; o < a.outer; ++o)
    for (int64_t k = 0; k < a.extent; ++k)
      for (int64_t i = 0; i < a.inner; ++i, ++at) {
        const double x = fabs(hn_real(weights, at));
        r->magnitudes[k * r->rows + o * a.inner + i] = (float)x;
        r->whole += x;
      }
  for (int64_t k = 0; k < r->columns; ++k) r->column[k] = (int)k;
  r->plain = r->kept = all_kept(r);
  return HONE_OK;
}

hone_status hn_sparse_begin(hn_coupling *c, const bool *dense, hn_arena *arena, hn_sparse *out) {
  *out = (hn_sparse){.coupling = c, .arena = arena, .readers = HN_NEW(arena, hn_sparse_reader, c->layer_count + 1)};
  if (!out->readers) return no_memory(out);
  for (int i = 0; i < c->layer_count; ++i) {
    hn_sparse_reader *r = &out->readers[i];
    r->layer = i;
    r->why = why_dense(c, &c->layers[i], dense[i]);
    HN_TRY(hn_check_stop(c->graph->context));
    if (!r->why) HN_TRY(read_weights(out, &c->layers[i], r));
  }
  return HONE_OK;
}

/* ---- the search ---- */

/* A layer that reads the group: the place of each unit along its input. */
typedef struct reading {
  hn_sparse_reader *reader;
  int *place;
} reading;

/* NULL place: no unit has exactly one, so the layer says nothing of the order. */
static hone_status find_places(const hn_sparse *s, const hn_group *g, hn_sparse_reader *r, reading *out) {
  const hn_coupling *c = s->coupling;
  const int axis = c->layers[r->layer].inputs;
  int *place = HN_NEW(s->arena, int, g->count + 1);
  *out = (reading){.reader = r};
  if (!place) return no_memory(s);
  for (int u = 0; u < g->count; ++u) {
    const hn_unit *unit = hn_group_unit(c, g, u);
    int found = 0;
    for (int k = 0; k < unit->count; ++k)
      if (c->axis_of_element[c->members[unit->first + k]] == axis) {
        place[u] = c->members[unit->first + k] - c->axes[axis].first;
        ++found;
      }
    if (found != 1) return HONE_OK;
  }
  out->place = place;
  return HONE_OK;
}

static void swap(int *a, int *b) {
  const int old = *a;
  *a = *b;
  *b = old;
}

/* What swapping two units' columns keeps more, in all layers that read them; they are swapped when it returns. */
static double swap_units(const reading *list, int count, int a, int b) {
  double more = 0;
  for (int i = 0; i < count; ++i) {
    hn_sparse_reader *r = list[i].reader;
    const int64_t first = list[i].place[a] / FOUR, second = list[i].place[b] / FOUR;
    if (first != second) more -= quad_kept(r, first) + quad_kept(r, second);
    swap(&r->column[list[i].place[a]], &r->column[list[i].place[b]]);
    if (first != second) more += quad_kept(r, first) + quad_kept(r, second);
  }
  return more;
}

static hone_status search(const hn_sparse *s, const hn_group *g, const reading *list, int count, int *unit_at) {
  double rows = 0, least = 0; /* a gain is more than what sums of floats may be off by */
  for (int i = 0; i < count; ++i) {
    rows += (double)list[i].reader->rows;
    least += 1e-5 * list[i].reader->whole / (double)list[i].reader->columns;
  }
  const double tries = fmin((double)TRIES_PER_CHANNEL * g->count, most_work / (4 * FOUR * rows + 1));
  hn_random random = {.state = 1};
  for (double t = 0; t < tries; ++t) {
    const int a = (int)(hn_random_u64(&random) % (uint64_t)g->count);
    const int b = (int)(hn_random_u64(&random) % (uint64_t)g->count);
    if (a == b) continue;
    if (swap_units(list, count, a, b) > least)
      swap(&unit_at[a], &unit_at[b]);
    else
      (void)swap_units(list, count, a, b); /* back */
    if (((int64_t)t & 255) == 0) HN_TRY(hn_check_stop(s->coupling->graph->context));
  }
  return HONE_OK;
}

hone_status hn_sparse_permute(hn_sparse *s, int group, hn_cut *cut) {
  const hn_coupling *c = s->coupling;
  const hn_group *g = &c->groups[group];
  reading *list = HN_NEW(s->arena, reading, c->layer_count + 1);
  int *unit_at = HN_NEW(s->arena, int, g->count + 1), count = 0;
  if (!list || !unit_at) return no_memory(s);
  for (int u = 0; u < g->count; ++u) unit_at[u] = u;
  for (int i = 0; i < c->layer_count && g->count > FOUR; ++i) {
    if (s->readers[i].why) continue;
    HN_TRY(find_places(s, g, &s->readers[i], &list[count]));
    count += list[count].place != NULL;
  }
  if (count == 0) return HONE_OK;
  HN_TRY(search(s, g, list, count, unit_at));
  for (int i = 0; i < count; ++i) {
    list[i].reader->kept = all_kept(list[i].reader);
    list[i].reader->permuted = true;
  }
  return hn_cut_add_places(cut, group, unit_at);
}

/* ---- the zeros ---- */

/* The two of most magnitude stay; of equal ones the first. */
static void zero_two(hone_tensor *weights, int64_t first, int64_t step) {
  bool stays[FOUR] = {false};
  for (int turn = 0; turn < 2; ++turn) {
    int most = -1;
    double magnitude = -1;
    for (int i = 0; i < FOUR; ++i) {
      const double x = fabs(hn_real(weights, first + i * step));
      if (stays[i] || x <= magnitude) continue;
      most = i;
      magnitude = x;
    }
    if (most >= 0) stays[most] = true;
  }
  for (int i = 0; i < FOUR; ++i)
    if (!stays[i]) hn_store_real(weights, first + i * step, 0);
}

hone_status hn_sparse_zero(const hn_sparse *s, hone_graph *graph, int layer) {
  const hn_coupled_layer *of = &s->coupling->layers[layer];
  const hn_node *node = graph->values[of->node->out[0]->id]->node;
  hone_diagnostics *diag = &graph->context->diag;
  const int port = of->weights_port, axis = s->coupling->axes[of->inputs].axis;
  hn_value *old = node->in[port];
  hone_tensor tensor = *old->fact.constant;
  const around a = split_at(&tensor.type.shape, axis);
  const hn_arena_mark mark = hn_arena_here(s->arena);
  tensor.data = hn_arena_copy(s->arena, tensor.data, tensor.bytes);
  if (!tensor.data) return no_memory(s);
  for (int64_t o = 0; o < a.outer; ++o)
    for (int64_t k = 0; k < a.extent; k += FOUR)
      for (int64_t i = 0; i < a.inner; ++i) zero_two(&tensor, (o * a.extent + k) * a.inner + i, a.inner);
  if (!hn_sparse_is_two_of_four(&tensor, axis))
    return HN_FAIL(diag, HONE_UNSUPPORTED, "layer %s: its weights hold NaN, which has no magnitude", node->name);
  hn_value *made = hn_constant_create(graph, old->name, &tensor, false);
  if (!made) return HONE_NO_MEMORY;
  hn_value_replace(old, made);
  hn_value_swap_names(graph, old, made);
  hn_arena_back(s->arena, &mark);
  return HONE_OK;
}

bool hn_sparse_is_two_of_four(const hone_tensor *weights, int axis) {
  const around a = split_at(&weights->type.shape, axis);
  if (a.extent % FOUR) return false;
  for (int64_t o = 0; o < a.outer; ++o)
    for (int64_t k = 0; k < a.extent; k += FOUR)
      for (int64_t i = 0; i < a.inner; ++i) {
        int zeros = 0;
        for (int f = 0; f < FOUR; ++f) zeros += hn_real(weights, (o * a.extent + k + f) * a.inner + i) == 0;
        if (zeros < 2) return false;
      }
  return true;
}
