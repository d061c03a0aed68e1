/* SPDX-License-Identifier: Apache-2.0 */
/* rules_attention.c - attention from its pieces (Vaswani et al., arXiv:1706.03762), in steps: softmax between two
 * products; heads that are split from and joined to rows; one linear layer for queries, keys and values; and those read
 * where that layer writes them. Each step keeps what it stands for as parts. */
#include "pass/passes.h"
#include "pass/rule_help.h"
#include <string.h>

/* ---- softmax between two products ---- */

/* The last two axes change places and no others. */
static bool swaps_last(const hn_node *transpose, int rank) {
  const int64_t *perm;
  if (hn_attr_ints(&transpose->attrs, "perm", &perm) != rank) return false;
  for (int i = 0; i < rank; ++i)
    if (perm[i] != (i < rank - 2 ? i : 2 * rank - 3 - i)) return false;
  return true;
}

/* The mask is read along the keys and repeats over other axes at most. */
static const char *check_mask(const hn_match *match, const hone_shape *q, const hone_shape *k) {
  if (!hn_bound(match, "mask")) return NULL;
  const hone_type *mask = hn_bound_type(match, "mask");
  const int rank = q->rank, own = mask->shape.rank;
  if (mask->dtype != hn_bound_type(match, "q")->dtype || own < 1 || own > rank) return "the mask has another rank";
  for (int i = 0; i < own; ++i) {
    const int axis = rank - own + i;
    const int64_t want = axis == rank - 1 ? k->dim[rank - 2] : q->dim[axis], dim = mask->shape.dim[i];
    if (dim != want && (dim != 1 || axis == rank - 1)) return "the mask does not repeat over the scores";
    if (rank == 3 && axis == 0 && dim != 1) return "the mask differs from batch to batch of one head";
  }
  return NULL;
}

static const char *when_scores(const hn_match *match) {
  const hone_shape *q = &hn_bound_type(match, "q")->shape, *k = &hn_bound_type(match, "keys")->shape;
  const hone_shape *v = &hn_bound_type(match, "v")->shape;
  const int rank = q->rank;
  if ((rank != 3 && rank != 4) || k->rank != rank || v->rank != rank) return "the operands have not three or four axes";
  if (!swaps_last(hn_bound_node(match, "kt"), rank)) return "the keys are transposed in another way";
  const int64_t axis = hn_attr_int(&hn_bound_node(match, "p")->attrs, "axis");
  if (axis != -1 && axis != rank - 1) return "the softmax is not along the keys";
  for (int i = 0; i < rank - 2; ++i)
    if (q->dim[i] != k->dim[i] || q->dim[i] != v->dim[i]) return "the operands are broadcast";
  if (q->dim[rank - 1] != k->dim[rank - 1] || k->dim[rank - 2] != v->dim[rank - 2])
    return "the operands do not fit together";
  if (HONE_SYMBOLIC(q->dim[rank - 1]) || HONE_SYMBOLIC(v->dim[rank - 1])) return "the size of a head is not known";
  if (hn_bound(match, "c") && !hn_is_scalar_constant(hn_bound(match, "c"))) return "the scale is not a scalar";
  if (hn_bound(match, "d") && !hn_is_scalar_constant(hn_bound(match, "d"))) return "the divisor is not a scalar";
  return check_mask(match, q, k);
}

static double scale_of(const hn_match *match) {
  const hn_value *factor = hn_bound(match, "c"), *divisor = hn_bound(match, "d");
  if (divisor) return 1 / hn_real(divisor->fact.constant, 0);
  return factor ? hn_real(factor->fact.constant, 0) : 1;
}

/* Three axes: one head, and what were heads are batches. */
static hone_status make_scores(hn_match *match) {
  HN_TRY(hn_bind_float(match, "scale", scale_of(match)));
  if (hn_bound_type(match, "q")->shape.rank == 4) return HONE_OK;
  return hn_bind_attr(match, &(hone_attr){.name = "heads", .kind = HONE_ATTR_INT, .i = 1});
}

/* ---- a factor of the queries or keys ---- */

static const char *when_factor(const hn_match *match) {
  const hn_value *value = hn_bound(match, hn_bound(match, "c") ? "c" : "d");
  if (!hn_is_scalar_constant(value)) return "the factor is not a scalar";
  return hn_attr_has(&match->root->attrs, "scale") ? NULL : "the scale is left to the operator";
}

