/* SPDX-License-Identifier: Apache-2.0 */
/* attention.c - softmax(q . k^T * scale + bias) . v, with groups of query heads on one key head, a cache of past keys,
 * masks, soft cap and windows. Source: ONNX operator Attention (opsets 23 to 25).
 * A row with every key masked gives zeros. Scores are kept in double, so softmax_precision changes nothing here. */
#include "ops/common_nn.h"
#include <math.h>

enum { Q, K, V, MASK, PAST_KEY, PAST_VALUE, LENGTHS };
enum { Y, PRESENT_KEY, PRESENT_VALUE, SCORES };

/* Extents, with both layouts brought to [batch, heads, length, size]. */
typedef struct extents {
  int64_t batch, q_heads, kv_heads, q_len, kv_len, past, total, size, v_size;
  bool packed; /* [batch, length, heads * size] */
} extents;

static int64_t part(hone_dims *dims, int64_t whole, int64_t heads) { /* whole = heads * part */
  if (heads < 1) return HONE_SYMBOL_BASE;
  return HONE_SYMBOLIC(whole) ? hn_dim_floor_div(dims, whole, heads) : whole / heads;
}

static extents extents_of(hone_dims *dims, const hone_attrs *attrs, const hone_shape *q, const hone_shape *k,
                          const hone_shape *v, const hone_shape *past) {
  extents e = {.batch = q->dim[0], .packed = q->rank == 3};
  if (e.packed) {
    e.q_heads = hn_attr_int(attrs, "q_num_heads"), e.kv_heads = hn_attr_int(attrs, "kv_num_heads");
    e.q_len = q->dim[1], e.kv_len = k->dim[1];
    e.size = part(dims, q->dim[2], e.q_heads), e.v_size = part(dims, v->dim[2], e.kv_heads);
  } else {
    e.q_heads = q->dim[1], e.kv_heads = k->dim[1], e.q_len = q->dim[2], e.kv_len = k->dim[2];
    e.size = q->dim[3], e.v_size = v->dim[3];
  }
  e.past = past ? past->dim[2] : 0;
  e.total = dims ? hn_dim_add(dims, e.past, e.kv_len) : e.past + e.kv_len; /* no table: all are numbers */
  return e;
}

static hone_status want_shape(hone_infer *infer, int input, int rank, const int64_t *dims) {
  HN_TRY(hn_want_rank(infer, input, rank, rank));
  for (int i = 0; i < rank; ++i) HN_TRY(hn_want_dim(infer, input, i, dims[i], "what the other inputs want"));
  return HONE_OK;
}

static hone_status check_mask(hone_infer *infer, const extents *e) {
  if (!hn_in_given(infer, MASK) || hn_in_rank(infer, MASK) < 0) return HONE_OK;
  const hone_shape *mask = hn_in_shape(infer, MASK);
  const int64_t want[4] = {e->batch, e->q_heads, e->q_len, e->total};
  HN_TRY(hn_want_rank(infer, MASK, 1, 4));
  for (int i = 0; i + 1 < mask->rank; ++i)
    if (mask->dim[i] != 1)
      HN_TRY(hn_want_dim(infer, MASK, i, want[4 - mask->rank + i], "what broadcasts to the scores"));
  const int64_t last = mask->dim[mask->rank - 1];
  if (!HONE_SYMBOLIC(last) && !HONE_SYMBOLIC(e->total) && last > e->total)
    return HN_INFER_FAIL(infer, "attn_mask has %lld columns for %lld keys", (long long)last, (long long)e->total);
  return HONE_OK;
}

static hone_status check(hone_infer *infer, const extents *e, bool has_past) {
  if (!HONE_SYMBOLIC(e->q_heads) && !HONE_SYMBOLIC(e->kv_heads) && (e->kv_heads < 1 || e->q_heads % e->kv_heads))
    return HN_INFER_FAIL(infer, "%lld query heads cannot share %lld key heads", (long long)e->q_heads,
                         (long long)e->kv_heads);
  const int64_t q_packed[3] = {e->batch, e->q_len, hn_dim_mul(infer->dims, e->q_heads, e->size)};
  const int64_t k_packed[3] = {e->batch, e->kv_len, hn_dim_mul(infer->dims, e->kv_heads, e->size)};
  const int64_t v_packed[3] = {e->batch, e->kv_len, hn_dim_mul(infer->dims, e->kv_heads, e->v_size)};
  const int64_t k[4] = {e->batch, e->kv_heads, e->kv_len, e->size},
                v[4] = {e->batch, e->kv_heads, e->kv_len, e->v_size};
  const int64_t past_key[4] = {e->batch, e->kv_heads, e->past, e->size};
  const int64_t past_value[4] = {e->batch, e->kv_heads, e->past, e->v_size};
  if (e->packed) HN_TRY(want_shape(infer, Q, 3, q_packed));
  HN_TRY(want_shape(infer, K, e->packed ? 3 : 4, e->packed ? k_packed : k));
  HN_TRY(want_shape(infer, V, e->packed ? 3 : 4, e->packed ? v_packed : v));
  if (has_past) {
    HN_TRY(want_shape(infer, PAST_KEY, 4, past_key));
    HN_TRY(want_shape(infer, PAST_VALUE, 4, past_value));
  }
  HN_TRY(want_shape(infer, LENGTHS, 1, &e->batch));
  return check_mask(infer, e);
}

