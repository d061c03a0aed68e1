/* SPDX-License-Identifier: Apache-2.0 */
/* test_verify.c - one planted violation at a time: the verifier must name it, and be silent without it. */
#include "ir_support.h"

static const char base_text[] =
    "graph \"g\" {\n"
    "  in %x: f32[2,3]\n"
    "  in %c: bool[]\n"
    "  const %w: f32[2] = [1, 2]\n"
    "  const %k: i64[2] = [3, 2]\n"
    "  %a = relu(%x) @\"a\" from(\"o1\", \"o2\")\n"
    "  %b = add(%a, %x) @\"b\"\n"
    "  %r = reshape(%b, %k) @\"r\"\n"
    "  %t, _, %t2 = test_two(%b, _, %x) @\"t\" parts (%p: f32[2,3], %p1: absent, %p2: f32[2,3]) {\n"
    "    %q = add(%p, %p2) @\"q\"\n"
    "    yield %q, _, %q\n"
    "  }\n"
    "  %i = test_if(%c, %x) @\"i\" (%y: f32[2,3]) {\n"
    "    %z = relu(%y) @\"z\"\n"
    "    yield %z\n"
    "  }\n"
    "  %at = test_attrs(%x) [i=1] @\"at\"\n"
    "  out %r as \"r\"\n"
    "  out %t as \"t\"\n"
    "  out %i as \"i\"\n"
    "  out %w as \"w\"\n"
    "}\n";

/* ---- violations ---- */

static void value_id(hone_graph *g) { ir_value(g, "a")->id = 0; }
static void value_name(hone_graph *g) { ir_value(g, "a")->name = "x"; }
static void two_definitions(hone_graph *g) { ir_value(g, "a")->param_of = g->main; }
static void no_dtype(hone_graph *g) { ir_value(g, "a")->fact.type.dtype = HONE_NONE; }
static void blocked(hone_graph *g) { ir_value(g, "a")->fact.type.format = HONE_NCHW8C; }
static void rank_nine(hone_graph *g) { ir_value(g, "t2")->fact.type.shape.rank = 9; }
static void negative_dim(hone_graph *g) { ir_value(g, "x")->fact.type.shape.dim[0] = -1; }
static void foreign_dim(hone_graph *g) { ir_value(g, "x")->fact.type.shape.dim[0] = HONE_SYMBOL_BASE - 77; }
static void constant_type(hone_graph *g) { ir_value(g, "w")->fact.type.dtype = HONE_F16; }
static void constant_bytes(hone_graph *g) { ((hone_tensor *)ir_value(g, "w")->fact.constant)->bytes = 4; }
static void constant_data(hone_graph *g) { ((hone_tensor *)ir_value(g, "w")->fact.constant)->data = NULL; }
static void constant_output(hone_graph *g) { ir_value(g, "a")->fact.constant = ir_value(g, "w")->fact.constant; }
static void value_count(hone_graph *g) { ir_value(g, "k")->fact.value_count = 1; }
static void dead_with_uses(hone_graph *g) { ir_value(g, "w")->fact.constant = NULL; }

static void use_slot(hone_graph *g) { ir_value(g, "a")->uses->index = 1; }
static void use_missing(hone_graph *g) { ir_value(g, "a")->uses = ir_value(g, "a")->last_use = NULL; }
static void use_count(hone_graph *g) { ir_value(g, "a")->use_count = 2; }
static void use_back(hone_graph *g) { ir_value(g, "x")->uses->next->prev = NULL; }
static void use_last(hone_graph *g) { ir_value(g, "x")->last_use = ir_value(g, "x")->uses; }
static void input_behind_uses(hone_graph *g) { ir_node(g, "b")->in[0] = ir_value(g, "x"); }
static void result_behind_uses(hone_graph *g) { g->main->results[0] = ir_value(g, "b"); }

