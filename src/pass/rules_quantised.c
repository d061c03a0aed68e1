/* SPDX-License-Identifier: Apache-2.0 */
/* rules_quantised.c - quantize(f(dequantize(x)...)) becomes f on bytes. What computes is redefined by that: the sum is
 * exact and rounded once, by the f32 rule (docs/NUMERICS.md), under the conditions under which ONNX Runtime does the
 * same, so that the bits are its own. What moves or selects values is exact by itself.
 * Below, d dequantises x by sx and zx, e dequantises w, f the bias b; the result is quantised by sy and zy. */
#include "pass/passes.h"
#include "pass/rule_help.h"
#include <math.h>
#include <string.h>

/* ---- scales ---- */

static const char *when_per_tensor(const hn_match *match, const char *node) {
  return hn_quantised_by_one(hn_bound_node(match, node)) ? NULL : "a scale is not one positive constant for all";
}

static bool same_number(const hn_match *match, const char *a, const char *b) {
  return hn_real(hn_bound(match, a)->fact.constant, 0) == hn_real(hn_bound(match, b)->fact.constant, 0);
}

static const char *when_same_scale(const hn_match *match) {
  HN_TRY_REASON(when_per_tensor(match, "d"));
  HN_TRY_REASON(when_per_tensor(match, "q"));
  if (hn_bound_type(match, "x")->dtype != match->roots[0]->fact.type.dtype) return "";
  return same_number(match, "sx", "sy") && same_number(match, "zx", "zy") ? NULL : "";
}

static bool is_dtype(const hn_match *match, const char *name, hone_dtype dtype) {
  return hn_bound_type(match, name)->dtype == dtype;
}

/* As ONNX Runtime has it: one type goes in and comes out, and signed activations have signed weights. */
static const char *when_types(const hn_match *match) {
  const hone_dtype x = hn_bound_type(match, "x")->dtype, y = match->roots[0]->fact.type.dtype;
  if (x != y) return "the types of input and output differ";
  return x == HONE_I8 && !is_dtype(match, "w", HONE_I8) ? "a signed input has unsigned weights" : NULL;
}

/* The weights' scales: one, or one for each index of `axis`. */
static const char *when_weights(const hn_match *match, int axis) {
  const hn_node *e = hn_bound_node(match, "e");
  if (hn_quantised_by_one(e)) return NULL;
  const hone_shape *w = &hn_bound_type(match, "w")->shape;
  return hn_quantised_along(e, w->rank, axis) ? NULL : "the weights' scales are not for output channels";
}

/* The bias counts in units of the products' own scale. */
static const char *when_bias(const hn_match *match, int64_t outputs) {
  enum { ZERO = 2 };
  const hn_node *f = hn_bound_node(match, "f");
  if (!f) return NULL;
  const hone_tensor *sx = hn_bound(match, "sx")->fact.constant, *sw = hn_bound(match, "sw")->fact.constant;
  const hone_tensor *sb = hn_bound(match, "sb")->fact.constant;
  const hn_value *b = hn_bound(match, "b"), *zero = hn_input(f, ZERO);
  const int64_t each = hn_elems(&sb->type.shape), weights = hn_elems(&sw->type.shape);
  if (b->fact.type.dtype != HONE_I32 || hn_elems(&b->fact.type.shape) != outputs ||
      hn_attr_int(&f->attrs, "block_size"))
    return "the bias is not one i32 for each output channel";
  if (sb->type.dtype != HONE_F32 || (each != 1 && each != outputs)) return "the bias's scales are not for its elements";
  for (int64_t i = 0; i < (weights > each ? weights : each); ++i) {
    const double product = hn_real(sx, 0) * hn_real(sw, weights == 1 ? 0 : i), scale = hn_real(sb, each == 1 ? 0 : i);
    if (!(fabs(scale - product) <= 0x1p-21 * product)) return "the bias has another scale than the products";
  }
  if (zero && !hn_value_is_constant(zero)) return "the bias's zero point is not constant";
  for (int64_t i = 0; zero && i < hn_elems(&zero->fact.type.shape); ++i)
    if (hn_real(zero->fact.constant, i) != 0) return "the bias has a zero point";
  return NULL;
}

/* ---- an activation before the rounding is a bound after it ---- */

static const hn_node *activation(const hn_match *match) {
  const hn_node *node = match->root->in[0]->node;
  return node == hn_bound_node(match, "c") ? NULL : node;
}

/* false: it is there, but not a number that is known. */
static bool bound_of(const hn_value *value, double otherwise, double *out) {
  *out = otherwise;
  if (!value) return true;
  if (!hn_is_scalar_constant(value)) return false;
  *out = hn_real(value->fact.constant, 0);
  return !isnan(*out);
}

