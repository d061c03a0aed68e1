/* SPDX-License-Identifier: Apache-2.0 */
/* sites.c - finds what is quantised: layers first, then what lies between them. */
#include "calib/sites.h"
#include "tensor/attrs.h"
#include "tensor/element.h"
#include "tensor/shape.h"
#include <fnmatch.h>
#include <math.h>
#include <string.h>

static const char *when_conv(const hn_node *node) {
  const bool adds = node->in_count > 3 && node->in[3];
  return adds || *hn_attr_text(&node->attrs, "act") ? "it is fused already" : NULL;
}

static const char *when_gemm(const hn_node *node) {
  const hone_attrs *attrs = &node->attrs;
  if (hn_attr_float(attrs, "alpha") != 1 || hn_attr_float(attrs, "beta") != 1 || hn_attr_int(attrs, "transA"))
    return "it has factors or a transposed activation";
  return NULL;
}

const hn_quant_layer hn_quant_layers[] = {
    {"conv", .weights = 1, .bias = 2, .least_rank = 3, .most_rank = HONE_MAX_RANK, .closed = true, .when = when_conv},
    {"gemm", .weights = 1, .bias = 2, .least_rank = 2, .most_rank = 2, .axis = 1, .transposed = "transB",
     .when = when_gemm},
    {"matmul", .weights = 1, .bias = -1, .least_rank = 2, .most_rank = 2, .axis = 1},
    {0}};

/* What a quantised output asks of the inputs of the node that makes it. */
typedef enum quant_role {
  ROLE_NONE,  /* floats: the output is quantised behind it */
  ROLE_BOUND, /* a bound that its maker takes over when it is the only reader */
  ROLE_SAME,  /* the same numbers: one scale */
  ROLE_JOIN,  /* the same numbers of several inputs */
  ROLE_MEET   /* computes with bytes, each input by its own scale; or one input: a table */
} quant_role;

static const struct {
  const char *op;
  quant_role role;
} roles[] = {{"relu", ROLE_BOUND},      {"clip", ROLE_BOUND},      {"max_pool", ROLE_SAME},
             {"reduce_max", ROLE_SAME}, {"reduce_min", ROLE_SAME}, {"concat", ROLE_JOIN},
             {"add", ROLE_MEET},        {"mul", ROLE_MEET},        {"global_average_pool", ROLE_MEET}};

static const char *const quantised_ops[] = {"quantize_linear", "dequantize_linear", "dynamic_quantize_linear",
                                            "conv_integer",    "matmul_integer",    "matmul_nbits"};

static bool is_real(const hn_value *value) {
  return value && value->fact.type.kind == HONE_TENSOR && value->fact.type.dtype == HONE_F32;
}

static bool is_free(const hn_value *value) { return is_real(value) && !hn_value_is_constant(value); }

/* The only float input that is no constant; NULL: there are others, or none. */
static hn_value *only_free(const hn_node *node) {
  hn_value *found = NULL;
  for (int i = 0; i < node->in_count; ++i) {
    if (!is_free(node->in[i])) continue;
    if (found && found != node->in[i]) return NULL;
    found = node->in[i];
  }
  return found;
}

/* Constants beside the one input are numbers: 256 bytes say all of the function. */
static bool is_table(const hn_node *node) {
  if (!(node->op->traits & HONE_ELEMENTWISE) || node->out_count != 1 || !only_free(node)) return false;
  int free = 0;
  for (int i = 0; i < node->in_count; ++i) {
    const hn_value *in = node->in[i];
    if (!in) continue;
    if (!hn_value_is_constant(in))
      ++free;
    else if (hn_elems(&in->fact.type.shape) != 1)
      return false;
  }
  return free == 1;
}

static quant_role role_of(const hn_node *node) {
  for (size_t i = 0; i < HN_COUNT(roles); ++i)
    if (strcmp(roles[i].op, node->op->name) == 0) {
      if (roles[i].role == ROLE_MEET && node->in_count == 2 && only_free(node))
        return is_table(node) ? ROLE_MEET : ROLE_NONE;
      return roles[i].role;
    }
  if ((node->op->traits & (HONE_MOVES | HONE_ALIASES)) && node->out_count == 1 && only_free(node) == node->in[0])
    return ROLE_SAME;
  return is_table(node) ? ROLE_MEET : ROLE_NONE;
}

/* ---- layers ---- */

const hn_quant_layer *hn_quant_layer_of(const hn_node *node) {
  for (const hn_quant_layer *row = hn_quant_layers; row->op; ++row)
    if (strcmp(row->op, node->op->name) == 0) return row;
  return NULL;
}

