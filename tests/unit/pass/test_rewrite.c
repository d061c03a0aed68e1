/* SPDX-License-Identifier: Apache-2.0 */
/* test_rewrite.c - every rule of every list: a graph is made from its `find` text with random types and constants, and
 * must compute the same after the rule as before. A rule that never fires fails the test. */
#include "base/random.h"
#include "unit/pass/pass_support.h"

/* What a name in find may stand for; several rows of one name are alternatives. */
typedef enum fill { RANDOM, POSITIVE, LISTED, SMALL } fill;
#define GATE(gate)                                                                                                     \
  {.name = "wx" gate, .dtype = HONE_F32, .rank = 2, .dims = {4, 1}, .constant = true},                                 \
      {.name = "wh" gate, .dtype = HONE_F32, .rank = 2, .dims = {1, 1}, .constant = true},                             \
      {.name = "wxh" gate, .dtype = HONE_F32, .rank = 2, .dims = {5, 1}, .constant = true}, {                          \
    .name = "b" gate, .dtype = HONE_F32, .rank = 1, .dims = {1}, .constant = true                                      \
  }
static const struct guess {
  const char *name;
  hone_dtype dtype;
  int rank;
  int64_t dims[4];
  bool constant;
  fill fill;
  int64_t list[8];
} guesses[] = {
    {.name = "x", .dtype = HONE_F32, .rank = 4, .dims = {2, 4, 5, 5}},
    {.name = "x", .dtype = HONE_F32, .rank = 4, .dims = {2, 4, 1, 5}},
    {.name = "x", .dtype = HONE_F32, .rank = 3, .dims = {1, 4, 3}},
    {.name = "x", .dtype = HONE_F32, .rank = 3, .dims = {1, 3, 4}},
    {.name = "x", .dtype = HONE_F32, .rank = 3, .dims = {2, 3, 4}},
    {.name = "x", .dtype = HONE_F32, .rank = 2, .dims = {3, 4}},
    {.name = "x", .dtype = HONE_F32, .rank = 4, .dims = {2, 4, 4, 4}}, /* the wrong axis has the right length too */
    {.name = "x", .dtype = HONE_F32, .rank = 2, .dims = {4, 4}},
    {.name = "y", .dtype = HONE_F32, .rank = 4, .dims = {2, 4, 5, 5}},
    {.name = "y", .dtype = HONE_F32, .rank = 3, .dims = {2, 3, 4}},
    {.name = "y", .dtype = HONE_F32, .rank = 2, .dims = {4, 1}},
    {.name = "y", .dtype = HONE_F32, .rank = 2, .dims = {1, 4}},
    {.name = "a", .dtype = HONE_F32, .rank = 2, .dims = {3, 4}},
    {.name = "a", .dtype = HONE_F32, .rank = 3, .dims = {2, 3, 4}},
    {.name = "r", .dtype = HONE_F32, .rank = 4, .dims = {2, 4, 4, 4}},
    {.name = "r", .dtype = HONE_F32, .rank = 2, .dims = {4, 4}},
    {.name = "r", .dtype = HONE_F32, .rank = 4, .dims = {2, 4, 5, 5}},
    {.name = "r", .dtype = HONE_F32, .rank = 4, .dims = {2, 4, 3, 3}},
    {.name = "r", .dtype = HONE_F32, .rank = 2, .dims = {3, 4}},
    {.name = "r", .dtype = HONE_F32, .rank = 3, .dims = {2, 3, 4}},
    {.name = "w", .dtype = HONE_F32, .rank = 4, .dims = {4, 4, 3, 3}, .constant = true},
    {.name = "w", .dtype = HONE_F32, .rank = 4, .dims = {4, 4, 1, 1}, .constant = true},
    {.name = "w", .dtype = HONE_F32, .rank = 2, .dims = {4, 4}, .constant = true},
    {.name = "we", .dtype = HONE_F32, .rank = 4, .dims = {4, 4, 1, 1}, .constant = true},
    {.name = "ws", .dtype = HONE_F32, .rank = 4, .dims = {4, 4, 1, 1}, .constant = true},
    {.name = "wd", .dtype = HONE_F32, .rank = 4, .dims = {4, 1, 3, 3}, .constant = true},
    {.name = "wp", .dtype = HONE_F32, .rank = 4, .dims = {4, 4, 1, 1}, .constant = true},
    {.name = "bp", .dtype = HONE_F32, .rank = 1, .dims = {4}, .constant = true},
    {.name = "k", .dtype = HONE_F32, .rank = 1, .dims = {4}, .constant = true},
    {.name = "k", .dtype = HONE_I64, .rank = 1, .dims = {3}, .constant = true, .fill = LISTED, .list = {2, -4, 0}},
    {.name = "k", .dtype = HONE_F32, .constant = true},
    {.name = "k", .dtype = HONE_F32, .rank = 2, .dims = {1, 4}, .constant = true},
    {.name = "k", .dtype = HONE_F32, .rank = 3, .dims = {4, 1, 1}, .constant = true},
    {.name = "k", .dtype = HONE_F32, .rank = 4, .dims = {1, 4, 1, 1}, .constant = true},
    {.name = "k", .dtype = HONE_F32, .rank = 2, .dims = {4, 1}, .constant = true},
    {.name = "k", .dtype = HONE_F32, .rank = 4, .dims = {1, 1, 4, 1}, .constant = true},
    {.name = "b", .dtype = HONE_F32, .rank = 1, .dims = {4}, .constant = true},
    {.name = "scale", .dtype = HONE_F32, .rank = 1, .dims = {4}, .constant = true},
    {.name = "bias", .dtype = HONE_F32, .rank = 1, .dims = {4}, .constant = true},
    {.name = "mean", .dtype = HONE_F32, .rank = 1, .dims = {4}, .constant = true},
    {.name = "var", .dtype = HONE_F32, .rank = 1, .dims = {4}, .constant = true, .fill = POSITIVE},
    {.name = "low", .dtype = HONE_F32, .constant = true, .fill = SMALL},
    {.name = "high", .dtype = HONE_F32, .constant = true, .fill = POSITIVE},
    {.name = "eps", .dtype = HONE_F32, .constant = true, .fill = POSITIVE},
    {.name = "axes", .dtype = HONE_I64, .rank = 1, .dims = {1}, .constant = true, .fill = LISTED, .list = {-1}},
    {.name = "axes", .dtype = HONE_I64, .rank = 1, .dims = {2}, .constant = true, .fill = LISTED, .list = {-2, -1}},
    {.name = "axes", .dtype = HONE_I64, .rank = 1, .dims = {2}, .constant = true, .fill = LISTED, .list = {2, 3}},
    {.name = "axes2", .dtype = HONE_I64, .rank = 1, .dims = {1}, .constant = true, .fill = LISTED, .list = {-1}},
    {.name = "s", .dtype = HONE_I64, .rank = 1, .dims = {4}, .constant = true, .fill = LISTED, .list = {2, 4, 5, 5}},
    {.name = "middle",
     .dtype = HONE_I64,
     .rank = 1,
     .dims = {4},
     .constant = true,
     .fill = LISTED,
     .list = {2, 1, 8, 4}},
    {.name = "s", .dtype = HONE_I64, .rank = 1, .dims = {2}, .constant = true, .fill = LISTED, .list = {3, 4}},
    {.name = "s", .dtype = HONE_I64, .rank = 1, .dims = {2}, .constant = true, .fill = LISTED, .list = {4, 4}},
    {.name = "s", .dtype = HONE_I64, .rank = 1, .dims = {4}, .constant = true, .fill = LISTED, .list = {1, 1, 1, 1}},
    {.name = "s", .dtype = HONE_F32, .rank = 1, .dims = {4}, .constant = true},
    {.name = "pads",
     .dtype = HONE_I64,
     .rank = 1,
     .dims = {8},
     .constant = true,
     .fill = LISTED,
     .list = {0, 0, 0, 0, 0, 0, 0, 0}},
    {.name = "pads",
     .dtype = HONE_I64,
     .rank = 1,
     .dims = {8},
     .constant = true,
     .fill = LISTED,
     .list = {0, 1, 2, 0, 1, 0, 0, 3}},
    {.name = "pads",
     .dtype = HONE_I64,
     .rank = 1,
     .dims = {8},
     .constant = true,
     .fill = LISTED,
     .list = {0, 0, 2, 1, 0, 0, 1, 3}},
    {.name = "starts", .dtype = HONE_I64, .rank = 1, .dims = {1}, .constant = true, .fill = LISTED, .list = {0}},
    {.name = "ends", .dtype = HONE_I64, .rank = 1, .dims = {1}, .constant = true, .fill = LISTED, .list = {9}},
    {.name = "starts", .dtype = HONE_I64, .rank = 1, .dims = {1}, .constant = true, .fill = LISTED, .list = {-2}},
    {.name = "starts", .dtype = HONE_I64, .rank = 1, .dims = {2}, .constant = true, .fill = LISTED, .list = {1, 0}},
    {.name = "starts", .dtype = HONE_I64, .rank = 1, .dims = {2}, .constant = true, .fill = LISTED, .list = {0, 1}},
    {.name = "ends", .dtype = HONE_I64, .rank = 1, .dims = {2}, .constant = true, .fill = LISTED, .list = {9, 3}},
    {.name = "ends", .dtype = HONE_I64, .rank = 1, .dims = {2}, .constant = true, .fill = LISTED, .list = {2, 3}},
    {.name = "input", .dtype = HONE_F32, .rank = 2, .dims = {3, 4}},
    {.name = "q", .dtype = HONE_F32, .rank = 4, .dims = {2, 2, 3, 4}},
    {.name = "q", .dtype = HONE_F32, .rank = 3, .dims = {2, 3, 4}},
    {.name = "keys", .dtype = HONE_F32, .rank = 4, .dims = {2, 2, 3, 4}},
    {.name = "keys", .dtype = HONE_F32, .rank = 3, .dims = {2, 3, 4}},
    {.name = "keys", .dtype = HONE_F32, .rank = 4, .dims = {2, 3, 2, 4}}, /* length before heads */
    {.name = "v", .dtype = HONE_F32, .rank = 4, .dims = {2, 2, 3, 4}},
    {.name = "v", .dtype = HONE_F32, .rank = 3, .dims = {2, 3, 4}},
    {.name = "mask", .dtype = HONE_F32, .rank = 4, .dims = {2, 1, 1, 3}},
    {.name = "mask", .dtype = HONE_F32, .rank = 2, .dims = {3, 3}},
    {.name = "c", .dtype = HONE_F32, .constant = true},
    {.name = "c", .dtype = HONE_F32, .rank = 1, .dims = {4}, .constant = true},
    {.name = "d", .dtype = HONE_F32, .constant = true, .fill = POSITIVE},
    {.name = "unit", .dtype = HONE_F32, .rank = 1, .dims = {2}, .constant = true, .fill = LISTED, .list = {1, 1}},
    {.name = "none", .dtype = HONE_F32, .rank = 1, .dims = {2}, .constant = true, .fill = LISTED, .list = {0, 0}},
    {.name = "same", .dtype = HONE_F32, .rank = 1, .dims = {4}, .constant = true, .fill = LISTED, .list = {3, 3, 3, 3}},
    {.name = "shift", .dtype = HONE_F32, .rank = 4, .dims = {1, 4, 1, 1}, .constant = true},
    {.name = "forget", .dtype = HONE_F32, .constant = true},
    {.name = "h", .dtype = HONE_F32, .rank = 2, .dims = {3, 1}},
    {.name = "cell", .dtype = HONE_F32, .rank = 2, .dims = {3, 1}},
    {.name = "wx", .dtype = HONE_F32, .rank = 2, .dims = {4, 4}, .constant = true},
    {.name = "wh", .dtype = HONE_F32, .rank = 2, .dims = {1, 4}, .constant = true},
    {.name = "wxh", .dtype = HONE_F32, .rank = 2, .dims = {5, 4}, .constant = true},
    {.name = "wx3", .dtype = HONE_F32, .rank = 2, .dims = {4, 3}, .constant = true},
    {.name = "wh3", .dtype = HONE_F32, .rank = 2, .dims = {1, 3}, .constant = true},
    GATE("i"),
    GATE("f"),
    GATE("g"),
    GATE("o"),
    GATE("z"),
    GATE("r"),
    GATE("n"),
    {.name = "signal", .dtype = HONE_F32, .rank = 3, .dims = {2, 40, 1}},
    {.name = "step", .dtype = HONE_I64, .constant = true, .fill = LISTED, .list = {7}},
    {.name = "window", .dtype = HONE_F32, .rank = 1, .dims = {12}, .fill = POSITIVE},
    {.name = "length", .dtype = HONE_I64, .constant = true, .fill = LISTED, .list = {12}},
    {.name = "data", .dtype = HONE_F32, .rank = 3, .dims = {2, 3, 4}},
};

