/* SPDX-License-Identifier: Apache-2.0 */
/* ir_support.h - a context for tests of ir/, with the library's operators and a few rows that have what those may lack:
 * blocks, extents known after running, sequences, every kind of attribute, outputs that may be left out. */
#ifndef TEST_IR_SUPPORT_H
#define TEST_IR_SUPPORT_H

#include "ir/graph.h"
#include "ir/text.h"
#include "unit/base/faults.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* ---- rows ---- */

static hone_status infer_if(hone_infer *infer) {
  for (int i = 0; i < infer->out_count; ++i) {
    hone_fact *out = &infer->out[i];
    if (i >= infer->block_result_counts[0]) return HN_INFER_FAIL(infer, "block 0 returns too little");
    *out = infer->block_results[0][i];
    for (int b = 1; b < infer->block_count; ++b) {
      if (i >= infer->block_result_counts[b]) return HN_INFER_FAIL(infer, "block %d returns too little", b);
      const hone_type *other = &infer->block_results[b][i].type;
      if (other->dtype != out->type.dtype) return HN_INFER_FAIL(infer, "the blocks return different types");
      for (int d = 0; d < out->type.shape.rank && d < other->shape.rank; ++d) {
        if (out->type.shape.dim[d] != other->shape.dim[d])
          out->type.shape.dim[d] = hn_dim_fresh(infer->dims, "if", true, INT64_MAX);
      }
    }
    out->value = NULL;
  }
  return HONE_OK;
}

static hone_status infer_if_params(hone_infer *infer, int block, hone_fact *params, int param_count) {
  if (param_count != infer->in_count - 1) return HN_INFER_FAIL(infer, "block %d takes %d values", block, param_count);
  for (int i = 0; i < param_count; ++i) params[i] = infer->in[i + 1];
  return HONE_OK;
}

static hone_status infer_find(hone_infer *infer) {
  const int64_t dims[2] = {hn_in_rank(infer, 0), hn_dim_fresh(infer->dims, "found", true, 100)};
  hn_out_shape(infer, 0, 2, dims);
  return HONE_OK;
}

static hone_status infer_same_all(hone_infer *infer) {
  for (int i = 0; i < infer->out_count; ++i) infer->out[i].type.shape = infer->in[0].type.shape;
  return HONE_OK;
}

static hone_status infer_sequence(hone_infer *infer) {
  infer->out[0].type = infer->in[0].type;
  infer->out[0].type.kind = HONE_SEQUENCE;
  return HONE_OK;
}

static hone_status infer_negative(hone_infer *infer) {
  const int64_t dim = -3;
  hn_out_shape(infer, 0, 1, &dim);
  return HONE_OK;
}

