/* SPDX-License-Identifier: Apache-2.0 */
/* rules_recurrent.c - one step of an LSTM (Hochreiter, Schmidhuber 1997) or GRU (Cho et al. 2014) from its pieces, as
 * exporters write unrolled cells: gates cut from one layer of two products, from one product with the joined input and
 * state, or each from a layer of its own. Steps over one sequence are joined afterwards (sequences.c). */
#include "base/hash.h"
#include "pass/passes.h"
#include "pass/rule_help.h"
#include "pass/views.h"
#include "tensor/element.h"
#include <stdio.h>
#include <string.h>

enum { MOST_GATES = 4 };

/* Weights of a gate for one operand: rows [row, row + rows) and columns [column, column + hidden) of a layer's. */
typedef struct source {
  const hn_value *w, *b; /* b may be NULL */
  bool transposed;
  int64_t row, rows, column;
} source;

/* Gates as the ONNX operators order them: i, o, f, c; z, r, h. */
typedef struct step {
  int gates;
  int64_t batch, hidden;
  hn_value *x, *h;
  source of_x[MOST_GATES], of_h[MOST_GATES];
} step;

static bool is_op(const hn_node *node, const char *op) { return node && strcmp(node->op->name, op) == 0; }

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
  if (!is_op(layer, "linear") || !w || !hn_value_is_constant(w) || w->fact.type.shape.rank != 2) return false;
  if (b && !hn_value_is_constant(b)) return false;
  *out = (source){
      .w = w, .b = b, .transposed = hn_attr_int(&layer->attrs, "transpose_w") != 0, .row = row, .column = column};
  out->rows = w->fact.type.shape.dim[out->transposed];
  return true;
}

/* The two operands of a sum of products: of layer and its residual, or of one layer and a concat. */
static bool read_both(const hn_node *layer, int64_t column, hn_value **operands, source *sources) {
  const hn_value *added = input_of(layer, 3), *joined = input_of(layer, 0);
  if (!read_weights(layer, 0, column, &sources[0])) return false;
  if (added) {
    if (!added->node || *hn_attr_text(&added->node->attrs, "act") || input_of(added->node, 3)) return false;
    operands[0] = input_of(layer, 0);
    operands[1] = input_of(added->node, 0);
    return read_weights(added->node, 0, column, &sources[1]);
  }
  const hn_node *concat = joined ? joined->node : NULL;
  if (!is_op(concat, "concat") || concat->in_count != 2) return false;
  const int rank = joined->fact.type.shape.rank;
  const int64_t axis = hn_attr_int(&concat->attrs, "axis");
  if (axis != -1 && axis != rank - 1) return false;
  sources[1] = sources[0];
  sources[1].b = NULL;
  for (int i = 0; i < 2; ++i) {
    operands[i] = concat->in[i];
    sources[i].rows = last_dim(operands[i]);
  }
  sources[1].row = sources[0].rows;
  return true;
}

/* The layer that makes the value, or that it is a part of, and the part's first column. */
static const hn_node *layer_behind(const hn_value *value, int64_t *column) {
  *column = 0;
  const hn_node *split = value ? value->node : NULL;
  if (is_op(split, "linear")) return split;
  if (!is_op(split, "split")) return NULL;
  const int rank = value->fact.type.shape.rank;
  const int64_t axis = hn_attr_int(&split->attrs, "axis");
  if (rank < 1 || (axis != -1 && axis != rank - 1)) return NULL;
  for (int i = 0; i < value->out_index; ++i) {
    if (!split->out[i] || HONE_SYMBOLIC(last_dim(split->out[i]))) return NULL;
    *column += last_dim(split->out[i]);
  }
  return split->in[0]->node;
}

/* A gate is the layer itself, which has its activation then, or an activation behind a part of one. */
static const hn_node *layer_of(const hn_node *gate, int64_t *column) {
  return gate ? layer_behind(is_op(gate, "linear") ? gate->out[0] : input_of(gate, 0), column) : NULL;
}

/* ---- which operand is the state ---- */

static const hn_value *behind_views(const hn_value *value) {
  while (value->node && (value->node->op->traits & HONE_ALIASES) && value->node->in[0]) value = value->node->in[0];
  return value;
}

/* A step of a sequence, rather than what a cell made. */
static bool is_part(const hn_value *value) {
  const hn_node *node = behind_views(value)->node;
  return is_op(node, "slice") || is_op(node, "gather") || is_op(node, "split");
}

