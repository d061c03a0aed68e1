/* SPDX-License-Identifier: Apache-2.0 */
/* test_calls.c - every row of every ONNX operator at every opset it is for, called in ways that no exporter would:
 * without inputs or outputs, with too many, with names left empty, with attributes missing, odd or of another kind. An
 * import ends in a graph that verifies or in a status with a message, never in INTERNAL. Seeded: the seed is printed.
 */
#include "import/import.h"
#include "base/random.h"
#include "import/importer.h"
#include "unit/import/model.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

enum { RANDOM_CALLS = 40, MOST_PORTS = 16, ATTR_TENSOR_TYPE = 4, ATTR_FLOATS_TYPE = 6, ATTR_STRINGS_TYPE = 8 };

/* ONNX's numbers of element types. */
static const int onnx_types[HONE_DTYPE_COUNT] = {
    [HONE_F32] = 1,  [HONE_U8] = 2,     [HONE_I8] = 3,    [HONE_U16] = 4,   [HONE_I16] = 5,  [HONE_I32] = 6,
    [HONE_I64] = 7,  [HONE_STRING] = 8, [HONE_BOOL] = 9,  [HONE_F16] = 10,  [HONE_F64] = 11, [HONE_U32] = 12,
    [HONE_U64] = 13, [HONE_C64] = 14,   [HONE_C128] = 15, [HONE_BF16] = 16, [HONE_U4] = 21,  [HONE_I4] = 22};

typedef struct caller {
  hn_random random;
  const hone_op *op;
  const hone_onnx_row *row;
  int opset;
  hn_text graph, node;
  hone_dtype letters[256];
  bool unranked; /* all inputs of this call */
  long calls, made;
} caller;

static int below(caller *c, int count) { return (int)(hn_random_u64(&c->random) % (uint64_t)count); }

static int port_count(const hone_port *ports) {
  int count = 0;
  while (count < HONE_MAX_PORTS && ports[count].name) ++count;
  return count;
}

static hone_dtype any_type(caller *c, const hone_port *port) {
  if (port && port->letter && c->letters[(unsigned char)port->letter]) return c->letters[(unsigned char)port->letter];
  for (int tries = 0; tries < 100; ++tries) {
    const hone_dtype dtype = (hone_dtype)(1 + below(c, HONE_DTYPE_COUNT - 1));
    const bool allowed = !port || !port->types || (port->types & HONE_BIT(dtype)) || below(c, 20) == 0;
    if (!onnx_types[dtype] || !allowed) continue;
    if (port && port->letter) c->letters[(unsigned char)port->letter] = dtype;
    return dtype;
  }
  return HONE_F32;
}

static int64_t any_int(caller *c) {
  static const int64_t odd[] = {0, 1, -1, 2, 3, 4, -2, 7, 8, INT64_MAX, INT64_MIN, INT32_MAX, (int64_t)1 << 40};
  return odd[below(c, below(c, 3) ? 5 : HN_COUNT(odd))];
}

/* A small initializer: i64 or f32. */
static void add_constant(caller *c, const char *name, bool whole) {
  hn_text tensor;
  hn_text_init(&tensor, hn_allocator_default());
  const int rank = below(c, 3), extent = rank == 0 ? 1 : below(c, 5);
  if (rank > 0) hn_wire_int(&tensor, 1, extent);
  if (rank > 1) hn_wire_int(&tensor, 1, 1);
  hn_wire_int(&tensor, 2, whole ? 7 : 1);
  hn_wire_string(&tensor, 8, name);
  int64_t values[8];
  float reals[8];
  for (int i = 0; i < extent; ++i) values[i] = any_int(c), reals[i] = (float)below(c, 5) - 2;
  if (whole)
    hn_wire_bytes(&tensor, 9, values, (size_t)extent * sizeof *values);
  else
    hn_wire_bytes(&tensor, 9, reals, (size_t)extent * sizeof *reals);
  hn_wire_message(&c->graph, 5, &tensor);
  hn_text_deinit(&tensor);
}

/* A graph's input of unknown rank: inference has nothing to refuse. */
static void add_unranked(caller *c, const char *name, int type) {
  hn_text value, inner, outer;
  hn_text *const all[] = {&value, &inner, &outer};
  for (size_t i = 0; i < HN_COUNT(all); ++i) hn_text_init(all[i], hn_allocator_default());
  hn_wire_int(&outer, 1, type);
  hn_wire_message(&inner, 1, &outer);
  hn_wire_string(&value, 1, name);
  hn_wire_message(&value, 2, &inner);
  hn_wire_message(&c->graph, 11, &value);
  for (size_t i = 0; i < HN_COUNT(all); ++i) hn_text_deinit(all[i]);
}

