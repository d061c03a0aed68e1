/* SPDX-License-Identifier: Apache-2.0 */
/* fail.c - ends the run with a message. It stands in a branch that the shapes at hand refuse (src/ir/branch.c): its
 * outputs have the kinds and dtypes of the other branch's results, and no elements, since nobody ever reads them. */
#include "ops/op.h"

static hone_status infer(hone_infer *infer) {
  static const int64_t none[1] = {0};
  const hone_attr *kinds = hn_attr_find(infer->attrs, "kinds"), *dtypes = hn_attr_find(infer->attrs, "dtypes");
  if (!kinds || !dtypes || kinds->count != infer->out_count || dtypes->count != infer->out_count)
    return HN_INFER_FAIL(infer, "kinds and dtypes must have one entry for each of the %d outputs", infer->out_count);
  for (int i = 0; i < infer->out_count; ++i) {
    const int64_t kind = kinds->ints[i], dtype = dtypes->ints[i];
    if (kind <= HONE_ABSENT || kind > HONE_OPTIONAL_SEQUENCE || dtype <= HONE_NONE || dtype >= HONE_DTYPE_COUNT)
      return HN_INFER_FAIL(infer, "output %d has no type", i);
    infer->out[i].type.kind = (hone_kind)kind;
    hn_out_dtype(infer, i, (hone_dtype)dtype);
    hn_out_shape(infer, i, 1, none);
  }
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  (void)window;
  const hone_attr *message = hn_attr_find(eval->attrs, "message");
  return HN_FAIL(eval->diagnostics, HONE_INVALID, "%s", message ? message->s : "");
}

const hone_op hn_op_fail = {
    .struct_size = sizeof(hone_op),
    .name = "fail",
    .doc = "ends the run with a message: a branch that the shapes refuse",
    .out = {{"outputs", 0, HONE_TYPES_ANY, HONE_PORT_VARIADIC}},
    .attr = {HONE_NEEDED_ATTR("message", HONE_ATTR_STRING), HONE_NEEDED_ATTR("kinds", HONE_ATTR_INTS),
             HONE_NEEDED_ATTR("dtypes", HONE_ATTR_INTS)},
    .traits = HONE_IMPURE | HONE_WHOLE | HONE_FAILS,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_copy,
};