enum { MOST_NAMES = 16, ATTEMPTS = 4000, WANTED = 24 };

/* One attempt: a graph in the making. */
typedef struct maker {
  bench *b;
  const char *rule;
  hn_random random;
  hn_arena arena;
  hn_binding bindings[MOST_NAMES];
  int binding_count;
} maker;

static uint64_t below(maker *m, uint64_t limit) { return hn_random_u64(&m->random) % limit; }

static double element(maker *m, fill how) {
  const double unit = hn_random_unit(&m->random);
  return how == POSITIVE ? 0.25 + unit : how == SMALL ? -0.5 * unit : 2 * unit - 1;
}

static hn_value *make_value(maker *m, const struct guess *guess, bool constant) {
  hone_graph *graph = m->b->graph;
  const hone_type type = hn_tensor_type(guess->dtype, guess->rank, guess->dims);
  if (!constant && !guess->constant) return hn_block_add_param(graph->main, guess->name, &type);
  hone_tensor tensor = {.type = type, .bytes = hn_bytes(&type)};
  tensor.data = hn_arena_zero(&m->arena, 1, tensor.bytes + 1);
  for (int64_t i = 0; i < hn_elems(&type.shape); ++i) {
    if (guess->fill == LISTED)
      hn_store_int(&tensor, i, guess->list[i]);
    else
      hn_store_real(&tensor, i, element(m, guess->fill));
  }
  return hn_constant_create(graph, guess->name, &tensor, false);
}

