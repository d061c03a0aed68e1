/* SPDX-License-Identifier: Apache-2.0 */
/* tactic_case.h - one operator with attributes and inputs, made from a row of text: random extents, random elements,
 * inferred outputs, and what the op's own eval says.
 *
 * inputs: words, one an input: `-` is an absent one, else DTYPE[dims]flags. A dim is a number, a letter or both
 * multiplied (4b); a letter is one random extent throughout the row: a-h 1..7, i-p 8..40, q-t 16, 32 or 48,
 * u-z 50..130. Flags: `+` elements in [0.1, 2]; `%N` integers in [-N, N); `/N` elements divided
 * by N; `*N` one element in N is a NaN, an infinity, a zero or a subnormal; `&` two of four elements are zero; `!` a
 * constant; `=1,2,3` a constant of these elements; `~1,2,3` these elements, known to infer and no constant. attrs:
 * words NAME=VALUE, lists with commas; what the row does not name gets its default. */
#ifndef TEST_TACTIC_CASE_H
#define TEST_TACTIC_CASE_H

#include "base/memory.h"
#include "base/random.h"
#include <hone/tactic.h>
#include "ops/ports.h"
#include "ops/registry.h"
#include "tensor/attrs.h"
#include "tensor/dims.h"
#include "tensor/element.h"
#include "tensor/shape.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

typedef struct case_row {
  const char *op, *attrs, *inputs;
  int outs;
} case_row;

enum { CASE_PORTS = 20, CASE_NUMBERS = 64, CASE_HELD = 8 };

/* What the outputs should be where the inputs in `mask` are rounded to `dtype`. */
typedef struct case_held {
  hone_dtype dtype;
  uint32_t mask;
  hone_tensor *want;
} case_held;

typedef struct tactic_case {
  const case_row *row;
  const hone_op *op;
  hone_attrs attrs;
  int in_count, out_count;
  hone_fact in[CASE_PORTS], out[CASE_PORTS];
  hone_tensor in_data[CASE_PORTS], want[CASE_PORTS]; /* plain */
  bool is_evaluated; /* want holds numbers: nobody computes them before they are asked for */
  case_held held[CASE_HELD];
  int held_count;
  hn_arena arena;
  hone_dims dims;
  hn_random random;
  int64_t letters[26];
  char where[120]; /* how to make it again */
} tactic_case;

/* Portable rows of matrix units and of f16's arithmetic compute as those do, number by number. */
static inline bool case_imitates(const hone_tactic *tactic) {
  return tactic->isa == 0 &&
         (tactic->compute == HONE_F16 || tactic->compute == HONE_BF16 || strstr(tactic->name, ".tiles."));
}

static int64_t random_between(tactic_case *c, int64_t low, int64_t high) {
  return low + (int64_t)(hn_random_unit(&c->random) * (double)(high - low + 1));
}

/* Ends of a range are where kernels have their borders: each is drawn one time in eight, beside its fair share. */
static int64_t extent_between(tactic_case *c, int64_t low, int64_t high) {
  const int64_t pick = random_between(c, 0, 7);
  return pick == 0 ? low : pick == 7 ? high : random_between(c, low, high);
}

static int64_t extent_of(tactic_case *c, char letter) {
  int64_t *extent = &c->letters[letter - 'a'];
  if (*extent) return *extent;
  if (letter <= 'h')
    *extent = extent_between(c, 1, 7);
  else if (letter <= 'p')
    *extent = extent_between(c, 8, 40);
  else if (letter <= 't')
    *extent = 16 * extent_between(c, 1, 3);
  else
    *extent = extent_between(c, 50, 130);
  return *extent;
}

/* "2,4b,16]..." up to and with the bracket. */
static hone_shape read_shape(tactic_case *c, const char **at) {
  hone_shape shape = {0};
  while (**at != ']') {
    char *end;
    int64_t dim = 1;
    if (**at >= '0' && **at <= '9') {
      dim = strtoll(*at, &end, 10);
      *at = end;
    }
    if (**at >= 'a' && **at <= 'z') dim *= extent_of(c, *(*at)++);
    shape.dim[shape.rank++] = dim;
    if (**at == ',') ++*at;
  }
  ++*at;
  return shape;
}

static void fill(tactic_case *c, hone_tensor *tensor, bool positive, int64_t range) {
  const int64_t count = hn_elems(&tensor->type.shape);
  const hone_dtype dtype = tensor->type.dtype;
  for (int64_t i = 0; i < count; ++i) {
    if (dtype == HONE_BOOL)
      hn_store_int(tensor, i, random_between(c, 0, 1));
    else if (hn_dtype_is_float(dtype))
      hn_store_real(tensor, i, positive ? 0.1 + 1.9 * hn_random_unit(&c->random) : 6 * hn_random_unit(&c->random) - 3);
    else if (positive || hn_dtype_is_unsigned(dtype))
      hn_store_int(tensor, i, random_between(c, 0, range - 1));
    else
      hn_store_int(tensor, i, random_between(c, -range, range - 1));
  }
}

