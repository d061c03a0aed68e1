/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_mutate.c - one row a kind of change: fields dropped, doubled, swapped, taken from another model; numbers, names,
 * dims, opsets and element types changed; graphs cut. */
#include "onnx_mutate.h"
#include <stdlib.h>
#include <string.h>

typedef struct mutator {
  onnx_tree *tree;
  const onnx_tree *donor;
  hn_random *random;
} mutator;

typedef bool (*wanted)(const onnx_tree *tree, int field, const void *user);

/* Marks what the model can reach: a field that was dropped must not be drawn. */
static void mark(const onnx_tree *tree, int field, bool *reached) {
  for (int child = tree->fields[field].first; child; child = tree->fields[child].next) {
    reached[child] = true;
    mark(tree, child, reached);
  }
}

/* One of the fields that are wanted; 0: there is none. */
static int pick(const onnx_tree *tree, hn_random *random, wanted wants, const void *user) {
  bool *reached = calloc((size_t)tree->count, sizeof *reached);
  if (!reached) abort();
  mark(tree, 0, reached);
  int found = 0;
  uint64_t seen = 0;
  for (int i = 1; i < tree->count; ++i)
    if (reached[i] && wants(tree, i, user) && campaign_below(random, ++seen) == 0) found = i;
  free(reached);
  return found;
}

typedef struct kind_of {
  onnx_message owner;
  uint32_t number;
} kind_of;

static bool is_kind(const onnx_tree *tree, int field, const void *user) {
  const kind_of *kind = user;
  return tree->fields[field].owner == kind->owner && tree->fields[field].number == kind->number;
}
static bool is_any(const onnx_tree *tree, int field, const void *user) {
  (void)user;
  return tree->fields[field].owner != M_NONE || field == 0;
}
static bool is_form(const onnx_tree *tree, int field, const void *user) {
  return tree->fields[field].form == *(const onnx_form *)user;
}
static bool is_message(const onnx_tree *tree, int field, const void *user) {
  return tree->fields[field].form == F_MESSAGE && tree->fields[field].message == *(const onnx_message *)user;
}

static int pick_kind(const mutator *m, onnx_message owner, uint32_t number) {
  const kind_of kind = {owner, number};
  return pick(m->tree, m->random, is_kind, &kind);
}

/* The place that refers to a field. */
static int *link_to(onnx_tree *tree, int field) {
  for (int i = 0; i < tree->count; ++i) {
    if (tree->fields[i].first == field) return &tree->fields[i].first;
    if (tree->fields[i].next == field) return &tree->fields[i].next;
  }
  return NULL;
}

static void drop_field(onnx_tree *tree, int field) {
  int *link = link_to(tree, field);
  if (link) *link = tree->fields[field].next;
}

static void insert_after(onnx_tree *tree, int field, int fresh) {
  if (fresh < 0) return;
  tree->fields[fresh].next = tree->fields[field].next;
  tree->fields[field].next = fresh;
}

static void set_text(onnx_tree *tree, int field, const char *text) {
  tree->fields[field].bytes = (const uint8_t *)text;
  tree->fields[field].count = strlen(text);
}

static void drop(const mutator *m) {
  const int field = pick(m->tree, m->random, is_any, NULL);
  if (field) drop_field(m->tree, field);
}

static void twice(const mutator *m) {
  const int field = pick(m->tree, m->random, is_any, NULL);
  if (field) insert_after(m->tree, field, onnx_tree_copy(m->tree, m->tree, field));
}

/* What two fields of the same kind hold changes places. */
static void swap(const mutator *m) {
  const int a = pick(m->tree, m->random, is_any, NULL);
  if (!a) return;
  const int b = pick_kind(m, m->tree->fields[a].owner, m->tree->fields[a].number);
  if (!b || b == a || m->tree->fields[a].form == F_MESSAGE) return; /* a message might hold the other */
  const onnx_field was = m->tree->fields[a];
  m->tree->fields[a].value = m->tree->fields[b].value;
  m->tree->fields[a].bytes = m->tree->fields[b].bytes;
  m->tree->fields[a].count = m->tree->fields[b].count;
  m->tree->fields[b].value = was.value;
  m->tree->fields[b].bytes = was.bytes;
  m->tree->fields[b].count = was.count;
}

