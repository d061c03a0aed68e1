/* SPDX-License-Identifier: Apache-2.0 */
/* test_shape.c - sizes with overflow, strides, text, attribute lists, and windows that slide. */
#include "tensor/attrs.h"
#include "tensor/shape.h"
#include "tensor/sliding.h"
#include "tensor/storage.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

typedef struct fixture {
  hn_arena arena;
  hn_diag_entry entries[4];
  hone_diagnostics diag;
  hn_text text;
} fixture;

static void begin(fixture *fix) {
  hn_arena_init(&fix->arena, hn_allocator_default());
  hn_diag_init(&fix->diag, fix->entries, 4);
  hn_text_init(&fix->text, hn_allocator_default());
}

static void end(fixture *fix) {
  hn_text_deinit(&fix->text);
  hn_arena_deinit(&fix->arena);
}

static void test_sizes(void **state) {
  (void)state;
  static const struct {
    hone_dtype dtype;
    hone_format format;
    int rank;
    int64_t dims[4];
    bool fits;
    size_t bytes;
  } row[] = {
      {HONE_F32, HONE_PLAIN, 0, {0}, true, 4},
      {HONE_F32, HONE_PLAIN, 2, {3, 5}, true, 60},
      {HONE_I4, HONE_PLAIN, 1, {5}, true, 3},
      {HONE_U2, HONE_PLAIN, 1, {5}, true, 2},
      {HONE_F32, HONE_NCHW16C, 3, {2, 3, 4}, true, 2 * 16 * 4 * 4},
      {HONE_F16, HONE_NCHW8C, 3, {1, 9, 2}, true, 16 * 2 * 2},
      {HONE_F16, HONE_NHWC, 3, {2, 19, 4}, true, 2 * 24 * 4 * 2},
      {HONE_U8, HONE_NHWC, 3, {2, 19, 4}, true, 2 * 32 * 4},
      {HONE_F32, HONE_NCHW16C, 3, {1, INT64_MAX, 2}, false, 0},
      {HONE_F32, HONE_PLAIN, 2, {0, 7}, true, 0},
      {HONE_F32, HONE_PLAIN, 2, {(int64_t)1 << 40, (int64_t)1 << 40}, false, 0},
      {HONE_F32, HONE_PLAIN, 3, {0, (int64_t)1 << 40, (int64_t)1 << 40}, false, 0},
      {HONE_F32, HONE_PLAIN, 1, {INT64_MAX}, false, 0},
      {HONE_C128, HONE_PLAIN, 1, {INT64_MAX / 64}, true, INT64_MAX / 64 * 16},
      {HONE_I8, HONE_PLAIN, 1, {INT64_MAX / 64}, true, INT64_MAX / 64},
      {HONE_F32, HONE_PLAIN, 1, {-1}, false, 0},
      {HONE_F32, HONE_PLAIN, 1, {HONE_SYMBOL_BASE}, false, 0},
      {HONE_F32, HONE_PLAIN, -1, {0}, false, 0},
      {HONE_NONE, HONE_PLAIN, 0, {0}, false, 0},
      {HONE_STRING, HONE_PLAIN, 1, {3}, true, 3 * sizeof(hone_string)},
  };
  for (size_t i = 0; i < HN_COUNT(row); ++i) {
    hone_type type = hn_tensor_type(row[i].dtype, row[i].rank, row[i].dims);
    type.format = row[i].format;
    size_t bytes = 12345;
    assert_int_equal(hn_type_bytes(&type, &bytes), row[i].fits);
    if (row[i].fits) assert_int_equal(bytes, row[i].bytes);
    assert_int_equal(hn_bytes(&type), row[i].fits ? row[i].bytes : 0);
  }
}

