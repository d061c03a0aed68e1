/* SPDX-License-Identifier: Apache-2.0 */
/* einsum.c - sums of products over named axes. Source: ONNX operator Einsum (numpy's notation).
 * Labels are letters; the axes of an ellipsis get labels of their own, numbered from the right, and broadcast. */
#include "ops/einsum.h"
#include "ops/common_nn.h"
#include <string.h>

enum { LETTERS = HN_EINSUM_LETTERS, LABELS = HN_EINSUM_LABELS, MAX_INPUTS = HN_EINSUM_INPUTS, ELLIPSIS = -1 };
typedef hn_einsum_term term;
typedef hn_einsum equation;

static int letter(char c) { return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : -2; }

char hn_einsum_letter(int label) { return (char)(label < 26 ? 'A' + label : 'a' + label - 26); }

/* One operand's letters up to a comma, an arrow or the end; ELLIPSIS stands for "...". count -1: not readable. */
static const char *read_term(const char *at, int *raw, int *count) {
  *count = 0;
  for (; *at && *at != ',' && *at != '-'; ++at) {
    if (*at == ' ') continue;
    const bool dots = !strncmp(at, "...", 3);
    const int label = dots ? ELLIPSIS : letter(*at);
    if (label == -2 || *count > HONE_MAX_RANK) {
      *count = -1;
      return at;
    }
    raw[(*count)++] = label;
    if (dots) at += 2;
  }
  return at;
}

/* Labels of `rank` axes; rank -1 (the output): as many as the letters and `dots` ellipsis axes give. */
static bool expand(const int *raw, int count, int rank, int dots, term *out) {
  int ellipses = 0;
  for (int i = 0; i < count; ++i) ellipses += raw[i] == ELLIPSIS;
  const int width = rank < 0 ? dots : ellipses ? rank - (count - 1) : 0;
  if (ellipses > 1 || width < 0 || count - ellipses + ellipses * width > HONE_MAX_RANK) return false;
  if (rank >= 0 && count - ellipses + ellipses * width != rank) return false;
  out->count = 0;
  for (int i = 0; i < count; ++i) {
    if (raw[i] != ELLIPSIS) out->label[out->count++] = raw[i];
    for (int k = width - 1; raw[i] == ELLIPSIS && k >= 0; --k) out->label[out->count++] = LETTERS + k;
  }
  return true;
}

/* Without an arrow: the ellipsis axes, then the letters that occur once, sorted. */
static bool implicit_output(const equation *eq, int inputs, int dots, term *out) {
  int seen[LABELS] = {0};
  for (int i = 0; i < inputs; ++i)
    for (int axis = 0; axis < eq->in[i].count; ++axis) ++seen[eq->in[i].label[axis]];
  out->count = 0;
  for (int k = dots - 1; k >= 0; --k) out->label[out->count++] = LETTERS + k;
  for (int i = 0; i < LETTERS; ++i) {
    if (seen[i] != 1) continue;
    if (out->count == HONE_MAX_RANK) return false;
    out->label[out->count++] = i;
  }
  return true;
}

hone_status hn_einsum_read(hone_diagnostics *diag, const char *text, int inputs, const int *ranks, equation *eq) {
  int raw[HONE_MAX_RANK + 2], count, dots = 0;
  const char *at = text;
  for (int i = 0; i < inputs; ++i) {
    at = read_term(at, raw, &count);
    if (count < 0 || !expand(raw, count, ranks[i], 0, &eq->in[i]))
      return HN_FAIL(diag, HONE_MALFORMED, "equation \"%.100s\": term %d does not fit an input of rank %d", text, i,
                     ranks[i]);
    for (int axis = 0; axis < eq->in[i].count; ++axis) {
      const int label = eq->in[i].label[axis];
      eq->used[label] = true;
      if (label - LETTERS + 1 > dots) dots = label - LETTERS + 1;
    }
    if (*at == ',' && i + 1 < inputs) {
      ++at;
    } else if (i + 1 < inputs || *at == ',') {
      return HN_FAIL(diag, HONE_MALFORMED, "equation \"%.100s\" does not have %d terms", text, inputs);
    }
  }
  if (*at == 0) {
    if (implicit_output(eq, inputs, dots, &eq->out)) return HONE_OK;
    return HN_FAIL(diag, HONE_MALFORMED, "equation \"%.100s\": the output has more than %d axes", text, HONE_MAX_RANK);
  }
  bool good = at[0] == '-' && at[1] == '>';
  at = good ? read_term(at + 2, raw, &count) : at;
  good = good && count >= 0 && *at == 0 && expand(raw, count, -1, dots, &eq->out);
  for (int i = 0; good && i < eq->out.count; ++i) {
    good = eq->used[eq->out.label[i]];
    for (int k = 0; k < i; ++k) good &= eq->out.label[k] != eq->out.label[i];
  }
  return good ? HONE_OK
              : HN_FAIL(diag, HONE_MALFORMED,
                        "equation \"%.100s\": the output's letters must be different ones of the inputs", text);
}