static hn_value *port(const hn_node *node, int index) {
  return index >= 0 && index < node->in_count ? node->in[index] : NULL;
}

/* NULL: bytes can do it. */
static const char *when_layer(const hn_node *node, const hn_quant_layer *row) {
  const hn_value *x = node->in[0], *w = port(node, row->weights), *b = port(node, row->bias);
  if (!is_real(x) || !is_real(w)) return "it does not compute in f32";
  if (hn_value_is_constant(x)) return "its activation is a constant";
  if (!hn_value_is_constant(w)) return "its weights are no constant";
  const hone_shape *shape = &w->fact.type.shape;
  if (shape->rank < row->least_rank || shape->rank > row->most_rank) return "its weights have another rank";
  if (row->when) HN_TRY_REASON(row->when(node));
  const int64_t outputs = shape->dim[hn_quant_axis(node)];
  if (b && (!hn_value_is_constant(b) || !is_real(b) || hn_elems(&b->fact.type.shape) != outputs))
    return "its bias is not one constant for each output";
  return hn_elems(shape) > 0 ? NULL : "it has no weights";
}

int hn_quant_axis(const hn_node *node) {
  const hn_quant_layer *row = hn_quant_layer_of(node);
  return row->transposed && hn_attr_int(&node->attrs, row->transposed) ? 0 : row->axis;
}

/* ---- the walk ---- */

typedef struct finder {
  hn_sites *sites;
  const char *const *keep;
  int keep_count;
  bool *kept_any;      /* a pattern fitted */
  const hn_sites *all; /* NULL: every layer is wanted */
  const bool *wanted;
  bool inputs_alone;
} finder;

static bool fits(const char *pattern, const char *text) {
  return strcmp(pattern, text) == 0 || fnmatch(pattern, text, 0) == 0;
}

static bool is_kept(const finder *f, const hn_node *node) {
  bool kept = false;
  for (int i = 0; f->all && i < f->all->node_count; ++i)
    if (f->all->nodes[i].node == node) kept = !f->wanted[i] || f->all->nodes[i].why;
  for (int i = 0; i < f->keep_count; ++i) {
    bool here = fits(f->keep[i], node->name) || fits(f->keep[i], node->op->name);
    for (int k = 0; k < node->origins.count && !here; ++k) here = fits(f->keep[i], node->origins.names[k]);
    f->kept_any[i] |= here;
    kept |= here;
  }
  return kept;
}

static hone_status add_site(hn_sites *p, hn_value *value, int *out) {
  *out = p->of[value->id];
  if (*out >= 0) return HONE_OK;
  if (!hn_arena_grow(p->arena, (void **)&p->items, &p->capacity, p->count + 1, sizeof *p->items))
    return HN_FAIL_MEMORY(&p->graph->context->diag);
  *out = p->of[value->id] = p->count;
  p->items[p->count] = (hn_site){.value = value, .shares = p->count};
  ++p->count;
  return HONE_OK;
}

static bool in_main(const hn_sites *p, const hn_value *value) {
  return value->node ? value->node->owner == p->graph->main : value->param_of == p->graph->main;
}

/* The value behind what a layer's kernel takes over: where its output is rounded. */
static hn_value *end_of(const hn_sites *p, hn_value *value) {
  while (value->use_count == 1 && value->uses->node && value->uses->node->owner == p->graph->main &&
         value->uses->index == 0 && role_of(value->uses->node) == ROLE_BOUND && only_free(value->uses->node))
    value = value->uses->node->out[0];
  return value;
}

/* What makes the value, behind a bound that it would take over. */
static hn_node *maker_of(const hn_value *value) {
  hn_node *node = value->node;
  while (node && role_of(node) == ROLE_BOUND && is_free(node->in[0]) && node->in[0]->use_count == 1 &&
         node->in[0]->node) {
    const hn_node *before = node->in[0]->node;
    const quant_role role = role_of(before);
    if (!hn_quant_layer_of(before) && role != ROLE_BOUND && !(role == ROLE_MEET && before->in_count == 2)) break;
    node = node->in[0]->node;
  }
  return node;
}

/* Does its maker compute floats whatever is asked of it? */
static bool is_float_made(const hn_value *value) {
  return value->node && !hn_quant_layer_of(value->node) && role_of(value->node) == ROLE_NONE;
}