static hn_node *make_node(maker *m, const char *op, int in_count, hn_value *const *in, int out_count,
                          const hone_attr *attr) {
  hn_node *node;
  const hn_node_spec spec = {.op = hn_op_find(m->b->context->ops, op),
                             .attrs = {attr != NULL, attr},
                             .in_count = in_count,
                             .out_count = out_count,
                             .in = in};
  return hn_node_create(m->b->graph->main, &spec, &node) == HONE_OK ? node : NULL;
}

/* The value through a layer that keeps its shape: some rules ask what comes before. */
static hn_value *make_layer(maker *m, hn_value *x) {
  const int64_t last = x->fact.type.shape.dim[x->fact.type.shape.rank - 1];
  const struct guess weights = {.name = "w", .dtype = HONE_F32, .rank = 2, .dims = {last, last}, .constant = true};
  hn_value *in[2] = {x, make_value(m, &weights, true)};
  hn_node *node = make_node(m, "matmul", 2, in, 1, NULL);
  return node ? node->out[0] : NULL;
}

static bool is_bound(const maker *m, const char *name) {
  for (int i = 0; i < m->binding_count; ++i)
    if (strcmp(m->bindings[i].name, name) == 0) return true;
  return false;
}

static bool bind_name(maker *m, const char *name, bool constant) {
  const struct guess *fitting[HN_COUNT(guesses)];
  size_t count = 0;
  if (is_bound(m, name)) return true;
  for (size_t i = 0; i < HN_COUNT(guesses); ++i)
    if (strcmp(guesses[i].name, name) == 0) fitting[count++] = &guesses[i];
  if (count == 0 || m->binding_count == MOST_NAMES) return false;
  const struct guess *guess = fitting[below(m, count)];
  hn_value *value = make_value(m, guess, constant);
  if (value && strcmp(name, "x") == 0 && !constant && below(m, 6) == 0) value = make_layer(m, value);
  m->bindings[m->binding_count++] = (hn_binding){.name = name, .value = value};
  return value != NULL;
}

