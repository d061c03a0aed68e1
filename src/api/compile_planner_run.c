/* SPDX-License-Identifier: Apache-2.0 */
/* compile_planner_run.c - engines of a plan on samples: how far their outputs are from those of f32, and how long they
 * take beside each other. */
#include "api/planner.h"
#include "base/clock.h"
#include "tensor/shape.h"
#include "tune/tuning.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KEPT_BYTES = 256 << 20 };

static hone_status fail(const hn_planning *p, const hone_session *session, hone_status status, int64_t sample) {
  hone_diagnostics *diag = &p->context->diag;
  for (int i = 0; i < hone_session_message_count(session); ++i) {
    hone_status own;
    const char *text = hone_session_message(session, i, &own);
    (void)HN_FAIL(diag, own, "%s", text);
  }
  return hone_note(diag, status, "in sample %lld of the planner", (long long)sample);
}

hone_status hn_plan_open(hn_planning *p, hone_engine *engine, hone_session **out) {
  const hone_session_options options = {
      .struct_size = sizeof options, .trust_weights = true, .cancel = p->context->stop.cancel};
  return hone_session_create(engine, &options, out, &p->context->diag);
}

/* Sample `index` of those; *out_count 0: there is none. */
static hone_status read_sample(hn_planning *p, const hn_plan_samples *samples, int64_t index, hone_named_tensor *out,
                               int room, int *out_count) {
  hone_diagnostics *diag = &p->context->diag;
  *out_count = 0;
  if (samples->count > 0 && index >= samples->count) return HONE_OK;
  const hone_status status = samples->sample(samples->user, samples->first + index, out, room, out_count);
  if (status == HONE_OK) return status;
  if (diag->count == 0) (void)HN_FAIL(diag, status, "the samples could not be read");
  return hone_note(diag, status, "while reading sample %lld", (long long)(samples->first + index));
}

static hone_status put_sample(hn_planning *p, hone_session *session, const hone_named_tensor *inputs, int count,
                              int64_t index) {
  for (int i = 0; i < count; ++i) {
    const hone_status status = hone_session_copy_in(session, inputs[i].name, &inputs[i].tensor);
    if (status != HONE_OK) return fail(p, session, status, index);
  }
  return HONE_OK;
}

/* The shapes that engines are built for, where the caller gave none: those of the first sample. */
static hone_status take_shapes(hn_planning *p, const hone_graph *graph) {
  const int room = graph->main->param_count;
  if (p->build.shape_count > 0) return HONE_OK;
  hone_named_tensor *inputs = HN_NEW(&p->arena, hone_named_tensor, room + 1);
  p->shapes = HN_NEW(&p->arena, hone_profile_shape, room + 1);
  if (!inputs || !p->shapes) return HN_FAIL_MEMORY(&p->context->diag);
  int count;
  HN_TRY(read_sample(p, &p->judged, 0, inputs, room, &count));
  for (int i = 0; i < count; ++i) {
    const hone_shape *shape = &inputs[i].tensor.type.shape;
    const char *name = hn_arena_text(&p->arena, inputs[i].name);
    if (!name) return HN_FAIL_MEMORY(&p->context->diag);
    p->shapes[i] = (hone_profile_shape){.input = name, .min = *shape, .opt = *shape, .max = *shape};
  }
  p->build.shapes = p->shapes;
  p->build.shape_count = count;
  return HONE_OK;
}

/* Before any pass has run: what passes fuse keeps the dims that it had then. */
hone_status hn_plan_fix_shapes(hn_planning *p, hone_graph *graph) {
  HN_TRY(take_shapes(p, graph));
  for (int i = 0; i < graph->main->param_count; ++i) {
    hone_shape *shape = &graph->main->params[i]->fact.type.shape;
    const hone_profile_shape *given = hn_profile_shape(&p->build, 0, graph->main->params[i]->name);
    for (int d = 0; given && given->opt.rank == shape->rank && d < shape->rank; ++d)
      if (HONE_SYMBOLIC(shape->dim[d]) && given->min.dim[d] == given->max.dim[d]) shape->dim[d] = given->min.dim[d];
  }
  const hone_status status = hn_infer_graph(graph);
  return status == HONE_OK ? status : hone_note(&p->context->diag, status, "with the shapes of the samples");
}

