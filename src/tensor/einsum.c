/* SPDX-License-Identifier: Apache-2.0 */
/* einsum.c - reads an einsum's equation (numpy's notation): labels are letters; the axes of an ellipsis get labels of
 * their own, numbered from the right. */
#include "tensor/einsum.h"
#include <string.h>

enum { LETTERS = HN_EINSUM_LETTERS, LABELS = HN_EINSUM_LABELS, ELLIPSIS = -1 };
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
