/* SPDX-License-Identifier: Apache-2.0 */
/* test_cpu_facts.c - what the CPU says of itself, and the ceilings that are measured on request. */
#include "base/diag.h"
#include "device/isa.h"
#include <hone/device.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static hone_facts facts_of(const char *kind, int threads, hone_status *out_measured) {
  hone_context *context;
  hone_device *device;
  hone_facts facts = HONE_SIZED(hone_facts);
  const hone_device_options options = {.struct_size = sizeof options, .threads = threads};
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  assert_int_equal(hone_device_open(context, kind, 0, &options, &device), HONE_OK);
  if (out_measured) {
    *out_measured = hone_device_measure(device, hone_context_diagnostics(context));
    assert_int_equal(*out_measured == HONE_OK, hone_context_message_count(context) == 0);
  }
  hone_device_facts(device, &facts);
  hone_device_close(device);
  hone_context_destroy(context);
  return facts;
}

static void test_facts(void **state) {
  (void)state;
  const hone_facts facts = facts_of("cpu", 2, NULL);
  assert_int_not_equal(facts.name[0], 0);
  assert_int_not_equal(facts.version[0], 0);
  assert_int_equal(facts.threads, 2);
  assert_true(facts.host_memory);
  assert_true(facts.roofs[HONE_ROOF_F32] == 0 && facts.roofs[HONE_ROOF_MEMORY] == 0); /* not measured yet */
  assert_int_equal(HONE_ISA_C, 0);
  assert_true(!(facts.isa & HONE_ISA_AVX512) || (facts.isa & HONE_ISA_AVX2));
}

static void test_measure(void **state) {
  (void)state;
  hone_status status;
  const hone_facts facts = facts_of("cpu", 1, &status);
  assert_int_equal(status, HONE_OK);
  assert_true(facts.roofs[HONE_ROOF_F32] > 1e7 && facts.roofs[HONE_ROOF_F32] < 1e13); /* one core of three decades */
  assert_true(facts.roofs[HONE_ROOF_F64] > 1e6 && facts.roofs[HONE_ROOF_F64] < 1.2 * facts.roofs[HONE_ROOF_F32]);
  assert_true(facts.roofs[HONE_ROOF_MEMORY] > 1e6 && facts.roofs[HONE_ROOF_MEMORY] < 1e13);
  assert_true(facts.l1_bytes == 0 || facts.roofs[HONE_ROOF_L1] > 1e6);
#ifndef HONE_NO_AVX /* portable C has no loop of bytes */
  assert_int_equal((facts.isa & HONE_ISA_AVX2) != 0, facts.roofs[HONE_ROOF_INT8] > 0);
#endif
  for (int r = 0; r < HONE_ROOF_COUNT; ++r) assert_true(facts.spreads[r] >= 0);
}

/* What is on paper is more than what is reached, where the model is known; tools that emulate CPUs have no clock. */
static void test_on_paper(void **state) {
  (void)state;
  hone_status status;
  const hone_facts facts = facts_of("cpu", 1, &status);
  assert_int_equal(status, HONE_OK);
  assert_int_equal(facts.cores, 1);
  assert_int_equal(facts.lanes[HONE_ROOF_F32], 2 * facts.lanes[HONE_ROOF_F64]);
  for (int r = 0; r < HONE_ROOF_L1; ++r) {
    const double most = facts.clock_hz * facts.ports[r] * facts.lanes[r] * 2;
    assert_int_equal(facts.ports[r] > 0, facts.lanes[r] > 0);
    assert_true(most == 0 || facts.roofs[r] < 1.5 * most); /* the clock moves between the two measurements */
  }
}

static void test_names(void **state) {
  (void)state;
  assert_string_equal(hone_roof_name(HONE_ROOF_BF16), "bf16");
  assert_string_equal(hone_roof_name(HONE_ROOF_MEMORY), "memory");
  assert_string_equal(hone_roof_name(HONE_ROOF_COUNT), "none");
}

static void test_nothing_to_measure(void **state) {
  (void)state;
  hone_status status;
  const hone_facts facts = facts_of("ref", 1, &status);
  assert_int_equal(status, HONE_UNSUPPORTED);
  assert_true(facts.roofs[HONE_ROOF_F32] == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_facts), cmocka_unit_test(test_measure),
                                     cmocka_unit_test(test_on_paper), cmocka_unit_test(test_names),
                                     cmocka_unit_test(test_nothing_to_measure)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
