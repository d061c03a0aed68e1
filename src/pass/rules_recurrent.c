/* SPDX-License-Identifier: Apache-2.0 */
/* rules_recurrent.c - one step of an LSTM (Hochreiter, Schmidhuber 1997) or GRU (Cho et al. 2014) from its pieces, as
 * exporters write unrolled cells: gates cut from one layer of two products, from one product with the joined input and
 * state, or each from a layer of its own, the input's product made for a whole sequence beforehand or not. Steps over
 * one sequence are joined afterwards (sequences.c). */
#include "base/hash.h"
#include "pass/passes.h"
#include "pass/rule_help.h"
#include "pass/sequences.h"
#include "tensor/element.h"
#include <stdio.h>

enum { MOST_GATES = 4, FORGET = 2 }; /* the forget gate among an LSTM's */

/* Weights of a gate for one operand: rows [row, row + rows) and columns [column, column + hidden) of a layer's. */
typedef struct source {
  const hn_value *w, *b; /* b may be NULL */
  bool transposed;
  int64_t row, rows, column;
} source;

/* What a product is of: a value, or where the product was made for a sequence and then cut, a step of the sequence. */
typedef struct operand {
  hn_value *value;
  bool is_cut;
  hn_element place; /* in value */
} operand;

/* Gates as the ONNX operators order them: i, o, f, c; z, r, h. */
typedef struct step {
  int gates;
  int64_t batch, hidden;
  operand x;
  hn_value *h;
  source of_x[MOST_GATES], of_h[MOST_GATES];
  double forget; /* what the LSTM adds to its forget gate's bias */
} step;

static hn_value *input_of(const hn_node *node, int index) {
  return node && index < node->in_count ? node->in[index] : NULL;
}

static int64_t last_dim(const hn_value *value) {
  const hone_shape *shape = &value->fact.type.shape;
  return shape->rank < 1 ? -1 : shape->dim[shape->rank - 1];
}

/* ---- layers ---- */

static bool read_weights(const hn_node *layer, int64_t row, int64_t column, source *out) {
  const hn_value *w = input_of(layer, 1), *b = input_of(layer, 2);
  if (!hn_is_op(layer, "linear") || !w || !hn_value_is_constant(w) || w->fact.type.shape.rank != 2) return false;
  if (b && !hn_value_is_constant(b)) return false;
  *out = (source){
      .w = w, .b = b, .transposed = hn_attr_int(&layer->attrs, "transpose_w") != 0, .row = row, .column = column};
  out->rows = w->fact.type.shape.dim[out->transposed];
  return true;
}

/* A product alone: nothing is added but the bias, and nothing done to it. */
static bool is_bare(const hn_node *node) {
  return hn_is_op(node, "linear") && !*hn_attr_text(&node->attrs, "act") && !input_of(node, 3);
}

/* One product, or one step of a product that was made for a sequence. */
static bool read_product(hn_value *value, int64_t column, operand *out, source *from) {
  *out = (operand){0};
  if (is_bare(value->node)) {
    out->value = input_of(value->node, 0);
    return read_weights(value->node, 0, column, from);
  }
  hn_element *place = &out->place;
  if (!value->node || !hn_find_element(value, place) || !is_bare(place->from->node)) return false;
  if (place->axis == place->from->fact.type.shape.rank - 1 || last_dim(value) != last_dim(place->from)) return false;
  const hn_node *layer = place->from->node;
  out->value = place->from = input_of(layer, 0);
  out->is_cut = true;
  return hn_element_extents(place) && read_weights(layer, 0, column, from);
}

static bool same_operand(const operand *a, const operand *b) {
  return a->value == b->value && a->is_cut == b->is_cut &&
         (!a->is_cut || (a->place.axis == b->place.axis && a->place.at == b->place.at));
}

