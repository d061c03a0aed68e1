/* SPDX-License-Identifier: Apache-2.0 */
/* test_tensor_io.c - tensors written as .npy and read back; headers and messages that are wrong. */
#include "base/file.h"
#include "export/wire.h"
#include "tensor/shape.h"
#include <hone/tensor_io.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static char path[] = "/tmp/hone_tensor_io_XXXXXX";

static void write_file(const void *bytes, size_t count) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, count, file), count);
  assert_int_equal(fclose(file), 0);
}

static void test_npy_round_trip(void **state) {
  hone_context *context = *state;
  static const struct {
    hone_dtype dtype, read_as;
    int rank;
    int64_t dims[3];
  } rows[] = {
      {HONE_F32, HONE_F32, 2, {3, 5}},  {HONE_F16, HONE_F16, 1, {7}},      {HONE_F64, HONE_F64, 0, {0}},
      {HONE_I8, HONE_I8, 3, {2, 1, 4}}, {HONE_U64, HONE_U64, 1, {3}},      {HONE_BOOL, HONE_BOOL, 1, {3}},
      {HONE_I64, HONE_I64, 2, {0, 4}},  {HONE_BF16, HONE_F32, 2, {2, 2}},  {HONE_I4, HONE_I8, 1, {5}},
      {HONE_U2, HONE_U8, 1, {5}},       {HONE_F8E4M3FN, HONE_F32, 1, {4}},
  };
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    const hone_type type = hn_tensor_type(rows[i].dtype, rows[i].rank, rows[i].dims);
    hone_tensor tensor, back;
    assert_int_equal(hone_tensor_alloc(context, &type, &tensor), HONE_OK);
    for (int64_t k = 0; k < hone_tensor_count(&tensor); ++k) hone_tensor_set_real(&tensor, k, (double)(k % 3));
    assert_int_equal(hone_tensor_write_npy(context, path, &tensor), HONE_OK);
    assert_int_equal(hone_tensor_read(context, path, &back), HONE_OK);
    assert_int_equal(back.type.dtype, rows[i].read_as);
    assert_true(hn_shape_equal(&back.type.shape, &type.shape));
    for (int64_t k = 0; k < hone_tensor_count(&tensor); ++k)
      assert_true(hone_tensor_real(&back, k) == hone_tensor_real(&tensor, k));
    hone_tensor_free(context, &tensor);
    hone_tensor_free(context, &back);
  }
}

/* A version 1 file with this header and these elements. */
static size_t make_npy(uint8_t *out, int version, const char *header, const void *data, size_t bytes) {
  const size_t length = strlen(header), start = version == 1 ? 10 : 12;
  memcpy(out, "\x93NUMPY", 6);
  out[6] = (uint8_t)version;
  out[7] = 0;
  for (size_t i = 8; i < start; ++i) out[i] = (uint8_t)(length >> (8 * (i - 8)));
  memcpy(out + start, header, length);
  memcpy(out + start + length, data, bytes);
  return start + length + bytes;
}

static void test_npy_orders(void **state) {
  hone_context *context = *state;
  static const uint8_t big[12] = {0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6};
  static const double want[6] = {1, 3, 5, 2, 4, 6}; /* 2x3 from columns */
  uint8_t file[256];
  for (int version = 1; version <= 3; ++version) {
    write_file(file, make_npy(file, version, "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }\n", big, 12));
    hone_tensor tensor;
    assert_int_equal(hone_tensor_read(context, path, &tensor), HONE_OK);
    assert_int_equal(tensor.type.dtype, HONE_I16);
    for (int64_t i = 0; i < 6; ++i) assert_true(hone_tensor_real(&tensor, i) == want[i]);
    hone_tensor_free(context, &tensor);
  }
}

static void test_npy_wrong(void **state) {
  hone_context *context = *state;
  static const struct {
    const char *header;
    hone_status want;
  } rows[] = {
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }", HONE_MALFORMED}, /* 12 bytes are given */
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", HONE_MALFORMED},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", HONE_MALFORMED},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4), }", HONE_MALFORMED},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }", HONE_UNSUPPORTED},
      {"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (3,), }", HONE_MALFORMED},
      {"{'descr': '<f4', 'shape': (3,), }", HONE_MALFORMED},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)", HONE_MALFORMED},
      {"{'descr': '|O', 'fortran_order': False, 'shape': (3,), }", HONE_UNSUPPORTED},
      {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }", HONE_UNSUPPORTED},
      {"{'descr': '<f4", HONE_MALFORMED},
      {"", HONE_MALFORMED},
      {"{'what': 1}", HONE_MALFORMED},
  };
  uint8_t file[512];
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    hone_context_clear_messages(context);
    write_file(file, make_npy(file, 1, rows[i].header, "abcdefghijkl", 12));
    hone_tensor tensor;
    const hone_status got = hone_tensor_read(context, path, &tensor);
    if (got != rows[i].want || tensor.data || hone_context_message_count(context) != 1)
      fail_msg("%s: %s", rows[i].header, hone_status_name(got));
  }
}

static void test_pb(void **state) {
  hone_context *context = *state;
  hn_text message;
  hn_text_init(&message, hn_allocator_default());
  hn_wire_int(&message, 1, 2);
  hn_wire_int(&message, 2, 8); /* strings */
  hn_wire_string(&message, 6, "left");
  hn_wire_string(&message, 6, "");
  write_file(message.data, message.length);
  hone_tensor tensor;
  assert_int_equal(hone_tensor_read(context, path, &tensor), HONE_OK);
  const hone_string *strings = tensor.data;
  assert_true(strings[0].length == 4 && strings[1].length == 0);
  assert_string_equal(strings[0].data, "left");
  hone_tensor_free(context, &tensor);
  hn_text_clear(&message);
  hn_wire_int(&message, 1, 3);
  hn_wire_int(&message, 2, 22); /* int4: two of three elements in the first byte */
  hn_wire_bytes(&message, 9, "\xf1\x02", 2);
  write_file(message.data, message.length);
  assert_int_equal(hone_tensor_read(context, path, &tensor), HONE_OK);
  assert_true(hone_tensor_real(&tensor, 0) == 1 && hone_tensor_real(&tensor, 1) == -1 &&
              hone_tensor_real(&tensor, 2) == 2);
  hone_tensor_free(context, &tensor);
  hn_wire_int(&message, 1, 3); /* 3x3 elements need more bytes */
  write_file(message.data, message.length);
  assert_int_equal(hone_tensor_read(context, path, &tensor), HONE_MALFORMED);
  write_file("\x89PNG\r\n", 6);
  assert_int_equal(hone_tensor_read(context, path, &tensor), HONE_MALFORMED);
  write_file("", 0);
  assert_int_equal(hone_tensor_read(context, path, &tensor), HONE_MALFORMED);
  assert_int_equal(hone_tensor_read(context, "/nowhere/at/all", &tensor), HONE_IO);
  assert_null(tensor.data);
  hn_text_deinit(&message);
}

static int make_context(void **state) {
  hone_context *context;
  const int fd = mkstemp(path);
  if (fd < 0 || hone_context_create(NULL, &context) != HONE_OK) return -1;
  close(fd);
  *state = context;
  return 0;
}

static int drop_context(void **state) {
  hone_context_destroy(*state);
  unlink(path);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_npy_round_trip),
      cmocka_unit_test(test_npy_orders),
      cmocka_unit_test(test_npy_wrong),
      cmocka_unit_test(test_pb),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