/* ---- judging ---- */

typedef struct distance {
  double apart, norm;
  int64_t top;
} distance;

static int64_t top_of(const float *values, int64_t count) {
  int64_t top = 0;
  for (int64_t i = 1; i < count; ++i)
    if (values[i] > values[top]) top = i;
  return top;
}

static hone_status keep(hn_planning *p, hn_plan_wanted *w, const hone_tensor *tensor, bool first) {
  hn_arena *arena = &p->arena;
  if (w->count == w->capacity) {
    int capacity = (int)w->capacity, more = capacity, tops = capacity;
    if (!hn_arena_grow(arena, (void **)&w->outputs, &capacity, (int)w->count + 1, sizeof *w->outputs) ||
        !hn_arena_grow(arena, (void **)&w->elements, &more, (int)w->count + 1, sizeof *w->elements) ||
        !hn_arena_grow(arena, (void **)&w->top, &tops, (int)w->count + 1, sizeof *w->top))
      return HN_FAIL_MEMORY(&p->context->diag);
    w->capacity = capacity < more ? capacity : more;
    if (tops < w->capacity) w->capacity = tops;
  }
  const int64_t at = w->count++, count = hn_elems(&tensor->type.shape);
  w->outputs[at] = NULL;
  w->elements[at] = count;
  w->top[at] = -1;
  if (tensor->type.kind != HONE_TENSOR || tensor->type.dtype != HONE_F32) return HONE_OK;
  w->top[at] = first ? top_of(tensor->data, count) : -1;
  w->bytes += tensor->bytes;
  if (w->bytes > MOST_KEPT_BYTES) return HONE_OK;
  w->outputs[at] = hn_arena_copy(arena, tensor->data, tensor->bytes);
  return w->outputs[at] ? HONE_OK : HN_FAIL_MEMORY(&p->context->diag);
}

/* Adds |y' - y|^2 / |y|^2; an output that is no number is as far away as can be. */
static void compare(const float *want, const float *got, int64_t count, double *noise) {
  double apart = 0, norm = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double x = (double)want[i], y = (double)got[i];
    apart += (y - x) * (y - x);
    norm += x * x;
  }
  if (norm > 0) *noise += isfinite(apart) ? apart / norm : 1e6;
}

/* The outputs of one sample. The first output's largest element is the class. */
static hone_status look(hn_planning *p, hone_session *session, const hn_plan_samples *samples, bool fills,
                        hn_plan_wanted *w, hn_plan_verdict *v) {
  const hone_graph *graph = p->q.graph;
  const int outputs = graph->main->result_count;
  const int64_t sample = v->samples;
  double noise = 0;
  int terms = 0;
  for (int o = 0; o < outputs; ++o) {
    hone_tensor got;
    const int64_t at = sample * outputs + o;
    const hone_status status = hone_session_tensor(session, graph->output_names[o], &got);
    if (status != HONE_OK) return fail(p, session, status, sample);
    if (fills) HN_TRY(keep(p, w, &got, o == 0));
    if (at >= w->count || w->elements[at] != hn_elems(&got.type.shape)) continue;
    if (w->outputs[at]) {
      compare(w->outputs[at], got.data, w->elements[at], &noise);
      ++terms;
    }
    if (o > 0 || w->top[at] < 0) continue;
    const int64_t top = top_of(got.data, w->elements[at]);
    const int64_t label =
        p->options.label && w == &p->judged_f32 ? p->options.label(p->options.label_user, samples->first + sample) : -1;
    v->same += top == w->top[at];
    v->right += top == label;
    v->right_f32 += w->top[at] == label;
    v->discord += label >= 0 ? (top == label) != (w->top[at] == label) : top != w->top[at];
    v->labels += label >= 0;
  }
  if (terms > 0) noise /= terms;
  v->noise += noise;
  v->rel_l2 += sqrt(noise);
  return HONE_OK;
}