/* The two operands of a sum of products: of layer and its residual, or of one layer and a concat. */
static bool read_both(const hn_node *layer, int64_t column, operand *operands, source *sources) {
  hn_value *added = input_of(layer, 3);
  const hn_value *joined = input_of(layer, 0);
  if (!read_weights(layer, 0, column, &sources[0])) return false;
  operands[0] = (operand){.value = input_of(layer, 0)};
  if (added) return read_product(added, column, &operands[1], &sources[1]);
  const hn_node *concat = joined ? joined->node : NULL;
  if (!hn_is_op(concat, "concat") || concat->in_count != 2) return false;
  const int rank = joined->fact.type.shape.rank;
  const int64_t axis = hn_attr_int(&concat->attrs, "axis");
  if (axis != -1 && axis != rank - 1) return false;
  sources[1] = sources[0];
  sources[1].b = NULL;
  for (int i = 0; i < 2; ++i) {
    operands[i] = (operand){.value = concat->in[i]};
    sources[i].rows = last_dim(concat->in[i]);
  }
  sources[1].row = sources[0].rows;
  return true;
}

/* What the value is a part of, along the last axis, and the part's first column; the value itself when it is none. */
static hn_value *whole_of(hn_value *value, int64_t *column) {
  *column = 0;
  const hn_node *split = value ? value->node : NULL;
  if (!hn_is_op(split, "split")) return value;
  const int rank = value->fact.type.shape.rank;
  const int64_t axis = hn_attr_int(&split->attrs, "axis");
  if (rank < 1 || (axis != -1 && axis != rank - 1)) return value;
  for (int i = 0; i < value->out_index; ++i) {
    if (!split->out[i] || HONE_SYMBOLIC(last_dim(split->out[i]))) return NULL;
    *column += last_dim(split->out[i]);
  }
  return split->in[0];
}

static hn_value *other_input(const hn_node *node, const hn_value *than) {
  return node->in[0] == than ? input_of(node, 1) : node->in[0];
}

/* A gate is the layer itself, which has its activation then, or an activation behind a part of one, plus `summand`
 * when that is not NULL. */
static const hn_node *layer_of(const hn_node *gate, const hn_value *summand, int64_t *column) {
  if (!gate) return NULL;
  hn_value *part = hn_is_op(gate, "linear") ? gate->out[0] : input_of(gate, 0);
  if (summand) part = other_input(part->node, summand);
  const hn_value *whole = whole_of(part, column);
  return whole && hn_is_op(whole->node, "linear") ? whole->node : NULL;
}

/* ---- which operand is the state ---- */

/* A step of a sequence, rather than what a cell made. */
static bool is_part(hn_value *value) {
  hn_element ignored;
  return hn_find_element(value, &ignored);
}

/* For the sums alone input and state are alike: the state is the one with its size, or from where c comes from. */
static int find_state(const operand *operands, hn_value *c, int64_t hidden) {
  const hn_node *before = hn_behind_views(c)->node;
  for (int i = 0; i < 2; ++i)
    if (operands[i].is_cut || last_dim(operands[i].value) != hidden) return 1 - i;
  for (int i = 0; i < 2; ++i)
    if (hn_is_op(before, "lstm") && hn_behind_views(operands[i].value)->node == before) return i;
  return is_part(operands[1].value) && !is_part(operands[0].value) ? 0 : 1;
}

/* ---- reading cells ---- */

static const char *check_sizes(const hn_match *match, const step *cell) {
  const hone_type *root = &match->roots[0]->fact.type;
  const hn_value *x = cell->x.value;
  if (!hn_shape_known(&x->fact.type.shape) || !hn_shape_known(&root->shape) || root->shape.rank < 1)
    return "the batch is not known";
  if (!hn_type_equal(root, &cell->h->fact.type)) return "the state has another shape than the result";
  if (x->fact.type.dtype != root->dtype || last_dim(x) < 1 || cell->hidden < 1) return "";
  const int64_t elements = cell->x.is_cut ? cell->x.place.outer * cell->x.place.inner : hn_elems(&x->fact.type.shape);
  if (elements / last_dim(x) != cell->batch) return "input and state have other batches";
  for (int i = 0; i < cell->gates; ++i) {
    const source *sources[2] = {&cell->of_x[i], &cell->of_h[i]};
    if (sources[0]->rows != last_dim(x) || sources[1]->rows != cell->hidden) return "";
    for (int j = 0; j < 2; ++j)
      if (sources[j]->column + cell->hidden > sources[j]->w->fact.type.shape.dim[!sources[j]->transposed]) return "";
  }
  return NULL;
}

