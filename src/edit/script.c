/* SPDX-License-Identifier: Apache-2.0 */
/* script.c - the lines of a script: one edit each, by rows. Lines end with a newline or `;`; # begins a comment. */
#include "edit/words.h"
#include "tensor/shape.h"
#include <hone/tensor_io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAMES = 1024 };

typedef struct edit_row {
  const char *name, *usage;
  hone_status (*run)(hn_words *words);
} edit_row;

static hone_status arrow(hn_words *words) {
  return hn_words_ahead(words, "->") ? HONE_OK : hn_words_fail(words, "expected ->");
}

static hone_status run_extract(hn_words *words) {
  hone_model *model = words->model;
  const char **in = HN_NEW(&model->arena, const char *, MAX_NAMES),
             **out = HN_NEW(&model->arena, const char *, MAX_NAMES);
  int in_count, out_count;
  if (!in || !out) return HN_FAIL_MEMORY(&model->context->diag);
  HN_TRY(hn_words_list(words, "a value", 0, in, MAX_NAMES, &in_count));
  HN_TRY(arrow(words));
  HN_TRY(hn_words_list(words, "a value", 1, out, MAX_NAMES, &out_count));
  HN_TRY(hn_words_end(words));
  return hn_edit_extract(model, in, in_count, out, out_count);
}

static hone_status split(hn_words *words, bool behind) {
  const char **values = HN_NEW(&words->model->arena, const char *, MAX_NAMES);
  int count;
  if (!values) return HN_FAIL_MEMORY(&words->model->context->diag);
  HN_TRY(hn_words_list(words, "a value", 1, values, MAX_NAMES, &count));
  HN_TRY(hn_words_end(words));
  return hn_edit_split(words->model, values, count, behind);
}
static hone_status run_before(hn_words *words) { return split(words, false); }
static hone_status run_behind(hn_words *words) { return split(words, true); }

static hone_status each_name(hn_words *words, const char *what, hone_status (*edit)(hone_model *, const char *)) {
  do {
    const char *name;
    HN_TRY(hn_words_name(words, what, &name));
    HN_TRY(edit(words->model, name));
  } while (hn_words_ahead(words, ","));
  return hn_words_end(words);
}

static hone_status run_remove(hn_words *words) { return each_name(words, "a node", hn_edit_remove_node); }
static hone_status run_output(hn_words *words) {
  if (hn_words_ahead(words, "*")) return hn_edit_add_all_outputs(words->model);
  return each_name(words, "a value", hn_edit_add_output);
}
static hone_status run_drop(hn_words *words) { return each_name(words, "an output", hn_edit_drop_output); }

static hone_status run_rename(hn_words *words) {
  const char *from, *to;
  HN_TRY(hn_words_name(words, "a name", &from));
  HN_TRY(arrow(words));
  HN_TRY(hn_words_name(words, "the new name", &to));
  HN_TRY(hn_words_end(words));
  return hn_edit_rename(words->model, from, to);
}

static hone_status run_type(hn_words *words) {
  const char *value, *type;
  HN_TRY(hn_words_name(words, "a value", &value));
  HN_TRY(hn_words_type(words, &type));
  HN_TRY(hn_words_end(words));
  return hn_edit_set_type(words->model, value, type);
}

static hone_status run_fold(hn_words *words) {
  HN_TRY(hn_words_end(words));
  return hn_edit_fold(words->model);
}

/* constant NAME f32[2] 1 2: one number fills the tensor. */
static hone_status run_constant(hn_words *words) {
  hone_model *model = words->model;
  const char *name, *text;
  HN_TRY(hn_words_name(words, "a name", &name));
  HN_TRY(hn_words_type(words, &text));
  const size_t letters = strcspn(text, "[");
  char word[16];
  hone_tensor tensor = {.type = {.kind = HONE_TENSOR}};
  (void)snprintf(word, sizeof word, "%.*s", (int)letters, text);
  tensor.type.dtype = hone_dtype_find(word);
  if (!(HONE_BIT(tensor.type.dtype) & (HONE_TYPES_NUMBER | HONE_BIT(HONE_BOOL))))
    return hn_words_fail(words, "%s: constants are of f32, i64 and their like, as f32[2]", text);
  int64_t count = 1;
  for (const char *at = text + letters; *at && *at != ']' && at[1] != ']';) {
    char *end;
    const long long dim = strtoll(++at, &end, 10);
    if (end == at || dim < 0 || dim > 1 << 20 || tensor.type.shape.rank == HONE_MAX_RANK || (count *= dim) > 1 << 20)
      return hn_words_fail(words, "%s: dims of a constant are numbers, and it has at most 2^20 elements", text);
    tensor.type.shape.dim[tensor.type.shape.rank++] = dim;
    at = end;
  }
  tensor.bytes = hn_bytes(&tensor.type);
  tensor.data = hn_arena_zero(&model->arena, 1, tensor.bytes + 1);
  if (!tensor.data) return HN_FAIL_MEMORY(&model->context->diag);
  int64_t given = 0;
  for (;; ++given) {
    char *end;
    HN_TRY(hn_words_next(words));
    if (!*words->word) break;
    const double value = strtod(words->word, &end);
    if (*end || given == count)
      return hn_words_fail(words, *end ? "expected a number, not %s" : "%s is too much: the type has fewer elements",
                           words->word);
    hone_tensor_set_real(&tensor, given, value);
  }
  if (given != count && given != 1)
    return hn_words_fail(words, "%s has %lld elements, and %lld numbers are given; allowed: as many, or 1", name,
                         (long long)count, (long long)given);
  for (int64_t i = 1; given == 1 && i < count; ++i) hone_tensor_set_real(&tensor, i, hone_tensor_real(&tensor, 0));
  return hn_edit_add_tensor(model, name, &tensor);
}

