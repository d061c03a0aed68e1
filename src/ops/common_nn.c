/* SPDX-License-Identifier: Apache-2.0 */
/* common_nn.c - checks, windows, moments and costs shared by the neural-network rows. */
#include "ops/common_nn.h"
#include <math.h>
#include <string.h>

bool hn_dims_differ(int64_t a, int64_t b) { return !HONE_SYMBOLIC(a) && !HONE_SYMBOLIC(b) && a != b; }

hone_status hn_want_rank(hone_infer *infer, int input, int low, int high) {
  const int rank = hn_in_given(infer, input) ? hn_in_rank(infer, input) : -1;
  if (rank < 0 || (rank >= low && rank <= high)) return HONE_OK;
  const char *name = infer->op->in[input].name;
  if (low == high)
    return HN_INFER_FAIL(infer, "%s has rank %d, but %s expects rank %d", name, rank, infer->op->name, low);
  return HN_INFER_FAIL(infer, "%s has rank %d, but %s expects rank %d to %d", name, rank, infer->op->name, low, high);
}

hone_status hn_want_dim(hone_infer *infer, int input, int axis, int64_t want, const char *what) {
  if (!hn_in_given(infer, input) || hn_in_rank(infer, input) < 0) return HONE_OK;
  const hone_shape *shape = hn_in_shape(infer, input);
  if (axis < 0) axis += shape->rank;
  if (axis < 0 || axis >= shape->rank)
    return HN_INFER_FAIL(infer, "%s has rank %d, too low for axis %d", infer->op->in[input].name, shape->rank, axis);
  if (!hn_dims_differ(shape->dim[axis], want)) return HONE_OK;
  return HN_INFER_FAIL(infer, "dim %d of %s is %lld, but %s is %lld", axis, infer->op->in[input].name,
                       (long long)shape->dim[axis], what, (long long)want);
}

hone_status hn_want_int(hone_infer *infer, const char *attr, int64_t low, int64_t high) {
  const int64_t value = hn_attr_int(infer->attrs, attr);
  if (value >= low && value <= high) return HONE_OK;
  return HN_INFER_FAIL(infer, "%s is %lld, expected %lld to %lld", attr, (long long)value, (long long)low,
                       (long long)high);
}

bool hn_word_in(const char *word, const char *words) {
  const size_t length = strlen(word);
  for (const char *at = words; *at;) {
    const size_t here = strcspn(at, " ");
    if (here == length && !memcmp(at, word, length)) return true;
    at += here + (at[here] == ' ');
  }
  return false;
}

hone_status hn_want_text(hone_infer *infer, const char *attr, const char *allowed) {
  const char *value = hn_attr_text(infer->attrs, attr);
  if (hn_word_in(value, allowed)) return HONE_OK;
  return HN_INFER_FAIL(infer, "%s is \"%.80s\", expected one of: %s", attr, value, allowed);
}

enum { PORTS = HONE_MAX_PORTS, VALUES = 64 }; /* shapes are decided by at most 64 numbers of one input */

/* Facts of the actual inputs, with the values of short integer ones. */
static void actual_facts(const hone_eval *eval, hone_fact *facts, int64_t (*values)[VALUES]) {
  for (int i = 0; i < eval->in_count; ++i) {
    const hone_tensor *in = &eval->in[i];
    facts[i] = (hone_fact){.type = in->type};
    if (!hn_eval_given(eval, i) || !in->data) continue;
    facts[i].constant = in;
    const int64_t count = hn_elems(&in->type.shape);
    if (!hn_dtype_is_int(in->type.dtype) || count > VALUES) continue;
    for (int64_t k = 0; k < count; ++k) values[i][k] = hn_int(in, k);
    facts[i].value = values[i], facts[i].value_count = count;
  }
}

hone_status hn_eval_begin(hone_eval *eval) {
  hone_fact in[PORTS], out[PORTS];
  int64_t values[PORTS][VALUES];
  HN_TRY(hn_eval_reinfer(eval));
  if (eval->in_count > PORTS || eval->out_count > PORTS)
    return HN_FAIL(eval->diagnostics, HONE_UNSUPPORTED, "%s with more than %d inputs", eval->op->name, PORTS);
  actual_facts(eval, in, values);
  HN_TRY(hn_eval_infer(eval, in, out));
  for (int i = 0; i < eval->out_count; ++i)
    if (eval->out[i].type.kind != HONE_ABSENT && !hn_shape_equal(&out[i].type.shape, &eval->out[i].type.shape))
      return HN_FAIL(eval->diagnostics, HONE_MALFORMED, "output %d of %s would have another shape than was planned", i,
                     eval->op->name);
  return HONE_OK;
}

bool hn_eval_wanted(const hone_eval *eval, int output) {
  return output < eval->out_count && eval->out[output].type.kind != HONE_ABSENT;
}

void hn_window_joint(const hone_eval *eval, const hone_window *window, int64_t *first, int64_t *last) {
  *first = window ? window->first : 0;
  *last = window ? window->last : hn_elems(&eval->out[0].type.shape);
}

hone_cost hn_cost_work(double flops, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  return (hone_cost){
      .flops = flops, .bytes_read = hn_cost_bytes(in, in_count), .bytes_written = hn_cost_bytes(out, out_count)};
}

hone_cost hn_cost_transform(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out,
                            int out_count) {
  (void)attrs;
  return hn_cost_work(50.0 * (double)hn_elems(&out[0].type.shape), in, in_count, out, out_count);
}

double hn_eval_dot(const hone_eval *eval, const hone_tensor *a, int64_t a_at, int64_t a_step, const hone_tensor *b,
                   int64_t b_at, int64_t b_step, int64_t count) {
  enum { AT_ONCE = 1 << 16 };
  double sum = 0;
  for (int64_t i = 0; i < count; i += AT_ONCE) {
    if (i > 0 && hn_eval_stopped(eval)) break;
    sum = hn_dot(sum, a, a_at + i * a_step, a_step, b, b_at + i * b_step, b_step,
                 count - i < AT_ONCE ? count - i : AT_ONCE);
  }
  return sum;
}

hn_moments hn_moments_of(const hone_eval *eval, const hone_tensor *x, int64_t first, int64_t count, int64_t step) {
  hn_moments moments = {NAN, NAN};
  if (count <= 0) return moments;
  double sum = 0, square = 0;
  for (int64_t i = 0; i < count && !hn_eval_ends(eval, i + 1); ++i) sum += hn_real(x, first + i * step);
  moments.mean = sum / (double)count;
  for (int64_t i = 0; i < count && !hn_eval_ends(eval, i + 1); ++i) {
    const double difference = hn_real(x, first + i * step) - moments.mean;
    square += difference * difference;
  }
  moments.variance = square / (double)count;
  return moments;
}

hone_cost hn_cost_norm(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out,
                       int out_count) {
  (void)attrs;
  return hn_cost_work(10.0 * (double)hn_elems(&in[0].type.shape), in, in_count, out, out_count);
}
