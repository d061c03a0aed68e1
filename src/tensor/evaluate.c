/* SPDX-License-Identifier: Apache-2.0 */
/* evaluate.c - evaluations in windows of bounded cost, between which the caller may stop. */
#include "tensor/evaluate.h"
#include "base/clock.h"
#include "base/pool.h"
#include "tensor/shape.h"
#include <stdatomic.h>

enum { PORTS = 64 };
static const double window_work = 1e6; /* 1 to 50 ms of an eval, if it does what its cost says */
static const int64_t most_ns = 40000000;

static double sizes(const hone_fact *facts, int count) {
  double elements = 0;
  for (int i = 0; i < count; ++i)
    if (facts[i].type.kind == HONE_TENSOR) elements += (double)hn_elems(&facts[i].type.shape);
  return elements;
}

double hn_evaluation_work(const hone_op *op, const hone_attrs *attrs, const hone_fact *in, int in_count,
                          const hone_fact *out, int out_count) {
  const double flops = op->cost ? op->cost(attrs, in, in_count, out, out_count).flops : 0;
  return flops + sizes(in, in_count) + sizes(out, out_count);
}

/* Elements of output 0 that are worth one window; 0: the op is not computed in windows. */
static int64_t window_elements(const hone_eval *eval) {
  hone_fact in[PORTS] = {0}, out[1] = {0};
  if (eval->out_count != 1 || !eval->out[0].data || eval->in_count > PORTS || eval->out[0].type.kind != HONE_TENSOR ||
      !(eval->op->traits & (HONE_WINDOWED | HONE_ELEMENTWISE)))
    return 0;
  for (int i = 0; i < eval->in_count; ++i) {
    if (eval->in[i].type.kind != HONE_TENSOR && eval->in[i].type.kind != HONE_ABSENT) return 0;
    in[i] = (hone_fact){.type = eval->in[i].type, .constant = eval->in[i].data ? &eval->in[i] : NULL};
  }
  out[0].type = eval->out[0].type;
  const int64_t elements = hn_elems(&out[0].type.shape);
  const double work = hn_evaluation_work(eval->op, eval->attrs, in, eval->in_count, out, 1);
  if (elements < 2 || work <= window_work) return 0;
  return 1 + (int64_t)((double)elements * (window_work / work) / 256); /* the next ones are larger, if time allows */
}

hone_status hn_evaluate(hone_eval *eval, const hone_window *window, hn_stop *stop) {
  eval->stop = stop;
  int64_t step = hn_stop_armed(stop) ? window_elements(eval) : 0;
  if (step == 0) {
    if (stop) HN_TRY(hn_stop_check(stop, eval->diagnostics));
    HN_TRY(eval->op->eval(eval, window));
    return stop ? hn_stop_check(stop, eval->diagnostics) : HONE_OK;
  }
  const int64_t elements = hn_elems(&eval->out[0].type.shape);
  int64_t first = window && window->first > 0 ? window->first : 0;
  const int64_t last = window && window->last < elements ? window->last : elements;
  for (int64_t end; first < last; first = end) {
    HN_TRY(hn_stop_check(stop, eval->diagnostics));
    end = last - first <= step ? last : first + step;
    const hone_window part = {.output = 0, .first = first, .last = end};
    const int64_t begin_ns = hn_clock_ns();
    HN_TRY(eval->op->eval(eval, &part));
    const int64_t took_ns = hn_clock_ns() - begin_ns; /* a row's cost may be that of a better algorithm */
    if (took_ns > most_ns) step = step / 2 + 1;
    if (took_ns < most_ns / 8) step *= 2;
  }
  return hn_stop_check(stop, eval->diagnostics);
}

/* ---- by several threads ---- */

/* Who shares an evaluation has no messages: whatever fails is evaluated again by the caller alone, who says why. */
typedef struct shared_eval {
  const hone_eval *eval;
  size_t scratch_step;
  const hone_window *windows; /* NULL: ranges of elements of output 0 */
  atomic_bool failed;
} shared_eval;

static void evaluate_part(void *arg, int worker, int64_t begin, int64_t end) {
  shared_eval *shared = arg;
  hone_eval eval = *shared->eval;
  eval.diagnostics = NULL;
  if (shared->scratch_step) eval.scratch = (char *)eval.scratch + (size_t)worker * shared->scratch_step;
  if (!shared->windows) {
    const hone_window window = {.output = 0, .first = begin, .last = end};
    if (eval.op->eval(&eval, &window) != HONE_OK) atomic_store(&shared->failed, true);
    return;
  }
  for (int64_t i = begin; i < end; ++i)
    if (eval.op->eval(&eval, &shared->windows[i]) != HONE_OK) atomic_store(&shared->failed, true);
}

/* Windows are written by whole bytes, and nothing is shared but what is read. */
static bool has_own_windows(const hone_eval *eval, uint32_t traits, size_t scratch_step) {
  if (!(eval->op->traits & traits) || (eval->op->eval_scratch && scratch_step == 0)) return false;
  for (int i = 0; i < eval->out_count; ++i)
    if (eval->out[i].data && hone_dtype_bits(eval->out[i].type.dtype) < 8) return false;
  return true;
}

/* False: some part failed. */
static bool share(hone_eval *eval, size_t scratch_step, const hone_window *windows, int64_t count, int64_t grain,
                  const hn_pool *pool, hn_stop *stop) {
  shared_eval shared = {.eval = eval, .scratch_step = scratch_step, .windows = windows};
  hn_pool threads = *pool;
  eval->stop = threads.stop = stop;
  atomic_init(&shared.failed, false);
  hn_pool_run(&threads, count, grain, evaluate_part, &shared);
  return !atomic_load(&shared.failed);
}

hone_status hn_evaluate_all(hone_eval *eval, const hn_pool *pool, hn_stop *stop) {
  enum { GRAIN = 4096 };
  if (pool && has_own_windows(eval, HONE_WINDOWED | HONE_ELEMENTWISE, 0) && window_elements(eval) > 0 &&
      share(eval, 0, NULL, hn_elems(&eval->out[0].type.shape), GRAIN, pool, stop))
    return stop ? hn_stop_check(stop, eval->diagnostics) : HONE_OK;
  return hn_evaluate(eval, NULL, stop);
}

hone_status hn_evaluate_windows(hone_eval *eval, size_t scratch_step, const hone_window *windows, int count,
                                const hn_pool *pool, hn_stop *stop) {
  if (pool && count > 1 && has_own_windows(eval, HN_WINDOWS_INDEPENDENT, scratch_step) &&
      share(eval, scratch_step, windows, count, 1, pool, stop))
    return stop ? hn_stop_check(stop, eval->diagnostics) : HONE_OK;
  for (int i = 0; i < count; ++i) HN_TRY(hn_evaluate(eval, &windows[i], stop));
  return HONE_OK;
}