static void order(hone_graph *g) { hn_node_move_before(ir_node(g, "b"), ir_node(g, "a")); }
static void outer_value(hone_graph *g) { hn_node_set_input(ir_node(g, "z"), 0, ir_value(g, "x")); }
static void inner_value(hone_graph *g) { hn_node_set_input(ir_node(g, "at"), 0, ir_value(g, "y")); }
static void inner_result(hone_graph *g) { hn_block_set_result(g->main, 0, ir_value(g, "z")); }
static void owner(hone_graph *g) { ir_node(g, "z")->owner = g->main; }
static void list_back(hone_graph *g) { ir_node(g, "b")->prev = NULL; }
static void list_end(hone_graph *g) { g->main->last = ir_node(g, "b"); }
static void list_cycle(hone_graph *g) { ir_node(g, "at")->next = ir_node(g, "a"); }
static void node_name(hone_graph *g) { ir_node(g, "a")->name = "b"; }
static void node_id(hone_graph *g) { ir_node(g, "a")->id = ir_node(g, "b")->id; }
static void out_back(hone_graph *g) { ir_value(g, "a")->out_index = 1; }
static void missing_input(hone_graph *g) { hn_node_set_input(ir_node(g, "b"), 1, NULL); }
static void missing_output(hone_graph *g) { ir_node(g, "at")->out[0] = NULL; }
static void input_count(hone_graph *g) { ir_node(g, "at")->in_count = 0; }
static void dtype_letter(hone_graph *g) { hn_node_set_input(ir_node(g, "b"), 1, ir_value(g, "c")); }
static void stale_shape(hone_graph *g) { ir_value(g, "r")->fact.type.shape.dim[0] = 6; }
static void stale_dtype(hone_graph *g) { ir_value(g, "at")->fact.type.dtype = HONE_F16; }

static void set_attrs(hn_node *node, int count, const hone_attr *items) { node->attrs = (hone_attrs){count, items}; }
static void attr_missing(hone_graph *g) { set_attrs(ir_node(g, "at"), 1, ir_node(g, "at")->attrs.items); }
static void attr_order(hone_graph *g) {
  hone_attr *items = (hone_attr *)ir_node(g, "at")->attrs.items;
  const hone_attr first = items[0];
  items[0] = items[1];
  items[1] = first;
}
static void attr_kind(hone_graph *g) { ((hone_attr *)ir_node(g, "at")->attrs.items)[1].kind = HONE_ATTR_INT; }

static void origins_order(hone_graph *g) {
  const char **names = (const char **)ir_node(g, "a")->origins.names;
  names[1] = "o0";
}
static void no_blocks(hone_graph *g) { ir_node(g, "i")->block_count = 0; }
static void block_parent(hone_graph *g) { ir_node(g, "i")->blocks[0]->parent = ir_node(g, "a"); }
static void block_graph(hone_graph *g) { ir_node(g, "i")->blocks[0]->graph = NULL; }
static void main_parent(hone_graph *g) { g->main->parent = ir_node(g, "a"); }
static void param_back(hone_graph *g) { ir_value(g, "y")->out_index = 4; }
static void parts_parent(hone_graph *g) { ir_node(g, "t")->parts->parent = ir_node(g, "t"); }
static void parts_params(hone_graph *g) { ir_node(g, "t")->parts->param_count = 2; }
static void parts_types(hone_graph *g) { ir_value(g, "p")->fact.type.dtype = HONE_F16; }
static void parts_result(hone_graph *g) { hn_block_set_result(ir_node(g, "t")->parts, 0, NULL); }
static void absent_input(hone_graph *g) { hn_node_set_input(ir_node(g, "q"), 1, ir_value(g, "p1")); }
static void parts_lost(hone_graph *g) { ir_node(g, "t")->parts = NULL; }
static void output_names(hone_graph *g) { g->output_names[1] = g->output_names[0]; }