static hone_status infer(hone_infer *infer) {
  equation eq = {0};
  int ranks[MAX_INPUTS];
  int64_t dim[HONE_MAX_RANK];
  if (infer->in_count > MAX_INPUTS) return HN_INFER_UNSUPPORTED(infer, "einsum of more than %d inputs", MAX_INPUTS);
  for (int i = 0; i < infer->in_count; ++i)
    if ((ranks[i] = hn_in_rank(infer, i)) < 0) return HONE_OK;
  HN_TRY(hn_einsum_read(infer->diagnostics, hn_attr_text(infer->attrs, "equation"), infer->in_count, ranks, &eq));
  for (int i = 0; i < LABELS; ++i) eq.extent[i] = 1;
  for (int i = 0; i < infer->in_count; ++i)
    for (int axis = 0; axis < eq.in[i].count; ++axis) {
      int64_t *extent = &eq.extent[eq.in[i].label[axis]];
      HN_TRY_NOTE(infer->diagnostics, hn_infer_join(infer, *extent, hn_in_shape(infer, i)->dim[axis], extent),
                  "at axis %d of input %d", axis, i);
    }
  for (int i = 0; i < eq.out.count; ++i) dim[i] = eq.extent[eq.out.label[i]];
  hn_out_shape(infer, 0, eq.out.count, dim);
  return HONE_OK;
}

/* How far each label moves in each input; axes of extent 1 broadcast. */
static void strides_of(const hone_eval *eval, equation *eq, int64_t (*stride)[LABELS]) {
  for (int i = 0; i < LABELS; ++i) eq->extent[i] = 1;
  for (int i = 0; i < eval->in_count; ++i) {
    const hone_shape *shape = &eval->in[i].type.shape;
    int64_t step = 1;
    memset(stride[i], 0, sizeof stride[i]);
    for (int axis = shape->rank - 1; axis >= 0; step *= shape->dim[axis--]) {
      if (shape->dim[axis] == 1) continue;
      stride[i][eq->in[i].label[axis]] += step;
      eq->extent[eq->in[i].label[axis]] = shape->dim[axis];
    }
  }
}

static void add_product(const hone_eval *eval, const int64_t *at, bool whole, double *sum, uint64_t *total) {
  double product = 1;
  uint64_t exact = 1;
  for (int i = 0; i < eval->in_count; ++i)
    if (whole)
      exact *= (uint64_t)hn_int(&eval->in[i], at[i]);
    else
      product *= hn_real(&eval->in[i], at[i]);
  *sum += product, *total += exact;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  equation eq = {0};
  int ranks[MAX_INPUTS], summed[LABELS], summed_count = 0;
  int64_t stride[MAX_INPUTS][LABELS], first, last, index[HONE_MAX_RANK], terms = 1;
  for (int i = 0; i < eval->in_count; ++i) ranks[i] = eval->in[i].type.shape.rank;
  HN_TRY(hn_einsum_read(eval->diagnostics, hn_attr_text(eval->attrs, "equation"), eval->in_count, ranks, &eq));
  strides_of(eval, &eq, stride);
  for (int i = 0; i < eq.out.count; ++i) eq.used[eq.out.label[i]] = false;
  for (int i = 0; i < LABELS; ++i) {
    if (!eq.used[i]) continue;
    summed[summed_count++] = i;
    if (!hn_mul_i64(terms, eq.extent[i], &terms))
      return HN_FAIL(eval->diagnostics, HONE_LIMIT, "einsum would sum more than 2^63 terms");
  }
  const bool whole = hn_dtype_is_int(eval->out[0].type.dtype);
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t flat = first; flat < last; ++flat) {
    double sum = 0;
    uint64_t total = 0;
    hn_unflatten(&eval->out[0].type.shape, flat, index);
    for (int64_t t = 0; t < terms && !hn_eval_ends(eval, t); ++t) {
      int64_t at[MAX_INPUTS] = {0}, rest = t;
      for (int i = 0; i < eval->in_count; ++i)
        for (int k = 0; k < eq.out.count; ++k) at[i] += index[k] * stride[i][eq.out.label[k]];
      for (int k = summed_count - 1; k >= 0; rest /= eq.extent[summed[k--]])
        for (int i = 0; i < eval->in_count; ++i) at[i] += rest % eq.extent[summed[k]] * stride[i][summed[k]];
      add_product(eval, at, whole, &sum, &total);
    }
    if (whole)
      hn_store_int(&eval->out[0], flat, (int64_t)total);
    else
      hn_store_real(&eval->out[0], flat, sum);
  }
  return HONE_OK;
}

/* All labels' extents multiplied, for a loop over them all; pairwise orders do better, this is the upper bound. */
static hone_cost cost(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  equation eq = {0};
  int ranks[MAX_INPUTS];
  double terms = 1;
  for (int i = 0; i < LABELS; ++i) eq.extent[i] = 1;
  for (int i = 0; i < in_count && i < MAX_INPUTS; ++i) ranks[i] = in[i].type.shape.rank;
  if (in_count <= MAX_INPUTS && !hn_einsum_read(NULL, hn_attr_text(attrs, "equation"), in_count, ranks, &eq))
    for (int i = 0; i < in_count; ++i)
      for (int axis = 0; axis < eq.in[i].count; ++axis)
        if (in[i].type.shape.dim[axis] != 1) eq.extent[eq.in[i].label[axis]] = in[i].type.shape.dim[axis];
  for (int i = 0; i < LABELS; ++i) terms *= (double)eq.extent[i];
  return hn_cost_work(terms * in_count, in, in_count, out, out_count);
}

const hone_op hn_op_einsum = {
    .struct_size = sizeof(hone_op),
    .name = "einsum",
    .doc = "sums of products over named axes",
    .in = {{"inputs", 't', HONE_TYPES_NUMBER, HONE_PORT_VARIADIC}},
    .out = {{"output", 't', 0, 0}},
    .attr = {HONE_NEEDED_ATTR("equation", HONE_ATTR_STRING)},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = cost,
    .report_class = "Matrix product",
    .onnx = {{.name = "Einsum", .first = 12, .last = HONE_LATEST}},
};