static hone_status make_factor(hn_match *match) {
  return hn_bind_float(match, "scale", scale_of(match) * hn_attr_float(&match->root->attrs, "scale"));
}

/* ---- heads split from rows ---- */

/* [batch, length, heads, size] seen in [batch, length, heads * size]; heads, or 0. */
static int64_t heads_of(const hone_shape *rows, const hone_shape *split) {
  if (rows->rank != 3 || split->rank != 4 || rows->dim[0] != split->dim[0] || rows->dim[1] != split->dim[1]) return 0;
  if (HONE_SYMBOLIC(split->dim[2]) || HONE_SYMBOLIC(split->dim[3])) return 0;
  return split->dim[2] * split->dim[3] == rows->dim[2] ? split->dim[2] : 0;
}

static int64_t heads_at(const hn_match *match, const char *rows, const char *split) {
  return heads_of(&hn_bound_type(match, rows)->shape, &hn_bound_type(match, split)->shape);
}

/* Rows as [batch, length, heads * size] where heads are cut or joined by one view of another rank, as layers on
 * matrices leave it. s: [batch, length, heads, size]. */
static const char *check_split(const hn_match *match, const hone_type *rows, const hone_shape *s) {
  if (rows->shape.rank == 3 || rows->shape.rank < 1 || s->rank != 4) return "";
  if (HONE_SYMBOLIC(s->dim[2]) || HONE_SYMBOLIC(s->dim[3])) return "the size of the heads is not known";
  return hn_view_possible(match->run->graph, rows) ? NULL : "the shapes are data-dependent";
}

static const char *when_flat_input(const hn_match *match) {
  for (const hn_use *use = match->roots[0]->uses; use; use = use->next)
    if (!use->node || strcmp(use->node->op->name, "attention") != 0) return "";
  return check_split(match, hn_bound_type(match, "x"), &hn_bound_type(match, "s")->shape);
}

static const char *when_flat_output(const hn_match *match) {
  return check_split(match, &match->roots[0]->fact.type, &hn_bound_type(match, "s")->shape);
}

static hone_status make_flat(hn_match *match) {
  const hone_shape *s = &hn_bound_type(match, "s")->shape;
  const int64_t rows[3] = {s->dim[0], s->dim[1], s->dim[2] * s->dim[3]};
  const hone_shape shape = hn_shape(3, rows);
  return hn_view_bind_dims(match, &shape);
}

static const char *when_heads(const hn_match *match) {
  const hone_shape *y = &match->roots[0]->fact.type.shape, *joined = &hn_bound_type(match, "t")->shape;
  if (hn_attr_has(&hn_bound_node(match, "a")->attrs, "q_num_heads")) return "";
  if (!heads_at(match, "q", "qs") || !heads_at(match, "k", "ks") || !heads_at(match, "v", "vs"))
    return "the heads are not cut from rows";
  return heads_of(y, joined) ? NULL : "the heads are not joined to rows";
}

static hone_status make_heads(hn_match *match) {
  HN_TRY(hn_bind_attr(match, &(hone_attr){.name = "heads", .kind = HONE_ATTR_INT, .i = heads_at(match, "q", "qs")}));
  return hn_bind_attr(match, &(hone_attr){.name = "kv", .kind = HONE_ATTR_INT, .i = heads_at(match, "k", "ks")});
}

/* ---- one layer for queries, keys and values ---- */

static const char *when_rows(const hn_match *match) {
  const hn_node *a = hn_bound_node(match, "a");
  static const char *const names[] = {"lq", "lk", "lv"};
  if (!hn_attr_has(&a->attrs, "q_num_heads")) return "the heads are axes of their own";
  for (int i = 0; i < 3; ++i) {
    const hone_shape *shape = &hn_bound_type(match, names[i])->shape;
    if (shape->rank != 3 || HONE_SYMBOLIC(shape->dim[2])) return "the layers' outputs are not rows of known size";
  }
  for (int i = 4; i < a->in_count; ++i)
    if (a->in[i]) return "there is a cache of keys";
  for (int i = 1; i < a->out_count; ++i)
    if (a->out[i]) return "more than one output is requested";
  return NULL;
}

