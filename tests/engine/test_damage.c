/* SPDX-License-Identifier: Apache-2.0 */
/* test_damage.c - an engine damaged at every 7th place is an error or gives the right result; one with two schedules at
 * every 23rd. Builds that take long at it damage half of these. */
#include "support/damage.h"
#include "support/share.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

enum { EACH = TEST_SHARE > 1 ? 2 : 1 };

static void test_damage(void **state) {
  (void)state;
  damage_sweep(1, 7 * EACH, 71);
}

static void test_two_schedules(void **state) {
  (void)state;
  damage_sweep(2, 23 * EACH, 397);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_damage), cmocka_unit_test(test_two_schedules)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