static const char *when_bounds(const hn_match *match) {
  const hn_node *node = activation(match);
  double low, high;
  if (!node || node->in_count == 1) return NULL;
  if (!bound_of(hn_input(node, 1), -INFINITY, &low) || !bound_of(hn_input(node, 2), INFINITY, &high))
    return "a bound of the activation is not known";
  return low <= high ? NULL : "the activation's bounds are in reverse";
}

static hone_status bind_bound(hn_match *match, const char *name, double bound, int64_t otherwise) {
  const float scale = (float)hn_real(hn_bound(match, "sy")->fact.constant, 0);
  const hone_dtype dtype = match->roots[0]->fact.type.dtype;
  const double least = dtype == HONE_I8 ? INT8_MIN : 0, most = dtype == HONE_I8 ? INT8_MAX : UINT8_MAX;
  const double zero = hn_real(hn_bound(match, "zy")->fact.constant, 0);
  const float quotient = (float)bound / scale;
  const double value = nearbyint((double)quotient) + zero;
  const int64_t held = (int64_t)fmin(fmax(value, least), most);
  return hn_bind_attr(match, &(hone_attr){.name = name, .kind = HONE_ATTR_INT, .i = isinf(bound) ? otherwise : held});
}

/* $low and $high. Rounding keeps the order, so that the rounded bound bounds what is rounded. */
static hone_status make_bounds(hn_match *match) {
  const hn_node *node = activation(match);
  double low = node ? 0 : -INFINITY, high = INFINITY; /* relu's */
  if (node && node->in_count > 1) {
    (void)bound_of(hn_input(node, 1), -INFINITY, &low);
    (void)bound_of(hn_input(node, 2), INFINITY, &high);
  }
  HN_TRY(bind_bound(match, "low", low, INT32_MIN));
  return bind_bound(match, "high", high, INT32_MAX);
}

/* ---- layers ---- */

static const char *when_layer(const hn_match *match, int axis) {
  const hone_shape *w = &hn_bound_type(match, "w")->shape;
  HN_TRY_REASON(when_per_tensor(match, "d"));
  HN_TRY_REASON(when_per_tensor(match, "q"));
  HN_TRY_REASON(when_types(match));
  if (w->rank <= axis || HONE_SYMBOLIC(w->dim[axis])) return "the weights' shape is not known";
  HN_TRY_REASON(when_weights(match, axis));
  HN_TRY_REASON(when_bias(match, w->dim[axis]));
  return when_bounds(match);
}

static const char *when_conv(const hn_match *match) { return when_layer(match, 0); }

static int gemm_outputs(const hn_match *match) { return hn_attr_int(&hn_bound_node(match, "c")->attrs, "transB") == 0; }

static const char *when_gemm(const hn_match *match) { return when_layer(match, gemm_outputs(match)); }

static const char *when_matmul(const hn_match *match) {
  if (hn_bound_type(match, "w")->shape.rank != 2) return "the weights are not a matrix";
  return when_layer(match, 1);
}

static hone_status make_gemm(hn_match *match) {
  static const int64_t kept[2] = {0, 1}, swapped[2] = {1, 0};
  HN_TRY(make_bounds(match));
  HN_TRY(hn_bind_ints(match, "flat", 1, (const int64_t[]){-1}));
  return hn_bind_list(match, "perm", 2, gemm_outputs(match) == 0 ? swapped : kept);
}

static hone_status make_biased(hn_match *match) {
  HN_TRY(make_bounds(match));
  return hn_bind_ints(match, "flat", 1, (const int64_t[]){-1});
}

/* Of two summands or factors. */
static const char *when_pair(const hn_match *match) {
  const hone_dtype y = match->roots[0]->fact.type.dtype;
  HN_TRY_REASON(when_per_tensor(match, "d"));
  HN_TRY_REASON(when_per_tensor(match, "e"));
  HN_TRY_REASON(when_per_tensor(match, "q"));
  if (!is_dtype(match, "x", y) || !is_dtype(match, "w", y)) return "the types differ";
  return when_bounds(match);
}

static const char *when_pool(const hn_match *match) {
  HN_TRY_REASON(when_per_tensor(match, "d"));
  HN_TRY_REASON(when_per_tensor(match, "q"));
  const bool same = is_dtype(match, "x", match->roots[0]->fact.type.dtype);
  return same ? NULL : "the types of input and output differ";
}