static int64_t width_of(const hn_match *match, const char *name) { return hn_bound_type(match, name)->shape.dim[2]; }

static hone_status make_rows(hn_match *match) {
  const int64_t q = width_of(match, "lq"), k = q + width_of(match, "lk"), v = k + width_of(match, "lv");
  HN_TRY(hn_bind_ints(match, "q0", 1, (const int64_t[]){0}));
  HN_TRY(hn_bind_ints(match, "k0", 1, &q));
  HN_TRY(hn_bind_ints(match, "v0", 1, &k));
  HN_TRY(hn_bind_ints(match, "end", 1, &v));
  return hn_bind_ints(match, "last", 1, (const int64_t[]){2});
}

/* ---- read where they lie ---- */

/* A slice of the last of three axes, step 1: where it begins; -1 when it is none. */
static int64_t slice_begin(const hn_node *slice) {
  const hn_value *begin = hn_input(slice, 1), *axes = hn_input(slice, 3), *steps = hn_input(slice, 4);
  if (!begin || !begin->fact.value || begin->fact.value_count != 1 || begin->fact.value[0] < 0) return -1;
  if (!axes || !axes->fact.value || axes->fact.value_count != 1) return -1;
  if (axes->fact.value[0] != 2 && axes->fact.value[0] != -1) return -1;
  if (steps && (!steps->fact.value || steps->fact.value_count != 1 || steps->fact.value[0] != 1)) return -1;
  return begin->fact.value[0];
}

/* q, k and v fill y's rows in this order; equal sizes of keys and values. */
static const char *check_rows(const hn_match *match, const hone_shape *q, const hone_shape *k, const hone_shape *v) {
  const hone_shape *y = &hn_bound_type(match, "y")->shape;
  const hone_attrs *attrs = &hn_bound_node(match, "a")->attrs;
  if (y->rank != 3 || q->rank != 3 || k->rank != 3 || v->rank != 3) return "they are not rows";
  if (!hn_attr_has(attrs, "q_num_heads") || !hn_attr_has(attrs, "kv_num_heads"))
    return "the heads are axes of their own";
  if (hn_attr_float(attrs, "softcap") != 0 || hn_attr_int(attrs, "left_window_size") >= 0 ||
      hn_attr_int(attrs, "right_window_size") >= 0)
    return "it has a soft cap or a window";
  const int64_t heads = hn_attr_int(attrs, "q_num_heads"), kv_heads = hn_attr_int(attrs, "kv_num_heads");
  if (q->dim[2] + k->dim[2] + v->dim[2] != y->dim[2]) return "they do not fill the rows";
  if (k->dim[2] != v->dim[2] || heads < 1 || kv_heads < 1 || q->dim[2] / heads != k->dim[2] / kv_heads)
    return "keys and values have different sizes";
  return NULL;
}

static const char *when_slices(const hn_match *match) {
  const hone_shape *q = &hn_bound_type(match, "sq")->shape, *k = &hn_bound_type(match, "sk")->shape;
  const hone_shape *v = &hn_bound_type(match, "sv")->shape;
  HN_TRY_REASON(check_rows(match, q, k, v));
  if (slice_begin(hn_bound_node(match, "sq")) != 0 || slice_begin(hn_bound_node(match, "sk")) != q->dim[2] ||
      slice_begin(hn_bound_node(match, "sv")) != q->dim[2] + k->dim[2])
    return "they are not cut from the rows in this order";
  return NULL;
}

static const char *when_split(const hn_match *match) {
  const hn_node *split = hn_bound_node(match, "s");
  const int64_t axis = hn_attr_int(&split->attrs, "axis");
  if (split->out_count != 3 || !split->out[0] || !split->out[1] || !split->out[2] || (axis != 2 && axis != -1))
    return "";
  return check_rows(match, &split->out[0]->fact.type.shape, &split->out[1]->fact.type.shape,
                    &split->out[2]->fact.type.shape);
}

#define PRODUCT "matmul(q, kt:transpose(keys))"
#define PRODUCT_OF_SCALED "matmul(q, mul(kt:transpose(keys), c:const))"

