/* SPDX-License-Identifier: Apache-2.0 */
/* op_case.h - one operator on types and numbers written as text: "f32[1,3,8,8] f32[N,4] -" are three inputs, the third
 * one absent; "f32[*]" has no known rank. Included by the tests of operator families. */
#ifndef HN_TESTS_OP_CASE_H
#define HN_TESTS_OP_CASE_H

#include "ops/op.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define OP_INT(attr, value)                                                                                            \
  { .name = (attr), .kind = HONE_ATTR_INT, .count = 1, .i = (value) }
#define OP_FLOAT(attr, value)                                                                                          \
  { .name = (attr), .kind = HONE_ATTR_FLOAT, .count = 1, .f = (value) }
#define OP_TEXT(attr, value)                                                                                           \
  { .name = (attr), .kind = HONE_ATTR_STRING, .count = sizeof(value) - 1, .s = (value) }
#define OP_INTS(attr, ...)                                                                                             \
  {                                                                                                                    \
    .name = (attr), .kind = HONE_ATTR_INTS, .count = sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t),         \
    .ints = (const int64_t[]) {                                                                                        \
      __VA_ARGS__                                                                                                      \
    }                                                                                                                  \
  }

enum { OP_IN = 9, OP_OUT = 5, OP_ATTRS = 6, OP_ROOM = 64 };

typedef struct op_infer_row {
  const char *what;
  const hone_op *op;
  const char *in; /* types */
  hone_attr attr[OP_ATTRS];
  hone_status status;
  const char *out; /* type of output 0 when status is OK */
} op_infer_row;

typedef struct op_eval_row {
  const char *what;
  const hone_op *op;
  const char *in;
  hone_attr attr[OP_ATTRS];
  double numbers[OP_IN][OP_ROOM];
  int output;
  double want[OP_ROOM];
  double error; /* allowed, absolute */
} op_eval_row;

typedef struct op_case {
  hn_arena arena;
  hone_dims dims;
  hn_diag_entry entries[4];
  hone_diagnostics diag;
  hone_attrs attrs;
  hone_fact in[OP_IN], out[OP_OUT];
  hone_tensor tensors[OP_IN];
  int in_count, out_count;
} op_case;

static inline const char *op_read_type(op_case *c, const char *at, hone_type *out) {
  const size_t length = strcspn(at, " "), name = strcspn(at, "[ ");
  char dtype[16] = {0};
  *out = (hone_type){.kind = HONE_ABSENT};
  if (at[0] != '-') {
    memcpy(dtype, at, name);
    *out = (hone_type){.kind = HONE_TENSOR, .dtype = hone_dtype_find(dtype), .shape = {.rank = -1}};
    assert_true(out->dtype != HONE_NONE);
    if (at[name] == '[' && at[name + 1] != '*') {
      out->shape.rank = 0;
      for (const char *dim = at + name + 1; *dim != ']';) {
        const size_t here = strcspn(dim, ",]");
        assert_true(hn_dim_parse(&c->dims, dim, here, &out->shape.dim[out->shape.rank++]));
        dim += here + (dim[here] == ',');
      }
    }
  }
  return at + length + (at[length] == ' ');
}

/* Reads types and attributes, and binds the ports' letters. */
static inline void op_begin(op_case *c, const hone_op *op, const char *in, const hone_attr *attr) {
  hone_dtype letters[128] = {HONE_NONE};
  memset(c, 0, sizeof *c);
  hn_arena_init(&c->arena, hn_allocator_default());
  hn_dims_init(&c->dims, &c->arena);
  hn_diag_init(&c->diag, c->entries, 4);
  hone_attrs given = {.items = attr};
  while (given.count < OP_ATTRS && attr[given.count].name) ++given.count;
  assert_int_equal(hn_attrs_complete(&c->arena, &c->diag, op, &given, &c->attrs), HONE_OK);
  while (*in) {
    hone_type *type = &c->in[c->in_count].type;
    in = op_read_type(c, in, type);
    const char letter = op->in[c->in_count++].letter;
    if (letter && type->kind) letters[(int)letter] = type->dtype;
  }
  for (; c->out_count < OP_OUT && op->out[c->out_count].name; ++c->out_count) {
    hone_fact *fact = &c->out[c->out_count];
    *fact = (hone_fact){.type = {.kind = HONE_TENSOR, .shape = {.rank = -1}}};
    fact->type.dtype = letters[(int)op->out[c->out_count].letter];
    for (int d = 1; d < HONE_DTYPE_COUNT; ++d)
      if (op->out[c->out_count].types == HONE_BIT(d)) fact->type.dtype = (hone_dtype)d;
  }
}

