/* SPDX-License-Identifier: Apache-2.0 */
/* contrib_attention.c - ONNX Runtime's attention over several heads in its three forms: projections side by side
 * (Attention, QAttention of bytes) and rows that were projected before (MultiHeadAttention), with masks of lengths or
 * of tokens, a cache of past keys and values, and what is added to the scores. Source: the operator schemas of
 * com.microsoft, version 1. A masked score has mask_filter_value added, as there: rows whose every key is masked attend
 * to all of them. */
#include "import/ml.h"
#include "tensor/shape.h"

typedef struct heads {
  hn_import_call *call;
  int64_t count;
  double scale, filter;
  bool looks_back;
  hn_value *q, *k, *v;             /* [batch, length, width] */
  hn_value *past_key, *past_value; /* [batch, heads, length, size]; or NULL */
  hn_value *addend;                /* to the scores; or NULL */
} heads;

static hone_status refuse(hn_import_call *call, const char *what) {
  return HN_FAIL(call->importer->diag, HONE_UNSUPPORTED, "%s", what);
}

static hn_value *ints(hn_import_call *call, int64_t count, const int64_t *items) {
  return hn_constant_int(call->importer->graph, NULL, 1, count, items);
}

static hn_value *real(hn_import_call *call, double value) {
  return hn_constant_scalar(call->importer->graph, HONE_F32, value);
}

static bool is_wanted(const hn_import_call *call, int output) {
  return output < call->out_count && *call->out_names[output];
}

static double take_real(hn_import_call *call, const char *name, double otherwise) {
  hone_attr attr;
  return hn_import_take_attr(call, name, &attr) && attr.kind == HONE_ATTR_FLOAT ? attr.f : otherwise;
}

static hone_status read(hn_import_call *call, heads *h) {
  *h = (heads){.call = call, .count = hn_contrib_take_int(call, "num_heads", 0)};
  h->scale = take_real(call, "scale", 0);
  h->filter = take_real(call, "mask_filter_value", -10000);
  h->looks_back = hn_contrib_take_int(call, "unidirectional", 0) != 0;
  return h->count < 1 ? HN_FAIL(call->importer->diag, HONE_MALFORMED, "num_heads is %lld", (long long)h->count)
                      : HONE_OK;
}

/* Part [begin, end) along an axis. */
static hone_status cut(hn_import_call *call, hn_value *x, int64_t axis, int64_t begin, int64_t end, hn_value **out) {
  hn_value *in[4] = {x, ints(call, 1, &begin), ints(call, 1, &end), ints(call, 1, &axis)};
  return in[1] && in[2] && in[3] ? hn_import_make(call, "slice", 4, in, 0, NULL, out) : HONE_NO_MEMORY;
}

/* The extent of an axis as a tensor of one element. */
static hone_status extent(hn_import_call *call, hn_value *x, int64_t axis, hn_value **out) {
  const hone_attr range[2] = {{.name = "start", .kind = HONE_ATTR_INT, .i = axis},
                              {.name = "end", .kind = HONE_ATTR_INT, .i = axis + 1}};
  return hn_import_make(call, "shape", 1, &x, 2, range, out);
}

/* ---- masks ---- */

/* 0, 1, 2, ... as many as there are keys, past ones among them. */
static hone_status key_numbers(heads *h, hn_value **out) {
  hn_import_call *call = h->call;
  hn_value *count, *past, *in[3];
  HN_TRY(extent(call, h->k, 1, &count));
  if (h->past_key) {
    HN_TRY(extent(call, h->past_key, 2, &past));
    HN_TRY(hn_ml_join(call, "add", &count, past));
  }
  HN_TRY(hn_import_make(call, "squeeze", 1, &count, 0, NULL, &count));
  in[0] = hn_constant_scalar(call->importer->graph, HONE_I64, 0);
  in[1] = count;
  in[2] = hn_constant_scalar(call->importer->graph, HONE_I64, 1);
  return in[0] && in[2] ? hn_import_make(call, "range", 3, in, 0, NULL, out) : HONE_NO_MEMORY;
}