/* insert OP(VALUE, ..., attr=N) -> VALUE [for VALUE] */
static hone_status run_insert(hn_words *words) {
  hone_model *model = words->model;
  hn_edit_term *term;
  const char *instead_of = NULL;
  HN_TRY(hn_words_term(words, &term));
  if (!term->op) return hn_words_fail(words, "expected an operator, as Relu(%s)", term->name);
  hn_edit_node *node = HN_NEW(&model->arena, hn_edit_node, 1);
  const char **names = HN_NEW(&model->arena, const char *, HN_EDIT_MAX_IN + 1);
  const char **in = HN_NEW(&model->arena, const char *, term->in_count + 1);
  if (!node || !names || !in) return HN_FAIL_MEMORY(&model->context->diag);
  *node = (hn_edit_node){.op = term->op,
                         .domain = term->domain,
                         .in_count = term->in_count,
                         .attr_count = term->attr_count,
                         .in = in,
                         .out = names,
                         .attrs = term->attrs};
  for (int i = 0; i < term->in_count; ++i) {
    if (term->in[i]->op)
      return hn_words_fail(words, "insert takes one operator; the operands of %s are values", term->op);
    in[i] = term->in[i]->name;
  }
  HN_TRY(arrow(words));
  HN_TRY(hn_words_list(words, "the name of what it writes", 1, names, HN_EDIT_MAX_IN, &node->out_count));
  if (hn_words_ahead(words, "for")) HN_TRY(hn_words_name(words, "a value", &instead_of));
  HN_TRY(hn_words_end(words));
  node->name = hn_edit_new_name(model, hn_arena_printf(&model->arena, "%s_node", names[0]));
  return node->name ? hn_edit_insert(model, node, instead_of) : HN_FAIL_MEMORY(&model->context->diag);
}

static hone_status run_replace(hn_words *words) {
  hn_edit_term *find, *put;
  int count;
  HN_TRY(hn_words_term(words, &find));
  HN_TRY(arrow(words));
  HN_TRY(hn_words_term(words, &put));
  HN_TRY(hn_words_end(words));
  return hn_edit_replace(words->model, find, put, &count);
}

static const edit_row rows[] = {
    {"extract", "extract [VALUE, ...] -> VALUE, ...", run_extract},
    {"before", "before VALUE, ...", run_before},
    {"behind", "behind VALUE, ...", run_behind},
    {"insert", "insert OP(VALUE, ..., ATTRIBUTE=N) -> VALUE [for VALUE]", run_insert},
    {"remove", "remove NODE, ...", run_remove},
    {"rename", "rename NAME -> NAME", run_rename},
    {"type", "type VALUE f32[1,3,N,?]", run_type},
    {"output", "output VALUE, ...", run_output},
    {"drop", "drop OUTPUT, ...", run_drop},
    {"constant", "constant NAME f32[2] 1 2", run_constant},
    {"replace", "replace OP(OP(x, y), z) -> OP(x, y, z)", run_replace},
    {"fold", "fold", run_fold},
};

static hone_status run_line(hn_words *words) {
  const char *near = NULL;
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    near = hone_nearest_name(words->word, near, rows[i].name);
    if (strcmp(words->word, rows[i].name) != 0) continue;
    const hone_status status = rows[i].run(words);
    words->model->types_known = false;
    return status == HONE_OK
               ? status
               : hone_note(&words->model->context->diag, status, "in line %d; usage: %s", words->line, rows[i].usage);
  }
  hn_text known;
  hn_text_init(&known, words->model->context->allocator);
  for (size_t i = 0; i < HN_COUNT(rows); ++i) hn_text_printf(&known, "%s%s", i ? ", " : "", rows[i].name);
  const hone_status status =
      near ? hn_words_fail(words, "there is no edit %s; did you mean %s", words->word, near)
           : hn_words_fail(words, "there is no edit %s; known: %s", words->word, hn_text_string(&known));
  hn_text_deinit(&known);
  return status;
}

hone_status hn_edit_run(hone_model *model, const char *script) {
  hn_words words = {.model = model, .at = script, .line = 1};
  for (;;) {
    HN_TRY(hn_check_stop(model->context));
    HN_TRY(hn_words_next(&words));
    if (*words.word || words.quoted) HN_TRY(run_line(&words));
    words.at += strcspn(words.at, "\n;");
    if (!*words.at) return HONE_OK;
    words.line += *words.at == '\n';
    ++words.at;
  }
}