/* The state comes first or second; whether all gates agree. */
static bool take_gate(step *out, int gate, int state, const operand *operands, const source *sources) {
  if (gate == 0) {
    out->h = operands[state].value;
    out->x = operands[1 - state];
  }
  out->of_h[gate] = sources[state];
  out->of_x[gate] = sources[1 - state];
  return !operands[state].is_cut && operands[state].value == out->h && same_operand(&operands[1 - state], &out->x);
}

static void begin(const hn_match *match, int gates, step *out) {
  const hone_shape *y = &match->roots[0]->fact.type.shape;
  *out = (step){.gates = gates};
  if (!hn_shape_known(y) || y->rank < 1) return;
  out->hidden = y->dim[y->rank - 1];
  out->batch = out->hidden > 0 ? hn_elems(y) / out->hidden : 0;
}

static const char *read_lstm(const hn_match *match, step *out) {
  static const char *const names[] = {"i", "o", "f", "g"};
  const hone_type *root = &match->roots[0]->fact.type;
  hn_value *c = hn_bound(match, "cell"), *forget = hn_bound(match, "forget");
  begin(match, 4, out);
  if (forget && !hn_is_scalar_constant(forget)) return "the forget gate's summand is not a scalar";
  if (forget) out->forget = hn_real(forget->fact.constant, 0);
  int state = -1;
  for (int i = 0; i < 4; ++i) {
    int64_t column;
    operand operands[2];
    source sources[2];
    const hn_node *gate = hn_bound_node(match, names[i]), *layer = layer_of(gate, i == FORGET ? forget : NULL, &column);
    if (!layer || !hn_type_equal(&gate->out[0]->fact.type, root) || !read_both(layer, column, operands, sources))
      return "a gate is not a sum of two products";
    if (state < 0) state = find_state(operands, c, out->hidden);
    if (!take_gate(out, i, state, operands, sources)) return "the gates have different inputs";
  }
  if (!hn_type_equal(&c->fact.type, root)) return "the state has another shape than the result";
  return check_sizes(match, out);
}

/* A part, `hidden` wide, of a product. */
static bool read_one(hn_value *value, int64_t hidden, operand *out, source *from) {
  int64_t column;
  hn_value *whole = whole_of(value, &column);
  return whole && last_dim(value) == hidden && read_product(whole, column, out, from);
}

static bool read_gru_gate(const hn_node *gate, int64_t hidden, operand *operands, source *sources) {
  if (hn_is_op(gate, "linear")) return read_both(gate, 0, operands, sources);
  const hn_node *sum = input_of(gate, 0)->node;
  return hn_is_op(sum, "add") && read_one(sum->in[0], hidden, &operands[0], &sources[0]) &&
         read_one(sum->in[1], hidden, &operands[1], &sources[1]);
}

/* n: tanh(x's product + m), or the layer that does all that; m: the reset gate times the state's product. */
static bool read_candidate(const hn_match *match, int64_t hidden, operand *operands, source *sources) {
  const hn_node *n = hn_bound_node(match, "n"), *m = hn_bound_node(match, "m");
  hn_value *product = other_input(m, hn_bound(match, "r"));
  if (!read_one(product, hidden, &operands[1], &sources[1])) return false;
  if (!hn_is_op(n, "linear")) return read_one(other_input(n->in[0]->node, m->out[0]), hidden, operands, sources);
  operands[0] = (operand){.value = input_of(n, 0)};
  return read_weights(n, 0, 0, &sources[0]);
}

static const char *read_gru(const hn_match *match, step *out) {
  const hn_value *h = hn_bound(match, "h");
  begin(match, 3, out);
  for (int i = 0; i < 3; ++i) {
    operand operands[2];
    source sources[2];
    const hn_node *gate = hn_bound_node(match, i == 0 ? "z" : i == 1 ? "r" : "n");
    if (!hn_type_equal(&gate->out[0]->fact.type, &match->roots[0]->fact.type) ||
        !(i == 2 ? read_candidate(match, out->hidden, operands, sources)
                 : read_gru_gate(gate, out->hidden, operands, sources)))
      return "a gate is not a sum of two products";
    const int state = !operands[0].is_cut && operands[0].value == h ? 0 : 1;
    if (operands[state].value != h || !take_gate(out, i, state, operands, sources))
      return "the gates have different inputs";
  }
  return check_sizes(match, out);
}

