/* SPDX-License-Identifier: Apache-2.0 */
/* bernoulli.c - 1 with the probability that the input has there, else 0. Source: ONNX operator Bernoulli. */
#include "ops/common_random.h"

static double draw(const hone_eval *eval, int64_t place) {
  return hn_draw(eval, place, 0) < hn_real(&eval->in[0], place) ? 1 : 0;
}

const hone_op hn_op_bernoulli = {
    HN_RANDOM_FIELDS,
    .name = "bernoulli",
    .doc = "1 with a probability, else 0",
    .in = {{"x", 0, HONE_TYPES_FLOAT}},
    .out = {{"y", 0, HONE_TYPES_NUMBER | HONE_TYPES_BOOL}},
    .attr = {HONE_OPTIONAL_ATTR("dtype", HONE_ATTR_INT), HONE_FLOAT_ATTR("seed", 0.0)},
    .details = &(hn_random_draw *const){draw},
    .onnx = {{"Bernoulli", 15, HONE_LATEST, .adapt = "random"}},
};