static uint64_t some_number(hn_random *random, uint64_t now) {
  static const int64_t numbers[] = {0,
                                    1,
                                    2,
                                    3,
                                    4,
                                    5,
                                    7,
                                    8,
                                    16,
                                    17,
                                    33,
                                    64,
                                    127,
                                    128,
                                    255,
                                    1000,
                                    4096,
                                    65536,
                                    -1,
                                    -2,
                                    -3,
                                    -8,
                                    INT32_MAX,
                                    INT32_MIN,
                                    (int64_t)INT32_MAX + 1,
                                    (int64_t)1 << 40,
                                    (int64_t)1 << 62,
                                    -((int64_t)1 << 62),
                                    INT64_MAX,
                                    INT64_MIN,
                                    INT64_MAX - 1};
  const uint64_t way = campaign_below(random, 8);
  if (way < 2) return now + 1 + campaign_below(random, 2);
  if (way < 4) return now - 1 - campaign_below(random, 2);
  if (way < 6) return campaign_below(random, 6);
  return (uint64_t)numbers[campaign_below(random, sizeof numbers / sizeof *numbers)];
}

static void number(const mutator *m) {
  const onnx_form form = F_NUMBER;
  const int field = pick(m->tree, m->random, is_form, &form);
  if (field) m->tree->fields[field].value = some_number(m->random, m->tree->fields[field].value);
}

static void number_of(const mutator *m, onnx_message owner, uint32_t number) {
  const int field = pick_kind(m, owner, number);
  if (field) m->tree->fields[field].value = some_number(m->random, m->tree->fields[field].value);
}
static void attribute_int(const mutator *m) { number_of(m, M_ATTRIBUTE, campaign_below(m->random, 2) ? 3 : 8); }
static void dim_value(const mutator *m) { number_of(m, M_DIM, 1); }
static void tensor_dim(const mutator *m) { number_of(m, M_TENSOR, 1); }
static void int64_data(const mutator *m) { number_of(m, M_TENSOR, campaign_below(m->random, 2) ? 7 : 5); }

static void element_type(const mutator *m) {
  const int field = campaign_below(m->random, 2) ? pick_kind(m, M_TENSOR_TYPE, 1) : pick_kind(m, M_TENSOR, 2);
  if (field) m->tree->fields[field].value = campaign_below(m->random, 27);
}

static void opset(const mutator *m) {
  const int field = pick_kind(m, M_OPSET, 2);
  if (field) m->tree->fields[field].value = 1 + campaign_below(m->random, 27);
}

static void real(const mutator *m) {
  static const uint32_t bits[] = {0,          0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000,
                                  0x7f7fffff, 1,          0x00400000, 0x4f000000, 0x5f000000, 0x3f000000};
  const onnx_form form = F_FIXED;
  const int field = pick(m->tree, m->random, is_form, &form);
  if (!field || m->tree->fields[field].count != 4) return;
  m->tree->fields[field].bytes = (const uint8_t *)&bits[campaign_below(m->random, sizeof bits / sizeof *bits)];
}

/* A name becomes another of the model, so that nodes read what they did not, or nothing. */
static void rewire(const mutator *m) {
  static const kind_of names[] = {{M_NODE, 1}, {M_NODE, 1}, {M_NODE, 2}, {M_VALUE, 1}, {M_TENSOR, 8}};
  const uint64_t count = sizeof names / sizeof *names;
  const kind_of to = names[campaign_below(m->random, count)], from = names[campaign_below(m->random, count)];
  const int field = pick_kind(m, to.owner, to.number), other = pick_kind(m, from.owner, from.number);
  if (!field || !other) return;
  m->tree->fields[field].bytes = m->tree->fields[other].bytes;
  m->tree->fields[field].count = m->tree->fields[other].count;
}

static void empty_name(const mutator *m) {
  const int field = pick_kind(m, M_NODE, 1 + (uint32_t)campaign_below(m->random, 2));
  if (field) set_text(m->tree, field, "");
}

static void empty_text(const mutator *m) {
  const onnx_form form = F_TEXT;
  const int field = pick(m->tree, m->random, is_form, &form);
  if (field) set_text(m->tree, field, campaign_below(m->random, 4) ? "" : "x");
}

/* What a field holds is taken from the donor's field of the same kind: operators, attributes, tensors, types. */
static void graft(const mutator *m) {
  const int field = pick(m->tree, m->random, is_any, NULL);
  if (!field) return;
  const kind_of kind = {m->tree->fields[field].owner, m->tree->fields[field].number};
  const int other = pick(m->donor, m->random, is_kind, &kind);
  if (!other) return;
  const int fresh = onnx_tree_copy(m->tree, m->donor, other);
  insert_after(m->tree, field, fresh);
  if (fresh >= 0 && campaign_below(m->random, 3)) drop_field(m->tree, field);
}