/* For the sums alone input and state are alike: the state is the one with its size, or from where c comes from. */
static int find_state(hn_value *const *operands, const hn_value *c, int64_t hidden) {
  const hn_node *before = behind_views(c)->node;
  for (int i = 0; i < 2; ++i)
    if (last_dim(operands[i]) != hidden) return 1 - i;
  for (int i = 0; i < 2; ++i)
    if (is_op(before, "lstm") && behind_views(operands[i])->node == before) return i;
  return is_part(operands[1]) && !is_part(operands[0]) ? 0 : 1;
}

/* ---- reading cells ---- */

static const char *check_sizes(const hn_match *match, const step *cell) {
  const hone_type *root = &match->roots[0]->fact.type;
  const hone_shape *x = &cell->x->fact.type.shape;
  if (!hn_shape_known(x) || !hn_shape_known(&root->shape) || root->shape.rank < 1) return "the batch is not known";
  if (!hn_type_equal(root, &cell->h->fact.type)) return "the state has another shape than the result";
  if (cell->x->fact.type.dtype != root->dtype || last_dim(cell->x) < 1 || cell->hidden < 1) return "";
  if (hn_elems(x) / last_dim(cell->x) != cell->batch) return "input and state have other batches";
  for (int i = 0; i < cell->gates; ++i) {
    const source *sources[2] = {&cell->of_x[i], &cell->of_h[i]};
    if (sources[0]->rows != last_dim(cell->x) || sources[1]->rows != cell->hidden) return "";
    for (int j = 0; j < 2; ++j)
      if (sources[j]->column + cell->hidden > sources[j]->w->fact.type.shape.dim[!sources[j]->transposed]) return "";
  }
  return NULL;
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
  const hn_value *c = hn_bound(match, "cell");
  begin(match, 4, out);
  int state = -1;
  for (int i = 0; i < 4; ++i) {
    int64_t column;
    hn_value *operands[2];
    source sources[2];
    const hn_node *layer = layer_of(hn_bound_node(match, names[i]), &column);
    if (!layer || !read_both(layer, column, operands, sources)) return "a gate is no sum of two products";
    if (state < 0) {
      state = find_state(operands, c, out->hidden);
      out->h = operands[state];
      out->x = operands[1 - state];
    }
    if (operands[state] != out->h || operands[1 - state] != out->x) return "the gates have different inputs";
    out->of_h[i] = sources[state];
    out->of_x[i] = sources[1 - state];
  }
  if (!hn_type_equal(&c->fact.type, &match->roots[0]->fact.type)) return "the state has another shape than the result";
  return check_sizes(match, out);
}

/* One product: a part of a layer, or a layer of its own. */
static bool read_one(const hn_value *value, hn_value **operand, source *out) {
  int64_t column;
  const hn_node *layer = layer_behind(value, &column);
  *operand = input_of(layer, 0);
  return read_weights(layer, 0, column, out);
}

static const hn_value *other_input(const hn_node *node, const hn_value *than) {
  return node->in[0] == than ? input_of(node, 1) : node->in[0];
}

static bool read_gru_gate(const hn_node *gate, hn_value **operands, source *sources) {
  if (is_op(gate, "linear")) return read_both(gate, 0, operands, sources);
  const hn_node *sum = input_of(gate, 0)->node;
  return is_op(sum, "add") && read_one(sum->in[0], &operands[0], &sources[0]) &&
         read_one(sum->in[1], &operands[1], &sources[1]);
}

/* n: tanh(x's product + m), or the layer that does all that; m: the reset gate times the state's product. */
static bool read_candidate(const hn_match *match, hn_value **operands, source *sources) {
  const hn_node *n = hn_bound_node(match, "n"), *m = hn_bound_node(match, "m");
  const hn_value *product = other_input(m, hn_bound(match, "r"));
  if (!read_one(product, &operands[1], &sources[1])) return false;
  if (is_op(n, "linear")) {
    operands[0] = input_of(n, 0);
    return read_weights(n, 0, 0, &sources[0]);
  }
  return read_one(other_input(n->in[0]->node, m->out[0]), &operands[0], &sources[0]);
}