static void add_input(caller *c, const hone_port *port, int index) {
  static const char *const shapes[] = {"",        "0",     "1",       "3",     "2 3",      "N",
                                       "1 3 8 8", "2 3 4", "N C H W", "4 0 2", "1 1 1 1 1"};
  char name[16];
  (void)snprintf(name, sizeof name, "x%d", index);
  hn_wire_string(&c->node, 1, name);
  const hone_dtype dtype = any_type(c, port);
  if (c->unranked)
    add_unranked(c, name, onnx_types[dtype]);
  else if ((dtype == HONE_I64 || dtype == HONE_F32) && below(c, 2))
    add_constant(c, name, dtype == HONE_I64);
  else
    add_value(&c->graph, 11, name, onnx_types[dtype], shapes[below(c, HN_COUNT(shapes))]);
}

static void add_attribute(caller *c, const char *name, int kind) {
  static const char *const texts[] = {"", "NOTSET", "SAME_UPPER", "linear", "LEFT", "none", "ij,jk->ik", "float"};
  hn_text attr, inner;
  hn_text_init(&attr, hn_allocator_default());
  hn_text_init(&inner, hn_allocator_default());
  hn_wire_string(&attr, 1, name);
  const int count = below(c, 6);
  if (kind == ATTR_FLOAT_TYPE) hn_wire_float(&attr, 2, (float)below(c, 5) - 2);
  if (kind == ATTR_INT_TYPE) hn_wire_int(&attr, 3, any_int(c));
  if (kind == ATTR_STRING_TYPE) hn_wire_string(&attr, 4, texts[below(c, HN_COUNT(texts))]);
  for (int i = 0; i < count; ++i) {
    if (kind == ATTR_FLOATS_TYPE) hn_wire_float(&attr, 7, (float)below(c, 5) - 2);
    if (kind == ATTR_INTS_TYPE) hn_wire_int(&attr, 8, any_int(c));
    if (kind == ATTR_STRINGS_TYPE) hn_wire_string(&attr, 9, texts[below(c, HN_COUNT(texts))]);
  }
  if (kind == ATTR_TENSOR_TYPE && count > 0) {
    hn_wire_int(&inner, 1, 1);
    hn_wire_int(&inner, 2, below(c, 24));
    hn_wire_bytes(&inner, 9, "\1\2\3\4\5\6\7\10", (size_t)(1 << below(c, 4)));
    hn_wire_message(&attr, 5, &inner);
  }
  if (kind == ATTR_GRAPH_TYPE && count > 0) {
    for (int i = 0; i < below(c, 4); ++i) add_value(&inner, 11, i ? "q" : "p", below(c, 2) ? 7 : 9, "");
    if (below(c, 2)) add_node(&inner, "Identity", "in", below(c, 2) ? "p" : "x0", "r");
    for (int i = 0; i < below(c, 3); ++i) add_value(&inner, 12, below(c, 3) ? "r" : "p", 1, "");
    hn_wire_message(&attr, 6, &inner);
  }
  if (below(c, 8)) hn_wire_int(&attr, 20, kind);
  hn_wire_message(&c->node, 5, &attr);
  hn_text_deinit(&inner);
  hn_text_deinit(&attr);
}

/* The kind that the row wants, or now and then another. */
static int kind_of(caller *c, const char *name) {
  static const int kinds[] = {[HONE_ATTR_INT] = ATTR_INT_TYPE,       [HONE_ATTR_FLOAT] = ATTR_FLOAT_TYPE,
                              [HONE_ATTR_STRING] = ATTR_STRING_TYPE, [HONE_ATTR_INTS] = ATTR_INTS_TYPE,
                              [HONE_ATTR_FLOATS] = ATTR_FLOATS_TYPE, [HONE_ATTR_STRINGS] = ATTR_STRINGS_TYPE,
                              [HONE_ATTR_TENSOR] = ATTR_TENSOR_TYPE};
  if (below(c, 6) == 0) return 1 + below(c, 8);
  for (int i = 0; i < HONE_MAX_ATTRS && c->op->attr[i].name; ++i)
    if (hn_name_equal(c->op->attr[i].name, name)) return kinds[c->op->attr[i].kind];
  return below(c, 2) ? ATTR_INTS_TYPE : ATTR_INT_TYPE;
}