#define X "d:dequantize_linear(x, sx:const, zx:const)"
#define W "e:dequantize_linear(w, sw:const, zw:const)"
#define W_CONST "e:dequantize_linear(w:const, sw:const, zw:const)"
#define BIAS ", f:dequantize_linear(b:const, sb:const, ...)"
#define INPUTS "x, sx, zx, w, sw, zw, sy, zy"
#define BOUNDS "low=$low, high=$high"
#define Q(inner) "q:quantize_linear(" inner ", sy:const, zy:const)"

#define CONV                                                                                                           \
  "qlinear_conv[auto_pad=c.auto_pad, dilations=c.dilations, group=c.group, kernel_shape=c.kernel_shape, "              \
  "pads=c.pads, strides=c.strides, " BOUNDS "]"
#define GEMM "qlinear_matmul[" BOUNDS "](x, sx, zx, transpose[perm=$perm](w), sw, zw, sy, zy"
#define EXACT "sums of bytes are exact, and need a quarter of the memory"
#define CONV_LAYER "c:conv[act=\"\"](" X ", " W_CONST
#define GEMM_LAYER "c:gemm[alpha=1, beta=1, transA=0](" X ", " W_CONST
#define MATMUL_LAYER "c:matmul(" X ", " W ")"
#define ADD_LAYER "c:add(" X ", " W ")"
#define MUL_LAYER "c:mul(" X ", " W ")"
#define MATMUL "qlinear_matmul[" BOUNDS "](" INPUTS ")"
#define ADD "qlinear_add[" BOUNDS "](" INPUTS ")"
#define MUL "qlinear_mul[" BOUNDS "](" INPUTS ")"
#define SUMMED "the sum is formed and rounded while its bytes are in registers"
#define MULTIPLIED "the product is formed and rounded while its bytes are in registers"

/* Of each layer a row without an activation, and one for each that a bound can be. */
const hn_rewrite hn_rules_quantised[] = {
    {.name = "drop_requantising",
     .find = Q(X),
     .put = "x",
     .when = when_same_scale,
     .why = "quantising by the same scale gives the byte back"},
    {"quantised_conv", Q(CONV_LAYER ")"), CONV "(" INPUTS ")", when_conv, make_bounds, .why = EXACT},
    {"quantised_conv_relu", Q("relu(" CONV_LAYER "))"), CONV "(" INPUTS ")", when_conv, make_bounds, .why = EXACT},
    {"quantised_conv_clip", Q("clip(" CONV_LAYER "), ...)"), CONV "(" INPUTS ")", when_conv, make_bounds, .why = EXACT},
    {"quantised_biased_conv", Q(CONV_LAYER BIAS ")"), CONV "(" INPUTS ", reshape(b, flat))", when_conv, make_biased,
     .why = EXACT},
    {"quantised_biased_conv_relu", Q("relu(" CONV_LAYER BIAS "))"), CONV "(" INPUTS ", reshape(b, flat))", when_conv,
     make_biased, .why = EXACT},
    {"quantised_biased_conv_clip", Q("clip(" CONV_LAYER BIAS "), ...)"), CONV "(" INPUTS ", reshape(b, flat))",
     when_conv, make_biased, .why = EXACT},
    {"quantised_matmul", Q(MATMUL_LAYER), MATMUL, when_matmul, make_bounds, .why = EXACT},
    {"quantised_matmul_relu", Q("relu(" MATMUL_LAYER ")"), MATMUL, when_matmul, make_bounds, .why = EXACT},
    {"quantised_matmul_clip", Q("clip(" MATMUL_LAYER ", ...)"), MATMUL, when_matmul, make_bounds, .why = EXACT},
    {"quantised_gemm", Q(GEMM_LAYER ")"), GEMM ")", when_gemm, make_gemm, .why = EXACT},
    {"quantised_gemm_relu", Q("relu(" GEMM_LAYER "))"), GEMM ")", when_gemm, make_gemm, .why = EXACT},
    {"quantised_gemm_clip", Q("clip(" GEMM_LAYER "), ...)"), GEMM ")", when_gemm, make_gemm, .why = EXACT},
    {"quantised_biased_gemm", Q(GEMM_LAYER BIAS ")"), GEMM ", reshape(b, flat))", when_gemm, make_gemm, .why = EXACT},
    {"quantised_biased_gemm_relu", Q("relu(" GEMM_LAYER BIAS "))"), GEMM ", reshape(b, flat))", when_gemm, make_gemm,
     .why = EXACT},
    {"quantised_biased_gemm_clip", Q("clip(" GEMM_LAYER BIAS "), ...)"), GEMM ", reshape(b, flat))", when_gemm,
     make_gemm, .why = EXACT},
    {"quantised_add", Q(ADD_LAYER), ADD, when_pair, make_bounds, .why = SUMMED},
    {"quantised_add_relu", Q("relu(" ADD_LAYER ")"), ADD, when_pair, make_bounds, .why = SUMMED},
    {"quantised_add_clip", Q("clip(" ADD_LAYER ", ...)"), ADD, when_pair, make_bounds, .why = SUMMED},
    {"quantised_mul", Q(MUL_LAYER), MUL, when_pair, make_bounds, .why = MULTIPLIED},
    {"quantised_mul_relu", Q("relu(" MUL_LAYER ")"), MUL, when_pair, make_bounds, .why = MULTIPLIED},
    {"quantised_mul_clip", Q("clip(" MUL_LAYER ", ...)"), MUL, when_pair, make_bounds, .why = MULTIPLIED},
    {.name = "quantised_global_average_pool",
     .find = Q("c:global_average_pool(" X ")"),
     .put = "qlinear_global_average_pool(x, sx, zx, sy, zy)",
     .when = when_pool,
     .why = "sums of bytes are exact"},
    {0}};

