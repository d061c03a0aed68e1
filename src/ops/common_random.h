/* SPDX-License-Identifier: Apache-2.0 */
/* common_random.h - operators that draw: an element's numbers follow from the seed and its place alone, so that any
 * window, any thread and every run draws the same. Numbers are not those of other runtimes. */
#ifndef HN_OPS_COMMON_RANDOM_H
#define HN_OPS_COMMON_RANDOM_H

#include "base/random.h"
#include "ops/common_nn.h"

/* `number` 0, 1, ...: of those that the element at `place` draws, in [0, 1). */
static inline double hn_draw(const hone_eval *eval, int64_t place, int number) {
  enum { EACH = 2 }; /* an element's numbers */
  const double seed = hn_attr_float(eval->attrs, "seed");
  uint64_t bits;
  memcpy(&bits, &seed, sizeof bits);
  hn_random mixed = {.state = bits}; /* near seeds give states that are far apart */
  hn_random at = {.state = hn_random_u64(&mixed) + (uint64_t)(place * EACH + number) * 0x9e3779b97f4a7c15U};
  return hn_random_unit(&at);
}

/* Of `dtype` (ONNX's number) where it is given, else of input 0; shaped as input 0, or by the attribute shape. */
hone_status hn_infer_random(hone_infer *infer);
/* The row's details: what the element at a place is. */
typedef double hn_random_draw(const hone_eval *eval, int64_t place);
hn_random_draw hn_draw_normal, hn_draw_uniform; /* by the attributes mean and scale, low and high */
hone_status hn_eval_random(hone_eval *eval, const hone_window *window);
hone_cost hn_cost_random(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out,
                         int out_count);

#define HN_RANDOM_FIELDS                                                                                               \
  .struct_size = sizeof(hone_op), .traits = HONE_IMPURE | HONE_WINDOWED, .infer = hn_infer_random,                     \
  .eval = hn_eval_random, .cost = hn_cost_random
#define HN_RANDOM_ATTRS HONE_OPTIONAL_ATTR("dtype", HONE_ATTR_INT), HONE_FLOAT_ATTR("seed", 0.0)

#endif