static void other_operator(const mutator *m) {
  const int field = pick_kind(m, M_NODE, 4);
  const kind_of kind = {M_NODE, 4};
  const int other = pick(m->donor, m->random, is_kind, &kind);
  if (!field || !other) return;
  m->tree->fields[field].bytes = m->donor->fields[other].bytes;
  m->tree->fields[field].count = m->donor->fields[other].count;
}

/* Dims become free, under a name that others may have. */
static void free_dims(const mutator *m) {
  static const char *const names[] = {"N", "N", "M", "K", "", "?"};
  const onnx_message dim = M_DIM;
  const int rounds = 1 + (int)campaign_below(m->random, 3);
  for (int i = 0; i < rounds; ++i) {
    const int field = pick(m->tree, m->random, is_message, &dim);
    if (!field) return;
    const int fresh = onnx_tree_add(m->tree, (onnx_field){.owner = M_DIM, .number = 2, .form = F_TEXT});
    if (fresh < 0) return;
    set_text(m->tree, fresh, names[campaign_below(m->random, sizeof names / sizeof *names)]);
    m->tree->fields[field].first = fresh;
  }
}

/* All dims of all inputs of one extent become free: what exporters do. */
static void free_extent(const mutator *m) {
  const int chosen = pick_kind(m, M_DIM, 1);
  if (!chosen) return;
  const uint64_t extent = m->tree->fields[chosen].value;
  for (int i = 1; i < m->tree->count; ++i) {
    onnx_field *f = &m->tree->fields[i];
    if (f->owner != M_DIM || f->number != 1 || f->value != extent) continue;
    *f = (onnx_field){.owner = M_DIM, .number = 2, .form = F_TEXT, .next = f->next};
    set_text(m->tree, i, "N");
  }
}

/* The first output becomes what some node makes, without a shape: the rest of the graph is cut off. */
static void cut(const mutator *m) {
  const int output = pick_kind(m, M_GRAPH, 12), made = pick_kind(m, M_NODE, 2);
  if (!output || !made) return;
  for (int child = m->tree->fields[output].first; child; child = m->tree->fields[child].next) {
    onnx_field *f = &m->tree->fields[child];
    if (f->number == 1) {
      f->bytes = m->tree->fields[made].bytes;
      f->count = m->tree->fields[made].count;
    }
    if (f->number == 2) f->first = 0;
  }
}

/* Raw data and strings grow shorter or longer than their dims say. */
static void raw_length(const mutator *m) {
  const int field = campaign_below(m->random, 3) ? pick_kind(m, M_TENSOR, 9) : pick_kind(m, M_ATTRIBUTE, 4);
  if (field) m->tree->fields[field].count = (size_t)campaign_below(m->random, m->tree->fields[field].count + 1);
}

/* An initializer that goes becomes what the caller gives, where it is an input too; else it is missing. */
static void drop_initializer(const mutator *m) {
  const int field = pick_kind(m, M_GRAPH, 5);
  if (field) drop_field(m->tree, field);
}

static void drop_port(const mutator *m) {
  const int field = pick_kind(m, M_NODE, 1 + (uint32_t)campaign_below(m->random, 2));
  if (field) drop_field(m->tree, field);
}

static void drop_attribute(const mutator *m) {
  const int field = pick_kind(m, M_NODE, 5);
  if (field) drop_field(m->tree, field);
}

static const struct {
  void (*change)(const mutator *m);
  int weight;
} changes[] = {{drop, 3},
               {twice, 3},
               {swap, 3},
               {number, 4},
               {attribute_int, 6},
               {dim_value, 4},
               {tensor_dim, 3},
               {int64_data, 4},
               {element_type, 3},
               {opset, 4},
               {real, 1},
               {rewire, 4},
               {empty_name, 3},
               {empty_text, 1},
               {graft, 4},
               {other_operator, 5},
               {free_dims, 5},
               {free_extent, 4},
               {cut, 1},
               {raw_length, 1},
               {drop_initializer, 1},
               {drop_port, 3},
               {drop_attribute, 2}};

void onnx_mutate(onnx_tree *tree, const onnx_tree *donor, hn_random *random) {
  const mutator m = {tree, donor, random};
  int total = 0;
  for (size_t i = 0; i < sizeof changes / sizeof *changes; ++i) total += changes[i].weight;
  const int rounds = 1 + (int)campaign_below(random, 4);
  for (int round = 0; round < rounds; ++round) {
    int k = (int)campaign_below(random, (uint64_t)total);
    size_t i = 0;
    while (k >= changes[i].weight) k -= changes[i++].weight;
    changes[i].change(&m);
  }
}