/* ---- layers whose output stays in floats: the sum of bytes, then one product of f32 ---- */

static const char *when_linear(const hn_match *match, int axis) {
  const hn_value *y = match->roots[0];
  const hone_shape *w = &hn_bound_type(match, "w")->shape;
  HN_TRY_REASON(when_per_tensor(match, "d"));
  if (y->fact.type.dtype != HONE_F32) return "the output is not f32";
  if (is_dtype(match, "x", HONE_I8) && !is_dtype(match, "w", HONE_I8)) return "a signed input has unsigned weights";
  if (w->rank != 2 || HONE_SYMBOLIC(w->dim[axis])) return "the weights are no matrix of known extents";
  for (const hn_use *use = y->uses; use; use = use->next)
    if (use->node && strcmp(use->node->op->name, "quantize_linear") == 0)
      return "its output is quantised, but not as its input is";
  HN_TRY_REASON(when_weights(match, axis));
  return when_bias(match, w->dim[axis]);
}

static const char *when_linear_matmul(const hn_match *match) { return when_linear(match, 1); }

static const char *when_linear_gemm(const hn_match *match) { return when_linear(match, gemm_outputs(match)); }

static hone_status make_linear_gemm(hn_match *match) {
  static const int64_t kept[2] = {0, 1}, swapped[2] = {1, 0};
  HN_TRY(hn_bind_ints(match, "flat", 1, (const int64_t[]){-1}));
  return hn_bind_list(match, "perm", 2, gemm_outputs(match) == 0 ? swapped : kept);
}

#define SCALED(sum) "mul(cast[to=1](" sum "), mul(sx, sw))"
#define GEMM_SUM "matmul_integer(x, transpose[perm=$perm](w), zx, zw)"

const hn_rewrite hn_rules_quantised_linear[] = {
    {.name = "integer_matmul",
     .find = "c:matmul(" X ", " W_CONST ")",
     .put = SCALED("matmul_integer(x, w, zx, zw)"),
     .when = when_linear_matmul,
     .why = EXACT},
    {"integer_gemm", GEMM_LAYER ")", SCALED(GEMM_SUM), when_linear_gemm, make_linear_gemm, .why = EXACT},
    {"integer_biased_gemm", GEMM_LAYER BIAS ")", SCALED("add(" GEMM_SUM ", reshape(b, flat))"), when_linear_gemm,
     make_linear_gemm, .why = EXACT},
    {0}};

/* ---- a sum of two byte tensors behind the convolution that makes one of them ---- */

static bool is_one(const hn_match *match, const char *name) {
  return hn_elems(&hn_bound_type(match, name)->shape) == 1;
}

/* r and ta, tb, ...: the sum's operands as they stand in it; zs zero points. */
static const char *when_summed(const hn_match *match) {
  const hone_type *r = hn_bound_type(match, "r"), *c = hn_bound_type(match, "c"), *y = &match->roots[0]->fact.type;
  static const char *const numbers[] = {"sa", "za", "sb", "zb", "ss", "zs"};
  if (hn_bound(match, "r") == hn_bound(match, "c")) return "";
  HN_TRY_REASON(hn_when_same_type(r, c, "the summands have different shapes"));
  HN_TRY_REASON(hn_when_same_type(y, c, "the summands have different shapes"));
  if (r->dtype != c->dtype || y->dtype != c->dtype) return "the types differ";
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i)
    if (!is_one(match, numbers[i])) return "a scale or zero point is not one number";
  return NULL;
}