static const char *read_gru(const hn_match *match, step *out) {
  begin(match, 3, out);
  out->h = hn_bound(match, "h");
  out->x = NULL;
  for (int i = 0; i < 3; ++i) {
    hn_value *operands[2];
    source sources[2];
    const hn_node *gate = hn_bound_node(match, i == 0 ? "z" : "r");
    if (!(i == 2 ? read_candidate(match, operands, sources) : read_gru_gate(gate, operands, sources)))
      return "a gate is no sum of two products";
    const int state = operands[0] == out->h ? 0 : 1;
    if (!out->x) out->x = operands[1 - state];
    if (operands[state] != out->h || operands[1 - state] != out->x) return "the gates have different inputs";
    out->of_h[i] = sources[state];
    out->of_x[i] = sources[1 - state];
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
  hash = hash_sources(cell->of_h, cell->gates, hash);
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
  made = hn_constant_create(graph, text, &tensor, false);
  hn_free(&graph->context->allocator, tensor.data, tensor.bytes);
  return hn_bind(match, name, made);
}

static hone_status bind_cell(hn_match *match, const step *cell) {
  const int64_t rows = cell->gates * cell->hidden, input = last_dim(cell->x);
  const hone_shape *y = &match->roots[0]->fact.type.shape;
  HN_TRY(hn_bind(match, "in", cell->x));
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
    if (is_op(use->node, "split")) {
      *out_split = use->node;
      continue;
    }
    if (!is_op(use->node, "slice")) return 0;
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
  return is_op(x->node, "linear") && count_parts(x, &match->roots[0]->fact.type.shape, &split) > 0 ? NULL : "";
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

#define LSTM(rule, i_text, f_text, g_text, o_text)                                                                     \
  {                                                                                                                    \
    .name = rule,                                                                                                      \
    .find = "(mul(tanh(n:add(mul(i:" i_text ", g:" g_text "), mul(f:" f_text ", cell))), o:" o_text "), n)",           \
    .put = "(reshape(s:lstm[hidden_size=$hidden](reshape(in, step), weights, recurrent, biases, _, "                   \
           "reshape(before, state), reshape(cell, state)), back), reshape(s.2, back))",                                \
    .when = when_lstm, .make = make_lstm, .asks = true, .why = "one step for a cell in pieces, its weights packed"     \
  }
#define LSTM_SPLIT(rule, SUM_TEXT, f, g, o)                                                                            \
  LSTM(rule, "sigmoid(s:split(" SUM_TEXT("", "") ", ...))", "sigmoid(s." f ")", "tanh(s." g ")", "sigmoid(s." o ")")
/* i, f, c, o of PyTorch and Keras; i, c, f, o of TensorFlow; i, o, f, c of ONNX. */
#define LSTM_ORDERS(rule, SUM_TEXT)                                                                                    \
  LSTM_SPLIT(rule, SUM_TEXT, "1", "2", "3"), LSTM_SPLIT(rule "_icfo", SUM_TEXT, "2", "1", "3"),                        \
      LSTM_SPLIT(rule "_iofc", SUM_TEXT, "2", "3", "1")
#define LSTM_GATES(rule, SUM_TEXT)                                                                                     \
  LSTM(rule, SUM_TEXT("sigmoid", "i"), SUM_TEXT("sigmoid", "f"), SUM_TEXT("tanh", "g"), SUM_TEXT("sigmoid", "o"))

#define GRU(rule, find_text)                                                                                           \
  {                                                                                                                    \
    .name = rule, .find = find_text,                                                                                   \
    .put = "reshape(gru[hidden_size=$hidden, linear_before_reset=1](reshape(in, step), weights, recurrent, biases, "   \
           "_, reshape(before, state)), back)",                                                                        \
    .when = when_gru, .make = make_gru, .asks = true, .why = "one step for a cell in pieces, its weights packed"       \
  }
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
#define GRU_GATES(rule, SUM_TEXT, b)                                                                                   \
  GRU(rule, MIX(CANDIDATE_LAYER(SUM_TEXT, b), "z:" SUM_TEXT("sigmoid", "z"))),                                         \
      GRU(rule "_step", STEP_TO(CANDIDATE_LAYER(SUM_TEXT, b), "z:" SUM_TEXT("sigmoid", "z")))

const hn_rewrite hn_rules_recurrent[] = {LSTM_ORDERS("lstm_cell", BARE_SUM),
                                         LSTM_ORDERS("lstm_cell_with_bias", BIASED_SUM),
                                         LSTM_ORDERS("lstm_cell_of_joined", SUM_OF_JOINED),
                                         LSTM_GATES("lstm_cell_by_gates", BARE_SUM),
                                         LSTM_GATES("lstm_cell_by_gates_with_bias", BIASED_SUM),
                                         LSTM_GATES("lstm_cell_by_gates_of_joined", SUM_OF_JOINED),
                                         GRU("gru_cell", STEP_TO(CANDIDATE(FIRST), "z:" SECOND)),
                                         GRU("gru_cell_mixed", MIX(CANDIDATE(FIRST), "z:" SECOND)),
                                         GRU("gru_cell_zrh", MIX_FROM("z:" FIRST, CANDIDATE(SECOND))),
                                         GRU_GATES("gru_cell_by_gates", BARE_SUM, "_"),
                                         GRU_GATES("gru_cell_by_gates_with_bias", BIASED_SUM, "bn"),
                                         {0}};
