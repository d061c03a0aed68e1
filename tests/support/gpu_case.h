/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_case.h - one operator as a graph, run on the GPU and on the reference; for the programs of tests/gpu. */
#ifndef HN_TESTS_GPU_CASE_H
#define HN_TESTS_GPU_CASE_H

#include <hone/hone.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GPU_CASE_INPUTS = 12, GPU_CASE_MAX_OUT = 1 << 20 };

typedef struct op_case {
  const char *op, *in[GPU_CASE_INPUTS]; /* shapes; "b:" bool, "i:" i64, "c:" a constant, "l:" a list "2,-1" of i64, "-"
                                         * none; "u:", "s:", "e:" u8, i8 and e4m3, "U:", "S:" constants of these,
                                         * "f=0.5", "u=3", "s=-7", "e=0" one number of f32, u8, i8, e4m3, "F:" constant
                                         * scales, "B:" biases of i32 */
  hone_attr attrs[16];
} op_case;

#define INT(attr, value)                                                                                               \
  { .name = (attr), .kind = HONE_ATTR_INT, .i = (value) }
#define REAL(attr, value)                                                                                              \
  { .name = (attr), .kind = HONE_ATTR_FLOAT, .f = (value) }
#define TEXT(attr, value)                                                                                              \
  { .name = (attr), .kind = HONE_ATTR_STRING, .s = (value), .count = sizeof(value) - 1 }
#define INTS(attr, list)                                                                                               \
  { .name = (attr), .kind = HONE_ATTR_INTS, .count = sizeof(list) / sizeof *(list), .ints = (list) }

typedef struct gpu_bed {
  hone_context *context;
  hone_device *gpu, *ref;
  uint64_t seed; /* of the next numbers */
} gpu_bed;

hone_status gpu_context(hone_context **out); /* that finds the backend and CUDA's libraries */
/* Runs the tests with a GPU and the reference opened; 77 where there is no GPU, said in words. */
int gpu_bed_run(gpu_bed *bed, int (*run)(void));
void gpu_check(const gpu_bed *bed, hone_status status);
void gpu_check_session(const hone_session *session, hone_status status);
float gpu_number(gpu_bed *bed); /* in [-1, 1) */
void gpu_fill(gpu_bed *bed, hone_tensor *tensor);
hone_shape gpu_shape(const char *text); /* "2x3" */
hone_graph *gpu_graph(gpu_bed *bed, const op_case *c);
/* Runs with seeded inputs; the outputs' numbers one after the other, at most GPU_CASE_MAX_OUT. Optional: steps that
 * were replayed, and that ran elsewhere. */
int64_t gpu_run(gpu_bed *bed, hone_engine *engine, bool replay, double *out, int64_t *out_replayed,
                int *out_host_calls);
double gpu_distance(const double *got, const double *want, int64_t count); /* relative L2; NaN where both are is 0 */

#endif
