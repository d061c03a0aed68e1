/* SPDX-License-Identifier: Apache-2.0 */
/* test_lists.c - the operators on sequences and optionals, a line of text each: what goes in, what must come out, and
 * the element type that infer must know.
 *
 * A value is "i32[2]=1,2", a list of them "seq{i32[1]=1;i32[2]=2,3}" or "opt{i32[1]=1}"; empty ones are "seq{i32}" and
 * "opt{i32}"; "optseq{seq{...}}" is an optional sequence; "-" is an absent input. */
#include "ops/op.h"
#include "ops/ports.h"
#include "ops/registry.h"
#include "tensor/element.h"
#include "tensor/list.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { MOST_INPUTS = 6, MOST_ITEMS = 8 };

typedef struct list_case {
  const char *what, *op, *attrs, *inputs;
  const char *type; /* of output 0 after infer; NULL: infer refuses it */
  const char *want; /* output 0; NULL: eval refuses it */
} list_case;

typedef struct list_run {
  hn_arena arena;
  hone_dims dims;
  hn_diag_entry entries[8];
  hone_diagnostics diag;
  hone_tensor in[MOST_INPUTS], out[HONE_MAX_PORTS];
  hone_fact in_facts[MOST_INPUTS], out_facts[HONE_MAX_PORTS];
  int in_count;
} list_run;

static const struct {
  const char *name;
  hone_kind kind;
} kinds[] = {{"optseq{", HONE_OPTIONAL_SEQUENCE}, {"opt{", HONE_OPTIONAL}, {"seq{", HONE_SEQUENCE}};

static hone_dtype read_dtype(const char **at) {
  char name[16] = {0};
  const size_t length = strcspn(*at, "[};");
  assert_true(length < sizeof name);
  memcpy(name, *at, length);
  *at += length;
  const hone_dtype dtype = hone_dtype_find(name);
  assert_int_not_equal(dtype, HONE_NONE);
  return dtype;
}

static hone_tensor read_tensor(list_run *run, const char **at) {
  hone_tensor tensor = {.type = {.kind = HONE_TENSOR, .dtype = read_dtype(at)}};
  assert_int_equal(**at, '[');
  for (++*at; **at != ']'; *at += **at == ',')
    tensor.type.shape.dim[tensor.type.shape.rank++] = strtoll(*at, (char **)(uintptr_t)at, 10);
  *at += 1;
  tensor.bytes = hn_bytes(&tensor.type);
  tensor.data = hn_arena_zero(&run->arena, tensor.bytes + 16, 1);
  for (int64_t i = 0; i < hn_elems(&tensor.type.shape); ++i) {
    ++*at; /* the = or the comma */
    hn_store_real(&tensor, i, strtod(*at, (char **)(uintptr_t)at));
  }
  return tensor;
}

static hone_tensor read_value(list_run *run, const char **at) {
  for (size_t k = 0; k < HN_COUNT(kinds); ++k) {
    if (strncmp(*at, kinds[k].name, strlen(kinds[k].name)) != 0) continue;
    *at += strlen(kinds[k].name);
    hone_tensor *items = hn_arena_zero(&run->arena, MOST_ITEMS, sizeof *items);
    hone_tensor list = {.type = {.kind = kinds[k].kind, .shape = {.rank = 1}}, .data = items};
    const char *end = *at + strcspn(*at, "[{}");
    if (*end == '}') {
      list.type.dtype = read_dtype(at);
    } else {
      for (; **at != '}'; *at += **at == ';') items[list.type.shape.dim[0]++] = read_value(run, at);
      list.type.dtype = items[0].type.dtype;
    }
    ++*at;
    list.bytes = (size_t)list.type.shape.dim[0] * sizeof *items;
    return list;
  }
  return read_tensor(run, at);
}