static inline hone_status op_infer(op_case *c, const hone_op *op) {
  hone_infer infer = {.op = op,
                      .attrs = &c->attrs,
                      .in_count = c->in_count,
                      .out_count = c->out_count,
                      .in = c->in,
                      .out = c->out,
                      .dims = &c->dims,
                      .diagnostics = &c->diag,
                      .arena = &c->arena};
  return op->infer(&infer);
}

static inline void op_check_infer(const op_infer_row *rows, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    op_case c;
    hn_text text;
    op_begin(&c, rows[i].op, rows[i].in, rows[i].attr);
    const hone_status got = op_infer(&c, rows[i].op);
    hn_text_init(&text, hn_allocator_default());
    hn_text_type(&text, &c.out[0].type, &c.dims);
    if (got != rows[i].status) fail_msg("%s: status %s", rows[i].what, hone_status_name(got));
    if ((got == HONE_OK) != (c.diag.count == 0))
      fail_msg("%s: an error without a message, or the reverse", rows[i].what);
    if (got == HONE_OK && strcmp(hn_text_string(&text), rows[i].out) != 0)
      fail_msg("%s: got %s, want %s", rows[i].what, hn_text_string(&text), rows[i].out);
    hn_text_deinit(&text);
    hn_arena_deinit(&c.arena);
  }
}

static inline hone_tensor op_tensor(op_case *c, const hone_type *type) {
  hone_tensor tensor = {.type = *type, .bytes = hn_bytes(type)};
  assert_true(hn_elems(&type->shape) <= OP_ROOM);
  tensor.data = hn_arena_zero(&c->arena, tensor.bytes + 1, 1);
  assert_non_null(tensor.data);
  return tensor;
}

static inline void op_check_eval(const op_eval_row *rows, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const op_eval_row *row = &rows[i];
    op_case c;
    hone_tensor out[OP_OUT];
    op_begin(&c, row->op, row->in, row->attr);
    for (int k = 0; k < c.in_count; ++k) {
      c.tensors[k] = (hone_tensor){.type = c.in[k].type};
      if (c.in[k].type.kind == HONE_ABSENT) continue;
      c.tensors[k] = op_tensor(&c, &c.in[k].type);
      for (int64_t at = 0; at < hn_elems(&c.in[k].type.shape); ++at)
        hn_store_real(&c.tensors[k], at, row->numbers[k][at]);
      c.in[k].constant = &c.tensors[k];
    }
    if (op_infer(&c, row->op) != HONE_OK) fail_msg("%s: infer: %s", row->what, c.entries[0].text);
    for (int k = 0; k < c.out_count; ++k) out[k] = op_tensor(&c, &c.out[k].type);
    hone_eval eval = {.op = row->op,
                      .attrs = &c.attrs,
                      .in_count = c.in_count,
                      .out_count = c.out_count,
                      .in = c.tensors,
                      .out = out,
                      .diagnostics = &c.diag};
    if (row->op->eval_scratch)
      eval.scratch =
          hn_arena_alloc(&c.arena, row->op->eval_scratch(&c.attrs, c.in, c.in_count, c.out, c.out_count) + 1, 64);
    if (row->op->eval(&eval, NULL) != HONE_OK) fail_msg("%s: eval: %s", row->what, c.entries[0].text);
    for (int64_t at = 0; at < hn_elems(&out[row->output].type.shape); ++at) {
      const double got = hn_real(&out[row->output], at);
      if (isnan(row->want[at]) ? !isnan(got) : !(fabs(got - row->want[at]) <= row->error))
        fail_msg("%s: element %d is %.9g, want %.9g", row->what, (int)at, got, row->want[at]);
    }
    hn_arena_deinit(&c.arena);
  }
}

#endif