/* ---- constants of the layer ---- */

static uint64_t hash_sources(const source *sources, int count, uint64_t hash) {
  for (int i = 0; i < count; ++i) {
    const source *s = &sources[i];
    const int64_t key[4] = {s->transposed, s->row, s->rows, s->column};
    hash = hn_hash_join(hash, hn_hash_text(s->w->name));
    hash = hn_hash_join(hash, s->b ? hn_hash_text(s->b->name) : 0);
    hash = hn_hash_join(hash, hn_hash(key, sizeof key));
  }
  return hash;
}

/* rows of [gates * hidden, rows], or of a bias when rows is 0. */
static void gather(const step *cell, const source *sources, bool bias, int64_t at, hone_tensor *to) {
  for (int g = 0; g < cell->gates; ++g) {
    const source *s = &sources[g];
    const hone_tensor *w = s->w->fact.constant;
    const int64_t columns = w->type.shape.dim[!s->transposed], depth = w->type.shape.dim[s->transposed];
    for (int64_t n = s->column; n < s->column + cell->hidden; ++n) {
      if (bias) {
        if (s->b) hn_store_real(to, at, hn_real(s->b->fact.constant, n));
        ++at;
        continue;
      }
      for (int64_t k = s->row; k < s->row + s->rows; ++k)
        hn_store_real(to, at++, hn_real(w, s->transposed ? n * depth + k : k * columns + n));
    }
  }
}

/* A constant made of the sources. Its name says of what, so that all steps with the same weights share it. */
static hone_status bind_constant(hn_match *match, const char *name, const step *cell, int rank, const int64_t *dims) {
  hone_graph *graph = match->run->graph;
  const bool is_w = name[0] == 'w', is_bias = name[0] == 'b';
  uint64_t hash = hash_sources(cell->of_x, cell->gates, (uint64_t)cell->hidden);
  hash = hn_hash_join(hash_sources(cell->of_h, cell->gates, hash), hn_hash(&cell->forget, sizeof cell->forget));
  char text[48];
  snprintf(text, sizeof text, "%s_%s_%016llx", cell->gates == 4 ? "lstm" : "gru", name, (unsigned long long)hash);
  hn_value *made = hn_table_get(&graph->value_names, text);
  const hone_type type = hn_tensor_type(cell->h->fact.type.dtype, rank, dims);
  if (made && hn_value_is_constant(made) && hn_type_equal(&made->fact.type, &type)) return hn_bind(match, name, made);
  hone_tensor tensor = {.type = type, .bytes = hn_bytes(&type)};
  tensor.data = hn_alloc_zero(&graph->context->allocator, tensor.bytes);
  if (!tensor.data) return HN_FAIL_MEMORY(&graph->context->diag);
  gather(cell, is_w || is_bias ? cell->of_x : cell->of_h, is_bias, 0, &tensor);
  if (is_bias) gather(cell, cell->of_h, true, cell->gates * cell->hidden, &tensor);
  for (int64_t n = 0; is_bias && cell->forget != 0 && n < cell->hidden; ++n) {
    const int64_t at = FORGET * cell->hidden + n;
    hn_store_real(&tensor, at, hn_real(&tensor, at) + cell->forget);
  }
  made = hn_constant_create(graph, text, &tensor, false);
  hn_free(&graph->context->allocator, tensor.data, tensor.bytes);
  return hn_bind(match, name, made);
}

/* The input of the step alone, cut out in front of all roots where there is none yet. */
static hone_status bind_input(hn_match *match, const operand *x) {
  const hn_node *first = match->roots[match->root_count - 1]->node; /* the cell's state is made before the output */
  const hn_sequence_maker maker = {match->run, (hn_node *)first, match->root->origins};
  hn_value *in = x->value;
  if (x->is_cut) HN_TRY(hn_make_slice(&maker, x->place.axis, x->place.at, x->place.at + 1, &in));
  return hn_bind(match, "in", in);
}