static const hone_op test_rows[] = {
    {.struct_size = sizeof(hone_op),
     .name = "test_attrs",
     .in = {{"x", 'T', HONE_TYPES_ANY, 0}},
     .out = {{"y", 'T', 0, 0}},
     .attr = {HONE_NEEDED_ATTR("i", HONE_ATTR_INT), HONE_FLOAT_ATTR("f", 0.5), HONE_STRING_ATTR("s", "none"),
              HONE_OPTIONAL_ATTR("ints", HONE_ATTR_INTS), HONE_OPTIONAL_ATTR("floats", HONE_ATTR_FLOATS),
              HONE_OPTIONAL_ATTR("strings", HONE_ATTR_STRINGS), HONE_OPTIONAL_ATTR("tensor", HONE_ATTR_TENSOR)},
     .infer = infer_same_all},
    {.struct_size = sizeof(hone_op),
     .name = "test_find",
     .traits = HONE_AFTER_RUN,
     .in = {{"x", 0, HONE_TYPES_ANY, 0}},
     .out = {{"y", 0, HONE_BIT(HONE_I64), 0}},
     .infer = infer_find},
    {.struct_size = sizeof(hone_op),
     .name = "test_if",
     .traits = HONE_HAS_BLOCKS,
     .in = {{"cond", 0, HONE_TYPES_BOOL, 0}, {"captures", 0, HONE_TYPES_ANY, HONE_PORT_OPTIONAL | HONE_PORT_VARIADIC}},
     .out = {{"results", 0, 0, HONE_PORT_OPTIONAL | HONE_PORT_VARIADIC}},
     .infer = infer_if,
     .infer_params = infer_if_params},
    {.struct_size = sizeof(hone_op),
     .name = "test_negative",
     .in = {{"x", 'T', HONE_TYPES_ANY, 0}},
     .out = {{"y", 'T', 0, 0}},
     .infer = infer_negative},
    {.struct_size = sizeof(hone_op),
     .name = "test_sequence",
     .in = {{"x", 'T', HONE_TYPES_ANY, 0}},
     .out = {{"y", 'T', 0, 0}},
     .infer = infer_sequence},
    {.struct_size = sizeof(hone_op),
     .name = "test_two",
     .in = {{"a", 'T', HONE_TYPES_FLOAT, 0},
            {"b", 'T', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL},
            {"c", 'T', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL}},
     .out = {{"y", 'T', 0, 0}, {"mask", 0, HONE_TYPES_BOOL, HONE_PORT_OPTIONAL}, {"z", 'T', 0, HONE_PORT_OPTIONAL}},
     .infer = infer_same_all},
};

/* ---- a context ---- */

typedef struct ir_fixture {
  hone_context context;
  hn_diag_entry entries[32];
  faults memory;
  hn_op_list ops;
  const hone_op *rows[512];
} ir_fixture;

static int compare_rows(const void *a, const void *b) {
  const hone_op *const *x = a, *const *y = b;
  return strcmp((*x)->name, (*y)->name);
}

/* Without operators. */
static inline void ir_begin_plain(ir_fixture *f) {
  memset(f, 0, sizeof *f);
  f->ops.rows = f->rows;
  f->memory.countdown = -1;
  f->context.allocator = faults_allocator(&f->memory);
  f->context.limits = hn_limits_default();
  f->context.ops = &f->ops;
  hn_diag_init(&f->context.diag, f->entries, (int)HN_COUNT(f->entries));
}

static inline void ir_begin(ir_fixture *f) {
  ir_begin_plain(f);
  const hn_op_list *builtin = hn_builtin_ops();
  assert_true((size_t)builtin->count + HN_COUNT(test_rows) <= HN_COUNT(f->rows));
  for (int i = 0; i < builtin->count; ++i) f->rows[f->ops.count++] = builtin->rows[i];
  for (size_t i = 0; i < HN_COUNT(test_rows); ++i) f->rows[f->ops.count++] = &test_rows[i];
  qsort(f->rows, (size_t)f->ops.count, sizeof f->rows[0], compare_rows);
}

static inline void ir_end(ir_fixture *f) {
  assert_int_equal(f->memory.live, 0);
  assert_int_equal(f->memory.live_bytes, 0);
}

static inline const char *ir_message(const ir_fixture *f) {
  return f->context.diag.count > 0 ? f->context.diag.entries[f->context.diag.count - 1].text : "";
}

/* A message for OK and none for a failure are both wrong. */
static inline void ir_expect(ir_fixture *f, hone_status got, hone_status want) {
  if (got != want) fail_msg("got %s, want %s: %s", hone_status_name(got), hone_status_name(want), ir_message(f));
  assert_int_equal(got == HONE_OK, f->context.diag.count == 0);
}

static inline void ir_expect_message(ir_fixture *f, const char *part) {
  for (int i = 0; i < f->context.diag.count; ++i) {
    if (strstr(f->context.diag.entries[i].text, part)) {
      hn_diag_clear(&f->context.diag);
      return;
    }
  }
  fail_msg("no message has \"%s\"; the last is: %s", part, ir_message(f));
}

static inline hone_graph *ir_parse(ir_fixture *f, const char *text) {
  hone_graph *graph = NULL;
  const hone_status status = hn_graph_parse(&f->context, text, strlen(text), NULL, 0, &graph);
  if (status != HONE_OK) fail_msg("%s\n%s", ir_message(f), text);
  return graph;
}