static void test_strides(void **state) {
  (void)state;
  const hone_shape to = hn_shape(3, (int64_t[]){2, 3, 4}), from = hn_shape(2, (int64_t[]){3, 1});
  int64_t strides[3], index[3];
  hn_strides(&to, strides);
  assert_true(strides[0] == 12 && strides[1] == 4 && strides[2] == 1);
  for (int64_t i = 0; i < 24; ++i) {
    hn_unflatten(&to, i, index);
    assert_int_equal(hn_flatten(3, index, strides), i);
  }
  hn_broadcast_strides(&from, &to, strides);
  assert_true(strides[0] == 0 && strides[1] == 1 && strides[2] == 0);
}

static void test_type_text(void **state) {
  (void)state;
  fixture fix;
  begin(&fix);
  hone_dims dims;
  hn_dims_init(&dims, &fix.arena);
  hone_type type = hn_tensor_type(HONE_F32, 2, (int64_t[]){hn_dim_named(&dims, "N"), 3});
  hn_text_type(&fix.text, &type, &dims);
  hn_text_add(&fix.text, " ");
  type.format = HONE_NCHW8C;
  hn_text_type(&fix.text, &type, NULL);
  hn_text_add(&fix.text, " ");
  type = (hone_type){.kind = HONE_SEQUENCE, .dtype = HONE_I64, .shape.rank = -1};
  hn_text_type(&fix.text, &type, &dims);
  assert_string_equal(hn_text_string(&fix.text), "f32[N,3] f32[?,3]:nchw8c sequence(i64[*])");
  end(&fix);
}

static hone_type image(hone_dtype dtype, int64_t channels, int64_t width) {
  return hn_tensor_type(dtype, 4, (int64_t[]){2, channels, 1, width});
}

/* Bytes have a block of their own, a cache line. */
static void test_formats(void **state) {
  (void)state;
  const hone_type real = image(HONE_F32, 80, 3), byte = image(HONE_U8, 80, 3), whole = image(HONE_I32, 80, 3);
  assert_true(hn_takes_format(&real, HONE_NCHW16C) && hn_takes_format(&byte, HONE_NCHW64C));
  assert_false(hn_takes_format(&real, HONE_NCHW64C) || hn_takes_format(&byte, HONE_NCHW16C));
  assert_true(hn_takes_format(&whole, HONE_PLAIN) && !hn_takes_format(&whole, HONE_NCHW64C));
  assert_int_equal(hn_storage_fit(&real, HONE_NCHW64C), HONE_PLAIN);
  assert_int_equal(hn_storage_fit(&byte, HONE_NCHW64C), HONE_NCHW64C);
  assert_true(hn_takes_format(&byte, HONE_NHWC) && hn_takes_format(&real, HONE_NHWC) &&
              !hn_takes_format(&whole, HONE_NHWC));
  /* One pixel of whole blocks is plain already. */
  const hone_type real_pixel = image(HONE_F32, 80, 1), pixel = image(HONE_I8, 80, 1), full = image(HONE_I8, 128, 1);
  assert_true(!hn_can_block(&real_pixel) && hn_can_block(&pixel) && !hn_can_block(&full));
  assert_true(hn_reads_as(&full, HONE_NCHW64C) && !hn_reads_as(&pixel, HONE_NCHW64C));
  assert_true(hn_reads_as(&real_pixel, HONE_NCHW16C) && !hn_reads_as(&real_pixel, HONE_NCHW32C));
}

static const hone_op pool = {
    .name = "pool",
    .attr = {HONE_STRING_ATTR("mode", "floor"), HONE_INT_ATTR("axis", -1), HONE_FLOAT_ATTR("alpha", 0.5),
             HONE_OPTIONAL_ATTR("pads", HONE_ATTR_INTS), HONE_NEEDED_ATTR("scales", HONE_ATTR_FLOATS)},
};

static hone_attr ints(const char *name, int64_t count, const int64_t *items) {
  return (hone_attr){.name = name, .kind = HONE_ATTR_INTS, .count = count, .ints = items};
}

static hone_attr text_of(const char *name, const char *text) {
  return (hone_attr){.name = name, .kind = HONE_ATTR_STRING, .count = (int64_t)strlen(text), .s = text};
}