static hone_status bind_cell(hn_match *match, const step *cell) {
  const int64_t rows = cell->gates * cell->hidden, input = last_dim(cell->x.value);
  const hone_shape *y = &match->roots[0]->fact.type.shape;
  HN_TRY(bind_input(match, &cell->x));
  HN_TRY(hn_bind(match, "before", cell->h));
  HN_TRY(hn_bind_ints(match, "step", 3, (const int64_t[]){1, cell->batch, input}));
  HN_TRY(hn_bind_ints(match, "state", 3, (const int64_t[]){1, cell->batch, cell->hidden}));
  HN_TRY(hn_bind_ints(match, "back", y->rank, y->dim));
  HN_TRY(bind_constant(match, "weights", cell, 3, (const int64_t[]){1, rows, input}));
  HN_TRY(bind_constant(match, "recurrent", cell, 3, (const int64_t[]){1, rows, cell->hidden}));
  HN_TRY(bind_constant(match, "biases", cell, 2, (const int64_t[]){1, 2 * rows}));
  return hn_bind_attr(match, &(hone_attr){.name = "hidden", .kind = HONE_ATTR_INT, .i = cell->hidden});
}

static const char *when_lstm(const hn_match *match) {
  step cell;
  return read_lstm(match, &cell);
}

static hone_status make_lstm(hn_match *match) {
  step cell;
  (void)read_lstm(match, &cell);
  return bind_cell(match, &cell);
}

static const char *when_gru(const hn_match *match) {
  step cell;
  return read_gru(match, &cell);
}

static hone_status make_gru(hn_match *match) {
  step cell;
  (void)read_gru(match, &cell);
  return bind_cell(match, &cell);
}

/* ---- gates cut by slices ---- */

/* The number of equal parts when all that is read of x are such parts of the last axis: slices, or parts of the split
 * that the first of these slices became; else 0. */
static int count_parts(const hn_value *x, const hone_shape *part, hn_node **out_split) {
  const int64_t size = part->rank < 1 ? 0 : part->dim[part->rank - 1], all = last_dim(x);
  int slices = 0;
  *out_split = NULL;
  if (!hn_shape_known(&x->fact.type.shape) || size < 1 || (all != 3 * size && all != 4 * size)) return 0;
  for (const hn_use *use = x->uses; use; use = use->next) {
    if (!use->node || use->index != 0 || !hn_shape_equal(&use->node->out[0]->fact.type.shape, part)) return 0;
    if (hn_is_op(use->node, "split")) {
      *out_split = use->node;
      continue;
    }
    if (!hn_is_op(use->node, "slice")) return 0;
    const hn_value *starts = input_of(use->node, 1), *steps = input_of(use->node, 4);
    if (!starts->fact.value || starts->fact.value_count != 1 || starts->fact.value[0] % size != 0) return 0;
    if (steps && (!steps->fact.value || steps->fact.value[0] != 1)) return 0;
    ++slices;
  }
  return *out_split || slices == all / size ? (int)(all / size) : 0;
}

static const char *when_gates(const hn_match *match) {
  hn_node *split;
  const hn_value *x = hn_bound(match, "x");
  return hn_is_op(x->node, "linear") && count_parts(x, &match->roots[0]->fact.type.shape, &split) > 0 ? NULL : "";
}

static hone_status make_gates(hn_match *match) {
  hone_graph *graph = match->run->graph;
  hn_value *x = hn_bound(match, "x");
  hn_node *split;
  const int count = count_parts(x, &match->roots[0]->fact.type.shape, &split);
  const int64_t size = last_dim(x) / count, start = input_of(match->root, 1)->fact.value[0];
  const int64_t sizes[MOST_GATES] = {size, size, size, size};
  const hone_attr axis = {.name = "axis", .kind = HONE_ATTR_INT, .i = x->fact.type.shape.rank - 1};
  hn_value *in[2] = {x, hn_constant_int(graph, NULL, 1, count, sizes)};
  if (!in[1]) return HONE_NO_MEMORY;
  const hn_node_spec spec = {.op = hn_op_find(graph->context->ops, "split"),
                             .attrs = {1, &axis},
                             .in_count = 2,
                             .out_count = count,
                             .in = in,
                             .origins = match->root->origins,
                             .before = match->root};
  if (!split) HN_TRY(hn_node_create(match->root->owner, &spec, &split));
  return hn_bind(match, "y", split->out[(start < 0 ? start + last_dim(x) : start) / size]);
}