/* ---- terms, made fit for building ---- */

static hn_term *name_term(maker *m, const char *name) {
  hn_term *term = HN_NEW(&m->arena, hn_term, 1);
  *term = (hn_term){.kind = HN_TERM_NAME, .name = name};
  return term;
}

/* Where find says "any other inputs", those that the row needs. */
static void expand_dots(maker *m, hn_term *term, const hone_op *op) {
  hn_term **args = HN_NEW(&m->arena, hn_term *, HONE_MAX_PORTS);
  int count = 0;
  while (count < term->arg_count && term->args[count]->kind != HN_TERM_ELLIPSIS) {
    args[count] = term->args[count];
    ++count;
  }
  while (term->arg_count > 0 && term->args[term->arg_count - 1]->kind == HN_TERM_ELLIPSIS && op->in[count].name &&
         !(op->in[count].flags & HONE_PORT_OPTIONAL)) {
    args[count] = name_term(m, op->in[count].name);
    ++count;
  }
  term->args = args;
  term->arg_count = count;
}

static void add_attr(maker *m, hn_term *term, const hone_attr *value) {
  hn_term_attr *attrs = HN_NEW(&m->arena, hn_term_attr, term->attr_count + 1);
  for (int i = 0; i < term->attr_count; ++i) attrs[i] = term->attrs[i];
  attrs[term->attr_count++] = (hn_term_attr){.name = value->name, .value = *value};
  term->attrs = attrs;
}

