/* SPDX-License-Identifier: Apache-2.0 */
/* group_query_attention.c - causal attention of new tokens behind a cache of keys and values, with groups of query
 * heads on one key head, and the rotation of queries and keys (Ainslie et al., arXiv:2305.13245; Su et al.,
 * arXiv:2104.09864). Source: ONNX Runtime's operator GroupQueryAttention.
 *
 * Of batch b seqlens_k[b] + 1 keys count when the new ones are there. The new ones, `length` of them, stand behind
 * max(0, seqlens_k[b] + 1 - length) old ones; a shorter prompt is padded on the right, and what it pads with is seen by
 * its own padding alone. present has as many rows as the longer of past and total_sequence_length; behind the new rows
 * it holds what past held there, or zeros. */
#include "ops/common_nn.h"
#include <math.h>

enum { Q, K, V, PAST_KEY, PAST_VALUE, SEQLENS, TOTAL, COS, SIN, POSITIONS };
enum { Y, PRESENT_KEY, PRESENT_VALUE };

typedef struct extents {
  int64_t batch, heads, kv_heads, length, size, past, present;
  bool packed; /* q holds keys and values, too: [batch, length, (heads + 2 kv_heads) * size] */
} extents;

static hone_status want_shape(hone_infer *infer, int input, int rank, const int64_t *dims) {
  HN_TRY(hn_want_rank(infer, input, rank, rank));
  for (int i = 0; i < rank; ++i) HN_TRY(hn_want_dim(infer, input, i, dims[i], "what the other inputs want"));
  return HONE_OK;
}

static hone_status check_angles(hone_infer *infer, const extents *e) {
  const bool turns = hn_attr_int(infer->attrs, "do_rotary") != 0;
  if (turns && (!hn_in_given(infer, COS) || !hn_in_given(infer, SIN)))
    return HN_INFER_FAIL(infer, "do_rotary is 1, and cos_cache or sin_cache is missing");
  for (int i = COS; i <= SIN && turns; ++i) {
    HN_TRY(hn_want_rank(infer, i, 2, 2));
    if (hn_in_rank(infer, i) < 0) continue;
    const int64_t half = hn_in_shape(infer, i)->dim[1];
    if (!HONE_SYMBOLIC(half) && !HONE_SYMBOLIC(e->size) && (half < 1 || half * 2 > e->size))
      return HN_INFER_FAIL(infer, "the caches turn %lld features of a head of %lld", (long long)half * 2,
                           (long long)e->size);
    HN_TRY(hn_want_dim(infer, COS, 1, half, "that of sin_cache"));
  }
  if (!hn_in_given(infer, POSITIONS)) return HONE_OK;
  return want_shape(infer, POSITIONS, 2, (const int64_t[]){e->batch, e->length});
}

static hone_status read_heads(hone_infer *infer, extents *e) {
  HN_TRY(hn_want_int(infer, "num_heads", 1, INT32_MAX));
  HN_TRY(hn_want_int(infer, "kv_num_heads", 1, INT32_MAX));
  HN_TRY(hn_want_int(infer, "local_window_size", -1, INT32_MAX));
  HN_TRY(hn_want_int(infer, "smooth_softmax", 0, 0));
  e->heads = hn_attr_int(infer->attrs, "num_heads"), e->kv_heads = hn_attr_int(infer->attrs, "kv_num_heads");
  if (e->heads % e->kv_heads)
    return HN_INFER_FAIL(infer, "%lld query heads cannot share %lld key heads", (long long)e->heads,
                         (long long)e->kv_heads);
  e->packed = !hn_in_given(infer, K);
  if (e->packed != !hn_in_given(infer, V))
    return HN_INFER_FAIL(infer, "key and value go together, and one of them is missing");
  if (hn_in_given(infer, PAST_KEY) != hn_in_given(infer, PAST_VALUE))
    return HN_INFER_FAIL(infer, "past_key and past_value go together, and one of them is missing");
  return HONE_OK;
}

/* The rows of present; where total_sequence_length is not known before a run, nobody can tell. */
static hone_status present_rows(hone_infer *infer, extents *e) {
  int64_t count = 0;
  const int64_t *total = hn_in_value(infer, TOTAL, &count);
  if (!total || count != 1)
    return HN_INFER_UNSUPPORTED(infer, "total_sequence_length is neither constant nor made of extents");
  e->present = hn_dim_max(infer->dims, e->past, *total);
  return HONE_OK;
}