static const struct {
  const char *what;
  void (*plant)(hone_graph *);
  const char *message;
} violations[] = {
    {"a value's id", value_id, "has id 0 in place"},
    {"a value's name", value_name, "is not found by its name"},
    {"two definitions", two_definitions, "has two definitions"},
    {"no dtype", no_dtype, "value a has no type"},
    {"a blocked format", blocked, "value a is not plain"},
    {"rank 9", rank_nine, "value t2 has rank 9"},
    {"a negative dim", negative_dim, "which is not an extent"},
    {"a dim of no table", foreign_dim, "which is not an extent"},
    {"a constant of another type", constant_type, "its tensor has another type"},
    {"a constant's bytes", constant_bytes, "do not fit its type"},
    {"a constant without data", constant_data, "do not fit its type"},
    {"a constant output", constant_output, "is an output and a constant"},
    {"a small value of another length", value_count, "known elements are not those"},
    {"uses of nothing", dead_with_uses, "has uses but no definition"},
    {"a use with another index", use_slot, "a use is not where it says"},
    {"a lost use", use_missing, "value a has 0 uses in its list"},
    {"a wrong number of uses", use_count, "2 counted"},
    {"a use list broken backwards", use_back, "a use is not where it says"},
    {"a use list's end", use_last, "uses in its list"},
    {"an input set behind its uses", input_behind_uses, "value a"},
    {"a result set behind its uses", result_behind_uses, "value r"},
    {"a node above its input", order, "is not defined above it"},
    {"a capture that is not a param", outer_value, "node z: input 0, x"},
    {"a block's value outside", inner_value, "node at: input 0, y"},
    {"a block's value as output", inner_result, "result 0, z"},
    {"another owner", owner, "is in another block than it says"},
    {"a node list broken backwards", list_back, "the list of its block is broken"},
    {"a node list's end", list_end, "does not end with its last node"},
    {"a circle of nodes", list_cycle, "the list of its block is broken"},
    {"a node's name", node_name, "is not found by its name"},
    {"a node's id", node_id, "which is not its own"},
    {"an output's number", out_back, "output 0, a, does not say so"},
    {"a needed input", missing_input, "do not fit the ports of add"},
    {"a needed output", missing_output, "do not fit the ports of test_attrs"},
    {"too few inputs", input_count, "do not fit the ports of test_attrs"},
    {"a dtype under a letter", dtype_letter, "inference does not accept"},
    {"a shape that inference does not give", stale_shape, "output r is not what inference gives"},
    {"a dtype that inference does not give", stale_dtype, "output at is not what inference gives"},
    {"a missing attribute", attr_missing, "attribute f is missing"},
    {"attributes out of order", attr_order, "out of order"},
    {"an attribute's kind", attr_kind, "attribute f is of another kind"},
    {"origins out of order", origins_order, "its origins are not sorted"},
    {"lost blocks", no_blocks, "node i (test_if) has 0 blocks"},
    {"a block's parent", block_parent, "block 0 is not its own"},
    {"a block's graph", block_graph, "belongs to another graph"},
    {"a parent of the main block", main_parent, "the main block has a parent"},
    {"a param's number", param_back, "param 0, y, does not say so"},
    {"a parent of parts", parts_parent, "its parts have a parent"},
    {"params of parts", parts_params, "its parts have 2 params"},
    {"types of parts", parts_types, "param 0 of its parts"},
    {"a result of parts", parts_result, "result 0 of its parts"},
    {"an absent value used", absent_input, "stands for an absent value"},
    {"values of lost parts", parts_lost, "defined by something outside the graph"},
    {"two outputs of one name", output_names, "has no name of its own"},
};

static void test_violations(void **state) {
  (void)state;
  for (size_t i = 0; i < HN_COUNT(violations); ++i) {
    ir_fixture f;
    ir_begin(&f);
    hone_graph *graph = ir_parse(&f, base_text);
    ir_verify(&f, graph);
    violations[i].plant(graph);
    const hone_status status = hn_graph_verify(graph);
    if (status != HONE_INTERNAL) fail_msg("%s: %s", violations[i].what, hone_status_name(status));
    ir_expect_message(&f, violations[i].message);
    hn_graph_destroy(graph);
    ir_end(&f);
  }
}

/* Verifying makes symbols for what is known after running: it may not change those that the graph has. */
static void test_leaves_no_trace(void **state) {
  (void)state;
  ir_fixture f;
  ir_begin(&f);
  hone_graph *graph = ir_parse(&f, ir_sample);
  const int symbols = graph->dims.symbol_count, nodes = graph->dims.node_count;
  char *before = ir_print(&f, graph);
  for (int i = 0; i < 3; ++i) ir_verify(&f, graph);
  assert_int_equal(graph->dims.symbol_count, symbols);
  assert_int_equal(graph->dims.node_count, nodes);
  char *after = ir_print(&f, graph);
  assert_string_equal(before, after);
  free(before);
  free(after);
  hn_graph_destroy(graph);
  ir_end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_violations),
      cmocka_unit_test(test_leaves_no_trace),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
