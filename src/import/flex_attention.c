/* SPDX-License-Identifier: Apache-2.0 */
/* flex_attention.c - attention whose scores and probabilities the model changes by graphs of its own, as the products,
 * the softmax and the nodes of those graphs; the passes name what is plain attention. Query heads that share a head of
 * keys are rows of one matrix, so that nothing is repeated. Source: FlexAttention of ai.onnx.preview, version 1. */
#include "import/ml.h"
#include <math.h>

enum { SCORES, PROBABILITIES };

/* The graph's nodes around one value. */
static hone_status inlined(hn_import_call *call, const hn_onnx_graph *graph, hn_value **x) {
  hn_importer *importer = call->importer;
  if (!graph) return HONE_OK;
  if (graph->inputs.count != 1 || graph->outputs.count != 1)
    return HN_FAIL(importer->diag, HONE_MALFORMED, "a graph of its own must have one input and one output");
  const hn_onnx_value_info *in = graph->inputs.items, *out = graph->outputs.items;
  hn_scope scope;
  HN_TRY(hn_scope_init(importer, &scope, call->scope, call->scope->block));
  HN_TRY(hn_scope_bind(importer, &scope, in->name, *x));
  HN_TRY(hn_import_initializers(importer, &scope, graph));
  HN_TRY(hn_import_nodes(importer, &scope, &graph->nodes));
  *x = hn_scope_find(&scope, out->name);
  if (!*x) return HN_FAIL(importer->diag, HONE_MALFORMED, "output \"%s\" of its graph is made by no node", out->name);
  if (*x == &importer->bad) return HN_FAIL(importer->diag, HONE_UNSUPPORTED, "its graph cannot be imported");
  return HONE_OK;
}

/* Heads as they are counted on the other side; the rows of those that share one follow each other. */
static hone_status count_heads(hn_import_call *call, int64_t heads, hn_value **x) {
  const int64_t dims[4] = {0, heads, -1, 0};
  return hn_ml_join(call, "reshape", x, hn_constant_int(call->importer->graph, NULL, 1, 4, dims));
}

static hone_status check(hn_import_call *call) {
  for (int i = 0; i < 3; ++i) {
    const hn_value *x = hn_contrib_input(call, i);
    if (!x) return HN_FAIL(call->importer->diag, HONE_MALFORMED, "input %d is missing", i);
    const hone_shape *shape = &x->fact.type.shape;
    if (shape->rank != 4 || HONE_SYMBOLIC(shape->dim[1]) || HONE_SYMBOLIC(shape->dim[3]))
      return HN_FAIL(call->importer->diag, HONE_UNSUPPORTED, "input %d has no known heads", i);
  }
  const int64_t q = call->in[0]->fact.type.shape.dim[1], kv = call->in[1]->fact.type.shape.dim[1];
  if (kv < 1 || q % kv != 0 || call->in[2]->fact.type.shape.dim[1] != kv)
    return HN_FAIL(call->importer->diag, HONE_MALFORMED, "%lld heads of queries cannot share %lld of keys",
                   (long long)q, (long long)kv);
  return HONE_OK;
}

static hone_status flex_attention(hn_import_call *call) {
  static const int64_t swapped[4] = {0, 1, 3, 2};
  const hone_attr perm = {.name = "perm", .kind = HONE_ATTR_INTS, .count = 4, .ints = swapped};
  const hone_attr last = {.name = "axis", .kind = HONE_ATTR_INT, .i = -1};
  HN_TRY(check(call));
  const hone_dtype given = call->in[0]->fact.type.dtype;
  const int64_t precision = hn_contrib_take_int(call, "softmax_precision", 0);
  const hone_dtype dtype = precision ? hn_dtype_of_onnx(precision) : given == HONE_F64 ? HONE_F64 : HONE_F32;
  const int64_t heads = call->in[0]->fact.type.shape.dim[1], shared = call->in[1]->fact.type.shape.dim[1];
  hone_attr attr;
  double scale = 1 / sqrt((double)call->in[0]->fact.type.shape.dim[3]);
  if (hn_import_take_attr(call, "scale", &attr) && attr.kind == HONE_ATTR_FLOAT) scale = attr.f;
  if (!hn_dtype_is_float(dtype))
    return HN_FAIL(call->importer->diag, HONE_MALFORMED, "softmax_precision is no real type");
  hn_value *q = call->in[0], *k = call->in[1], *v = call->in[2], *y;
  HN_TRY(hn_ml_cast(call, dtype, &q));
  HN_TRY(hn_ml_cast(call, dtype, &k));
  HN_TRY(hn_ml_cast(call, dtype, &v));
  if (heads != shared) HN_TRY(count_heads(call, shared, &q));
  HN_TRY(hn_import_make(call, "transpose", 1, &k, 1, &perm, &k));
  y = q;
  HN_TRY(hn_ml_join(call, "matmul", &y, k));
  HN_TRY(hn_ml_join(call, "mul", &y, hn_constant_scalar(call->importer->graph, dtype, scale)));
  if (heads != shared) HN_TRY(count_heads(call, heads, &y));
  HN_TRY(inlined(call, call->bodies[SCORES], &y));
  HN_TRY(hn_import_make(call, "softmax", 1, &y, 1, &last, &y));
  HN_TRY(inlined(call, call->bodies[PROBABILITIES], &y));
  if (heads != shared) HN_TRY(count_heads(call, shared, &y));
  HN_TRY(hn_ml_join(call, "matmul", &y, v));
  if (heads != shared) HN_TRY(count_heads(call, heads, &y));
  HN_TRY(hn_ml_cast(call, given, &y));
  call->out[0] = y;
  call->done = true;
  return HONE_OK;
}

const hn_adapter hn_flex_adapters[] = {{"flex_attention", "prob_mod scale score_mod softmax_precision", flex_attention},
                                       {0}};