/* Keys from the lengths' end on are masked, [batch] -> [batch, keys]; starts NULL: none before. */
static hone_status keep_lengths(heads *h, hn_value *ends, hn_value *starts, hn_value **out) {
  static const int64_t last = 1;
  hn_import_call *call = h->call;
  const hone_attr to = {.name = "to", .kind = HONE_ATTR_INT, .i = 7}; /* i64 */
  hn_value *numbers, *keep, *lengths[2] = {ends, starts};
  HN_TRY(key_numbers(h, &numbers));
  for (int i = 0; i < 2 && lengths[i]; ++i) {
    HN_TRY(hn_import_make(call, "cast", 1, &lengths[i], 1, &to, &lengths[i]));
    HN_TRY(hn_ml_join(call, "unsqueeze", &lengths[i], ints(call, 1, &last)));
  }
  keep = numbers;
  HN_TRY(hn_ml_join(call, "less", &keep, lengths[0]));
  if (lengths[1]) {
    HN_TRY(hn_ml_join(call, "greater_or_equal", &numbers, lengths[1]));
    HN_TRY(hn_ml_join(call, "and", &keep, numbers));
  }
  *out = keep;
  return HONE_OK;
}

/* The mask's form tells what it is: [batch], [2 batch] lengths, [batch, keys], [batch, queries, keys] tokens. */
static hone_status mask(heads *h, hn_value *mask) {
  hn_import_call *call = h->call;
  const hone_shape *shape = &mask->fact.type.shape;
  hn_value *keep = mask;
  int64_t axes[2] = {1, 2};
  if (shape->rank == 1) {
    const int64_t batch = h->q->fact.type.shape.dim[0];
    hn_value *ends = mask, *starts = NULL;
    if (shape->dim[0] != batch) {
      if (HONE_SYMBOLIC(batch) || shape->dim[0] != 2 * batch)
        return refuse(call, "its mask of lengths is neither one nor two numbers an image of the batch");
      HN_TRY(cut(call, mask, 0, 0, batch, &ends));
      HN_TRY(cut(call, mask, 0, batch, 2 * batch, &starts));
    }
    HN_TRY(keep_lengths(h, ends, starts, &keep));
  } else if (shape->rank == 2 || shape->rank == 3) {
    hn_value *zero = hn_constant_scalar(call->importer->graph, mask->fact.type.dtype, 0);
    HN_TRY(hn_ml_join(call, "greater", &keep, zero));
  } else {
    return refuse(call, "its mask is of rank 0 or above 3, or of unknown rank");
  }
  HN_TRY(hn_ml_join(call, "unsqueeze", &keep, ints(call, shape->rank == 3 ? 1 : 2, axes)));
  hn_value *in[3] = {keep, real(call, 0), real(call, h->filter)}, *addend;
  if (!in[1] || !in[2]) return HONE_NO_MEMORY;
  HN_TRY(hn_import_make(call, "where", 3, in, 0, NULL, &addend));
  if (h->addend) HN_TRY(hn_ml_join(call, "add", &addend, h->addend));
  h->addend = addend;
  return HONE_OK;
}

/* ---- the node ---- */

/* out: what was attended to, and where somebody wants them the keys and values with the past ones in front. */
static hone_status attend(heads *h, hn_value *out[3]) {
  hn_import_call *call = h->call;
  hone_attr attrs[4] = {{.name = "q_num_heads", .kind = HONE_ATTR_INT, .i = h->count},
                        {.name = "kv_num_heads", .kind = HONE_ATTR_INT, .i = h->count},
                        {.name = "is_causal", .kind = HONE_ATTR_INT, .i = h->looks_back}};
  int count = 3;
  if (h->scale != 0) attrs[count++] = (hone_attr){.name = "scale", .kind = HONE_ATTR_FLOAT, .f = h->scale};
  hn_value *in[6] = {h->q, h->k, h->v, h->addend, h->past_key, h->past_value};
  const hn_node_spec spec = {.op = hn_op_find(call->importer->context->ops, "attention"),
                             .attrs = {count, attrs},
                             .in_count = h->past_key ? 6
                                         : h->addend ? 4
                                                     : 3,
                             .in = in,
                             .out_count = is_wanted(call, 1) || is_wanted(call, 2) ? 3 : 1,
                             .origins = call->origins};
  hn_node *node;
  if (!spec.op) return refuse(call, "it needs the operator attention, which is missing");
  HN_TRY(hn_node_create(call->scope->block, &spec, &node));
  for (int i = 0; i < spec.out_count; ++i) out[i] = node->out[i];
  return HONE_OK;
}

static hone_status want_rows(const heads *h) {
  const hn_value *rows[3] = {h->q, h->k, h->v};
  for (int i = 0; i < 3; ++i)
    if (!rows[i] || rows[i]->fact.type.shape.rank != 3)
      return refuse(h->call, "queries, keys and values are not of rank 3");
  return HONE_OK;
}