/* A quantised value: what makes it is asked for bytes as well, and so on. */
static hone_status follow(const finder *f, int site) {
  hn_sites *p = f->sites;
  hn_value *value = p->items[site].value;
  hn_node *node = maker_of(value);
  if (!node || node->owner != p->graph->main || hn_quant_layer_of(node) || is_kept(f, node)) return HONE_OK;
  quant_role role = role_of(node);
  if (role == ROLE_BOUND && is_float_made(node->in[0])) return HONE_OK; /* it takes no time there, and no range */
  if (role == ROLE_BOUND) role = ROLE_MEET;                             /* of its own: a table */
  for (int i = 0; i < node->in_count && role != ROLE_NONE; ++i) {
    int index;
    if (!is_free(node->in[i]) || !in_main(p, node->in[i])) continue;
    HN_TRY(add_site(p, node->in[i], &index));
    if (role == ROLE_SAME && value == node->out[0]) p->items[site].shares = index;
  }
  return HONE_OK;
}

static hone_status add_node(const finder *f, hn_node *node, const hn_quant_layer *row) {
  hn_sites *p = f->sites;
  const char *why = is_kept(f, node) ? "it was named to stay" : when_layer(node, row);
  if (!why && !in_main(p, node->in[0])) why = "it reads a block's value";
  if (!hn_arena_grow(p->arena, (void **)&p->nodes, &p->node_capacity, p->node_count + 1, sizeof *p->nodes))
    return HN_FAIL_MEMORY(&p->graph->context->diag);
  p->nodes[p->node_count++] = (hn_quant_node){node, row, why};
  int index;
  if (why) return HONE_OK;
  HN_TRY(add_site(p, node->in[0], &index));
  return row->closed && !f->inputs_alone ? add_site(p, end_of(p, node->out[0]), &index) : HONE_OK;
}

static hone_status note_block(const finder *f, const hn_block *block) {
  hn_sites *p = f->sites;
  for (hn_node *node = block->first; node; node = node->next) {
    const hn_quant_layer *row = hn_quant_layer_of(node);
    for (int i = 0; i < node->block_count; ++i) HN_TRY(note_block(f, node->blocks[i]));
    if (block == p->graph->main || !row) continue;
    (void)is_kept(f, node);
    if (!hn_arena_grow(p->arena, (void **)&p->nodes, &p->node_capacity, p->node_count + 1, sizeof *p->nodes))
      return HN_FAIL_MEMORY(&p->graph->context->diag);
    p->nodes[p->node_count++] = (hn_quant_node){node, row, "it stands in a branch or loop"};
  }
  return HONE_OK;
}

static hone_status check_kept(const finder *f) {
  hone_status status = HONE_OK;
  for (int i = 0; i < f->keep_count; ++i)
    if (!f->kept_any[i])
      status = HN_FAIL(&f->sites->graph->context->diag, HONE_INVALID,
                       "no node or operator of the model is named \"%.100s\", which was to stay in floats", f->keep[i]);
  return status;
}

static hone_status find(finder *f, hone_graph *graph, hn_arena *arena) {
  hn_sites *out = f->sites;
  *out = (hn_sites){.graph = graph, .arena = arena, .value_count = graph->value_count, .inputs_alone = f->inputs_alone};
  out->of = HN_NEW(arena, int, graph->value_count + 1);
  f->kept_any = HN_NEW(arena, bool, f->keep_count + 1);
  if (!out->of || !f->kept_any) return HN_FAIL_MEMORY(&graph->context->diag);
  for (int i = 0; i < graph->value_count; ++i) out->of[i] = -1;
  for (hn_node *node = graph->main->first; node; node = node->next) {
    const hn_quant_layer *row = hn_quant_layer_of(node);
    if (row)
      HN_TRY(add_node(f, node, row));
    else
      (void)is_kept(f, node);
  }
  HN_TRY(note_block(f, graph->main));
  for (int i = 0; i < out->count && !f->inputs_alone; ++i) HN_TRY(follow(f, i)); /* the list grows meanwhile */
  return check_kept(f);
}

hone_status hn_sites_find(hone_graph *graph, const char *const *keep, int keep_count, hn_arena *arena, hn_sites *out) {
  finder f = {.sites = out, .keep = keep, .keep_count = keep_count};
  return find(&f, graph, arena);
}

hone_status hn_sites_find_inputs(hone_graph *graph, const char *const *keep, int keep_count, hn_arena *arena,
                                 hn_sites *out) {
  finder f = {.sites = out, .keep = keep, .keep_count = keep_count, .inputs_alone = true};
  return find(&f, graph, arena);
}