static bool has_attr(const hn_term *term, const char *name) {
  for (int i = 0; i < term->attr_count; ++i)
    if (strcmp(term->attrs[i].name, name) == 0) return true;
  return false;
}

/* Values other than the defaults for reals and for whether something is transposed. */
static void vary_attrs(maker *m, hn_term *term, const hone_op *op) {
  for (int i = 0; i < HONE_MAX_ATTRS && op->attr[i].name; ++i) {
    const hone_attr_decl *decl = &op->attr[i];
    if (has_attr(term, decl->name) || below(m, 2) == 0) continue;
    if (decl->kind == HONE_ATTR_FLOAT)
      add_attr(m, term, &(hone_attr){.name = decl->name, .kind = HONE_ATTR_FLOAT, .f = element(m, POSITIVE)});
    if (decl->kind == HONE_ATTR_INT && strncmp(decl->name, "trans", 5) == 0)
      add_attr(m, term, &(hone_attr){.name = decl->name, .kind = HONE_ATTR_INT, .i = 1});
  }
}

static hone_attr random_perm(maker *m, int rank) {
  int64_t *perm = HN_NEW(&m->arena, int64_t, rank);
  for (int i = 0; i < rank; ++i) perm[i] = i;
  for (int i = rank - 1; i > 0; --i) {
    const uint64_t j = below(m, (uint64_t)i + 1);
    const int64_t kept = perm[i];
    perm[i] = perm[j];
    perm[j] = kept;
  }
  return (hone_attr){.name = "perm", .kind = HONE_ATTR_INTS, .count = rank, .ints = perm};
}

/* What a variadic list holds: transposes, all parts of a split, a concat beside a plain value, or plain values. */
static bool bind_rest(maker *m, const char *name) {
  static const struct guess cube = {.name = "x", .dtype = HONE_F32, .rank = 3, .dims = {2, 3, 4}},
                            planes = {.name = "x", .dtype = HONE_F32, .rank = 4, .dims = {2, 2, 3, 3}},
                            whole = {.name = "x", .dtype = HONE_F32, .rank = 4, .dims = {2, 4, 3, 3}};
  const hone_attr perm = random_perm(m, 3), axis = {.name = "axis", .kind = HONE_ATTR_INT, .i = below(m, 2) ? 1 : -3};
  const uint64_t how = below(m, 4);
  hn_value **rest = HN_NEW(&m->arena, hn_value *, 2), *in[2];
  hn_node *node;
  for (int i = 0; i < 2; ++i) in[i] = rest[i] = make_value(m, how == 0 ? &cube : how == 1 ? &whole : &planes, false);
  if (how == 1) {
    if (!(node = make_node(m, "split", 1, in, 2, &axis))) return false;
    for (int i = 0; i < 2; ++i) rest[i] = node->out[i];
  }
  for (int i = 0; how == 0 && i < 2; ++i) {
    if (!(node = make_node(m, "transpose", 1, &in[i], 1, &perm))) return false;
    rest[i] = node->out[0];
  }
  if (how == 2) {
    if (!(node = make_node(m, "concat", 2, in, 1, &axis))) return false;
    rest[below(m, 2)] = node->out[0];
  }
  m->bindings[m->binding_count++] = (hn_binding){.name = name, .rest_count = 2, .rest = rest};
  return true;
}

