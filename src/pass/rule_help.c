/* SPDX-License-Identifier: Apache-2.0 */
/* rule_help.c - what the conditions and computations of several rule lists share. */
#include "pass/rule_help.h"
#include <math.h>
#include <string.h>

hn_value *hn_filled(hone_graph *graph, hone_dtype dtype, int rank, const int64_t *dims, double value) {
  const hone_type type = hn_tensor_type(dtype, rank, dims);
  const hn_allocator *allocator = &graph->context->allocator;
  size_t bytes;
  if (!hn_type_bytes(&type, &bytes)) {
    (void)HN_FAIL(&graph->context->diag, HONE_UNSUPPORTED, "a constant of extents that are not known");
    return NULL;
  }
  hone_tensor tensor = {.type = type, .data = hn_alloc_zero(allocator, bytes), .bytes = bytes};
  if (!tensor.data) {
    (void)HN_FAIL_MEMORY(&graph->context->diag);
    return NULL;
  }
  for (int64_t i = 0; value != 0 && i < hn_elems(&type.shape); ++i) hn_store_real(&tensor, i, value);
  hn_value *constant = hn_constant_create(graph, NULL, &tensor, false);
  hn_free(allocator, tensor.data, bytes);
  return constant;
}

hone_status hn_bind_filled(hn_match *match, const char *name, hone_dtype dtype, int rank, const int64_t *dims,
                           double value) {
  const hone_shape shape = hn_shape(rank, dims);
  if (!hn_shape_known(&shape))
    return HN_FAIL(&match->run->context->diag, HONE_UNSUPPORTED, "a constant of extents that are not known");
  return hn_bind(match, name, hn_filled(match->run->graph, dtype, rank, dims, value));
}

hone_status hn_bind_ints(hn_match *match, const char *name, int count, const int64_t *values) {
  return hn_bind(match, name, hn_constant_int(match->run->graph, NULL, 1, count, values));
}

hone_status hn_bind_list(hn_match *match, const char *name, int count, const int64_t *values) {
  return hn_bind_attr(match, &(hone_attr){.name = name, .kind = HONE_ATTR_INTS, .count = count, .ints = values});
}

hn_value *hn_input(const hn_node *node, int index) { return index < node->in_count ? node->in[index] : NULL; }

const char *hn_when_same_type(const hone_type *a, const hone_type *b, const char *reason) {
  return a->kind == b->kind && a->dtype == b->dtype && a->shape.rank >= 0 && hn_shape_equal(&a->shape, &b->shape)
             ? NULL
             : reason;
}

const char *hn_when_along(const hn_match *match, int axis) {
  return hn_varies_only_along(hn_bound_type(match, "k"), hn_bound_type(match, "c"), axis)
             ? NULL
             : "the constant does not vary along the channels only";
}

const char *hn_when_affine(const hn_match *match) {
  const hn_node *layer = hn_bound_node(match, "c");
  const hn_value *bias = hn_input(layer, 2);
  if (hn_input(layer, 3)) return "a residual is added already";
  return bias && !hn_value_is_constant(bias) ? "the bias is not constant" : NULL;
}

const char *hn_when_residual(const hn_match *match) {
  const hn_value *residual = hn_bound(match, "r"), *layer = hn_bound(match, "c");
  if (residual == layer) return "";
  return hn_when_same_type(&residual->fact.type, &layer->fact.type, "the summands have different shapes");
}

/* Does k hold one number for each channel, or last feature, of the layer? */
static const char *one_a_channel(const hn_match *match, const char *unmet) {
  const hone_shape *c = &hn_bound_type(match, "c")->shape, *k = &hn_bound_type(match, "k")->shape;
  const int axis = strcmp(hn_bound_node(match, "c")->op->name, "linear") == 0 ? c->rank - 1 : 1;
  if (!hn_varies_only_along(hn_bound_type(match, "k"), hn_bound_type(match, "c"), axis)) return unmet;
  return hn_elems(k) == c->dim[axis] ? NULL : "one number is for all channels";
}

const char *hn_when_slopes(const hn_match *match) {
  return one_a_channel(match, "the slope does not vary along the channels only");
}

const char *hn_when_bias_late(const hn_match *match) {
  return one_a_channel(match, "the constant does not vary along the channels only");
}

hone_status hn_make_flat(hn_match *match) { return hn_bind_ints(match, "flat", 1, (const int64_t[]){-1}); }

hone_status hn_make_slope(hn_match *match) {
  return hn_bind_float(match, "slope", hn_real(hn_bound(match, "k")->fact.constant, 0));
}

const char *hn_when_bounds(const hn_match *match) {
  const hn_value *low = hn_bound(match, "low"), *high = hn_bound(match, "high");
  if ((low && !hn_is_scalar_constant(low)) || (high && !hn_is_scalar_constant(high))) return "a bound is not a scalar";
  const bool known =
      (!low || !isnan(hn_real(low->fact.constant, 0))) && (!high || !isnan(hn_real(high->fact.constant, 0)));
  return known ? NULL : "a bound is not a number";
}

hone_status hn_make_bounds(hn_match *match) {
  const hn_value *low = hn_bound(match, "low"), *high = hn_bound(match, "high");
  HN_TRY(hn_bind_float(match, "low", low ? hn_real(low->fact.constant, 0) : -INFINITY));
  return hn_bind_float(match, "high", high ? hn_real(high->fact.constant, 0) : INFINITY);
}

hone_status hn_bind_bias(hn_match *match, int64_t outputs) {
  hn_value *bias = hn_input(hn_bound_node(match, "c"), 2);
  HN_TRY(hn_bind_ints(match, "flat", 1, (const int64_t[]){-1}));
  if (bias) return hn_bind(match, "b", bias);
  return hn_bind_filled(match, "b", hn_bound_type(match, "c")->dtype, 1, &outputs, 0);
}
