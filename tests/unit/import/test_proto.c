/* SPDX-License-Identifier: Apache-2.0 */
/* test_proto.c - the protobuf decoder on bytes written by hand: what it stores, what it refuses and where. */
#include "base/proto.h"
#include "unit/base/faults.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

typedef struct item {
  int64_t number;
  bool has_number;
  const char *name;
  float real;
  hn_proto_bytes raw;
  struct item *child;
  hn_proto_list ints, doubles, names, children;
} item;

static const hn_proto_message item_message;
#define FIELD(at, how, member) .number = (at), .kind = (how), .name = #member, .offset = offsetof(item, member)
static const hn_proto_field item_fields[] = {
    {FIELD(1, HN_PROTO_INT, number), .given_offset = offsetof(item, has_number)},
    {FIELD(2, HN_PROTO_TEXT, name)},
    {FIELD(3, HN_PROTO_FLOAT, real)},
    {FIELD(4, HN_PROTO_BYTES, raw)},
    {FIELD(5, HN_PROTO_MESSAGE, child), .message = &item_message},
    {FIELD(6, HN_PROTO_INTS, ints)},
    {FIELD(7, HN_PROTO_DOUBLES, doubles)},
    {FIELD(8, HN_PROTO_TEXTS, names)},
    {FIELD(9, HN_PROTO_MESSAGES, children), .message = &item_message},
};
static const hn_proto_message item_message = {
    .name = "item", .bytes = sizeof(item), .limit = 1, .field_count = HN_COUNT(item_fields), .fields = item_fields};

static const hn_proto_limits limits = {.text_bytes = 8, .counts = {{"items", 4}}};

typedef struct fixture {
  hn_diag_entry entries[4];
  hone_diagnostics diag;
  hn_arena arena;
} fixture;

static void start(fixture *f) {
  hn_diag_init(&f->diag, f->entries, 4);
  hn_arena_init(&f->arena, hn_allocator_default());
}

static void test_stores(void **state) {
  (void)state;
  static const char bytes[] = "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" /* number: -1 */
                              "\x12\x02hi"                                   /* name */
                              "\x1d\x00\x00\x80\x3f"                         /* real: 1 */
                              "\x22\x03\x00\x01\x02"                         /* raw */
                              "\x2a\x02\x08\x07"                             /* child.number: 7 */
                              "\x30\x05\x32\x03\x06\x80\x01"                 /* ints: 5, then packed 6 and 128 */
                              "\x3a\x08\x00\x00\x00\x00\x00\x00\xf0\x3f"     /* doubles, packed: 1 */
                              "\x42\x01"
                              "a\x42\x00"                /* names: "a", "" */
                              "\x4a\x02\x08\x01\x4a\x00" /* two children */
                              "\xf8\x07\x01";            /* field 127: unknown */
  fixture f;
  start(&f);
  void *out;
  assert_int_equal(hn_proto_decode(&f.diag, &f.arena, &limits, &item_message, bytes, sizeof bytes - 1, &out), HONE_OK);
  const item *root = out;
  assert_true(root->number == -1 && root->has_number && root->real == 1.0f);
  assert_string_equal(root->name, "hi");
  assert_true(root->raw.length == 3 && root->raw.data[2] == 2);
  assert_true(root->raw.data > (const uint8_t *)bytes && root->raw.data < (const uint8_t *)bytes + sizeof bytes);
  assert_true(root->child->number == 7 && !root->child->child);
  assert_string_equal(root->child->name, "");
  const int64_t *ints = root->ints.items;
  assert_true(root->ints.count == 3 && ints[0] == 5 && ints[1] == 6 && ints[2] == 128);
  assert_true(root->doubles.count == 1 && *(const double *)root->doubles.items == 1.0);
  const char *const *names = root->names.items;
  assert_int_equal(root->names.count, 2);
  assert_string_equal(names[0], "a");
  assert_string_equal(names[1], "");
  const item *children = root->children.items;
  assert_true(root->children.count == 2 && children[0].has_number && !children[1].has_number);
  hn_arena_deinit(&f.arena);
}