static hone_status infer(hone_infer *infer) {
  const bool has_past = hn_in_given(infer, PAST_KEY);
  if (has_past != hn_in_given(infer, PAST_VALUE))
    return HN_INFER_FAIL(infer, "past_key and past_value go together, and one of them is missing");
  HN_TRY(hn_want_int(infer, "qk_matmul_output_mode", 0, 3));
  HN_TRY(hn_want_int(infer, "left_window_size", -1, INT64_MAX / 4));
  HN_TRY(hn_want_int(infer, "right_window_size", -1, INT64_MAX / 4));
  HN_TRY(hn_want_rank(infer, Q, 3, 4));
  const int rank = hn_in_rank(infer, Q);
  if (rank < 0 || hn_in_rank(infer, K) < 0 || hn_in_rank(infer, V) < 0) return HONE_OK;
  HN_TRY(hn_want_rank(infer, K, rank, rank));
  HN_TRY(hn_want_rank(infer, V, rank, rank));
  if (has_past) {
    HN_TRY(hn_want_rank(infer, PAST_KEY, 4, 4));
    if (hn_in_rank(infer, PAST_KEY) < 0) return HONE_OK;
  }
  if (rank == 3) {
    HN_TRY(hn_want_int(infer, "q_num_heads", 1, INT32_MAX));
    HN_TRY(hn_want_int(infer, "kv_num_heads", 1, INT32_MAX));
  }
  const extents e = extents_of(infer->dims, infer->attrs, hn_in_shape(infer, Q), hn_in_shape(infer, K),
                               hn_in_shape(infer, V), has_past ? hn_in_shape(infer, PAST_KEY) : NULL);
  HN_TRY(check(infer, &e, has_past));
  const int64_t packed[3] = {e.batch, e.q_len, hn_dim_mul(infer->dims, e.q_heads, e.v_size)};
  const int64_t y[4] = {e.batch, e.q_heads, e.q_len, e.v_size}, scores[4] = {e.batch, e.q_heads, e.q_len, e.total};
  const int64_t key[4] = {e.batch, e.kv_heads, e.total, e.size}, value[4] = {e.batch, e.kv_heads, e.total, e.v_size};
  hn_out_shape(infer, Y, rank, e.packed ? packed : y);
  hn_out_shape(infer, PRESENT_KEY, 4, key);
  hn_out_shape(infer, PRESENT_VALUE, 4, value);
  hn_out_shape(infer, SCORES, 4, scores);
  return HONE_OK;
}

static int64_t at(const extents *e, int64_t heads, int64_t len, int64_t size, int64_t b, int64_t h, int64_t i) {
  return (e->packed ? (b * len + i) * heads + h : (b * heads + h) * len + i) * size;
}

/* Key or value row j of a head: from the cache, then from the new ones. */
static const hone_tensor *row_of(const hone_eval *eval, const extents *e, int fresh, int past, int64_t size, int64_t b,
                                 int64_t h, int64_t j, int64_t *out_at) {
  *out_at = j < e->past ? ((b * e->kv_heads + h) * e->past + j) * size
                        : at(e, e->kv_heads, e->kv_len, size, b, h, j - e->past);
  return &eval->in[j < e->past ? past : fresh];
}

