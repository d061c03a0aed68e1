/* SPDX-License-Identifier: Apache-2.0 */
/* string_concat.c - texts one behind the other, element by element; shapes broadcast. */
#include "ops/common_move.h"
#include <string.h>

static const hone_string *element(const hone_eval *eval, int input, const int64_t *index, const int64_t *strides) {
  return (const hone_string *)eval->in[input].data + hn_flatten(eval->out[0].type.shape.rank, index, strides);
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  (void)window;
  HN_TRY(hn_eval_reinfer(eval));
  const hone_shape *shape = &eval->out[0].type.shape;
  const int64_t count = hn_elems(shape);
  int64_t strides[2][HONE_MAX_RANK], index[HONE_MAX_RANK];
  hone_string *to = eval->out[0].data;
  for (int i = 0; i < 2; ++i) hn_broadcast_strides(&eval->in[i].type.shape, shape, strides[i]);
  for (int64_t at = 0; at < count; ++at) {
    hn_unflatten(shape, at, index);
    const hone_string *x = element(eval, 0, index, strides[0]), *y = element(eval, 1, index, strides[1]);
    const size_t bytes = x->length + y->length;
    char *text = eval->keep ? eval->keep(eval, bytes ? bytes : 1) : NULL;
    if (!text) return HN_FAIL(eval->diagnostics, HONE_LIMIT, "the heap of the session has no room for its texts");
    if (x->length) memcpy(text, x->data, x->length);
    if (y->length) memcpy(text + x->length, y->data, y->length);
    to[at] = (hone_string){text, bytes};
  }
  return HONE_OK;
}

const hone_op hn_op_string_concat = {
    .struct_size = sizeof(hone_op),
    .name = "string_concat",
    .doc = "texts one behind the other",
    .in = {{"x", 'T', HONE_BIT(HONE_STRING)}, {"y", 'T', HONE_BIT(HONE_STRING)}},
    .out = {{"z", 'T'}},
    .traits = HONE_WHOLE,
    .infer = hn_infer_broadcast,
    .eval = eval,
    .cost = hn_cost_copy,
    .onnx = {{"StringConcat", 20, HONE_LATEST}},
};