/* Attention's cache: [2, batch, heads, length, size]. */
static hone_status split_past(heads *h, hn_value *past) {
  hn_value **halves[2] = {&h->past_key, &h->past_value};
  for (int64_t i = 0; past && i < 2; ++i) {
    hn_value *in[2] = {past, hn_constant_int(h->call->importer->graph, NULL, 0, 1, &i)};
    if (!in[1]) return HONE_NO_MEMORY;
    HN_TRY(hn_import_make(h->call, "gather", 2, in, 0, NULL, halves[i]));
  }
  return HONE_OK;
}

static hone_status join_present(hn_import_call *call, hn_value *const present[2], hn_value **out) {
  static const int64_t first = 0;
  const hone_attr axis = {.name = "axis", .kind = HONE_ATTR_INT, .i = 0};
  hn_value *halves[2] = {present[0], present[1]};
  for (int i = 0; i < 2; ++i) HN_TRY(hn_ml_join(call, "unsqueeze", &halves[i], ints(call, 1, &first)));
  return hn_import_make(call, "concat", 2, halves, 1, &axis, out);
}

/* What Attention and QAttention share: joined is [batch, length, queries, keys and values side by side]. */
static hone_status attend_joined(heads *h, hn_value *joined, const int64_t sizes[3], hn_value *masked, hn_value *past) {
  hn_import_call *call = h->call;
  hn_value **parts[3] = {&h->q, &h->k, &h->v}, *out[3];
  for (int64_t i = 0, begin = 0; i < 3; begin += sizes[i++])
    HN_TRY(cut(call, joined, 2, begin, begin + sizes[i], parts[i]));
  HN_TRY(want_rows(h));
  HN_TRY(split_past(h, past));
  if (masked) HN_TRY(mask(h, masked));
  HN_TRY(attend(h, out));
  if (is_wanted(call, 1)) HN_TRY(join_present(call, &out[1], &call->out[1]));
  return hn_import_finish(call, out[0]);
}

/* Of the projections' weights: three equal parts, or as qkv_hidden_sizes says. */
static hone_status sizes_of(hn_import_call *call, const hn_value *w, int64_t sizes[3]) {
  const hone_shape *shape = &w->fact.type.shape;
  hone_attr given;
  if (shape->rank != 2 || HONE_SYMBOLIC(shape->dim[1])) return refuse(call, "its weights are not a matrix");
  const bool is_given = hn_import_take_attr(call, "qkv_hidden_sizes", &given);
  if (is_given && (given.kind != HONE_ATTR_INTS || given.count != 3))
    return HN_FAIL(call->importer->diag, HONE_MALFORMED, "qkv_hidden_sizes must be three numbers");
  for (int i = 0; i < 3; ++i) sizes[i] = is_given ? given.ints[i] : shape->dim[1] / 3;
  for (int i = 0; i < 3; ++i)
    if (sizes[i] < 1 || sizes[i] > shape->dim[1])
      return HN_FAIL(call->importer->diag, HONE_MALFORMED, "a part of the projections has %lld columns",
                     (long long)sizes[i]);
  return sizes[0] + sizes[1] + sizes[2] == shape->dim[1]
             ? HONE_OK
             : HN_FAIL(call->importer->diag, HONE_MALFORMED, "the projections are not as wide as their weights");
}

/* What an optimised decoder may ask for and no export here has. */
static hone_status refuse_extras(hn_import_call *call, int input) {
  if (hn_contrib_take_int(call, "do_rotary", 0)) return refuse(call, "it turns queries and keys itself (do_rotary)");
  (void)hn_contrib_take_int(call, "rotary_embedding_dim", 0);
  if (hn_contrib_take_int(call, "past_present_share_buffer", 0))
    return refuse(call, "its cache is the caller's buffer (past_present_share_buffer)");
  for (int i = input; i < call->in_count; ++i)
    if (call->in[i]) return refuse(call, "it has inputs that only a shared cache needs");
  return HONE_OK;
}

static hone_status joined_attention(hn_import_call *call) {
  enum { X, W, BIAS, MASK, PAST, ADDEND, INPUTS };
  int64_t sizes[3];
  heads h;
  HN_TRY(read(call, &h));
  HN_TRY(refuse_extras(call, INPUTS));
  if (!hn_contrib_input(call, X) || !hn_contrib_input(call, W))
    return HN_FAIL(call->importer->diag, HONE_MALFORMED, "its input or its weights are missing");
  HN_TRY(sizes_of(call, call->in[W], sizes));
  hn_value *y = call->in[X];
  HN_TRY(hn_ml_join(call, "matmul", &y, call->in[W]));
  if (hn_contrib_input(call, BIAS)) HN_TRY(hn_ml_join(call, "add", &y, call->in[BIAS]));
  h.addend = hn_contrib_input(call, ADDEND);
  return attend_joined(&h, y, sizes, hn_contrib_input(call, MASK), hn_contrib_input(call, PAST));
}