static void plant(tactic_case *c, hone_tensor *tensor, int64_t one_in) {
  static const double values[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 1e-40, -1e-40};
  for (int64_t i = 0; one_in && i < hn_elems(&tensor->type.shape); ++i)
    if (random_between(c, 1, one_in) == 1)
      hn_store_real(tensor, i, values[random_between(c, 0, sizeof values / sizeof values[0] - 1)]);
}

static void fill_given(hone_tensor *tensor, const char **at) {
  for (int64_t i = 0; **at && **at != ' '; ++i) {
    char *end;
    assert_true(i < hn_elems(&tensor->type.shape));
    hn_store_real(tensor, i, strtod(*at, &end));
    *at = *end == ',' ? end + 1 : end;
  }
}

/* infer reads the elements of small integer constants from the fact. */
static void know(tactic_case *c, hone_fact *fact, const hone_tensor *tensor) {
  const int64_t count = hn_elems(&tensor->type.shape);
  fact->constant = tensor;
  if (hn_dtype_is_float(tensor->type.dtype) || count > HONE_MAX_FACT_VALUES) return;
  int64_t *value = HN_NEW(&c->arena, int64_t, count + 1);
  for (int64_t i = 0; i < count; ++i) value[i] = hn_int(tensor, i);
  fact->value = value;
  fact->value_count = count;
}

/* Any two of four neighbours become zero, or more where both were drawn the same. */
static void thin(tactic_case *c, hone_tensor *tensor) {
  for (int64_t first = 0; first + 4 <= hn_elems(&tensor->type.shape); first += 4) {
    const int64_t a = random_between(c, 0, 3), b = random_between(c, 0, 3);
    for (int64_t k = 0; k < 4; ++k)
      if (k != a && k != b) hn_store_real(tensor, first + k, 0);
  }
}

static void read_input(tactic_case *c, const char **at, int i) {
  char name[16] = {0};
  size_t length = strcspn(*at, "[ ");
  assert_true(length < sizeof name);
  memcpy(name, *at, length);
  *at += length;
  if (strcmp(name, "-") == 0) return;
  const hone_dtype dtype = hone_dtype_find(name);
  assert_true(dtype != HONE_NONE && **at == '[');
  ++*at;
  const hone_shape shape = read_shape(c, at);
  hone_tensor *tensor = &c->in_data[i];
  tensor->type = hn_tensor_type(dtype, shape.rank, shape.dim);
  tensor->bytes = hn_bytes(&tensor->type);
  tensor->data = hn_arena_alloc(&c->arena, tensor->bytes + 1, 64);
  c->in[i].type = tensor->type;
  bool positive = false, constant = false, known = false, thinned = false;
  int64_t range = 6, one_in = 0;
  double divisor = 1;
  const char *given = NULL;
  while (**at && **at != ' ') {
    const char flag = *(*at)++;
    if (flag == '+') positive = true;
    if (flag == '!') constant = true;
    if (flag == '&') thinned = true;
    if (flag == '%') {
      char *end;
      range = strtoll(*at, &end, 10);
      *at = end;
    }
    if (flag == '/') {
      char *end;
      divisor = strtod(*at, &end);
      *at = end;
    }
    if (flag == '*') {
      char *end;
      one_in = strtoll(*at, &end, 10);
      *at = end;
    }
    if (flag != '=' && flag != '~') continue;
    constant = flag == '=';
    known = true;
    given = *at;
    fill_given(tensor, at);
  }
  if (!given) fill(c, tensor, positive, range);
  for (int64_t k = 0; divisor != 1 && k < hn_elems(&shape); ++k) hn_store_real(tensor, k, hn_real(tensor, k) / divisor);
  plant(c, tensor, one_in);
  if (thinned) thin(c, tensor);
  if (constant || known) know(c, &c->in[i], tensor);
  if (!constant) c->in[i].constant = NULL;
}