static void test_attrs_complete(void **state) {
  (void)state;
  fixture fix;
  begin(&fix);
  const hone_attr given[] = {ints("pads", 2, (int64_t[]){0, 1}),
                             {.name = "scales", .kind = HONE_ATTR_FLOATS, .count = 2, .floats = (double[]){1, 2.5}},
                             {.name = "axis", .kind = HONE_ATTR_INT, .i = 3}};
  hone_attrs full, copy, changed;
  assert_int_equal(hn_attrs_complete(&fix.arena, &fix.diag, &pool, &(hone_attrs){3, given}, &full), HONE_OK);
  hn_text_attrs(&fix.text, &full, NULL);
  assert_string_equal(hn_text_string(&fix.text), "[mode=\"floor\", axis=3, alpha=0.5, pads=[0,1], scales=[1.0,2.5]]");
  hn_text_clear(&fix.text);
  hn_text_attrs(&fix.text, &full, &pool);
  assert_string_equal(hn_text_string(&fix.text), "[axis=3, pads=[0,1], scales=[1.0,2.5]]");
  assert_int_equal(hn_attrs_copy(&fix.arena, &full, &copy), HONE_OK);
  assert_true(hn_attrs_equal(&full, &copy));
  const hone_attr other[] = {text_of("mode", "ceil"), given[0], given[1], given[2]};
  assert_int_equal(hn_attrs_complete(&fix.arena, &fix.diag, &pool, &(hone_attrs){4, other}, &changed), HONE_OK);
  assert_string_equal(hn_attr_text(&changed, "mode"), "ceil");
  assert_false(hn_attrs_equal(&full, &changed));
  assert_int_equal(hn_attr_ints_at(&full, "pads", 1, 9), 1);
  assert_int_equal(hn_attr_ints_at(&full, "pads", 2, 9), 9);
  assert_int_equal(hn_attr_int(&full, "absent"), 0);
  assert_int_equal(fix.diag.count, 0);
  end(&fix);
}

static void test_attrs_refused(void **state) {
  (void)state;
  fixture fix;
  begin(&fix);
  const hone_attr scales = {.name = "scales", .kind = HONE_ATTR_INTS, .count = 0}; /* an empty list of any kind */
  const hone_attr unknown[] = {scales, {.name = "colour", .kind = HONE_ATTR_INT}};
  const hone_attr wrong[] = {scales, {.name = "alpha", .kind = HONE_ATTR_INT, .i = 1}};
  const hone_attr twice[] = {scales, scales};
  const struct {
    hone_attrs given;
    const char *want;
  } row[] = {
      {{0, NULL}, "pool needs attribute scales"},
      {{2, unknown}, "pool has no attribute colour"},
      {{2, wrong}, "attribute alpha of pool is a float, not an int"},
      {{2, twice}, "attribute scales of pool is given twice"},
  };
  hone_attrs out;
  for (size_t i = 0; i < HN_COUNT(row); ++i) {
    hn_diag_clear(&fix.diag);
    assert_int_equal(hn_attrs_complete(&fix.arena, &fix.diag, &pool, &row[i].given, &out), HONE_INVALID);
    assert_string_equal(fix.diag.entries[0].text, row[i].want);
  }
  assert_int_equal(hn_attrs_complete(&fix.arena, NULL, &pool, &(hone_attrs){1, &scales}, &out), HONE_OK);
  end(&fix);
}

/* One axis of extent `in`; all attributes given. */
typedef struct sliding_row {
  const char *what, *auto_pad;
  int64_t in, kernel, stride, dilation, begin, end, ceil_mode;
  hone_status status;
  int64_t out, want_begin, want_end;
} sliding_row;

