/* SPDX-License-Identifier: Apache-2.0 */
/* qkv_attention.c - attention whose queries, keys and values lie beside each other in one tensor, as one linear layer
 * writes them: [batch, length, (q_num_heads + 2 kv_num_heads) * size]. The mask is added to the scores.
 * No ONNX operator: passes make it, and its parts are what ONNX has. A row with every key masked gives zeros. */
#include "ops/common_nn.h"
#include <math.h>

enum { QKV, MASK };

typedef struct extents {
  int64_t batch, length, heads, kv_heads, size, width; /* width: floats of a row of qkv */
} extents;

static extents extents_of(const hone_attrs *attrs, const hone_shape *qkv) {
  extents e = {.batch = qkv->dim[0], .length = qkv->dim[1], .width = qkv->dim[2]};
  e.heads = hn_attr_int(attrs, "q_num_heads"), e.kv_heads = hn_attr_int(attrs, "kv_num_heads");
  e.size = e.width / (e.heads + 2 * e.kv_heads);
  return e;
}

static hone_status infer(hone_infer *infer) {
  HN_TRY(hn_want_rank(infer, QKV, 3, 3));
  HN_TRY(hn_want_int(infer, "q_num_heads", 1, INT32_MAX));
  HN_TRY(hn_want_int(infer, "kv_num_heads", 1, INT32_MAX));
  const hone_shape *qkv = hn_in_shape(infer, QKV);
  if (qkv->rank < 0) return HONE_OK;
  if (HONE_SYMBOLIC(qkv->dim[2])) return HN_INFER_UNSUPPORTED(infer, "the size of the heads is not known");
  const extents e = extents_of(infer->attrs, qkv);
  if (e.heads % e.kv_heads || e.size * (e.heads + 2 * e.kv_heads) != e.width)
    return HN_INFER_FAIL(infer, "%lld floats a row do not make %lld query heads and %lld key heads", (long long)e.width,
                         (long long)e.heads, (long long)e.kv_heads);
  if (hn_in_given(infer, MASK) && hn_in_rank(infer, MASK) >= 0) {
    const hone_shape *mask = hn_in_shape(infer, MASK);
    const int64_t want[4] = {e.batch, e.heads, e.length, e.length};
    HN_TRY(hn_want_rank(infer, MASK, 1, 4));
    for (int i = 0; i < mask->rank; ++i)
      if (mask->dim[i] != 1 || i + 1 == mask->rank)
        HN_TRY(hn_want_dim(infer, MASK, i, want[4 - mask->rank + i], "what broadcasts to the scores"));
  }
  const int64_t y[3] = {e.batch, e.length, e.heads * e.size};
  hn_out_shape(infer, 0, 3, y);
  return HONE_OK;
}

static double mask_at(const hone_eval *eval, const int64_t *at) {
  if (!hn_eval_given(eval, MASK)) return 0;
  const hone_shape *shape = &eval->in[MASK].type.shape;
  int64_t flat = 0;
  for (int i = 0; i < shape->rank; ++i)
    flat = flat * shape->dim[i] + (shape->dim[i] == 1 ? 0 : at[4 - shape->rank + i]);
  return hn_real(&eval->in[MASK], flat);
}

/* One row of one head; scores has a place for each key. */
static void attend(hone_eval *eval, const extents *e, int64_t b, int64_t i, int64_t h, double *scores) {
  const hone_tensor *qkv = &eval->in[QKV];
  const double scale =
      hn_attr_has(eval->attrs, "scale") ? hn_attr_float(eval->attrs, "scale") : 1 / sqrt((double)e->size);
  const int64_t head = h / (e->heads / e->kv_heads), q = (b * e->length + i) * e->width + h * e->size;
  const int64_t k = b * e->length * e->width + (e->heads + head) * e->size, v = k + e->kv_heads * e->size;
  const int64_t keys = hn_attr_int(eval->attrs, "is_causal") ? i + 1 : e->length;
  double top = -(double)INFINITY, sum = 0;
  for (int64_t j = 0; j < keys; ++j) {
    const int64_t at[4] = {b, h, i, j};
    double score = 0;
    for (int64_t d = 0; d < e->size; ++d) score += hn_real(qkv, q + d) * hn_real(qkv, k + j * e->width + d);
    const double added = mask_at(eval, at);
    scores[j] = added == -(double)INFINITY ? added : score * scale + added;
    top = fmax(top, scores[j]);
  }
  for (int64_t j = 0; j < keys; ++j) sum += scores[j] = top > -(double)INFINITY ? exp(scores[j] - top) : 0;
  for (int64_t d = 0; d < e->size; ++d) {
    double y = 0;
    for (int64_t j = 0; j < keys; ++j)
      if (scores[j] != 0) y += scores[j] * hn_real(qkv, v + j * e->width + d);
    hn_store_real(&eval->out[0], ((b * e->length + i) * e->heads + h) * e->size + d, sum == 0 ? 0 : y / sum);
  }
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const extents e = extents_of(eval->attrs, &eval->in[QKV].type.shape);
  int64_t first, last;
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t row = 0; row < e.batch * e.length * e.heads; ++row) {
    if (row * e.size + e.size <= first || row * e.size >= last) continue;
    const int64_t at = row / e.heads;
    attend(eval, &e, at / e.length, at % e.length, row % e.heads, eval->scratch);
  }
  return HONE_OK;
}

static size_t scratch(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  (void)in_count, (void)out, (void)out_count;
  return sizeof(double) * (size_t)extents_of(attrs, &in[QKV].type.shape).length;
}

static hone_cost cost(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  const extents e = extents_of(attrs, &in[QKV].type.shape);
  const double scores = (double)e.batch * (double)e.heads * (double)e.length * (double)e.length;
  return hn_cost_work(scores * (4.0 * (double)e.size + 5), in, in_count, out, out_count);
}

const hone_op hn_op_qkv_attention = {
    .struct_size = sizeof(hone_op),
    .name = "qkv_attention",
    .doc = "scaled dot product attention on queries, keys and values beside each other",
    .in = {{"qkv", 'q', HONE_TYPES_FLOAT, 0}, {"attn_mask", 'q', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL}},
    .out = {{"y", 'q', 0, 0}},
    .attr = {HONE_INT_ATTR("is_causal", 0), HONE_NEEDED_ATTR("kv_num_heads", HONE_ATTR_INT),
             HONE_NEEDED_ATTR("q_num_heads", HONE_ATTR_INT), HONE_OPTIONAL_ATTR("scale", HONE_ATTR_FLOAT)},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .eval_scratch = scratch,
    .cost = cost,
    .report_class = "Attention",
};