const hn_rewrite hn_rules_gates[] = {{.name = "gates_to_split",
                                      .find = "slice(x, ...)",
                                      .put = "y",
                                      .when = when_gates,
                                      .make = make_gates,
                                      .why = "gates are parts of one tensor"},
                                     {0}};

/* ---- the rows ---- */

/* Sums of a layer of x and one of h, as one layer adds the other's, or as one of both joined; b: the bias, "_" for
 * none; gate: a suffix that keeps the names of several layers apart. */
#define LAYER(w) "linear[act=\"\"](h, " w ":const, ...)"
#define SUM(act, gate, b) "linear[act=\"" act "\"](x, wx" gate ":const, " b ", " LAYER("wh" gate) ")"
#define BARE_SUM(act, gate) SUM(act, gate, "_")
#define BIASED_SUM(act, gate) SUM(act, gate, "b" gate)
#define SUM_OF_JOINED(act, gate) "linear[act=\"" act "\"](concat(x, h), wxh" gate ":const, ...)"

#define LSTM_FIELDS                                                                                                    \
  .put = "(reshape(s:lstm[hidden_size=$hidden](reshape(in, step), weights, recurrent, biases, _, "                     \
         "reshape(before, state), reshape(cell, state)), back), reshape(s.2, back))",                                  \
  .when = when_lstm, .make = make_lstm, .asks = true, .why = "one step for a cell in pieces, its weights packed"
/* i, f, c, o of PyTorch and Keras; i, c, f, o of TensorFlow; i, o, f, c of ONNX. */
/* TensorFlow's, with a summand of the forget gate. */

#define GRU_FIELDS                                                                                                     \
  .put = "reshape(gru[hidden_size=$hidden, linear_before_reset=1](reshape(in, step), weights, recurrent, biases, "     \
         "_, reshape(before, state)), back)",                                                                          \
  .when = when_gru, .make = make_gru, .asks = true, .why = "one step for a cell in pieces, its weights packed"
/* The next state from the candidate n and the gate z, written in two ways. */
#define STEP_TO(n, z) "add(mul(sub(h, " n "), " z "), n)"
#define MIX(n, z) "add(mul(" n ", sub(1, " z ")), mul(z, h))"
#define MIX_FROM(z, n) "add(mul(sub(1, " z "), " n "), mul(z, h))"
#define FIRST                                                                                                          \
  "sigmoid(add(s:split(linear[act=\"\"](x, wx3:const, ...), ...), t:split(linear[act=\"\"](h, wh3:const, ...), ...)))"
#define SECOND "sigmoid(add(s.1, t.1))"
#define CANDIDATE(r) "n:tanh(add(m:mul(r:" r ", t.2), s.2))"
#define CANDIDATE_LAYER(SUM_TEXT, b)                                                                                   \
  "n:linear[act=\"tanh\"](x, wxn:const, " b ", m:mul(r:" SUM_TEXT("sigmoid", "r") ", " LAYER("whn") "))"

/* Where the input's product comes from a sequence, it stands in the text as a value. */
#define SUM_WITH(act, b) "linear[act=\"" act "\"](h, wh:const, " b ", product)"
#define CUT_SUM(act, gate) SUM_WITH(act, "_")
#define BIASED_CUT_SUM(act, gate) SUM_WITH(act, "b")
#define FIRST_CUT "sigmoid(add(s:split(product, ...), t:split(linear[act=\"\"](h, wh3:const, ...), ...)))"