/* Some of a list's words; what stands after '=' is not part of a name. */
static void add_listed(caller *c, const char *list) {
  while (list && *list) {
    char name[64];
    const size_t length = strcspn(list, " "), whole = strcspn(list, "= ");
    (void)snprintf(name, sizeof name, "%.*s", (int)whole, list);
    if (whole && below(c, 3)) add_attribute(c, name, kind_of(c, name));
    list += length + (list[length] == ' ');
  }
}

static void add_attributes(caller *c) {
  const hn_adapter *adapter = c->row->adapt ? hn_adapter_find(c->row->adapt) : NULL;
  for (int i = 0; i < HONE_MAX_ATTRS && c->op->attr[i].name; ++i)
    if (below(c, 3)) add_attribute(c, c->op->attr[i].name, kind_of(c, c->op->attr[i].name));
  add_listed(c, c->row->to_input);
  add_listed(c, c->row->rename);
  add_listed(c, c->row->drop);
  if (adapter) add_listed(c, adapter->attributes);
  if (c->op->traits & HONE_HAS_BLOCKS) {
    if (below(c, 8)) add_attribute(c, (c->op->traits & HONE_RUNS_ONE) ? "then_branch" : "body", ATTR_GRAPH_TYPE);
    if (below(c, 8) && (c->op->traits & HONE_RUNS_ONE)) add_attribute(c, "else_branch", ATTR_GRAPH_TYPE);
  }
  if (below(c, 40) == 0) add_attribute(c, "", ATTR_INTS_TYPE);
}

static void import_one(caller *c) {
  hn_text model, opset;
  hn_text_init(&model, hn_allocator_default());
  hn_text_init(&opset, hn_allocator_default());
  hn_wire_message(&c->graph, 1, &c->node);
  add_value(&c->graph, 12, "y0", 1, "");
  hn_wire_int(&model, 1, 8);
  hn_wire_string(&opset, 1, c->row->domain ? c->row->domain : "");
  hn_wire_int(&opset, 2, c->opset);
  hn_wire_message(&model, 8, &opset);
  if (c->row->domain) {
    hn_wire_int(&opset, 2, 17);
    hn_wire_message(&model, 8, &opset);
  }
  hn_wire_message(&model, 7, &c->graph);
  hone_context *context;
  hone_graph *graph;
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  const hone_status status = hn_import_onnx_memory(context, model.data, model.length, NULL, &graph);
  const char *said = hone_context_message_count(context) ? hone_context_message(context, 0, NULL) : "nothing";
  if (status == HONE_INTERNAL || (status == HONE_OK) != !strcmp(said, "nothing"))
    fail_msg("%s, opset %d: status %d, and the message: %s", c->row->name, c->opset, (int)status, said);
  if (status == HONE_OK && (hn_graph_verify(graph) != HONE_OK || graph->main->result_count != 1))
    fail_msg("%s, opset %d: a wrong graph: %s", c->row->name, c->opset, said);
  c->made += status == HONE_OK;
  ++c->calls;
  hn_graph_destroy(graph);
  hone_context_destroy(context);
  hn_text_deinit(&opset);
  hn_text_deinit(&model);
}

/* So many inputs and outputs; no_input, no_output: the one whose name is empty, -1: none. */
static void call_with(caller *c, int ins, int no_input, int outs, int no_output, bool attributes) {
  const int in_ports = port_count(c->op->in);
  hn_text_init(&c->graph, hn_allocator_default());
  hn_text_init(&c->node, hn_allocator_default());
  memset(c->letters, 0, sizeof c->letters);
  c->unranked = below(c, 3) == 0;
  for (int i = 0; i < ins; ++i) {
    if (i == no_input)
      hn_wire_string(&c->node, 1, "");
    else
      add_input(c, i < in_ports ? &c->op->in[i] : NULL, i);
  }
  for (int i = 0; i < outs; ++i) {
    char name[16];
    (void)snprintf(name, sizeof name, "y%d", i);
    hn_wire_string(&c->node, 2, i == no_output ? "" : name);
  }
  hn_wire_string(&c->node, 3, "call");
  hn_wire_string(&c->node, 4, c->row->name);
  if (c->row->domain) hn_wire_string(&c->node, 7, c->row->domain);
  if (attributes) add_attributes(c);
  import_one(c);
  hn_text_deinit(&c->node);
  hn_text_deinit(&c->graph);
}