static void test_sliding(void **state) {
  (void)state;
  static const sliding_row rows[] = {
      {"plain", "NOTSET", 7, 3, 2, 1, 0, 0, 0, HONE_OK, 3, 0, 0},
      {"padded, dilated", "NOTSET", 7, 3, 1, 2, 2, 2, 0, HONE_OK, 7, 2, 2},
      {"rounded down", "NOTSET", 8, 3, 2, 1, 0, 0, 0, HONE_OK, 3, 0, 0},
      {"rounded up", "NOTSET", 8, 3, 2, 1, 0, 0, 1, HONE_OK, 4, 0, 0},
      {"a window in the end's padding is dropped", "NOTSET", 2, 1, 2, 1, 0, 2, 1, HONE_OK, 1, 0, 2},
      {"no window begins in padding", "NOTSET", 4, 2, 2, 1, 1, 1, 1, HONE_OK, 3, 1, 1},
      {"same, upper", "SAME_UPPER", 6, 3, 2, 1, 9, 9, 0, HONE_OK, 3, 0, 1},
      {"same, lower", "SAME_LOWER", 6, 3, 2, 1, 9, 9, 0, HONE_OK, 3, 1, 0},
      {"same, stride above kernel", "SAME_UPPER", 9, 1, 4, 1, 0, 0, 0, HONE_OK, 3, 0, 0},
      {"valid", "VALID", 6, 3, 2, 1, 5, 5, 0, HONE_OK, 2, 0, 0},
      {"kernel does not fit", "NOTSET", 2, 5, 1, 1, 1, 1, 0, HONE_MALFORMED, 0, 0, 0},
      {"stride 0", "NOTSET", 7, 3, 0, 1, 0, 0, 0, HONE_MALFORMED, 0, 0, 0},
      {"negative pad", "NOTSET", 7, 3, 1, 1, -1, 0, 0, HONE_MALFORMED, 0, 0, 0},
      {"huge dilation", "NOTSET", 7, 3, 1, INT64_MAX, 0, 0, 0, HONE_MALFORMED, 0, 0, 0},
      {"kernel of nothing", "NOTSET", 7, 0, 1, 1, 0, 0, 0, HONE_MALFORMED, 0, 0, 0},
      {"unknown auto_pad", "SAME", 7, 3, 1, 1, 0, 0, 0, HONE_MALFORMED, 0, 0, 0},
  };
  fixture fix;
  begin(&fix);
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    const sliding_row *row = &rows[i];
    const int64_t pads[] = {row->begin, row->end};
    const hone_attr items[] = {text_of("auto_pad", row->auto_pad),
                               ints("strides", 1, &row->stride),
                               ints("dilations", 1, &row->dilation),
                               ints("pads", 2, pads),
                               {.name = "ceil_mode", .kind = HONE_ATTR_INT, .i = row->ceil_mode}};
    const hone_attrs attrs = {5, items};
    const hone_shape input = hn_shape(3, (int64_t[]){1, 2, row->in});
    hn_sliding sliding;
    hn_diag_clear(&fix.diag);
    const hone_status got = hn_sliding_make(&fix.diag, NULL, &attrs, &input, &row->kernel, &sliding);
    if (got != row->status || (fix.diag.count == 0) != (got == HONE_OK)) fail_msg("%s: status %d", row->what, got);
    if (got != HONE_OK) continue;
    if (sliding.out[0] != row->out || sliding.pad_begin[0] != row->want_begin || sliding.pad_end[0] != row->want_end)
      fail_msg("%s: out %lld, pads %lld, %lld", row->what, (long long)sliding.out[0], (long long)sliding.pad_begin[0],
               (long long)sliding.pad_end[0]);
  }
  end(&fix);
}