/* Attributes that a row needs, or that make a shape fit the next one; one of those with the op's name is taken. */
static const struct need {
  const char *op, *attr;
  int count;
  int64_t list[6];
  const char *rule; /* NULL: any but those that have rows of their own */
} needs[] = {
    {"view", "dims", 6, {2, 1, 2, 2, 5, 5}, "shuffle_to_space"},
    {"view", "dims", 4, {2, 1, 10, 10}, "shuffle_to_space"},
    {"view", "dims", 6, {2, 2, 2, 1, 5, 5}, "shuffle_to_space"},
    {"transpose", "perm", 6, {0, 1, 4, 2, 5, 3}, "shuffle_to_space"},
    {"transpose", "perm", 6, {0, 3, 4, 1, 5, 2}, "shuffle_to_space"},
    {"view", "dims", 6, {2, 4, 2, 2, 2, 2}, "shuffle_to_depth"},
    {"view", "dims", 4, {2, 16, 2, 2}, "shuffle_to_depth"},
    {"transpose", "perm", 6, {0, 3, 5, 1, 2, 4}, "shuffle_to_depth"},
    {"view", "dims", 3, {2, 2, 50}, "group_norm"},
    {"view", "dims", 4, {2, 4, 5, 5}, "group_norm"},
    {"view", "dims", 3, {2, 4, 25}, "transpose_before_flattening"},
    {"transpose", "perm", 3, {0, 2, 1}, "transpose_before_flattening"},
    {"view", "dims", 4, {2, 4, 3, 1}, "transpose_after_planes"},
    {"transpose", "perm", 3, {0, 2, 1}, "transpose_after_planes"},
    {"average_pool", "kernel_shape", 2, {5, 5}, "average_pool_of_all"},
    {"group_norm", "num_groups", 1, {2}, NULL},
    {"depth_to_space", "blocksize", 1, {2}, NULL},
    {"conv_transpose", "strides", 2, {3, 3}, "transposed_to_shuffle"},
    {"conv_transpose", "strides", 2, {3, 3}, "biased_transposed_to_shuffle"},
    {"max_pool", "kernel_shape", 2, {5, 5}, NULL},
    {"view", "dims", 5, {2, 2, 2, 5, 5}, NULL},
    {"conv", "group", 1, {4}, "inverted_residual"},
    {"conv", "group", 1, {4}, "inverted_residual_added"},
    {"conv", "group", 1, {4}, "separable"},
    {"conv", "group", 1, {4}, "separable_added"},
    {"conv", "group", 1, {4}, "expand_depthwise"},
    {"view", "dims", 4, {2, 4, 5, 5}, NULL},
    {"view", "dims", 4, {2, 4, 4, 4}, NULL},
    {"view", "dims", 5, {2, 2, 2, 4, 4}, NULL},
    {"view", "dims", 2, {2, 4}, NULL},
    {"view", "dims", 3, {1, 3, 4}, NULL},
    {"view", "dims", 2, {6, 4}, NULL},
    {"split", "axis", 1, {1}, NULL},
    {"split", "axis", 1, {-3}, NULL},
    {"concat", "axis", 1, {1}, NULL},
    {"concat", "axis", 1, {-3}, NULL},
    {"transpose", "perm", 5, {0, 2, 1, 3, 4}, NULL},
    {"channel_gather", "split", 1, {4}, NULL},
    {"gather", "axis", 1, {1}, NULL},
    {"average_pool", "kernel_shape", 2, {2, 2}, NULL},
    {"average_pool", "strides", 2, {2, 2}, NULL},
    {"average_pool", "strides", 2, {1, 1}, NULL},
    {"transpose", "perm", 4, {0, 1, 3, 2}, NULL},
    {"transpose", "perm", 3, {0, 2, 1}, NULL},
};

static hone_attr needed_attr(maker *m, const struct need *need) {
  if (need->count == 1 && strcmp(need->attr, "dims") != 0 && strcmp(need->attr, "split") != 0)
    return (hone_attr){.name = need->attr, .kind = HONE_ATTR_INT, .i = need->list[0]};
  if (strcmp(need->attr, "dims") != 0)
    return (hone_attr){.name = need->attr, .kind = HONE_ATTR_INTS, .count = need->count, .ints = need->list};
  const char **dims = HN_NEW(&m->arena, const char *, need->count);
  for (int i = 0; i < need->count; ++i) dims[i] = hn_arena_printf(&m->arena, "%d", (int)need->list[i]);
  return (hone_attr){.name = "dims", .kind = HONE_ATTR_STRINGS, .count = need->count, .strings = dims};
}

/* Of x and y as guesses[] has them: 2 x 4 x 5 x 5, 2 x 3 x 4, 3 x 4, 4 x 1 and more. */
static void add_equation(maker *m, hn_term *term) {
  static const char *const one[] = {"abcd->dba", "...a->...", "abc->", "ab->ba", "...ab->b..."};
  static const char *const two[] = {"abcd,abce->aed",     "abc,abd->acd",  "ab,cb->ca",       "abc,dbc->ad",
                                    "...ab,...ac->...cb", "abc,abc->abc",  "ab,cd->dacb",     "abcd,abcd->a",
                                    "abcd,ebcd->ea",      "abc,dec->eabd", "abcd,efcd->abfe", "abcd,efcd->ab",
                                    "abc,adc->bd",        "ab,cb->c",      "abc,adc->acd"};
  static const char *const three[] = {"abc,abd,efg,hij->cdaj", "abc,abd,efgh,ijkl->cdf", "ab,cb,efg,eij->acg"};
  const char *text = term->arg_count == 1   ? one[below(m, HN_COUNT(one))]
                     : term->arg_count == 2 ? two[below(m, HN_COUNT(two))]
                                            : three[below(m, HN_COUNT(three))];
  add_attr(m, term,
           &(hone_attr){.name = "equation", .kind = HONE_ATTR_STRING, .count = (int64_t)strlen(text), .s = text});
}