hone_status hn_plan_judge(hn_planning *p, hone_session *session, const hn_plan_samples *samples, hn_plan_wanted *wanted,
                          hn_plan_verdict *out) {
  const bool fills = wanted->count == 0;
  hn_plan_verdict v = {0};
  hn_arena arena;
  hn_arena_init(&arena, p->context->allocator);
  const int room = p->q.graph->main->param_count;
  hone_named_tensor *inputs = HN_NEW(&arena, hone_named_tensor, room + 1);
  hone_status status = inputs ? HONE_OK : HN_FAIL_MEMORY(&p->context->diag);
  while (status == HONE_OK) {
    int count;
    status = hn_check_stop(p->context);
    if (status == HONE_OK) status = read_sample(p, samples, v.samples, inputs, room, &count);
    if (status != HONE_OK || count == 0) break;
    status = put_sample(p, session, inputs, count, v.samples);
    if (status == HONE_OK) {
      status = hone_session_run(session);
      if (status != HONE_OK) status = fail(p, session, status, v.samples);
    }
    if (status == HONE_OK) status = look(p, session, samples, fills, wanted, &v);
    ++v.samples;
  }
  hn_arena_deinit(&arena);
  HN_TRY(status);
  const double n = v.samples > 0 ? (double)v.samples : 1;
  v.rel_l2 /= n, v.noise /= n, v.same /= n, v.discord /= n;
  if (v.labels > 0) v.right /= v.labels, v.right_f32 /= v.labels;
  *out = v;
  return HONE_OK;
}

/* ---- timing ---- */

enum { LEAST_RUNS = 15, MOST_RUNS = 200, MOST_OF_BLOCK = 8, WARM_RUNS = 2 };
static const double budget_ns = 3e8, block_ns = 2e7; /* of each engine, of one of its turns */

static hone_status run_once(hn_planning *p, hn_plan_built *b, double *out_ns) {
  const int64_t begin = hn_clock_ns();
  const hone_status status = hone_session_run(b->session);
  *out_ns = (double)(hn_clock_ns() - begin);
  return status == HONE_OK ? status : fail(p, b->session, status, 0);
}

static void sum_up(hn_plan_built *b, double *runs, int count) {
  qsort(runs, (size_t)count, sizeof *runs, hn_compare_doubles);
  b->least_ns = runs[0];
  b->median_ns = count & 1 ? runs[count / 2] : (runs[count / 2 - 1] + runs[count / 2]) / 2;
}

/* A turn: its first runs bring the engine's weights and buffers back into the caches that others took, as they are
 * where an engine runs by itself. Slow ones have no use for that. */
static hone_status run_block(hn_planning *p, hn_plan_built *b, double *runs, int count) {
  double ns;
  for (int i = 0; count > 1 && i < WARM_RUNS; ++i) HN_TRY(run_once(p, b, &ns));
  for (int i = 0; i < count; ++i) HN_TRY(run_once(p, b, &runs[i]));
  return HONE_OK;
}

/* Each engine a few runs, then again: what disturbs the machine disturbs all of them. The first turn does not count. */
hone_status hn_plan_time(hn_planning *p, int first, int count) {
  hn_plan_built *list = p->built + first;
  double *runs = HN_NEW(&p->arena, double, count *MOST_RUNS + 1), slowest = 0;
  const int room = p->q.graph->main->param_count;
  hone_named_tensor *inputs = HN_NEW(&p->arena, hone_named_tensor, room + 1);
  int given;
  if (!runs || !inputs) return HN_FAIL_MEMORY(&p->context->diag);
  HN_TRY(read_sample(p, &p->judged, 0, inputs, room, &given));
  for (int b = 0; b < count; ++b) {
    double ns;
    HN_TRY(put_sample(p, list[b].session, inputs, given, 0));
    HN_TRY(run_once(p, &list[b], &ns));
    slowest = fmax(slowest, ns);
  }
  const int block = (int)fmin(fmax(block_ns / fmax(slowest, 1), 1), MOST_OF_BLOCK);
  const int turns = (int)fmin(fmax(budget_ns / fmax(slowest, 1), LEAST_RUNS), MOST_RUNS) / block;
  for (int turn = 0; turn < turns; ++turn) {
    HN_TRY(hn_check_stop(p->context));
    for (int b = 0; b < count; ++b) HN_TRY(run_block(p, &list[b], &runs[b * MOST_RUNS + turn * block], block));
    if (p->options.progress) p->options.progress(p->options.progress_user, "timing in turns", turn + 1, turns);
  }
  for (int b = 0; b < count; ++b) sum_up(&list[b], runs + b * MOST_RUNS, turns * block);
  return HONE_OK;
}