/* As the graph knows it: of a list the type of its elements, where they have one. */
static hone_type type_of(const hone_tensor *value) {
  hone_type type = value->type;
  if (type.kind == HONE_TENSOR) return type;
  const hone_tensor *items = hn_list_items(value);
  const int64_t count = value->type.shape.dim[0];
  type.shape.rank = -1;
  if (count > 0) type.shape = type_of(&items[0]).shape;
  for (int64_t i = 1; i < count; ++i)
    if (!hn_shape_equal(&items[i].type.shape, &type.shape)) type.shape.rank = -1;
  return type;
}

static void read_inputs(list_run *run, const char *text) {
  for (const char *at = text; *at; at += *at == ' ') {
    const int i = run->in_count++;
    assert_true(i < MOST_INPUTS);
    if (*at == '-') {
      ++at;
      continue;
    }
    run->in[i] = read_value(run, &at);
    run->in_facts[i].type = type_of(&run->in[i]);
  }
}

static void write_value(hn_text *text, const hone_tensor *value) {
  for (size_t k = 0; k < HN_COUNT(kinds); ++k) {
    if (value->type.kind != kinds[k].kind) continue;
    const int64_t count = value->type.shape.dim[0];
    hn_text_add(text, kinds[k].name);
    if (count == 0) hn_text_add(text, hone_dtype_name(value->type.dtype));
    for (int64_t i = 0; i < count; ++i) {
      if (i > 0) hn_text_add(text, ";");
      write_value(text, &hn_list_items(value)[i]);
    }
    hn_text_add(text, "}");
    return;
  }
  hn_text_type(text, &value->type, NULL);
  for (int64_t i = 0; i < hn_elems(&value->type.shape); ++i)
    hn_text_printf(text, "%c%g", i > 0 ? ',' : '=', hn_real(value, i));
}

static void *keep(hone_eval *eval, size_t bytes) {
  return hn_arena_alloc(&((list_run *)eval->host)->arena, bytes + 1, 64);
}

static hone_status resize(hone_eval *eval, int output, int rank, const int64_t *dims) {
  hone_tensor *out = &eval->out[output];
  out->type.shape = hn_shape(rank, dims);
  out->bytes = out->type.kind == HONE_TENSOR ? hn_bytes(&out->type) : (size_t)dims[0] * sizeof(hone_tensor);
  out->data = hn_arena_zero(&((list_run *)eval->host)->arena, out->bytes + 16, 1);
  return HONE_OK;
}

static void read_attrs(list_run *run, const hone_op *op, const char *text, hone_attrs *out) {
  hone_attr items[HONE_MAX_ATTRS];
  hone_attrs given = {0, items};
  char *words = hn_arena_text(&run->arena, text), *rest = NULL;
  for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
    char *value = strchr(word, '=');
    int64_t *ints = HN_NEW(&run->arena, int64_t, 2);
    assert_non_null(value);
    *value++ = 0;
    hone_attr *attr = &items[given.count++];
    *attr = (hone_attr){.name = word, .kind = HONE_ATTR_INT, .i = strtoll(value, NULL, 10)};
    if (!strchr(value, ',')) continue;
    ints[0] = attr->i;
    ints[1] = strtoll(strchr(value, ',') + 1, NULL, 10);
    *attr = (hone_attr){.name = word, .kind = HONE_ATTR_INTS, .count = 2, .ints = ints};
  }
  assert_int_equal(hn_attrs_complete(&run->arena, &run->diag, op, &given, out), HONE_OK);
}

static void check_text(const list_case *c, const char *what, const hn_text *got, const char *want) {
  if (strcmp(hn_text_string(got), want) != 0)
    fail_msg("%s: %s is %s, want %s", c->what, what, hn_text_string(got), want);
}

static void check_eval(const list_case *c, list_run *run, const hone_op *op, const hone_attrs *attrs) {
  hone_eval eval = {.op = op,
                    .attrs = attrs,
                    .in_count = run->in_count,
                    .out_count = 1,
                    .in = run->in,
                    .out = run->out,
                    .resize = resize,
                    .keep = keep,
                    .host = run,
                    .diagnostics = &run->diag};
  run->out[0].type = run->out_facts[0].type;
  const hone_type *type = &run->out[0].type;
  if (type->kind == HONE_TENSOR && hn_shape_known(&type->shape)) resize(&eval, 0, type->shape.rank, type->shape.dim);
  const hone_status status = op->eval(&eval, NULL);
  if ((status == HONE_OK) != (c->want != NULL) || (status == HONE_OK) != (run->diag.count == 0))
    fail_msg("%s: eval gives %d (%s)", c->what, status, run->diag.count ? run->entries[0].text : "no message");
  if (status != HONE_OK) return;
  hn_text text;
  hn_text_init(&text, hn_allocator_default());
  write_value(&text, &run->out[0]);
  check_text(c, "the output", &text, c->want);
  hn_text_deinit(&text);
}