static hone_status infer(hone_infer *infer) {
  extents e = {0};
  HN_TRY(read_heads(infer, &e));
  HN_TRY(hn_want_rank(infer, Q, 3, 3));
  const hone_shape *q = hn_in_shape(infer, Q);
  if (q->rank < 0 || (hn_in_given(infer, PAST_KEY) && hn_in_rank(infer, PAST_KEY) < 0)) return HONE_OK;
  const int64_t parts = e.packed ? e.heads + 2 * e.kv_heads : e.heads;
  if (HONE_SYMBOLIC(q->dim[2])) return HN_INFER_UNSUPPORTED(infer, "the size of the heads is not known");
  e.batch = q->dim[0], e.length = q->dim[1], e.size = q->dim[2] / parts;
  if (e.size < 1 || e.size * parts != q->dim[2])
    return HN_INFER_FAIL(infer, "%lld features do not make %lld heads", (long long)q->dim[2], (long long)parts);
  const int64_t rows[3] = {e.batch, e.length, e.kv_heads * e.size}, one[1] = {e.batch};
  if (!e.packed) HN_TRY(want_shape(infer, K, 3, rows));
  if (!e.packed) HN_TRY(want_shape(infer, V, 3, rows));
  HN_TRY(hn_want_rank(infer, PAST_KEY, 4, 4));
  e.past = hn_in_given(infer, PAST_KEY) ? hn_in_shape(infer, PAST_KEY)->dim[2] : 0;
  const int64_t cache[4] = {e.batch, e.kv_heads, e.past, e.size};
  if (hn_in_given(infer, PAST_KEY)) HN_TRY(want_shape(infer, PAST_KEY, 4, cache));
  if (hn_in_given(infer, PAST_KEY)) HN_TRY(want_shape(infer, PAST_VALUE, 4, cache));
  HN_TRY(hn_want_rank(infer, SEQLENS, 1, 2));
  HN_TRY(hn_want_dim(infer, SEQLENS, 0, one[0], "the batch size"));
  if (hn_in_rank(infer, SEQLENS) == 2) HN_TRY(hn_want_dim(infer, SEQLENS, 1, 1, "1"));
  HN_TRY(check_angles(infer, &e));
  HN_TRY(present_rows(infer, &e));
  const int64_t y[3] = {e.batch, e.length, e.heads * e.size}, present[4] = {e.batch, e.kv_heads, e.present, e.size};
  hn_out_shape(infer, Y, 3, y);
  hn_out_shape(infer, PRESENT_KEY, 4, present);
  hn_out_shape(infer, PRESENT_VALUE, 4, present);
  return HONE_OK;
}

static extents extents_of(const hone_attrs *attrs, const hone_shape *q, const hone_shape *past, bool packed,
                          int64_t total) {
  extents e = {.batch = q->dim[0], .length = q->dim[1], .packed = packed};
  e.heads = hn_attr_int(attrs, "num_heads"), e.kv_heads = hn_attr_int(attrs, "kv_num_heads");
  e.size = q->dim[2] / (packed ? e.heads + 2 * e.kv_heads : e.heads);
  e.past = past ? past->dim[2] : 0;
  e.present = e.past > total ? e.past : total;
  return e;
}

/* One batch of an evaluation. */
typedef struct batch {
  const hone_eval *eval;
  extents e;
  int64_t b, old; /* keys in front of the new ones */
} batch;

static int64_t features_at(const batch *c, int port, int64_t head, int64_t i) {
  const int64_t row = c->b * c->e.length + i, heads = port == Q ? c->e.heads : c->e.kv_heads;
  if (!c->e.packed) return (row * heads + head) * c->e.size;
  const int64_t before = port == Q ? 0 : port == K ? c->e.heads : c->e.heads + c->e.kv_heads;
  return (row * (c->e.heads + 2 * c->e.kv_heads) + before + head) * c->e.size;
}

/* Feature d of new row i of a head of queries (port Q) or keys (K), turned. */
static double turned(const batch *c, int port, int64_t head, int64_t i, int64_t d) {
  const hone_tensor *x = &c->eval->in[c->e.packed ? Q : port];
  const int64_t at = features_at(c, port, head, i);
  if (port == V || hn_attr_int(c->eval->attrs, "do_rotary") == 0) return hn_real(x, at + d);
  const int64_t half = hn_eval_dim(&c->eval->in[COS], 1);
  if (d >= 2 * half) return hn_real(x, at + d);
  const bool interleaved = hn_attr_int(c->eval->attrs, "rotary_interleaved") != 0;
  const bool given = hn_eval_given(c->eval, POSITIONS);
  const int64_t place = given ? hn_int(&c->eval->in[POSITIONS], c->b * c->e.length + i) : c->old + i;
  const int64_t pair = interleaved ? d / 2 : d % half;
  const bool second = interleaved ? d % 2 : d >= half;
  const double cosine = hn_real(&c->eval->in[COS], place * half + pair),
               sine = hn_real(&c->eval->in[SIN], place * half + pair), own = hn_real(x, at + d),
               mate = hn_real(x, at + d + (second ? -1 : 1) * (interleaved ? 1 : half));
  return second ? sine * mate + cosine * own : cosine * own - sine * mate;
}