hone_status hn_sites_choose(const hn_sites *all, const bool *wanted, hn_arena *arena, hn_sites *out) {
  finder f = {.sites = out, .all = all, .wanted = wanted, .inputs_alone = all->inputs_alone};
  HN_TRY(find(&f, all->graph, arena));
  int count = 0;
  for (int i = 0; i < out->count; ++i) {
    const int old = all->of[out->items[i].value->id];
    out->of[out->items[i].value->id] = -1;
    if (old < 0) continue; /* not so among all: what it lies between is quantised otherwise there */
    out->items[i].range = all->items[old].range;
    out->items[i].scale = all->items[old].scale;
    out->items[count++] = out->items[i];
  }
  out->count = count;
  for (int i = 0; i < count; ++i) out->of[out->items[i].value->id] = i;
  return HONE_OK;
}

static const hn_node *find_quantised(const hn_block *block) {
  for (const hn_node *node = block->first; node; node = node->next) {
    if (strncmp(node->op->name, "qlinear_", 8) == 0) return node;
    for (size_t i = 0; i < HN_COUNT(quantised_ops); ++i)
      if (strcmp(node->op->name, quantised_ops[i]) == 0) return node;
    for (int i = 0; i < node->block_count; ++i) {
      const hn_node *inner = find_quantised(node->blocks[i]);
      if (inner) return inner;
    }
  }
  return NULL;
}

hone_status hn_sites_check_floats(const hone_graph *graph) {
  const hn_node *node = find_quantised(graph->main);
  if (!node) return HONE_OK;
  return HN_FAIL(&graph->context->diag, HONE_INVALID,
                 "the model is quantised already: %s is a %s; its scales are its author's, and stay", node->name,
                 node->op->name);
}

hone_status hn_sites_rebind(const hn_sites *sites, hone_graph *clone, hn_arena *arena, hn_sites *out) {
  *out = *sites;
  out->graph = clone;
  out->arena = arena;
  out->items = hn_arena_copy(arena, sites->items, (size_t)sites->count * sizeof *sites->items);
  out->nodes = hn_arena_copy(arena, sites->nodes, (size_t)sites->node_count * sizeof *sites->nodes);
  if (!out->items || !out->nodes) return HN_FAIL_MEMORY(&clone->context->diag);
  for (int i = 0; i < out->count; ++i) out->items[i].value = clone->values[out->items[i].value->id];
  for (int i = 0; i < out->node_count; ++i) out->nodes[i].node = clone->values[out->nodes[i].node->out[0]->id]->node;
  return HONE_OK;
}

/* ---- scales ---- */

static int root_of(const hn_sites *p, int site) {
  for (int turns = 0; p->items[site].shares != site && turns < p->count; ++turns) site = p->items[site].shares;
  return site;
}

const hn_site *hn_sites_source(const hn_sites *p, const hn_value *value) {
  return &p->items[root_of(p, p->of[value->id])];
}

static double reach_of(const hn_range *range) { return range->high - range->low; }

/* Parts of a concatenation, and its result. */
static void join_parts(hn_sites *p, const hn_node *node) {
  hn_range all = {0, 0};
  double least = HUGE_VAL;
  for (int i = 0; i < node->in_count; ++i) {
    const int part = is_free(node->in[i]) ? p->of[node->in[i]->id] : -1;
    if (part < 0) return;
    const hn_range *range = &p->items[root_of(p, part)].range;
    all = (hn_range){fmin(all.low, range->low), fmax(all.high, range->high)};
    least = fmin(least, reach_of(range));
  }
  const int whole = root_of(p, p->of[node->out[0]->id]);
  const bool alike = least >= reach_of(&all) / 2;
  p->items[whole].range = all;
  for (int i = 0; i < node->in_count && alike; ++i) p->items[root_of(p, p->of[node->in[i]->id])].range = all;
}

void hn_sites_scale(hn_sites *p, const hn_scheme *scheme) {
  enum { SWEEPS = 4 }; /* concatenations of concatenations */
  for (int sweep = 0; sweep < SWEEPS; ++sweep)
    for (int i = 0; i < p->count; ++i) {
      const hn_node *node = p->items[i].value->node;
      if (node && node->owner == p->graph->main && role_of(node) == ROLE_JOIN) join_parts(p, node);
    }
  for (int i = 0; i < p->count; ++i) {
    p->items[i].range = p->items[root_of(p, i)].range;
    p->items[i].scale = hn_scale_of_range(&p->items[i].range, scheme);
  }
}
