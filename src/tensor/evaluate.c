/* SPDX-License-Identifier: Apache-2.0 */
/* evaluate.c - evaluations in windows of bounded cost, between which the caller may stop. */
#include "tensor/evaluate.h"
#include "base/clock.h"
#include "tensor/shape.h"

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