static void check_case(const list_case *c) {
  list_run run = {0};
  hone_attrs attrs;
  const hone_op *op = hn_op_find(hn_builtin_ops(), c->op);
  assert_non_null(op);
  hn_arena_init(&run.arena, hn_allocator_default());
  hn_dims_init(&run.dims, &run.arena);
  hn_diag_init(&run.diag, run.entries, 8);
  read_inputs(&run, c->inputs);
  read_attrs(&run, op, c->attrs, &attrs);
  hone_infer infer = {.op = op,
                      .attrs = &attrs,
                      .in_count = run.in_count,
                      .out_count = 1,
                      .in = run.in_facts,
                      .out = run.out_facts,
                      .dims = &run.dims,
                      .diagnostics = &run.diag,
                      .arena = &run.arena};
  hone_status status = hn_ports_bind(&run.diag, op, run.in_count, run.in_facts, 1, run.out_facts);
  if (status == HONE_OK) status = op->infer(&infer);
  if ((status == HONE_OK) != (c->type != NULL) || (status == HONE_OK) != (run.diag.count == 0))
    fail_msg("%s: infer gives %d (%s)", c->what, status, run.diag.count ? run.entries[0].text : "no message");
  if (status == HONE_OK) {
    hn_text text;
    hn_text_init(&text, hn_allocator_default());
    hn_text_type(&text, &run.out_facts[0].type, NULL);
    check_text(c, "the type", &text, c->type);
    hn_text_deinit(&text);
    check_eval(c, &run, op, &attrs);
  }
  hn_arena_deinit(&run.arena);
}

static void check_cases(const list_case *cases, size_t count) {
  for (size_t i = 0; i < count; ++i) check_case(&cases[i]);
}

#define TWO "seq{i32[2]=1,2;i32[2]=3,4}"
#define THREE "seq{i32[1]=1;i32[2]=2,3;i32[0]}"