static void call_row(caller *c) {
  const int ins = port_count(c->op->in), outs = port_count(c->op->out);
  for (int i = 0; i <= ins + 1; ++i) {
    call_with(c, i, -1, 1, -1, false);
    call_with(c, i, -1, 0, -1, false);
    call_with(c, i, -1, 0, -1, true);
    call_with(c, i, -1, outs + 1, -1, true);
    call_with(c, i, 0, 1, 0, true);
    call_with(c, ins, i, outs, -1, true);
  }
  for (int o = 0; o <= outs + 1; ++o) call_with(c, ins, -1, outs, o, true);
  for (int k = 0; k < RANDOM_CALLS; ++k)
    call_with(c, below(c, 3) ? ins : below(c, ins + 3), below(c, ins + 3), below(c, 3) ? 1 : below(c, outs + 2),
              below(c, 4) ? -1 : below(c, outs + 2), true);
}

/* Constant makes no node, so no row is for it. */
static const hone_op constant = {
    .name = "constant",
    .attr = {HONE_OPTIONAL_ATTR("value", HONE_ATTR_TENSOR), HONE_OPTIONAL_ATTR("value_int", HONE_ATTR_INT),
             HONE_OPTIONAL_ATTR("value_float", HONE_ATTR_FLOAT), HONE_OPTIONAL_ATTR("value_ints", HONE_ATTR_INTS),
             HONE_OPTIONAL_ATTR("value_floats", HONE_ATTR_FLOATS), HONE_OPTIONAL_ATTR("value_string", HONE_ATTR_STRING),
             HONE_OPTIONAL_ATTR("value_strings", HONE_ATTR_STRINGS)},
    .onnx = {{"Constant", 1, HN_ONNX_LAST_OPSET}}};

static void call_constant(caller *c) {
  static const int kinds[] = {ATTR_TENSOR_TYPE, ATTR_INT_TYPE,    ATTR_FLOAT_TYPE,  ATTR_INTS_TYPE,
                              ATTR_FLOATS_TYPE, ATTR_STRING_TYPE, ATTR_STRINGS_TYPE};
  c->op = &constant;
  c->row = &constant.onnx[0];
  for (c->opset = 1; c->opset <= HN_ONNX_LAST_OPSET; ++c->opset)
    for (int k = 0; k < 20 * RANDOM_CALLS; ++k) {
      hn_text_init(&c->graph, hn_allocator_default());
      hn_text_init(&c->node, hn_allocator_default());
      if (below(c, 20)) hn_wire_string(&c->node, 2, below(c, 20) ? "y0" : "");
      hn_wire_string(&c->node, 4, c->row->name);
      const int at = below(c, HN_COUNT(kinds));
      if (below(c, 20)) add_attribute(c, below(c, 20) ? constant.attr[at].name : "", kinds[below(c, 4) ? at : 0]);
      if (below(c, 20) == 0) add_attribute(c, constant.attr[0].name, 1 + below(c, 14));
      import_one(c);
      hn_text_deinit(&c->node);
      hn_text_deinit(&c->graph);
    }
}

static void test_every_row(void **state) {
  (void)state;
  caller c = {.random = {20260731}};
  const char *seed = getenv("HONE_TEST_SEED");
  if (seed) c.random.state = strtoull(seed, NULL, 10);
  printf("seed %llu\n", (unsigned long long)c.random.state);
  const hn_op_list *ops = hn_builtin_ops();
  for (int o = 0; o < ops->count; ++o) {
    c.op = ops->rows[o];
    for (int r = 0; r < HONE_MAX_ONNX_ROWS && c.op->onnx[r].name; ++r) {
      c.row = &c.op->onnx[r];
      const int last = c.row->domain                      ? c.row->first
                       : c.row->last > HN_ONNX_LAST_OPSET ? HN_ONNX_LAST_OPSET
                                                          : c.row->last;
      for (c.opset = c.row->first; c.opset <= last; ++c.opset) call_row(&c);
    }
  }
  call_constant(&c);
  printf("%ld calls, %ld of them made a graph\n", c.calls, c.made);
  assert_true(c.made > c.calls / 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_row)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