/* QAttention: the projection's product is one of bytes, its factors multiplied. */
static hone_status byte_attention(hn_import_call *call) {
  enum { X, W, BIAS, X_SCALE, W_SCALE, MASK, X_ZERO, W_ZERO, PAST, INPUTS };
  const hone_attr to = {.name = "to", .kind = HONE_ATTR_INT, .i = 1}; /* f32 */
  int64_t sizes[3];
  heads h;
  HN_TRY(read(call, &h));
  HN_TRY(refuse_extras(call, INPUTS));
  for (int i = X; i <= W_SCALE; ++i)
    if (!hn_contrib_input(call, i)) return HN_FAIL(call->importer->diag, HONE_MALFORMED, "input %d is missing", i);
  HN_TRY(sizes_of(call, call->in[W], sizes));
  hn_value *in[4] = {call->in[X], call->in[W], hn_contrib_input(call, X_ZERO), hn_contrib_input(call, W_ZERO)}, *y;
  hn_value *scale = call->in[X_SCALE];
  HN_TRY(hn_import_make(call, "matmul_integer", 4, in, 0, NULL, &y));
  HN_TRY(hn_import_make(call, "cast", 1, &y, 1, &to, &y));
  HN_TRY(hn_ml_join(call, "mul", &scale, call->in[W_SCALE]));
  HN_TRY(hn_ml_join(call, "mul", &y, scale));
  HN_TRY(hn_ml_join(call, "add", &y, call->in[BIAS]));
  return attend_joined(&h, y, sizes, hn_contrib_input(call, MASK), hn_contrib_input(call, PAST));
}

/* The bias of queries, keys and values, one after the other. */
static hone_status add_biases(heads *h, hn_value *bias) {
  hn_value **parts[3] = {&h->q, &h->k, &h->v};
  int64_t begin = 0;
  for (int i = 0; bias && i < 3; ++i) {
    const int64_t width = (*parts[i])->fact.type.shape.dim[2];
    hn_value *own;
    if (HONE_SYMBOLIC(width)) return refuse(h->call, "its rows are of unknown width");
    HN_TRY(cut(h->call, bias, 0, begin, begin + width, &own));
    HN_TRY(hn_ml_join(h->call, "add", parts[i], own));
    begin += width;
  }
  return HONE_OK;
}

static hone_status multi_head_attention(hn_import_call *call) {
  enum { Q, K, V, BIAS, MASK, ADDEND, PAST_KEY, PAST_VALUE, INPUTS };
  hn_value *out[3];
  heads h;
  HN_TRY(read(call, &h));
  HN_TRY(refuse_extras(call, INPUTS));
  h.q = hn_contrib_input(call, Q), h.k = hn_contrib_input(call, K), h.v = hn_contrib_input(call, V);
  h.past_key = hn_contrib_input(call, PAST_KEY), h.past_value = hn_contrib_input(call, PAST_VALUE);
  h.addend = hn_contrib_input(call, ADDEND);
  HN_TRY(want_rows(&h));
  HN_TRY(add_biases(&h, hn_contrib_input(call, BIAS)));
  if (hn_contrib_input(call, MASK)) HN_TRY(mask(&h, call->in[MASK]));
  if (is_wanted(call, 3)) return refuse(call, "the scores themselves are wanted");
  HN_TRY(attend(&h, out));
  for (int i = 1; i < 3; ++i)
    if (is_wanted(call, i)) call->out[i] = out[i];
  return hn_import_finish(call, out[0]);
}

const hn_adapter hn_contrib_attention_adapters[] = {
    {"ort_attention",
     "do_rotary mask_filter_value num_heads past_present_share_buffer qkv_hidden_sizes rotary_embedding_dim scale "
     "unidirectional",
     joined_attention},
    {"ort_byte_attention", "do_rotary mask_filter_value num_heads past_present_share_buffer scale unidirectional",
     byte_attention},
    {"ort_multi_head_attention", "mask_filter_value num_heads scale unidirectional", multi_head_attention},
    {0}};