static hone_attr read_attr(tactic_case *c, const hone_attr_decl *decl, const char *text) {
  hone_attr attr = {.name = decl->name, .kind = decl->kind};
  int64_t *ints = HN_NEW(&c->arena, int64_t, CASE_NUMBERS);
  double *floats = HN_NEW(&c->arena, double, CASE_NUMBERS);
  switch (decl->kind) {
  case HONE_ATTR_INT: attr.i = strtoll(text, NULL, 10); break;
  case HONE_ATTR_FLOAT: attr.f = strtod(text, NULL); break;
  case HONE_ATTR_STRING:
    attr.s = text;
    attr.count = (int64_t)strlen(text);
    break;
  case HONE_ATTR_STRINGS: {
    const char **strings = HN_NEW(&c->arena, const char *, CASE_NUMBERS);
    char *list = hn_arena_text(&c->arena, text), *rest = NULL;
    for (char *one = strtok_r(list, ",", &rest); one; one = strtok_r(NULL, ",", &rest)) strings[attr.count++] = one;
    attr.strings = strings;
    break;
  }
  case HONE_ATTR_TENSOR: {
    hone_tensor *tensor = HN_NEW(&c->arena, hone_tensor, 1);
    *tensor = hn_tensor_over(HONE_F32, 1, (int64_t[]){1}, floats);
    hn_store_real(tensor, 0, strtod(text, NULL));
    attr.tensor = tensor;
    break;
  }
  default:
    for (char *end; *text; text = *end == ',' ? end + 1 : end, ++attr.count) {
      floats[attr.count] = strtod(text, &end);
      ints[attr.count] = (int64_t)floats[attr.count];
    }
    if (decl->kind == HONE_ATTR_INTS)
      attr.ints = ints;
    else
      attr.floats = floats;
  }
  return attr;
}

static void read_attrs(tactic_case *c, hone_diagnostics *diag) {
  hone_attr items[HONE_MAX_ATTRS];
  hone_attrs given = {0, items};
  char *text = hn_arena_text(&c->arena, c->row->attrs), *rest = NULL;
  for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
    char *value = strchr(word, '=');
    assert_non_null(value);
    *value++ = 0;
    const hone_attr_decl *decl = c->op->attr;
    while (decl->name && strcmp(decl->name, word) != 0) ++decl;
    assert_non_null(decl->name);
    items[given.count++] = read_attr(c, decl, value);
  }
  assert_int_equal(hn_attrs_complete(&c->arena, diag, c->op, &given, &c->attrs), HONE_OK);
}

static void infer_outputs(tactic_case *c, hone_diagnostics *diag) {
  c->out_count = c->row->outs;
  hone_infer infer = {.op = c->op,
                      .attrs = &c->attrs,
                      .in_count = c->in_count,
                      .out_count = c->out_count,
                      .in = c->in,
                      .out = c->out,
                      .dims = &c->dims,
                      .diagnostics = diag,
                      .arena = &c->arena};
  hone_status status = hn_ports_bind(diag, c->op, c->in_count, c->in, c->out_count, c->out);
  if (status == HONE_OK) status = c->op->infer(&infer);
  if (status != HONE_OK)
    fail_msg("%s [%s] %s: %s", c->row->op, c->row->attrs, c->row->inputs, diag->count ? diag->entries[0].text : "");
  for (int i = 0; i < c->out_count; ++i) {
    hone_tensor *want = &c->want[i];
    want->type = c->out[i].type;
    assert_true(hn_type_bytes(&want->type, &want->bytes));
    want->data = hn_arena_alloc(&c->arena, want->bytes + 1, 64);
    memset(want->data, 0, want->bytes);
  }
}

static inline void evaluate(tactic_case *c, const hone_tensor *in, hone_tensor *want, hone_diagnostics *diag) {
  const size_t scratch_bytes =
      c->op->eval_scratch ? c->op->eval_scratch(&c->attrs, c->in, c->in_count, c->out, c->out_count) : 0;
  hone_eval eval = {.op = c->op,
                    .attrs = &c->attrs,
                    .in_count = c->in_count,
                    .out_count = c->out_count,
                    .in = in,
                    .out = want,
                    .scratch = hn_arena_alloc(&c->arena, scratch_bytes + 1, 64),
                    .diagnostics = diag};
  if (c->op->eval(&eval, NULL) != HONE_OK)
    fail_msg("%s [%s] %s: eval: %s", c->row->op, c->row->attrs, c->row->inputs,
             diag->count ? diag->entries[0].text : "");
}

/* Attributes and inputs, and the outputs' types; what the outputs should be is not computed. */
static void case_draw(tactic_case *c, const case_row *row, uint64_t seed) {
  hn_diag_entry entries[4];
  hone_diagnostics diag;
  hn_diag_init(&diag, entries, 4);
  *c = (tactic_case){.row = row, .op = hn_op_find(hn_builtin_ops(), row->op), .random = {seed}};
  if (!c->op) fail_msg("there is no op %s", row->op);
  hn_arena_init(&c->arena, hn_allocator_default());
  hn_dims_init(&c->dims, &c->arena);
  for (const char *at = row->inputs; *at; at += *at == ' ') read_input(c, &at, c->in_count++);
  read_attrs(c, &diag);
  infer_outputs(c, &diag);
}

static void case_drop(tactic_case *c) { hn_arena_deinit(&c->arena); }

#endif