const hn_rewrite hn_rules_recurrent_cut[] = {
    {.name = "lstm_cell_of_cut",
     .find = "(mul(tanh(n:add(mul(i:sigmoid(s:split(" CUT_SUM(
         "", "") ", ...)), g:tanh(s.2)), mul(f:sigmoid(s.1), cell))), o:sigmoid(s.3)), n)",
     LSTM_FIELDS},
    {.name = "lstm_cell_of_cut_icfo",
     .find = "(mul(tanh(n:add(mul(i:sigmoid(s:split(" CUT_SUM(
         "", "") ", ...)), g:tanh(s.1)), mul(f:sigmoid(s.2), cell))), o:sigmoid(s.3)), n)",
     LSTM_FIELDS},
    {.name = "lstm_cell_of_cut_iofc",
     .find = "(mul(tanh(n:add(mul(i:sigmoid(s:split(" CUT_SUM(
         "", "") ", ...)), g:tanh(s.3)), mul(f:sigmoid(s.2), cell))), o:sigmoid(s.1)), n)",
     LSTM_FIELDS},
    {.name = "lstm_cell_of_cut_with_bias",
     .find = "(mul(tanh(n:add(mul(i:sigmoid(s:split(" BIASED_CUT_SUM(
         "", "") ", ...)), g:tanh(s.2)), mul(f:sigmoid(s.1), cell))), o:sigmoid(s.3)), n)",
     LSTM_FIELDS},
    {.name = "lstm_cell_of_cut_with_bias_icfo",
     .find = "(mul(tanh(n:add(mul(i:sigmoid(s:split(" BIASED_CUT_SUM(
         "", "") ", ...)), g:tanh(s.1)), mul(f:sigmoid(s.2), cell))), o:sigmoid(s.3)), n)",
     LSTM_FIELDS},
    {.name = "lstm_cell_of_cut_with_bias_iofc",
     .find = "(mul(tanh(n:add(mul(i:sigmoid(s:split(" BIASED_CUT_SUM(
         "", "") ", ...)), g:tanh(s.3)), mul(f:sigmoid(s.2), cell))), o:sigmoid(s.1)), n)",
     LSTM_FIELDS},
    {.name = "gru_cell_of_cut", .find = STEP_TO(CANDIDATE(FIRST_CUT), "z:" SECOND), GRU_FIELDS},
    {.name = "gru_cell_of_cut_mixed", .find = MIX(CANDIDATE(FIRST_CUT), "z:" SECOND), GRU_FIELDS},
    {.name = "gru_cell_of_cut_zrh", .find = MIX_FROM("z:" FIRST_CUT, CANDIDATE(SECOND)), GRU_FIELDS},
    {0}};