/* What is added to the score of query i and key j: -inf where it may not look. */
static double bias(const hone_eval *eval, const extents *e, int64_t b, int64_t h, int64_t i, int64_t j) {
  const int64_t valid = hn_eval_given(eval, LENGTHS) ? hn_int(&eval->in[LENGTHS], b) : e->total;
  const int64_t place = i + (hn_eval_given(eval, PAST_KEY)  ? e->past
                             : hn_eval_given(eval, LENGTHS) ? valid - e->q_len
                                                            : 0);
  const int64_t left = hn_attr_int(eval->attrs, "left_window_size"),
                right = hn_attr_int(eval->attrs, "right_window_size");
  if (j >= valid || (hn_attr_int(eval->attrs, "is_causal") && j > place)) return -(double)INFINITY;
  if ((left >= 0 && place - j > left) || (right >= 0 && j - place > right)) return -(double)INFINITY;
  if (!hn_eval_given(eval, MASK)) return 0;
  const hone_tensor *mask = &eval->in[MASK];
  const hone_shape *shape = &mask->type.shape;
  const int64_t want[4] = {b, h, i, j};
  int64_t flat = 0;
  if (j >= shape->dim[shape->rank - 1]) return -(double)INFINITY; /* a short mask ends in "no" */
  for (int axis = 0; axis < shape->rank; ++axis)
    flat = flat * shape->dim[axis] + (shape->dim[axis] == 1 ? 0 : want[4 - shape->rank + axis]);
  if (mask->type.dtype == HONE_BOOL) return hn_int(mask, flat) ? 0 : -(double)INFINITY;
  return hn_real(mask, flat);
}

/* Fills scores with the probabilities of one query row. */
static void probabilities(hone_eval *eval, const extents *e, int64_t b, int64_t h, int64_t i, double *scores) {
  const double scale =
      hn_attr_has(eval->attrs, "scale") ? hn_attr_float(eval->attrs, "scale") : 1 / sqrt((double)e->size);
  const double cap = hn_attr_float(eval->attrs, "softcap");
  const int64_t mode = hn_attr_int(eval->attrs, "qk_matmul_output_mode"), group = e->q_heads / e->kv_heads;
  const int64_t q0 = at(e, e->q_heads, e->q_len, e->size, b, h, i);
  const int64_t s0 = ((b * e->q_heads + h) * e->q_len + i) * e->total;
  double top = -(double)INFINITY, sum = 0;
  bool open = false; /* some key is not masked */
  for (int64_t j = 0; j < e->total; ++j) {
    int64_t k0;
    const hone_tensor *k = row_of(eval, e, K, PAST_KEY, e->size, b, h / group, j, &k0);
    double score = 0;
    for (int64_t d = 0; d < e->size; ++d) score += hn_real(&eval->in[Q], q0 + d) * hn_real(k, k0 + d);
    score *= scale;
    const double capped = cap > 0 ? cap * tanh(score / cap) : score, added = bias(eval, e, b, h, i, j);
    scores[j] = added == -(double)INFINITY ? added : capped + added; /* a masked key counts for nothing, be it NaN */
    open |= added != -(double)INFINITY;
    top = fmax(top, scores[j]);
    if (hn_eval_wanted(eval, SCORES) && mode < 3)
      hn_store_real(&eval->out[SCORES], s0 + j, mode == 0 ? score : mode == 1 ? capped : scores[j]);
  }
  for (int64_t j = 0; j < e->total; ++j) sum += scores[j] = open && top > -(double)INFINITY ? exp(scores[j] - top) : 0;
  for (int64_t j = 0; j < e->total; ++j) {
    scores[j] = sum == 0 ? 0 : scores[j] / sum;
    if (hn_eval_wanted(eval, SCORES) && mode == 3) hn_store_real(&eval->out[SCORES], s0 + j, scores[j]);
  }
}

static void attend(hone_eval *eval, const extents *e, int64_t b, int64_t h, int64_t i) {
  double *scores = eval->scratch;
  const int64_t group = e->q_heads / e->kv_heads, y0 = at(e, e->q_heads, e->q_len, e->v_size, b, h, i);
  probabilities(eval, e, b, h, i, scores);
  for (int64_t d = 0; hn_eval_wanted(eval, Y) && d < e->v_size; ++d) {
    double sum = 0;
    for (int64_t j = 0; j < e->total; ++j) {
      int64_t v0;
      const hone_tensor *v = row_of(eval, e, V, PAST_VALUE, e->v_size, b, h / group, j, &v0);
      if (scores[j] != 0) sum += scores[j] * hn_real(v, v0 + d);
    }
    hn_store_real(&eval->out[Y], y0 + d, sum);
  }
}

static void copy_present(hone_eval *eval, const extents *e, int output, int fresh, int past, int64_t size) {
  if (!hn_eval_wanted(eval, output)) return;
  for (int64_t row = 0; row < e->batch * e->kv_heads * e->total; ++row) {
    int64_t from;
    const int64_t j = row % e->total, h = row / e->total % e->kv_heads, b = row / e->total / e->kv_heads;
    const hone_tensor *source = row_of(eval, e, fresh, past, size, b, h, j, &from);
    for (int64_t d = 0; d < size; ++d) hn_copy_element(&eval->out[output], row * size + d, source, from + d);
  }
}