const hn_rewrite hn_rules_attention[] = {
    {.name = "keys_to_heads",
     .find = "matmul(q, transpose[perm=[0,2,3,1]](keys))",
     .put = "matmul(q, transpose[perm=[0,1,3,2]](transpose[perm=[0,2,1,3]](keys)))",
     .why = "keys are cut into heads as queries and values are, then transposed"},
    {.name = "attention",
     .find = "matmul(p:softmax(" PRODUCT "), v)",
     .put = "attention[scale=$scale, q_num_heads=$heads, kv_num_heads=$heads](q, keys, v)",
     .when = when_scores,
     .make = make_scores,
     .fuses = true,
     .why = "the scores need not leave the caches"},
    {.name = "attention_masked",
     .find = "matmul(p:softmax(add(" PRODUCT ", mask)), v)",
     .put = "attention[scale=$scale, q_num_heads=$heads, kv_num_heads=$heads](q, keys, v, mask)",
     .when = when_scores,
     .make = make_scores,
     .fuses = true,
     .why = "the scores need not leave the caches"},
    {.name = "attention_scaled",
     .find = "matmul(p:softmax(mul(" PRODUCT ", c:const)), v)",
     .put = "attention[scale=$scale, q_num_heads=$heads, kv_num_heads=$heads](q, keys, v)",
     .when = when_scores,
     .make = make_scores,
     .fuses = true,
     .why = "the scores need not leave the caches"},
    {.name = "attention_scaled_masked",
     .find = "matmul(p:softmax(add(mul(" PRODUCT ", c:const), mask)), v)",
     .put = "attention[scale=$scale, q_num_heads=$heads, kv_num_heads=$heads](q, keys, v, mask)",
     .when = when_scores,
     .make = make_scores,
     .fuses = true,
     .why = "the scores need not leave the caches"},
    {.name = "attention_divided",
     .find = "matmul(p:softmax(div(" PRODUCT ", d:const)), v)",
     .put = "attention[scale=$scale, q_num_heads=$heads, kv_num_heads=$heads](q, keys, v)",
     .when = when_scores,
     .make = make_scores,
     .fuses = true,
     .why = "the scores need not leave the caches"},
    {.name = "attention_divided_masked",
     .find = "matmul(p:softmax(add(div(" PRODUCT ", d:const), mask)), v)",
     .put = "attention[scale=$scale, q_num_heads=$heads, kv_num_heads=$heads](q, keys, v, mask)",
     .when = when_scores,
     .make = make_scores,
     .fuses = true,
     .why = "the scores need not leave the caches"},
    {.name = "attention_of_scaled_keys",
     .find = "matmul(p:softmax(" PRODUCT_OF_SCALED "), v)",
     .put = "attention[scale=$scale, q_num_heads=$heads, kv_num_heads=$heads](q, keys, v)",
     .when = when_scores,
     .make = make_scores,
     .fuses = true,
     .why = "the scores need not leave the caches"},
    {.name = "attention_of_scaled_keys_masked",
     .find = "matmul(p:softmax(add(" PRODUCT_OF_SCALED ", mask)), v)",
     .put = "attention[scale=$scale, q_num_heads=$heads, kv_num_heads=$heads](q, keys, v, mask)",
     .when = when_scores,
     .make = make_scores,
     .fuses = true,
     .why = "the scores need not leave the caches"},
    {.name = "query_scale_into_attention",
     .find = "a:attention(mul(q, c:const), keys, ...)",
     .put = "a[scale=$scale](q, keys, ...)",
     .when = when_factor,
     .make = make_factor,
     .fuses = true,
     .why = "the layer has a scale of its own"},
    {.name = "query_divisor_into_attention",
     .find = "a:attention(div(q, d:const), keys, ...)",
     .put = "a[scale=$scale](q, keys, ...)",
     .when = when_factor,
     .make = make_factor,
     .fuses = true,
     .why = "the layer has a scale of its own"},
    {.name = "key_scale_into_attention",
     .find = "a:attention(q, mul(keys, c:const), ...)",
     .put = "a[scale=$scale](q, keys, ...)",
     .when = when_factor,
     .make = make_factor,
     .fuses = true,
     .why = "the layer has a scale of its own"},
    {.name = "key_divisor_into_attention",
     .find = "a:attention(q, div(keys, d:const), ...)",
     .put = "a[scale=$scale](q, keys, ...)",
     .when = when_factor,
     .make = make_factor,
     .fuses = true,
     .why = "the layer has a scale of its own"},
    {0}};