/* The text of a graph with everything in it; free() it. */
static inline char *ir_print(ir_fixture *f, const hone_graph *graph) {
  const hn_print_options options = {.with_origins = true, .constant_elements = -1};
  hn_text text;
  hn_text_init(&text, f->context.allocator);
  ir_expect(f, hn_graph_print(graph, &options, &text), HONE_OK);
  char *copy = strdup(hn_text_string(&text));
  hn_text_deinit(&text);
  return copy;
}

static inline void ir_verify(ir_fixture *f, const hone_graph *graph) {
  const hone_status status = hn_graph_verify(graph);
  if (status != HONE_OK) fail_msg("%s", ir_message(f));
}

static inline hn_node *ir_node(const hone_graph *graph, const char *name) {
  hn_node *node = hn_table_get(&graph->node_names, name);
  if (!node) fail_msg("no node %s", name);
  return node;
}

static inline hn_value *ir_value(const hone_graph *graph, const char *name) {
  hn_value *value = hn_table_get(&graph->value_names, name);
  if (!value) fail_msg("no value %s", name);
  return value;
}

/* A graph with what a graph can have. */
static const char ir_sample[] =
    "graph \"sample\" opset 17 {\n"
    "  dim N in [1, 32]\n"
    "  dim \"found#1\" in [0, 100] after_run\n"
    "  in %x: f32[N,4,8]\n"
    "  in %cond: bool[]\n"
    "  in %\"a b\": f32[*]\n"
    "  const %w: f32[4,1] = [1, -0, 0.1, inf]\n"
    "  const %odd: f32[3] = [nan, #7fc00001, 1e-45]\n"
    "  const %shape: i64[2] = [-1, 32]\n"
    "  const %text: string[2] = [\"a\\u00ff\\n\", \"\"]\n"
    "  const %half: f16[2] = [0.0999755859375, #7c01]\n"
    "  const %nibbles: u4[3] = [1, 15, 7]\n"
    "  const %z: c64[1] = [#3f80000040000000]\n"
    "  const %inner_cond: bool[] = [1]\n"
    "  %m = mul(%x, %w) @\"mul\" from(\"a\", \"b\")\n"
    "  %flat = reshape(%m, %shape) @\"reshape\"\n"
    "  %n: i64[3,found#1] = test_find(%x) @\"find\"\n"
    "  %n2: i64[3,found#1] = test_attrs(%n) [i=-9223372036854775808, f=1e+300, s=\"q\\\"\", ints=[], "
    "floats=[1.0,nan], strings=[\"x\",\"\"], tensor=u8[2]{1, 255}] @\"attrs\"\n"
    "  %y, _, %y2 = test_two(%m, _, %x) @\"two\" parts (%p: f32[N,4,8], %p_1: absent, %p_2: f32[N,4,8]) {\n"
    "    %q = add(%p, %p_2) @\"add\"\n"
    "    %q2 = relu(%q) @\"relu\"\n"
    "    yield %q2, _, %q\n"
    "  }\n"
    "  %r = test_if(%cond, %x) @\"if\" (%a: f32[N,4,8]) {\n"
    "    %a1 = relu(%a) @\"relu_1\"\n"
    "    %a2 = test_if(%inner_cond, %a1) @\"if_1\" (%b: f32[N,4,8]) {\n"
    "      yield %b\n"
    "    }\n"
    "    yield %a2\n"
    "  } (%c: f32[N,4,8]) {\n"
    "    yield %c\n"
    "  }\n"
    "  %s = test_sequence(%odd) @\"sequence\"\n"
    "  out %text as \"text\"\n"
    "  out %half as \"half\"\n"
    "  out %nibbles as \"nibbles\"\n"
    "  out %z as \"z\"\n"
    "  out %y as \"y\"\n"
    "  out %y as \"y again\"\n"
    "}\n";

#endif