static void test_sequences(void **state) {
  (void)state;
  static const list_case cases[] = {
      {"of inputs", "sequence_construct", "", "i32[2]=1,2 i32[2]=3,4", "sequence(i32[2])", TWO},
      {"of inputs of several shapes", "sequence_construct", "", "i32[1]=1 i32[2]=2,3 i32[0]", "sequence(i32[*])",
       THREE},
      {"of nothing", "sequence_construct", "dtype=1", "", "sequence(f32[*])", "seq{f32}"},
      {"of nothing and no type", "sequence_construct", "", "", NULL, NULL},
      {"of two types", "sequence_construct", "", "i32[1]=1 f32[1]=2", NULL, NULL},
      {"of a sequence", "sequence_construct", "", TWO, NULL, NULL},
      {"the first", "sequence_at", "", TWO " i64[]=0", "i32[2]", "i32[2]=1,2"},
      {"the last", "sequence_at", "", TWO " i32[]=-1", "i32[2]", "i32[2]=3,4"},
      {"an empty element", "sequence_at", "", THREE " i64[]=2", "i32[*]", "i32[0]"},
      {"behind the last", "sequence_at", "", TWO " i64[]=2", "i32[2]", NULL},
      {"before the first", "sequence_at", "", TWO " i64[]=-3", "i32[2]", NULL},
      {"of two positions", "sequence_at", "", TWO " i64[2]=0,1", "i32[2]", NULL},
      {"of a tensor", "sequence_at", "", "i32[2]=1,2 i64[]=0", NULL, NULL},
      {"of an empty sequence", "sequence_at", "", "seq{i32} i64[]=0", "i32[*]", NULL},
      {"at the end", "sequence_insert", "", TWO " i32[2]=5,6", "sequence(i32[2])",
       "seq{i32[2]=1,2;i32[2]=3,4;i32[2]=5,6}"},
      {"in front", "sequence_insert", "", TWO " i32[1]=5 i64[]=0", "sequence(i32[*])",
       "seq{i32[1]=5;i32[2]=1,2;i32[2]=3,4}"},
      {"before the last", "sequence_insert", "", TWO " i32[2]=5,6 i64[]=-1", "sequence(i32[2])",
       "seq{i32[2]=1,2;i32[2]=5,6;i32[2]=3,4}"},
      {"at its count", "sequence_insert", "", TWO " i32[2]=5,6 i64[]=2", "sequence(i32[2])",
       "seq{i32[2]=1,2;i32[2]=3,4;i32[2]=5,6}"},
      {"behind its count", "sequence_insert", "", TWO " i32[2]=5,6 i64[]=3", "sequence(i32[2])", NULL},
      {"into an empty one", "sequence_insert", "", "seq{i32} i32[1]=7", "sequence(i32[*])", "seq{i32[1]=7}"},
      {"of another type", "sequence_insert", "", TWO " f32[2]=5,6", NULL, NULL},
      {"a sequence into one", "sequence_insert", "", TWO " " TWO, NULL, NULL},
      {"without the last", "sequence_erase", "", THREE, "sequence(i32[*])", "seq{i32[1]=1;i32[2]=2,3}"},
      {"without the first", "sequence_erase", "", TWO " i64[]=0", "sequence(i32[2])", "seq{i32[2]=3,4}"},
      {"without the middle", "sequence_erase", "", THREE " i64[]=-2", "sequence(i32[*])", "seq{i32[1]=1;i32[0]}"},
      {"without one that is not there", "sequence_erase", "", TWO " i64[]=2", "sequence(i32[2])", NULL},
      {"without any of none", "sequence_erase", "", "seq{i32}", "sequence(i32[*])", NULL},
      {"as many as", "sequence_length", "", THREE, "i64[]", "i64[]=3"},
      {"none", "sequence_length", "", "seq{f32}", "i64[]", "i64[]=0"},
      {"length of a tensor", "sequence_length", "", "i32[2]=1,2", NULL, NULL},
  };
  check_cases(cases, HN_COUNT(cases));
}