const hn_rewrite hn_rules_attention_heads[] = {
    {.name = "rows_before_heads",
     .find = "t:transpose[perm=[0,2,1,3]](s:view(x))",
     .put = "t(s(view[dims=$dims](x)))",
     .when = when_flat_input,
     .make = make_flat,
     .why = "heads are cut from rows"},
    {.name = "rows_after_heads",
     .find = "v:view(s:transpose[perm=[0,2,1,3]](attention(...)))",
     .put = "v(view[dims=$dims](s))",
     .when = when_flat_output,
     .make = make_flat,
     .why = "heads are joined to rows"},
    {.name = "heads_into_attention",
     .find = "view(t:transpose[perm=[0,2,1,3]](a:attention(transpose[perm=[0,2,1,3]](qs:view(q)), "
             "transpose[perm=[0,2,1,3]](ks:view(k)), transpose[perm=[0,2,1,3]](vs:view(v)), ...)))",
     .put = "a[q_num_heads=$heads, kv_num_heads=$kv](q, k, v, ...)",
     .when = when_heads,
     .make = make_heads,
     .fuses = true,
     .why = "the layer reads and writes heads where they lie in the rows"},
    {0}};

#define LAYER(name, weights, bias) name ":linear[act=\"\", transpose_w=0](x, " weights ":const" bias ")"
#define BIASES ", concat[axis=0](bq, bk, bv)"
#define SLICES "sq:slice(y, ...), sk:slice(y, ...), sv:slice(y, ...)"

const hn_rewrite hn_rules_attention_inputs[] = {
    {.name = "join_qkv",
     .find = "a:attention(" LAYER("lq", "wq", ", bq:const") ", " LAYER("lk", "wk", ", bk:const") ", " LAYER(
         "lv", "wv", ", bv:const") ", ...)",
     .put = "a(slice(y:linear(x, concat[axis=1](wq, wk, wv)" BIASES
            "), q0, k0, last), slice(y, k0, v0, last), slice(y, v0, end, last), ...)",
     .when = when_rows,
     .make = make_rows,
     .hands_on = true,
     .why = "one product reads the input once"},
    {.name = "join_qkv_without_bias",
     .find = "a:attention(" LAYER("lq", "wq", "") ", " LAYER("lk", "wk", "") ", " LAYER("lv", "wv", "") ", ...)",
     .put = "a(slice(y:linear(x, concat[axis=1](wq, wk, wv)), q0, k0, last), slice(y, k0, v0, last), slice(y, v0, end, "
            "last), ...)",
     .when = when_rows,
     .make = make_rows,
     .hands_on = true,
     .why = "one product reads the input once"},
    {.name = "qkv_in_place",
     .find = "a:attention(" SLICES ")",
     .put = "qkv_attention[q_num_heads=a.q_num_heads, kv_num_heads=a.kv_num_heads, scale=a.scale, "
            "is_causal=a.is_causal](y)",
     .when = when_slices,
     .fuses = true,
     .why = "queries, keys and values are read where they lie"},
    {.name = "qkv_in_place_masked",
     .find = "a:attention(" SLICES ", mask)",
     .put = "qkv_attention[q_num_heads=a.q_num_heads, kv_num_heads=a.kv_num_heads, scale=a.scale, "
            "is_causal=a.is_causal](y, mask)",
     .when = when_slices,
     .fuses = true,
     .why = "queries, keys and values are read where they lie"},
    {.name = "qkv_split_in_place",
     .find = "a:attention(s:split(y, ...), s.1, s.2)",
     .put = "qkv_attention[q_num_heads=a.q_num_heads, kv_num_heads=a.kv_num_heads, scale=a.scale, "
            "is_causal=a.is_causal](y)",
     .when = when_split,
     .fuses = true,
     .why = "queries, keys and values are read where they lie"},
    {.name = "qkv_split_in_place_masked",
     .find = "a:attention(s:split(y, ...), s.1, s.2, mask)",
     .put = "qkv_attention[q_num_heads=a.q_num_heads, kv_num_heads=a.kv_num_heads, scale=a.scale, "
            "is_causal=a.is_causal](y, mask)",
     .when = when_split,
     .fuses = true,
     .why = "queries, keys and values are read where they lie"},
    {0}};
