/* SPDX-License-Identifier: Apache-2.0 */
/* test_damage_slow.c - an engine damaged at every place is an error or gives the right result. Of the weights, which
 * run whatever their bits are, every seventh byte, so that each bit of a byte has its turn. */
#include "support/damage.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

static void test_damage(void **state) {
  (void)state;
  damage_sweep(1, 1, 7);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_damage)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