static void test_sliding_symbolic(void **state) {
  (void)state;
  fixture fix;
  begin(&fix);
  hone_dims dims;
  hn_dims_init(&dims, &fix.arena);
  const int64_t height = hn_dim_named(&dims, "H");
  const hone_shape input = hn_shape(3, (int64_t[]){1, 2, height});
  for (int ceil_mode = 0; ceil_mode < 2; ++ceil_mode) {
    const hone_attr items[] = {ints("strides", 1, (int64_t[]){2}),
                               ints("pads", 2, (int64_t[]){1, 1}),
                               {.name = "ceil_mode", .kind = HONE_ATTR_INT, .i = ceil_mode}};
    const hone_attrs attrs = {3, items};
    hn_sliding symbolic, known;
    assert_int_equal(hn_sliding_make(&fix.diag, &dims, &attrs, &input, (int64_t[]){3}, &symbolic), HONE_OK);
    for (int64_t extent = 1; extent < 20; ++extent) {
      const hone_shape concrete = hn_shape(3, (int64_t[]){1, 2, extent});
      assert_int_equal(hn_sliding_make(&fix.diag, NULL, &attrs, &concrete, (int64_t[]){3}, &known), HONE_OK);
      int64_t out;
      assert_true(hn_dim_eval(&dims, symbolic.out[0], &extent, 1, &out));
      assert_int_equal(out, known.out[0]);
    }
  }
  const hone_attr same[] = {text_of("auto_pad", "SAME_UPPER"), ints("strides", 1, (int64_t[]){2})};
  hn_sliding sliding;
  assert_int_equal(hn_sliding_make(NULL, &dims, &(hone_attrs){2, same}, &input, (int64_t[]){3}, &sliding),
                   HONE_UNSUPPORTED);
  assert_int_equal(hn_sliding_make(NULL, &dims, &(hone_attrs){1, same}, &input, (int64_t[]){3}, &sliding), HONE_OK);
  assert_true(sliding.out[0] == height && sliding.pad_begin[0] == 1 && sliding.pad_end[0] == 1);
  assert_int_equal(hn_sliding_make(NULL, NULL, &(hone_attrs){1, same}, &input, (int64_t[]){3}, &sliding),
                   HONE_INTERNAL);
  end(&fix);
}

static void test_transposed(void **state) {
  (void)state;
  const int64_t two = 2, one = 1, ten = 10;
  const hone_attr plain[] = {ints("strides", 1, &two), ints("output_padding", 1, &one),
                             ints("pads", 2, (int64_t[]){1, 1})};
  const hone_attr shaped[] = {ints("strides", 1, &two), ints("output_shape", 1, &ten)};
  const hone_attr same[] = {ints("strides", 1, &two), text_of("auto_pad", "SAME_UPPER")};
  const hone_attr huge[] = {ints("strides", 1, (int64_t[]){INT32_MAX})};
  const hone_shape input = hn_shape(3, (int64_t[]){1, 1, 4}), large = hn_shape(3, (int64_t[]){1, 1, (int64_t)1 << 50});
  const int64_t kernel = 5;
  hn_sliding s;
  assert_int_equal(hn_sliding_make_transposed(NULL, NULL, &(hone_attrs){3, plain}, &input, &kernel, &s), HONE_OK);
  assert_int_equal(s.out[0], 2 * 3 + 1 + 5 - 2);
  assert_int_equal(hn_sliding_make_transposed(NULL, NULL, &(hone_attrs){2, shaped}, &input, &kernel, &s), HONE_OK);
  assert_true(s.out[0] == 10 && s.pad_begin[0] == 1 && s.pad_end[0] == 0);
  assert_int_equal(hn_sliding_make_transposed(NULL, NULL, &(hone_attrs){2, same}, &input, &kernel, &s), HONE_OK);
  assert_true(s.out[0] == 8 && s.pad_begin[0] == 1 && s.pad_end[0] == 2);
  assert_int_equal(hn_sliding_make_transposed(NULL, NULL, &(hone_attrs){1, huge}, &large, &kernel, &s), HONE_MALFORMED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sizes),     cmocka_unit_test(test_formats),          cmocka_unit_test(test_strides),
      cmocka_unit_test(test_type_text), cmocka_unit_test(test_attrs_complete),   cmocka_unit_test(test_attrs_refused),
      cmocka_unit_test(test_sliding),   cmocka_unit_test(test_sliding_symbolic), cmocka_unit_test(test_transposed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
