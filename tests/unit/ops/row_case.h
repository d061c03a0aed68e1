/* SPDX-License-Identifier: Apache-2.0 */
/* row_case.h - a case of an operator's row as one line of text: what goes in, what must come out.
 *
 * attrs   "axis=1 perm=1,0 mode=wrap": kinds as the row declares them
 * inputs  "f32[2,N] i64[2]=1,-1 -": a type, with values a constant; "-" is absent; extents may be symbols
 * want    one word for each output, or the status: "f32[2,N]", "i64[2]=N,3" (the value that infer must know),
 *         "f32[2]=1,2" (what eval must give; checked when all inputs have values), "f32[?]" (known after running) */
#ifndef HN_TESTS_ROW_CASE_H
#define HN_TESTS_ROW_CASE_H

#include "ops/op.h"
#include "ops/registry.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { CASE_PORTS = 8, CASE_ELEMENTS = 512 };

typedef struct row_case {
  const char *what, *op, *attrs, *inputs, *want;
} row_case;

typedef struct case_run {
  hn_arena arena;
  hone_dims dims;
  hn_diag_entry entries[8];
  hone_diagnostics diag;
  hone_tensor in[CASE_PORTS], out[CASE_PORTS];
  hone_fact in_facts[CASE_PORTS], out_facts[CASE_PORTS];
  int in_count, out_count;
  bool all_valued;
} case_run;

/* The next word of a text into a buffer; false at its end. */
static bool next_word(const char **at, char *out, size_t room) {
  while (**at == ' ') ++*at;
  size_t length = strcspn(*at, " ");
  if (length == 0 || length >= room) return false;
  memcpy(out, *at, length);
  out[length] = 0;
  *at += length;
  return true;
}

/* "f32[2,N]" up to an optional '='; returns what follows the '=', or NULL. */
static const char *read_type(case_run *run, const char *word, hone_type *out) {
  char name[16];
  const char *bracket = strchr(word, '['), *close = strchr(word, ']');
  assert_non_null(bracket);
  assert_non_null(close);
  snprintf(name, sizeof name, "%.*s", (int)(bracket - word), word);
  *out = (hone_type){.kind = HONE_TENSOR, .dtype = hone_dtype_find(name)};
  assert_int_not_equal(out->dtype, HONE_NONE);
  const char *at = bracket + 1;
  if (*at == '*') out->shape.rank = -1;
  while (at < close && *at != '*') {
    const size_t length = strcspn(at, ",]");
    assert_true(hn_dim_parse(&run->dims, at, length, &out->shape.dim[out->shape.rank++]));
    at += length + (at[length] == ',');
  }
  return close[1] == '=' ? close + 2 : NULL;
}

static int read_numbers(const char *text, double *out) {
  int count = 0;
  while (*text) {
    char *end;
    assert_true(count < CASE_ELEMENTS);
    out[count++] = strtod(text, &end);
    assert_ptr_not_equal(end, text);
    text = *end == ',' ? end + 1 : end;
  }
  return count;
}

static hone_tensor tensor_of(case_run *run, const hone_type *type) {
  const size_t bytes = hn_bytes(type);
  return (hone_tensor){.type = *type, .data = hn_arena_zero(&run->arena, bytes + 16, 1), .bytes = bytes};
}

static void read_inputs(case_run *run, const char *text) {
  char word[2048];
  double numbers[CASE_ELEMENTS];
  run->all_valued = true;
  while (next_word(&text, word, sizeof word)) {
    const int i = run->in_count++;
    assert_true(i < CASE_PORTS);
    if (strcmp(word, "-") == 0) continue;
    const char *values = read_type(run, word, &run->in_facts[i].type);
    run->in[i].type = run->in_facts[i].type;
    run->all_valued = run->all_valued && values;
    if (!values) continue;
    run->in[i] = tensor_of(run, &run->in_facts[i].type);
    const int count = read_numbers(values, numbers);
    assert_int_equal(count, hn_elems(&run->in[i].type.shape));
    for (int k = 0; k < count; ++k) hn_store_real(&run->in[i], k, numbers[k]);
    run->in_facts[i].constant = &run->in[i];
  }
}

