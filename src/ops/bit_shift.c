/* SPDX-License-Identifier: Apache-2.0 */
/* bit_shift.c - x shifted by y bits. A count that is negative or not below the width of the type leaves the fill
 * alone: -1 for a negative x shifted right, else 0 (opset 28 says so; earlier ones leave it open). */
#include "ops/common_elementwise.h"

static hone_status infer(hone_infer *infer) {
  const char *direction = hn_attr_text(infer->attrs, "direction");
  if (!hn_name_equal(direction, "LEFT") && !hn_name_equal(direction, "RIGHT"))
    return HN_INFER_FAIL(infer, "direction is \"%s\"; it must be LEFT or RIGHT", direction);
  return hn_infer_broadcast_given(infer);
}

static int64_t shifted(int64_t x, int64_t y, int bits, bool left, bool is_unsigned) {
  if (y < 0 || y >= bits) return !left && !is_unsigned && x < 0 ? -1 : 0;
  if (left) return (int64_t)((uint64_t)x << y);
  return is_unsigned ? (int64_t)((uint64_t)x >> y) : x >> y;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  const hone_dtype dtype = eval->in[0].type.dtype;
  const int bits = (int)hone_dtype_bits(dtype);
  const bool is_unsigned = hn_dtype_is_unsigned(dtype);
  const bool left = hn_name_equal(hn_attr_text(eval->attrs, "direction"), "LEFT");
  int64_t first, last;
  hn_window_range(eval, window, 0, &first, &last);
  if (first >= last) return HONE_OK;
  hn_walk walk;
  hn_walk_start(&walk, eval, 2, first);
  for (int64_t at = first; at < last; ++at, hn_walk_next(&walk)) {
    const int64_t x = hn_int(&eval->in[0], walk.at[0]), y = hn_int(&eval->in[1], walk.at[1]);
    hn_store_int(&eval->out[0], at, shifted(x, y, bits, left, is_unsigned));
  }
  return HONE_OK;
}

const hone_op hn_op_bit_shift = {
    .struct_size = sizeof(hone_op),
    .name = "bit_shift",
    .doc = "x shifted left or right by y bits",
    .in = {{"x", 'T', HONE_TYPES_INT}, {"y", 'T', HONE_TYPES_INT}},
    .out = {{"z", 'T'}},
    .attr = {HONE_NEEDED_ATTR("direction", HONE_ATTR_STRING)},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_elementwise,
    .onnx = {{"BitShift", 11, HONE_LATEST}},
};
