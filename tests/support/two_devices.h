/* SPDX-License-Identifier: Apache-2.0 */
/* two_devices.h - what the tests of plans over two memories share: the stand-in device of tests/plugin/far.c, random
 * graphs over it and the host, and their numbers. One context and one seed a program. */
#ifndef TESTS_SUPPORT_TWO_DEVICES_H
#define TESTS_SUPPORT_TWO_DEVICES_H

#include <hone/hone.h>

enum { ROWS = 6, COLUMNS = 8, COUNT = ROWS * COLUMNS }; /* every input and output is ROWS x COLUMNS of f32 */

extern hone_context *two_devices_context;
extern uint64_t two_devices_seed; /* printed when something fails */

typedef struct two_devices_numbers {
  float in[2][COUNT], out[2][COUNT];
} two_devices_numbers;

float two_devices_number(void); /* in -1..1, from the seed */
/* These fail the test with all messages when the status is not HONE_OK. */
void two_devices_check(hone_status status);
void two_devices_check_session(const hone_session *session, hone_status status);

hone_device *two_devices_far(int index); /* 0 does its work as late as it may, 1 as early */
hone_value *two_devices_add(hone_graph *graph, const char *op, hone_value *a, hone_value *b, const hone_attr *attr);
hone_value *two_devices_constant(hone_graph *graph, int rank, const int64_t *dims);
/* Inputs a and b, outputs y and z; far runs products and elementwise ops, the host the others. */
hone_graph *two_devices_random(int nodes);
/* Inputs and outputs are copied, or bound to the numbers themselves. */
void two_devices_run(hone_session *session, two_devices_numbers *n, bool bound);
void two_devices_compare(const two_devices_numbers *got, const two_devices_numbers *want, const char *what);
void two_devices_reference(hone_graph *graph, two_devices_numbers *n); /* fills n->out */

int two_devices_set_up(void **state); /* of a cmocka group: the context, with far loaded */
int two_devices_tear_down(void **state);

#endif