/* Attributes by name; lists with commas. Strings live in `words`. */
static hone_attrs read_attrs(case_run *run, const hone_op *op, const char *text) {
  hone_attr items[HONE_MAX_ATTRS];
  hone_attrs given = {0, items}, complete;
  char word[256];
  double numbers[CASE_ELEMENTS];
  while (next_word(&text, word, sizeof word)) {
    char *value = strchr(word, '=');
    assert_non_null(value);
    *value++ = 0;
    hone_attr *attr = &items[given.count++];
    *attr = (hone_attr){.name = hn_arena_text(&run->arena, word)};
    for (int i = 0; i < HONE_MAX_ATTRS && op->attr[i].name; ++i)
      if (strcmp(op->attr[i].name, word) == 0) attr->kind = op->attr[i].kind;
    if (attr->kind == HONE_ATTR_STRING) {
      attr->s = hn_arena_text(&run->arena, value);
      attr->count = (int64_t)strlen(value);
    } else if (attr->kind == HONE_ATTR_FLOAT) {
      attr->f = strtod(value, NULL);
    } else if (attr->kind == HONE_ATTR_INTS) {
      attr->count = read_numbers(value, numbers);
      int64_t *ints = HN_NEW(&run->arena, int64_t, attr->count + 1);
      for (int64_t i = 0; i < attr->count; ++i) ints[i] = (int64_t)numbers[i];
      attr->ints = ints;
    } else {
      attr->i = strtoll(value, NULL, 10);
    }
  }
  assert_int_equal(hn_attrs_complete(&run->arena, &run->diag, op, &given, &complete), HONE_OK);
  return complete;
}

static void bind_outputs(case_run *run, const hone_op *op) {
  for (int i = 0; i < run->out_count; ++i) {
    int port = i;
    while (port > 0 && !op->out[port].name) --port;
    hone_type *type = &run->out_facts[i].type;
    *type = (hone_type){.kind = HONE_TENSOR, .shape = {.rank = -1}};
    for (int d = 1; d < HONE_DTYPE_COUNT; ++d)
      if (!op->out[port].letter && op->out[port].types == HONE_BIT(d)) type->dtype = (hone_dtype)d;
    for (int k = 0; op->out[port].letter && k < run->in_count && k < HONE_MAX_PORTS; ++k) {
      const bool variadic = !op->in[k].name;
      if (variadic || op->in[k].letter != op->out[port].letter || run->in[k].type.kind == HONE_ABSENT) continue;
      type->dtype = run->in[k].type.dtype;
    }
  }
}

static hone_status case_resize(hone_eval *eval, int output, int rank, const int64_t *dims) {
  case_run *run = eval->host;
  eval->out[output].type.shape = hn_shape(rank, dims);
  eval->out[output] = tensor_of(run, &eval->out[output].type);
  return HONE_OK;
}

static hone_status evaluate(case_run *run, const hone_op *op, const hone_attrs *attrs) {
  hone_eval eval = {.op = op,
                    .attrs = attrs,
                    .in_count = run->in_count,
                    .out_count = run->out_count,
                    .in = run->in,
                    .out = run->out,
                    .resize = case_resize,
                    .host = run,
                    .diagnostics = &run->diag};
  for (int i = 0; i < run->out_count; ++i) {
    run->out[i].type = run->out_facts[i].type;
    if (hn_shape_known(&run->out[i].type.shape)) run->out[i] = tensor_of(run, &run->out[i].type);
  }
  const size_t scratch =
      op->eval_scratch ? op->eval_scratch(attrs, run->in_facts, run->in_count, run->out_facts, run->out_count) : 0;
  eval.scratch = hn_arena_zero(&run->arena, scratch + 64, 1);
  return op->eval(&eval, NULL);
}

static void check_value(case_run *run, const char *what, int output, const char *want) {
  hn_text text;
  hn_text_init(&text, hn_allocator_default());
  const hone_fact *fact = &run->out_facts[output];
  for (int64_t i = 0; fact->value && i < fact->value_count; ++i) {
    if (i > 0) hn_text_add(&text, ",");
    hn_text_dim(&text, fact->value[i], &run->dims);
  }
  if (strcmp(hn_text_string(&text), want) != 0) fail_msg("%s: value %s, want %s", what, hn_text_string(&text), want);
  hn_text_deinit(&text);
}