static float number_of(const hn_match *match, const char *name) {
  return (float)hn_real(hn_bound(match, name)->fact.constant, 0);
}

/* As qlinear_add has them: each step is rounded to f32. */
static hone_status bind_sum(hn_match *match, const char *own, const char *other) {
  const float a = number_of(match, "sa") / number_of(match, "ss"), b = number_of(match, "sb") / number_of(match, "ss");
  const float a_zero = a * number_of(match, "za"), b_zero = b * number_of(match, "zb"), zeros = a_zero + b_zero;
  HN_TRY(hn_bind_float(match, own, (double)a));
  HN_TRY(hn_bind_float(match, other, (double)b));
  return hn_bind_float(match, "shift", (double)(number_of(match, "zs") - zeros));
}

static hone_status make_first(hn_match *match) { return bind_sum(match, "own", "other"); }

static hone_status make_last(hn_match *match) { return bind_sum(match, "other", "own"); }

#define OWN_INPUTS "x, sx, zx, w, sw, zw, sy, zy"
#define SUM_ATTRS "own_ratio=$own, residual_ratio=$other, sum_shift=$shift, sum_low=s.low, sum_high=s.high, own_last="
#define SUM_FIRST(inputs)                                                                                              \
  "s:qlinear_add(c:qlinear_conv(" inputs "), sa:const, za:const, r, sb:const, zb:const, ss:const, zs:const)"
#define SUM_LAST(inputs)                                                                                               \
  "s:qlinear_add(r, sa:const, za:const, c:qlinear_conv(" inputs "), sb:const, zb:const, ss:const, zs:const)"
#define JOINED "both roundings are made while the sums are in registers"

const hn_rewrite hn_rules_quantised_sums[] = {
    {"bytes_into_biased_conv", SUM_FIRST(OWN_INPUTS ", b"), "c[" SUM_ATTRS "0](" OWN_INPUTS ", b, r)", when_summed,
     make_first, .fuses = true, .why = JOINED},
    {"bytes_before_biased_conv", SUM_LAST(OWN_INPUTS ", b"), "c[" SUM_ATTRS "1](" OWN_INPUTS ", b, r)", when_summed,
     make_last, .fuses = true, .why = JOINED},
    {"bytes_into_conv", SUM_FIRST(OWN_INPUTS), "c[" SUM_ATTRS "0](" OWN_INPUTS ", _, r)", when_summed, make_first,
     .fuses = true, .why = JOINED},
    {"bytes_before_conv", SUM_LAST(OWN_INPUTS), "c[" SUM_ATTRS "1](" OWN_INPUTS ", _, r)", when_summed, make_last,
     .fuses = true, .why = JOINED},
    {0}};

/* ---- what moves or selects values does so with bytes, and is dequantised afterwards ---- */

static const char *when_moved(const hn_match *match) {
  const hn_node *move = match->root;
  if (move->in[0] != hn_bound_node(match, "d")->out[0]) return "";
  for (int i = 1; i < move->in_count; ++i)
    if (move->in[i] && (HONE_BIT(move->in[i]->fact.type.dtype) & HONE_TYPES_FLOAT)) return "";
  return when_per_tensor(match, "d");
}

static const char *when_selected(const hn_match *match) { return when_per_tensor(match, "d"); }

#define ORDERED "bytes are a quarter as many, and keep their order"

const hn_rewrite hn_rules_quantised_moves[] = {
    {.name = "bytes_moved",
     .find = "m:any[moves](" X ", ...)",
     .put = "dequantize_linear(m(x, ...), sx, zx)",
     .when = when_moved,
     .why = "bytes are a quarter as many to move"},
    {"bytes_max_pooled", "m:max_pool(" X ")", "dequantize_linear(m(x), sx, zx)", when_selected, .why = ORDERED},
    {"bytes_max_reduced", "m:reduce_max(" X ", ...)", "dequantize_linear(m(x, ...), sx, zx)", when_selected,
     .why = ORDERED},
    {"bytes_min_reduced", "m:reduce_min(" X ", ...)", "dequantize_linear(m(x, ...), sx, zx)", when_selected,
     .why = ORDERED},
    {"bytes_resized", "m:resize[mode=\"nearest\", coordinate_transformation_mode=\"asymmetric\"](" X ", ...)",
     "dequantize_linear(m(x, ...), sx, zx)", when_selected, .why = ORDERED},
    {"bytes_resized_by_halves", "m:resize[mode=\"nearest\", coordinate_transformation_mode=\"half_pixel\"](" X ", ...)",
     "dequantize_linear(m(x, ...), sx, zx)", when_selected, .why = ORDERED},
    {0}};
