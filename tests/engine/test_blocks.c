/* SPDX-License-Identifier: Apache-2.0 */
/* test_blocks.c - bodies of branches and loops whose extents are known run on the device's tactics, and say the same as
 * the reference: whichever branch runs, however often the loop goes round, in each of several runs. */
#include "support/built_session.h"
#include "support/small_net.h"
#include <hone/tensor_io.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

/* Two convolutions that want blocks, and something behind the branch. */
static const char branch[] =
    "graph \"g\" opset 17 {\n in %x: f32[1,16,12,12]\n in %ask: bool[]\n const %w: f32[32,16,3,3] = random 1\n"
    " const %v: f32[16,32,3,3] = random 2\n const %u: f32[16,16,1,1] = random 3\n"
    " %r = if(%ask, %x)\n"
    "  (%a: f32[1,16,12,12]) {\n %b = conv(%a, %w) [pads=[1,1,1,1]]\n %c = relu(%b)\n"
    "   %d = conv(%c, %v) [pads=[1,1,1,1]]\n yield %d\n }\n"
    "  (%e: f32[1,16,12,12]) {\n %f = conv(%e, %u)\n yield %f\n }\n"
    " %s = softmax(%r) [axis=1]\n out %s\n}\n";

/* A state that goes round, a value in the body that is made anew each time, one that is handed on, a stacked output. */
static const char loop[] =
    "graph \"g\" opset 17 {\n in %n: i64[]\n in %x: f32[8,32]\n const %w: f32[32,32] = random 1\n"
    " const %k: f32[] = [0.1]\n"
    " %y, %z, %all = loop(%n, _, %x, %x) (%i: i64[], %go: bool[], %s: f32[8,32], %old: f32[8,32]) {\n"
    "  %m = matmul(%s, %w)\n %o = mul(%m, %k)\n %t = tanh(%o)\n %p = softmax(%t)\n %q = add(%t, %old)\n"
    "  yield %go, %q, %s, %p\n }\n out %y\n out %z\n out %all\n}\n";

/* Both sides on the same inputs; number: of the input that is no float. */
static void compare(built_session sides[2], const char *scalar, hone_dtype dtype, int64_t number,
                    const char *const *outs) {
  static float room[16 * 12 * 12];
  for (int k = 0; k < 2; ++k) {
    hone_tensor x, n = {.type = {.kind = HONE_TENSOR, .dtype = dtype}, .data = &number};
    n.bytes = dtype == HONE_BOOL ? 1 : 8;
    assert_int_equal(hone_session_tensor(sides[k].session, "x", &x), HONE_OK);
    x.data = room;
    small_net_fill(&x, 5 + (uint64_t)number);
    assert_int_equal(hone_session_copy_in(sides[k].session, "x", &x), HONE_OK);
    assert_int_equal(hone_session_copy_in(sides[k].session, scalar, &n), HONE_OK);
    assert_int_equal(hone_session_run(sides[k].session), HONE_OK);
  }
  for (; *outs; ++outs) {
    hone_tensor a, b;
    assert_int_equal(hone_session_tensor(sides[0].session, *outs, &a), HONE_OK);
    assert_int_equal(hone_session_tensor(sides[1].session, *outs, &b), HONE_OK);
    assert_int_equal(hone_tensor_count(&a), hone_tensor_count(&b));
    for (int64_t i = 0; i < hone_tensor_count(&a); ++i)
      assert_float_equal(hone_tensor_real(&a, i), hone_tensor_real(&b, i), 1e-4);
  }
}

static void check(const char *text, const char *scalar, hone_dtype dtype, const int64_t *numbers, int count,
                  const char *const *outs) {
  const hone_device_options options = {.struct_size = sizeof options, .threads = 2};
  hone_context *context;
  hone_device *device;
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  assert_int_equal(hone_device_open(context, "cpu", 0, &options, &device), HONE_OK);
  built_session sides[2] = {built_session_make(context, device, text, false, true),
                            built_session_make(context, device, text, true, false)};
  for (int i = 0; i < count; ++i) compare(sides, scalar, dtype, numbers[i], outs);
  built_session_free(&sides[0]);
  built_session_free(&sides[1]);
  hone_device_close(device);
  hone_context_destroy(context);
}

static void test_branch(void **state) {
  (void)state;
  check(branch, "ask", HONE_BOOL, (const int64_t[]){1, 0, 1, 1, 0}, 5, (const char *const[]){"s", NULL});
}

static void test_loop(void **state) {
  (void)state;
  check(loop, "n", HONE_I64, (const int64_t[]){3, 1, 7, 0, 2}, 5, (const char *const[]){"y", "z", "all", NULL});
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_branch), cmocka_unit_test(test_loop)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