/* One row of needs[] for each attribute, begun at a random row. */
static void add_needed(maker *m, hn_term *term, const hone_op *op) {
  const uint64_t begin = below(m, HN_COUNT(needs));
  bool own = false;
  for (size_t i = 0; i < HN_COUNT(needs); ++i)
    own = own || (needs[i].rule && strcmp(needs[i].rule, m->rule) == 0 && strcmp(needs[i].op, op->name) == 0);
  if (strcmp(op->name, "transpose") == 0 && !own && below(m, 4) > 0) return;
  for (size_t i = 0; i < HN_COUNT(needs); ++i) {
    const struct need *need = &needs[(begin + i) % HN_COUNT(needs)];
    if (strcmp(need->op, op->name) != 0 || has_attr(term, need->attr)) continue;
    if (own ? !need->rule || strcmp(need->rule, m->rule) != 0 : need->rule != NULL) continue;
    const hone_attr attr = needed_attr(m, need);
    add_attr(m, term, &attr);
  }
  if (strcmp(op->name, "einsum") == 0) add_equation(m, term);
  if (strcmp(op->name, "channel_gather") != 0) return;
  hone_attr channels = random_perm(m, 4);
  channels.name = "channels";
  add_attr(m, term, &channels);
}

static bool is_inner_name(const hn_term *term, const char *name) {
  if (term->kind == HN_TERM_OP && term->name && strcmp(term->name, name) == 0) return true;
  for (int i = 0; i < term->arg_count; ++i)
    if (is_inner_name(term->args[i], name)) return true;
  return false;
}

static bool is_root_name(const hn_roots *roots, const char *name) {
  for (int i = 0; i < roots->count; ++i)
    if (is_inner_name(roots->terms[i], name)) return true;
  return false;
}

static bool prepare(maker *m, const hn_roots *roots, hn_term *term) {
  static const char *const unary[] = {"relu", "leaky_relu", "exp"}, *const binary[] = {"add", "sub", "mul", "max"};
  if (term->kind == HN_TERM_NAME) return is_root_name(roots, term->name) || bind_name(m, term->name, term->is_const);
  if (term->kind == HN_TERM_REST) return bind_rest(m, term->name);
  if (term->kind != HN_TERM_OP) return true;
  const bool dots = term->arg_count > 0 && term->args[term->arg_count - 1]->kind == HN_TERM_ELLIPSIS;
  if (strcmp(term->op, "any") == 0)
    term->op = term->arg_count == 1 || dots ? unary[below(m, HN_COUNT(unary))] : binary[below(m, HN_COUNT(binary))];
  const hone_op *op = hn_op_find(m->b->context->ops, term->op);
  if (!op) fail_msg("no op %s", term->op);
  expand_dots(m, term, op);
  vary_attrs(m, term, op);
  add_needed(m, term, op);
  if (strcmp(op->name, "transpose") == 0 && !has_attr(term, "perm") && below(m, 4) > 0) {
    const hone_attr perm = random_perm(m, 2 + (int)below(m, 4));
    add_attr(m, term, &perm);
  }
  if (strcmp(op->name, "cast") == 0) add_attr(m, term, &(hone_attr){.name = "to", .kind = HONE_ATTR_INT, .i = 1});
  for (int i = 0; i < term->arg_count; ++i)
    if (!prepare(m, roots, term->args[i])) return false;
  return true;
}

/* false: these types do not fit together. */
static bool make_graph(maker *m, const hn_rewrite *rule) {
  hn_roots roots;
  hn_value *results[HN_MATCH_ROOTS];
  hone_diagnostics *diag = &m->b->context->diag;
  assert_int_equal(hn_graph_create(m->b->context, rule->name, &m->b->graph), HONE_OK);
  if (hn_notation_parse(&m->arena, diag, rule->name, rule->find, &roots) != HONE_OK) fail_msg("%s", last_message(m->b));
  bool made = true;
  for (int i = 0; made && i < roots.count; ++i) made = prepare(m, &roots, roots.terms[i]);
  const hn_build build = {.block = m->b->graph->main, .bindings = m->bindings, .binding_count = m->binding_count};
  made = made && hn_notation_build(&build, &roots, results) == HONE_OK;
  const int unused = roots.count > 1 ? (int)below(m, 3) : -1; /* an output that nobody asks for */
  for (int i = 0; made && i < roots.count; ++i)
    if (i != unused) assert_int_equal(hn_block_add_result(m->b->graph->main, results[i], NULL), HONE_OK);
  hn_diag_clear(diag);
  return made;
}