/* Feature d of key or value row j: an old one, or a new one as the cache will hold it. */
static double row_of(const batch *c, int port, int64_t head, int64_t j, int64_t d) {
  if (j >= c->old) return turned(c, port, head, j - c->old, d);
  return hn_real(&c->eval->in[port == K ? PAST_KEY : PAST_VALUE],
                 ((c->b * c->e.kv_heads + head) * c->e.past + j) * c->e.size + d);
}

static void attend(hone_eval *eval, const batch *c, int64_t h, int64_t i) {
  const extents *e = &c->e;
  const int64_t head = h / (e->heads / e->kv_heads), place = c->old + i,
                window = hn_attr_int(eval->attrs, "local_window_size");
  const int64_t first = window > 0 && place + 1 > window ? place + 1 - window : 0;
  double *scores = eval->scratch, *query = scores + e->present, top = -(double)INFINITY, sum = 0;
  const double given = hn_attr_float(eval->attrs, "scale"), cap = hn_attr_float(eval->attrs, "softcap"),
               scale = given != 0 ? given : 1 / sqrt((double)e->size);
  for (int64_t d = 0; d < e->size; ++d) query[d] = turned(c, Q, h, i, d);
  for (int64_t j = first; j <= place; ++j) {
    double score = 0;
    for (int64_t d = 0; d < e->size; ++d) score += query[d] * row_of(c, K, head, j, d);
    score *= scale;
    scores[j] = cap > 0 ? cap * tanh(score / cap) : score;
    top = fmax(top, scores[j]);
  }
  for (int64_t j = first; j <= place; ++j) sum += scores[j] = exp(scores[j] - top);
  for (int64_t d = 0; d < e->size; ++d) {
    double y = 0;
    for (int64_t j = first; j <= place; ++j) y += scores[j] * row_of(c, V, head, j, d);
    hn_store_real(&eval->out[Y], ((c->b * e->length + i) * e->heads + h) * e->size + d, y / sum);
  }
}

static void fill_present(hone_eval *eval, const batch *c, int output, int64_t head) {
  const int port = output == PRESENT_KEY ? K : V;
  const extents *e = &c->e;
  if (!hn_eval_wanted(eval, output)) return;
  for (int64_t j = 0; j < e->present; ++j)
    for (int64_t d = 0; d < e->size; ++d) {
      const bool fresh = j >= c->old && j < c->old + e->length;
      const double x = fresh ? turned(c, port, head, j - c->old, d) : 0;
      const int64_t to = ((c->b * e->kv_heads + head) * e->present + j) * e->size + d,
                    from = ((c->b * e->kv_heads + head) * e->past + j) * e->size + d;
      if (fresh || j >= e->past)
        hn_store_real(&eval->out[output], to, x);
      else
        hn_copy_element(&eval->out[output], to, &eval->in[port == K ? PAST_KEY : PAST_VALUE], from);
    }
}