static void test_cutting_and_joining(void **state) {
  (void)state;
  static const list_case cases[] = {
      {"single slices", "split_to_sequence", "", "i32[3]=1,2,3", "sequence(i32[1])", "seq{i32[1]=1;i32[1]=2;i32[1]=3}"},
      {"slices without the axis", "split_to_sequence", "keepdims=0 axis=1", "i32[2,2]=1,2,3,4", "sequence(i32[2])",
       "seq{i32[2]=1,3;i32[2]=2,4}"},
      {"parts of one length", "split_to_sequence", "", "i32[5]=1,2,3,4,5 i64[]=2", "sequence(i32[*])",
       "seq{i32[2]=1,2;i32[2]=3,4;i32[1]=5}"},
      {"parts by a list", "split_to_sequence", "axis=-1", "i32[2,3]=1,2,3,4,5,6 i64[2]=1,2", "sequence(i32[*])",
       "seq{i32[2,1]=1,4;i32[2,2]=2,3,5,6}"},
      {"an empty part", "split_to_sequence", "", "i32[2]=1,2 i64[2]=0,2", "sequence(i32[*])", "seq{i32[0];i32[2]=1,2}"},
      {"keepdims counts without split alone", "split_to_sequence", "keepdims=0", "i32[2]=1,2 i64[]=1",
       "sequence(i32[*])", "seq{i32[1]=1;i32[1]=2}"},
      {"nothing to cut", "split_to_sequence", "", "i32[0,2]", "sequence(i32[1,2])", "seq{i32}"},
      {"too little", "split_to_sequence", "", "i32[3]=1,2,3 i64[2]=1,1", "sequence(i32[*])", NULL},
      {"too much", "split_to_sequence", "", "i32[3]=1,2,3 i64[2]=1,3", "sequence(i32[*])", NULL},
      {"negative", "split_to_sequence", "", "i32[3]=1,2,3 i64[2]=-1,4", "sequence(i32[*])", NULL},
      {"of length 0", "split_to_sequence", "", "i32[3]=1,2,3 i64[]=0", "sequence(i32[*])", NULL},
      {"an axis that is not there", "split_to_sequence", "axis=1", "i32[3]=1,2,3", NULL, NULL},
      {"a sequence is not cut", "split_to_sequence", "", TWO, NULL, NULL},
      {"behind each other", "concat_from_sequence", "axis=0", THREE, "i32[*]", "i32[3]=1,2,3"},
      {"beside each other", "concat_from_sequence", "axis=-1", "seq{i32[2,1]=1,2;i32[2,2]=3,4,5,6}", "i32[*]",
       "i32[2,3]=1,3,4,2,5,6"},
      {"on a new axis, of other extents", "concat_from_sequence", "axis=1 new_axis=1",
       "seq{i32[2,1]=1,2;i32[2,2]=3,4,5,6}", "i32[*]", NULL},
      {"on a new axis of equals", "concat_from_sequence", "axis=1 new_axis=1", TWO, "i32[2,?]", "i32[2,2]=1,3,2,4"},
      {"on an axis that one has", "concat_from_sequence", "axis=0", "seq{i32[1]=1;i32[1,1]=2}", "i32[*]", NULL},
      {"of other extents", "concat_from_sequence", "axis=0", "seq{i32[1,2]=1,2;i32[1,3]=3,4,5}", "i32[*]", NULL},
      {"of nothing", "concat_from_sequence", "axis=0", "seq{i32}", "i32[*]", NULL},
      {"of a tensor", "concat_from_sequence", "axis=0", "i32[2]=1,2", NULL, NULL},
  };
  check_cases(cases, HN_COUNT(cases));
}

static void test_optionals(void **state) {
  (void)state;
  static const list_case cases[] = {
      {"of a tensor", "optional", "", "i32[2]=1,2", "optional(i32[2])", "opt{i32[2]=1,2}"},
      {"of a sequence", "optional", "", TWO, "optional_sequence(i32[2])", "optseq{" TWO "}"},
      {"of nothing", "optional", "type=1,1", "", "optional(f32[*])", "opt{f32}"},
      {"of no sequence", "optional", "type=2,1", "", "optional_sequence(f32[*])", "optseq{f32}"},
      {"of nothing and no type", "optional", "", "", NULL, NULL},
      {"of an optional", "optional", "", "opt{i32[1]=1}", NULL, NULL},
      {"what it holds", "optional_get_element", "", "opt{i32[2]=1,2}", "i32[2]", "i32[2]=1,2"},
      {"the sequence that it holds", "optional_get_element", "", "optseq{" TWO "}", "sequence(i32[2])", TWO},
      {"a tensor", "optional_get_element", "", "i32[2]=1,2", "i32[2]", "i32[2]=1,2"},
      {"a sequence", "optional_get_element", "", TWO, "sequence(i32[2])", TWO},
      {"it holds nothing", "optional_get_element", "", "opt{i32}", "i32[*]", NULL},
      {"holding", "optional_has_element", "", "opt{i32[2]=1,2}", "bool[]", "bool[]=1"},
      {"holding a sequence", "optional_has_element", "", "optseq{seq{i32}}", "bool[]", "bool[]=1"},
      {"holding nothing", "optional_has_element", "", "opt{i32}", "bool[]", "bool[]=0"},
      {"a tensor is there", "optional_has_element", "", "i32[2]=1,2", "bool[]", "bool[]=1"},
      {"an absent input is not", "optional_has_element", "", "-", "bool[]", "bool[]=0"},
  };
  check_cases(cases, HN_COUNT(cases));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sequences), cmocka_unit_test(test_cutting_and_joining),
                                     cmocka_unit_test(test_optionals)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