/* One graph; true when the rule fired on it. */
static bool try_rule(const hn_rewrite *rule, uint64_t seed) {
  bench b;
  const char *unmet;
  bench_begin(&b);
  maker m = {.b = &b, .rule = rule->name, .random = {seed}};
  hn_arena_init(&m.arena, b.context->allocator);
  bool fired = false;
  if (make_graph(&m, rule)) {
    const hn_rewrite list[] = {*rule, {0}};
    char what[96];
    bench_measure(&b, seed);
    if (hn_rewrite_run(&b.run, list, false, "test") != HONE_OK) fail_msg("%s: %s", rule->name, last_message(&b));
    fired = bench_fired(&b, rule->name, &unmet);
    snprintf(what, sizeof what, "%s, seed %llu", rule->name, (unsigned long long)seed);
    if (fired) bench_compare(&b, what);
  }
  hn_arena_deinit(&m.arena);
  bench_end(&b);
  return fired;
}

static void try_list(const hn_rewrite *rules) {
  for (; rules->name; ++rules) {
    int fired = 0;
    for (uint64_t seed = 0; seed < ATTEMPTS && fired < WANTED; ++seed) fired += try_rule(rules, seed);
    if (fired == 0) fail_msg("rule %s fired on none of %d graphs made from \"%s\"", rules->name, ATTEMPTS, rules->find);
  }
}

static void test_cleanup(void **state) {
  (void)state;
  try_list(hn_rules_cleanup);
}
static void test_einsum(void **state) {
  (void)state;
  try_list(hn_rules_einsum);
  try_list(hn_rules_shorthand);
}
static void test_recognise(void **state) {
  (void)state;
  try_list(hn_rules_recognise);
}
static void test_transposes(void **state) {
  (void)state;
  try_list(hn_rules_transposes);
  try_list(hn_rules_transpose_views);
  try_list(hn_rules_planes);
  try_list(hn_rules_views);
  try_list(hn_rules_full_rank);
}
static void test_channels(void **state) {
  (void)state;
  try_list(hn_rules_channels);
  try_list(hn_rules_pieces);
  try_list(hn_rules_slices);
  try_list(hn_rules_parts);
}
static void test_attention(void **state) {
  (void)state;
  try_list(hn_rules_attention);
}
static void test_recurrent(void **state) {
  (void)state;
  try_list(hn_rules_recurrent);
}
static void test_conv(void **state) {
  (void)state;
  try_list(hn_rules_conv);
  try_list(hn_rules_conv_inputs);
  try_list(hn_rules_subpixel);
  try_list(hn_rules_subpixel_apart);
}
static void test_regions(void **state) {
  (void)state;
  try_list(hn_rules_regions);
  try_list(hn_rules_region_beginnings);
}
static void test_linear(void **state) {
  (void)state;
  try_list(hn_rules_linear);
}

/* A name means one rule, as --disable and the log rely on; every rule says why. */
static void test_rows(void **state) {
  (void)state;
  const hn_rewrite *seen[512];
  int pass_count, count = 0;
  const hn_pass *passes = hn_pipeline(&pass_count);
  for (int i = 0; i < pass_count; ++i) {
    for (const hn_rewrite *rule = passes[i].rewrites; rule && rule->name; ++rule) {
      if (!rule->why || !*rule->why) fail_msg("%s does not say why", rule->name);
      for (int j = 0; j < count; ++j)
        if (seen[j] != rule && strcmp(seen[j]->name, rule->name) == 0) fail_msg("two rules are named %s", rule->name);
      assert_true(count < 512);
      seen[count++] = rule;
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cleanup),    cmocka_unit_test(test_einsum),    cmocka_unit_test(test_recognise),
      cmocka_unit_test(test_transposes), cmocka_unit_test(test_conv),      cmocka_unit_test(test_linear),
      cmocka_unit_test(test_channels),   cmocka_unit_test(test_attention), cmocka_unit_test(test_recurrent),
      cmocka_unit_test(test_regions),    cmocka_unit_test(test_rows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