static void check_numbers(case_run *run, const char *what, int output, const char *want) {
  double numbers[CASE_ELEMENTS];
  const hone_tensor *out = &run->out[output];
  const int count = read_numbers(want, numbers);
  if (count != hn_elems(&out->type.shape)) fail_msg("%s: %d numbers wanted", what, count);
  for (int i = 0; i < count; ++i) {
    const double got = hn_real(out, i);
    const bool same =
        isnan(numbers[i]) ? isnan(got) : got == numbers[i] || fabs(got - numbers[i]) <= 1e-6 * fabs(numbers[i]);
    if (!same) fail_msg("%s: element %d is %.9g, want %.9g", what, i, got, numbers[i]);
  }
}

/* Are the texts equal, where a "?" of want stands for an extent that is known only after running ("name#7")? */
static bool matches(const char *got, const char *want, size_t length) {
  const char *end = want + length;
  for (; want < end; ++want) {
    if (*want != '?') {
      if (*got++ != *want) return false;
      continue;
    }
    const size_t extent = strcspn(got, ",]");
    if (!memchr(got, '#', extent)) return false;
    got += extent;
  }
  return *got == 0;
}

static void check_output(case_run *run, const char *what, int output, const char *want, bool evaluated) {
  hn_text text;
  hn_text_init(&text, hn_allocator_default());
  const hone_type *type = evaluated ? &run->out[output].type : &run->out_facts[output].type;
  hn_text_type(&text, type, &run->dims);
  const char *values = strchr(want, '=');
  const size_t length = values ? (size_t)(values - want) : strlen(want);
  if (!matches(hn_text_string(&text), want, length))
    fail_msg("%s: output %d is %s, want %s", what, output, hn_text_string(&text), want);
  hn_text_deinit(&text);
  if (values && evaluated)
    check_numbers(run, what, output, values + 1);
  else if (values)
    check_value(run, what, output, values + 1);
}

static hone_status status_named(const char *name) {
  if (strcmp(name, "MALFORMED") == 0) return HONE_MALFORMED;
  if (strcmp(name, "UNSUPPORTED") == 0) return HONE_UNSUPPORTED;
  return strcmp(name, "INVALID") == 0 ? HONE_INVALID : HONE_OK;
}

static void check_case(const row_case *row) {
  case_run run = {0};
  char word[2048];
  const char *at = row->want;
  const hone_op *op = hn_op_find(hn_builtin_ops(), row->op);
  if (!op) fail_msg("%s: no operator %s", row->what, row->op);
  hn_arena_init(&run.arena, hn_allocator_default());
  hn_dims_init(&run.dims, &run.arena);
  hn_diag_init(&run.diag, run.entries, 8);
  read_inputs(&run, row->inputs);
  const hone_attrs attrs = read_attrs(&run, op, row->attrs);
  while (next_word(&at, word, sizeof word)) ++run.out_count;
  bind_outputs(&run, op);
  hone_infer infer = {.op = op,
                      .attrs = &attrs,
                      .in_count = run.in_count,
                      .out_count = run.out_count,
                      .in = run.in_facts,
                      .out = run.out_facts,
                      .dims = &run.dims,
                      .diagnostics = &run.diag,
                      .arena = &run.arena};
  const hone_status want = status_named(row->want);
  hone_status got = op->infer(&infer);
  const bool evaluated = got == HONE_OK && run.all_valued;
  if (evaluated) got = evaluate(&run, op, &attrs);
  if (got != want)
    fail_msg("%s: status %d, want %d (%s)", row->what, got, want, run.diag.count ? run.diag.entries[0].text : "");
  if ((got == HONE_OK) != (run.diag.count == 0)) fail_msg("%s: an error without a message, or the reverse", row->what);
  at = row->want;
  for (int i = 0; got == HONE_OK && next_word(&at, word, sizeof word); ++i)
    check_output(&run, row->what, i, word, evaluated);
  hn_arena_deinit(&run.arena);
}

static void check_cases(const row_case *rows, size_t count) {
  for (size_t i = 0; i < count; ++i) check_case(&rows[i]);
}

#endif