const hn_rewrite hn_rules_recurrent[] = {
    {.name = "lstm_cell",
     .find = "(mul(tanh(n:add(mul(i:sigmoid(s:split(" BARE_SUM(
         "", "") ", ...)), g:tanh(s.2)), mul(f:sigmoid(s.1), cell))), o:sigmoid(s.3)), n)",
     LSTM_FIELDS},
    {.name = "lstm_cell_icfo",
     .find = "(mul(tanh(n:add(mul(i:sigmoid(s:split(" BARE_SUM(
         "", "") ", ...)), g:tanh(s.1)), mul(f:sigmoid(s.2), cell))), o:sigmoid(s.3)), n)",
     LSTM_FIELDS},
    {.name = "lstm_cell_iofc",
     .find = "(mul(tanh(n:add(mul(i:sigmoid(s:split(" BARE_SUM(
         "", "") ", ...)), g:tanh(s.3)), mul(f:sigmoid(s.2), cell))), o:sigmoid(s.1)), n)",
     LSTM_FIELDS},
    {.name = "lstm_cell_with_bias",
     .find = "(mul(tanh(n:add(mul(i:sigmoid(s:split(" BIASED_SUM(
         "", "") ", ...)), g:tanh(s.2)), mul(f:sigmoid(s.1), cell))), o:sigmoid(s.3)), n)",
     LSTM_FIELDS},
    {.name = "lstm_cell_with_bias_icfo",
     .find = "(mul(tanh(n:add(mul(i:sigmoid(s:split(" BIASED_SUM(
         "", "") ", ...)), g:tanh(s.1)), mul(f:sigmoid(s.2), cell))), o:sigmoid(s.3)), n)",
     LSTM_FIELDS},
    {.name = "lstm_cell_with_bias_iofc",
     .find = "(mul(tanh(n:add(mul(i:sigmoid(s:split(" BIASED_SUM(
         "", "") ", ...)), g:tanh(s.3)), mul(f:sigmoid(s.2), cell))), o:sigmoid(s.1)), n)",
     LSTM_FIELDS},
    {.name = "lstm_cell_of_joined",
     .find = "(mul(tanh(n:add(mul(i:sigmoid(s:split(" SUM_OF_JOINED(
         "", "") ", ...)), g:tanh(s.2)), mul(f:sigmoid(s.1), cell))), o:sigmoid(s.3)), n)",
     LSTM_FIELDS},
    {.name = "lstm_cell_of_joined_icfo",
     .find = "(mul(tanh(n:add(mul(i:sigmoid(s:split(" SUM_OF_JOINED(
         "", "") ", ...)), g:tanh(s.1)), mul(f:sigmoid(s.2), cell))), o:sigmoid(s.3)), n)",
     LSTM_FIELDS},
    {.name = "lstm_cell_of_joined_iofc",
     .find = "(mul(tanh(n:add(mul(i:sigmoid(s:split(" SUM_OF_JOINED(
         "", "") ", ...)), g:tanh(s.3)), mul(f:sigmoid(s.2), cell))), o:sigmoid(s.1)), n)",
     LSTM_FIELDS},
    {.name = "lstm_cell_of_joined_forgetting",
     .find = "(mul(tanh(n:add(mul(i:sigmoid(s:split(" SUM_OF_JOINED(
         "", "") ", ...)), g:tanh(s.1)), mul(f:sigmoid(add(s.2, forget:const)), cell))), o:sigmoid(s.3)), n)",
     LSTM_FIELDS},
    {.name = "lstm_cell_by_gates",
     .find = "(mul(tanh(n:add(mul(i:" BARE_SUM("sigmoid", "i") ", g:" BARE_SUM("tanh", "g") "), mul(f:" BARE_SUM(
         "sigmoid", "f") ", cell))), o:" BARE_SUM("sigmoid", "o") "), n)",
     LSTM_FIELDS},
    {.name = "lstm_cell_by_gates_with_bias",
     .find = "(mul(tanh(n:add(mul(i:" BIASED_SUM("sigmoid", "i") ", g:" BIASED_SUM("tanh", "g") "), mul(f:" BIASED_SUM(
         "sigmoid", "f") ", cell))), o:" BIASED_SUM("sigmoid", "o") "), n)",
     LSTM_FIELDS},
    {.name = "lstm_cell_by_gates_of_joined",
     .find = "(mul(tanh(n:add(mul(i:" SUM_OF_JOINED("sigmoid", "i") ", g:" SUM_OF_JOINED(
         "tanh", "g") "), mul(f:" SUM_OF_JOINED("sigmoid", "f") ", cell))), o:" SUM_OF_JOINED("sigmoid", "o") "), n)",
     LSTM_FIELDS},
    {.name = "gru_cell", .find = STEP_TO(CANDIDATE(FIRST), "z:" SECOND), GRU_FIELDS},
    {.name = "gru_cell_mixed", .find = MIX(CANDIDATE(FIRST), "z:" SECOND), GRU_FIELDS},
    {.name = "gru_cell_zrh", .find = MIX_FROM("z:" FIRST, CANDIDATE(SECOND)), GRU_FIELDS},
    {.name = "gru_cell_by_gates",
     .find = MIX(CANDIDATE_LAYER(BARE_SUM, "_"), "z:" BARE_SUM("sigmoid", "z")),
     GRU_FIELDS},
    {.name = "gru_cell_by_gates_step",
     .find = STEP_TO(CANDIDATE_LAYER(BARE_SUM, "_"), "z:" BARE_SUM("sigmoid", "z")),
     GRU_FIELDS},
    {.name = "gru_cell_by_gates_with_bias",
     .find = MIX(CANDIDATE_LAYER(BIASED_SUM, "bn"), "z:" BIASED_SUM("sigmoid", "z")),
     GRU_FIELDS},
    {.name = "gru_cell_by_gates_with_bias_step",
     .find = STEP_TO(CANDIDATE_LAYER(BIASED_SUM, "bn"), "z:" BIASED_SUM("sigmoid", "z")),
     GRU_FIELDS},
    {0}};