/* Only the rows that the window touches; caches are copied whole. */
static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const extents e =
      extents_of(NULL, eval->attrs, &eval->in[Q].type.shape, &eval->in[K].type.shape, &eval->in[V].type.shape,
                 hn_eval_given(eval, PAST_KEY) ? &eval->in[PAST_KEY].type.shape : NULL);
  int64_t first, last;
  hn_window_range(eval, window, Y, &first, &last);
  const int64_t rows = e.batch * e.q_heads * e.q_len;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t i = row % e.q_len, h = row / e.q_len % e.q_heads, b = row / e.q_len / e.q_heads;
    const int64_t y0 = at(&e, e.q_heads, e.q_len, e.v_size, b, h, i);
    if (window && window->output == Y && (y0 + e.v_size <= first || y0 >= last)) continue;
    attend(eval, &e, b, h, i);
  }
  copy_present(eval, &e, PRESENT_KEY, K, PAST_KEY, e.size);
  copy_present(eval, &e, PRESENT_VALUE, V, PAST_VALUE, e.v_size);
  return HONE_OK;
}

static size_t scratch(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  const bool has_past = in_count > PAST_KEY && in[PAST_KEY].type.kind != HONE_ABSENT;
  (void)out, (void)out_count;
  return sizeof(double) * (size_t)extents_of(NULL, attrs, &in[Q].type.shape, &in[K].type.shape, &in[V].type.shape,
                                             has_past ? &in[PAST_KEY].type.shape : NULL)
                              .total;
}

static hone_cost cost(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  const bool has_past = in_count > PAST_KEY && in[PAST_KEY].type.kind != HONE_ABSENT;
  const extents e = extents_of(NULL, attrs, &in[Q].type.shape, &in[K].type.shape, &in[V].type.shape,
                               has_past ? &in[PAST_KEY].type.shape : NULL);
  const double scores = (double)e.batch * (double)e.q_heads * (double)e.q_len * (double)e.total;
  return hn_cost_work(scores * (2.0 * (double)e.size + 2.0 * (double)e.v_size + 5), in, in_count, out, out_count);
}

const hone_op hn_op_attention = {
    .struct_size = sizeof(hone_op),
    .name = "attention",
    .doc = "scaled dot product attention",
    .in = {{"q", 'q', HONE_TYPES_FLOAT, 0},
           {"k", 'q', HONE_TYPES_FLOAT, 0},
           {"v", 'v', HONE_TYPES_FLOAT, 0},
           {"attn_mask", 0, HONE_TYPES_NUMBER | HONE_TYPES_BOOL, HONE_PORT_OPTIONAL},
           {"past_key", 'q', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL},
           {"past_value", 'v', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL},
           {"nonpad_kv_seqlen", 0, HONE_BIT(HONE_I64), HONE_PORT_OPTIONAL}},
    .out = {{"y", 'q', 0, 0},
            {"present_key", 'q', 0, HONE_PORT_OPTIONAL},
            {"present_value", 'v', 0, HONE_PORT_OPTIONAL},
            {"qk_matmul_output", 'q', 0, HONE_PORT_OPTIONAL}},
    .attr = {HONE_INT_ATTR("is_causal", 0), HONE_OPTIONAL_ATTR("kv_num_heads", HONE_ATTR_INT),
             HONE_INT_ATTR("left_window_size", -1), HONE_OPTIONAL_ATTR("q_num_heads", HONE_ATTR_INT),
             HONE_INT_ATTR("qk_matmul_output_mode", 0), HONE_INT_ATTR("right_window_size", -1),
             HONE_OPTIONAL_ATTR("scale", HONE_ATTR_FLOAT), HONE_FLOAT_ATTR("softcap", 0.0),
             HONE_OPTIONAL_ATTR("softmax_precision", HONE_ATTR_INT)},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .eval_scratch = scratch,
    .cost = cost,
    .report_class = "Attention",
    .onnx = {{.name = "Attention", .first = 23, .last = HONE_LATEST},
             {"Attention", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_attention", .alias = true},
             {"MultiHeadAttention", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_multi_head_attention",
              .alias = true},
             {"FlexAttention", 1, HONE_LATEST, "ai.onnx.preview", .adapt = "flex_attention", .alias = true},
             {"QAttention", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_byte_attention", .alias = true}},
};