/* Lengths and positions come from a run's inputs. */
static hone_status begin_batch(hone_eval *eval, batch *c) {
  const extents *e = &c->e;
  const int64_t last = hn_int(&eval->in[SEQLENS], c->b);
  c->old = last + 1 > e->length ? last + 1 - e->length : 0;
  if (last < 0 || c->old + e->length > e->present || c->old > e->past)
    return HN_FAIL(eval->diagnostics, HONE_MALFORMED,
                   "seqlens_k[%lld] is %lld: with %lld new tokens behind a cache of %lld, allowed are 0 to %lld",
                   (long long)c->b, (long long)last, (long long)e->length, (long long)e->past,
                   (long long)(e->past + e->length < e->present ? e->past + e->length : e->present) - 1);
  if (hn_attr_int(eval->attrs, "do_rotary") == 0) return HONE_OK;
  const int64_t rows = hn_eval_dim(&eval->in[COS], 0) < hn_eval_dim(&eval->in[SIN], 0) ? hn_eval_dim(&eval->in[COS], 0)
                                                                                       : hn_eval_dim(&eval->in[SIN], 0);
  for (int64_t i = 0; i < e->length; ++i) {
    const int64_t place =
        hn_eval_given(eval, POSITIONS) ? hn_int(&eval->in[POSITIONS], c->b * e->length + i) : c->old + i;
    if (place < 0 || place >= rows)
      return HN_FAIL(eval->diagnostics, HONE_MALFORMED, "position %lld is outside the caches of %lld rows",
                     (long long)place, (long long)rows);
  }
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  int64_t first, last;
  batch c = {.eval = eval,
             .e = extents_of(eval->attrs, &eval->in[Q].type.shape,
                             hn_eval_given(eval, PAST_KEY) ? &eval->in[PAST_KEY].type.shape : NULL,
                             !hn_eval_given(eval, K), hn_int(&eval->in[TOTAL], 0))};
  const extents *e = &c.e;
  hn_window_range(eval, window, Y, &first, &last);
  for (c.b = 0; c.b < e->batch; ++c.b) {
    HN_TRY(begin_batch(eval, &c));
    for (int64_t row = 0; row < e->length * e->heads && hn_eval_wanted(eval, Y); ++row) {
      const int64_t at = (c.b * e->length * e->heads + row) * e->size;
      if (window && (window->output != Y || at + e->size <= first || at >= last)) continue;
      attend(eval, &c, row % e->heads, row / e->heads);
    }
    for (int output = PRESENT_KEY; output <= PRESENT_VALUE; ++output)
      for (int64_t h = 0; h < e->kv_heads && (!window || window->output == output); ++h)
        fill_present(eval, &c, output, h);
  }
  return HONE_OK;
}

static int64_t present_of(const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  if (out_count > PRESENT_KEY && out[PRESENT_KEY].type.kind == HONE_TENSOR) return out[PRESENT_KEY].type.shape.dim[2];
  const bool has_past = in_count > PAST_KEY && in[PAST_KEY].type.kind == HONE_TENSOR;
  return has_past ? in[PAST_KEY].type.shape.dim[2] + in[Q].type.shape.dim[1] : in[Q].type.shape.dim[1];
}

static size_t scratch(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  const hone_shape *q = &in[Q].type.shape;
  (void)attrs;
  return sizeof(double) * (size_t)(present_of(in, in_count, out, out_count) + q->dim[1] + q->dim[2]);
}

static hone_cost cost(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  const extents e = extents_of(attrs, &in[Q].type.shape, NULL, in[K].type.kind != HONE_TENSOR, 0);
  const double keys = (double)present_of(in, in_count, out, out_count),
               scores = (double)e.batch * (double)e.heads * (double)e.length * keys;
  const double cache = 2.0 * (double)e.batch * (double)e.kv_heads * keys * (double)e.size *
                       (double)hone_dtype_bits(in[Q].type.dtype) / 8;
  hone_cost total = {.flops = scores * (4.0 * (double)e.size + 5), .bytes_read = cache};
  total.bytes_read += (double)hn_bytes(&in[Q].type);
  total.bytes_written = (double)hn_bytes(&out[Y].type); /* and the new rows, which the cache's reading outweighs */
  return total;
}

const hone_op hn_op_group_query_attention = {
    .struct_size = sizeof(hone_op),
    .name = "group_query_attention",
    .doc = "causal attention behind a cache of keys and values",
    .in = {{"query", 't', HONE_TYPES_FLOAT, 0},
           {"key", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL},
           {"value", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL},
           {"past_key", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL},
           {"past_value", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL},
           {"seqlens_k", 0, HONE_BIT(HONE_I32), 0},
           {"total_sequence_length", 0, HONE_BIT(HONE_I32), 0},
           {"cos_cache", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL},
           {"sin_cache", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL},
           {"position_ids", 0, HONE_BIT(HONE_I64), HONE_PORT_OPTIONAL}},
    .out = {{"output", 't', 0, 0},
            {"present_key", 't', 0, HONE_PORT_OPTIONAL},
            {"present_value", 't', 0, HONE_PORT_OPTIONAL}},
    .attr = {HONE_INT_ATTR("do_rotary", 0), HONE_NEEDED_ATTR("kv_num_heads", HONE_ATTR_INT),
             HONE_INT_ATTR("local_window_size", -1), HONE_NEEDED_ATTR("num_heads", HONE_ATTR_INT),
             HONE_INT_ATTR("rotary_interleaved", 0), HONE_FLOAT_ATTR("scale", 0.0), HONE_INT_ATTR("smooth_softmax", 0),
             HONE_FLOAT_ATTR("softcap", 0.0)},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .eval_scratch = scratch,
    .cost = cost,
    .report_class = "Attention",
    .onnx = {{.name = "GroupQueryAttention", .first = 1, .last = HONE_LATEST, .domain = "com.microsoft"}},
};