#define BYTES(text) text, sizeof(text) - 1
static const struct {
  const char *what, *bytes;
  size_t count;
  hone_status want;
  const char *message;
} wrong[] = {
    {"a number that does not end", BYTES("\x08\x80"), HONE_MALFORMED, "byte 2 (item): a number does not end"},
    {"a number of eleven bytes", BYTES("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"), HONE_MALFORMED, "64 bits"},
    {"a number above 64 bits", BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), HONE_MALFORMED, "64 bits"},
    {"a length past the end", BYTES("\x12\x05hi"), HONE_MALFORMED, "the file was cut short"},
    {"a huge length", BYTES("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), HONE_MALFORMED, "the file was cut short"},
    {"a child longer than its parent", BYTES("\x2a\x02\x12\x05"), HONE_MALFORMED, "(child): a length past"},
    {"another wire type", BYTES("\x10\x01"), HONE_MALFORMED, "field name has wire type 0, must have 2"},
    {"a group", BYTES("\x0b"), HONE_MALFORMED, "wire type"},
    {"an unknown group", BYTES("\xfb\x07"), HONE_MALFORMED, "wire type"},
    {"field number 0", BYTES("\x00\x01"), HONE_MALFORMED, "field number"},
    {"a float cut short", BYTES("\x1d\x00\x00"), HONE_MALFORMED, "does not end"},
    {"packed doubles cut short",
     BYTES("\x3a\x03"
           "abc"),
     HONE_MALFORMED, "packed list"},
    {"packed numbers cut short", BYTES("\x32\x02\x01\x80"), HONE_MALFORMED, "packed list"},
    {"a single message twice", BYTES("\x2a\x00\x2a\x00"), HONE_MALFORMED, "given twice"},
    {"a zero byte in a text",
     BYTES("\x12\x03"
           "a\0b"),
     HONE_MALFORMED, "zero byte"},
    {"a long text",
     BYTES("\x12\x09"
           "123456789"),
     HONE_LIMIT, "longer than"},
    {"too many messages", BYTES("\x4a\x00\x4a\x00\x4a\x00\x4a\x00\x4a\x00"), HONE_LIMIT, "more than 4 items"},
    {"the way to a message", BYTES("\x4a\x00\x4a\x04\x2a\x02\x08\x80"), HONE_MALFORMED, "(children[1].child)"},
};

static void test_refuses(void **state) {
  (void)state;
  for (size_t i = 0; i < HN_COUNT(wrong); ++i) {
    fixture f;
    start(&f);
    void *out;
    const hone_status got =
        hn_proto_decode(&f.diag, &f.arena, &limits, &item_message, wrong[i].bytes, wrong[i].count, &out);
    if (got != wrong[i].want || out || f.diag.count != 1 || !strstr(f.entries[0].text, wrong[i].message))
      fail_msg("%s: %s, %s", wrong[i].what, hone_status_name(got), f.diag.count ? f.entries[0].text : "no message");
    hn_arena_deinit(&f.arena);
  }
}

/* A message inside a message, 63 times and once more. */
static void test_depth(void **state) {
  (void)state;
  static const hn_proto_limits wide = {.text_bytes = 8, .counts = {{"items", 1000}}};
  for (int depth = HN_PROTO_MAX_DEPTH - 1; depth <= HN_PROTO_MAX_DEPTH; ++depth) {
    uint8_t bytes[2 * HN_PROTO_MAX_DEPTH];
    for (int i = 0; i < depth; ++i) {
      bytes[2 * i] = 0x2a;
      bytes[2 * i + 1] = (uint8_t)(2 * (depth - 1 - i));
    }
    fixture f;
    start(&f);
    void *out;
    const hone_status got = hn_proto_decode(&f.diag, &f.arena, &wide, &item_message, bytes, (size_t)depth * 2, &out);
    assert_int_equal(got, depth < HN_PROTO_MAX_DEPTH ? HONE_OK : HONE_LIMIT);
    hn_arena_deinit(&f.arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_stores),
      cmocka_unit_test(test_refuses),
      cmocka_unit_test(test_depth),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
