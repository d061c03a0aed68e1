/* SPDX-License-Identifier: Apache-2.0 */
/* test_data_dependent.c - steps whose extents are known only after running: what selects, and what runs on what was
 * selected, say the same as the reference, for extents that change from run to run and back. */
#include "support/built_session.h"
#include "support/small_net.h"
#include <hone/tensor_io.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { RUNS = 6, MOST = 4096 };

typedef struct case_text {
  const char *text;
  bool all_tuned;
} case_text;

/* Inputs are %x, f32, and depend on the run; every graph has one output %out. */
static const case_text cases[] = {
    {"graph \"g\" opset 17 {\n in %x: f32[5,7,3]\n const %k: f32[] = [0.2]\n %m = greater(%x, %k)\n"
     " %out = non_zero(%m)\n out %out\n}\n",
     true},
    {"graph \"g\" opset 17 {\n in %x: f32[40]\n %r = relu(%x)\n %n = non_zero(%r)\n"
     " %t = transpose(%n) [perm=[1,0]]\n %v = gather_nd(%x, %t)\n %out = exp(%v)\n out %out\n}\n",
     true},
    {"graph \"g\" opset 17 {\n in %x: f32[30,16]\n const %k: f32[] = [0.1]\n const %w: f32[16,24] = random 1\n"
     " const %zero: i64[] = [0]\n %c = gather(%x, %zero) [axis=1]\n %m = greater(%c, %k)\n"
     " %s = compress(%x, %m) [axis=0]\n %a = matmul(%s, %w)\n %r = relu(%a)\n %out = softmax(%r)\n out %out\n}\n",
     true},
    {"graph \"g\" opset 17 {\n in %x: f32[6,9]\n const %k: f32[] = [0]\n const %f: i64[1] = [-1]\n %m = less(%x, %k)\n"
     " %n = reshape(%m, %f)\n %out = compress(%x, %n)\n out %out\n}\n",
     true},
    {"graph \"g\" opset 17 {\n in %x: f32[2,50,4]\n const %most: i64[] = [6]\n const %iou: f32[] = [0.3]\n"
     " const %least: f32[] = [0.1]\n const %a: i64[1] = [0]\n const %b: i64[1] = [3]\n const %ax: i64[1] = [2]\n"
     " %c = slice(%x, %a, %b, %ax)\n %t = transpose(%c) [perm=[0,2,1]]\n"
     " %out = non_max_suppression(%x, %t, %most, %iou, %least)\n out %out\n}\n",
     true},
    {"graph \"g\" opset 17 {\n in %x: f32[1,60,4]\n const %most: i64[] = [20]\n const %iou: f32[] = [0.5]\n"
     " const %a: i64[1] = [1]\n const %b: i64[1] = [2]\n const %ax: i64[1] = [2]\n"
     " %c = slice(%x, %a, %b, %ax)\n %t = transpose(%c) [perm=[0,2,1]]\n"
     " %out = non_max_suppression(%x, %t, %most, %iou) [center_point_box=1]\n out %out\n}\n",
     true},
    {"graph \"g\" opset 17 {\n in %x: f32[40,5]\n const %k: f32[] = [3]\n %a = mul(%x, %k)\n %r = round(%a)\n"
     " %out = unique(%r)\n out %out\n}\n",
     true},
    {"graph \"g\" opset 17 {\n in %x: f32[300]\n const %k: f32[] = [9]\n %a = mul(%x, %k)\n %r = round(%a)\n"
     " %y, %f, %out, %c = unique(%r) [sorted=0]\n out %out\n}\n",
     true},
    {"graph \"g\" opset 17 {\n in %x: f32[4000]\n %y, %f, %i, %out = unique(%x)\n out %out\n}\n", true},
    {"graph \"g\" opset 17 {\n in %x: f32[200]\n const %k: f32[] = [20]\n %a = mul(%x, %k)\n"
     " %r = cast(%a) [to=7]\n %y, %out = unique(%r) [sorted=0]\n out %out\n}\n",
     true},
    {"graph \"g\" opset 17 {\n in %x: f32[200]\n %r = cast(%x) [to=11]\n %y, %out = unique(%r)\n out %out\n}\n", true},
    {"graph \"g\" opset 17 {\n in %x: f32[3,50,2]\n %r = round(%x)\n %out = unique(%r) [axis=1]\n out %out\n}\n", true},
    {"graph \"g\" opset 17 {\n in %x: f32[60,2]\n %r = round(%x)\n %y, %f, %out, %c = unique(%r) [axis=0, sorted=0]\n"
     " out %out\n}\n",
     true},
};

static void run_one(const built_session *s, int number, hone_tensor *out) {
  static float room[MOST];
  hone_tensor x;
  assert_int_equal(hone_session_tensor(s->session, "x", &x), HONE_OK);
  assert_true(hone_tensor_count(&x) <= MOST);
  x.data = room;
  small_net_fill(&x, (uint64_t)(number % 4)); /* the first two inputs come again */
  if (number == 2)
    for (int64_t i = 0; i < hone_tensor_count(&x); ++i) room[i] = -1; /* nothing is selected, mostly */
  assert_int_equal(hone_session_copy_in(s->session, "x", &x), HONE_OK);
  assert_int_equal(hone_session_run(s->session), HONE_OK);
  assert_int_equal(hone_session_tensor(s->session, "out", out), HONE_OK);
}

static void test_cases(void **state) {
  (void)state;
  const hone_device_options options = {.struct_size = sizeof options, .threads = 2};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
    hone_context *context;
    hone_device *device;
    assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
    assert_int_equal(hone_device_open(context, "cpu", 0, &options, &device), HONE_OK);
    built_session sides[2] = {built_session_make(context, device, cases[c].text, false, cases[c].all_tuned),
                              built_session_make(context, device, cases[c].text, true, false)};
    for (int number = 0; number < RUNS; ++number) {
      hone_tensor a, b;
      run_one(&sides[0], number, &a);
      run_one(&sides[1], number, &b);
      assert_int_equal(a.type.shape.rank, b.type.shape.rank);
      for (int d = 0; d < a.type.shape.rank; ++d) assert_int_equal(a.type.shape.dim[d], b.type.shape.dim[d]);
      for (int64_t i = 0; i < hone_tensor_count(&a); ++i)
        assert_float_equal(hone_tensor_real(&a, i), hone_tensor_real(&b, i), 1e-5);
    }
    for (int k = 0; k < 2; ++k) built_session_free(&sides[k]);
    hone_device_close(device);
    hone_context_destroy(context);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
