/* SPDX-License-Identifier: Apache-2.0 */
/* common_list.c - sequences and optionals: their elements are never changed, so that lists share them. */
#include "ops/common_list.h"
#include "tensor/element.h"
#include <string.h>

void hn_out_list(hone_infer *infer, int output, hone_kind kind, const hone_type *element) {
  hone_type *type = &infer->out[output].type;
  *type = (hone_type){.kind = kind, .dtype = element->dtype, .shape = element->shape};
  for (int d = 0; d < type->shape.rank; ++d)
    if (HONE_SYMBOLIC(type->shape.dim[d])) type->shape.rank = -1;
}

void hn_join_element(hone_type *element, const hone_type *other) {
  if (!hn_shape_equal(&element->shape, &other->shape)) element->shape.rank = -1;
}

hone_status hn_infer_want_kind(hone_infer *infer, int input, hone_kind kind, const char *what) {
  if (infer->in[input].type.kind == kind) return HONE_OK;
  return HN_INFER_FAIL(infer, "input %d must be %s", input, what);
}

int64_t hn_eval_list_count(const hone_eval *eval, int input) { return hn_elems(&eval->in[input].type.shape); }

hone_status hn_eval_list(hone_eval *eval, int64_t count, hone_tensor **out_items) {
  HN_TRY(eval->resize(eval, 0, 1, &count));
  *out_items = eval->out[0].data;
  return HONE_OK;
}

hone_status hn_eval_keep(hone_eval *eval, const hone_tensor *value, hone_tensor *out) {
  size_t bytes;
  if (!hn_value_copy_bytes(value, &bytes)) return HN_FAIL(eval->diagnostics, HONE_LIMIT, "an element is too large");
  void *block = eval->keep ? eval->keep(eval, bytes) : NULL;
  if (!block)
    return HN_FAIL(eval->diagnostics, HONE_LIMIT, "an element of %zu bytes: the heap of the session has no room",
                   bytes);
  hn_value_copy(value, block, out);
  return HONE_OK;
}

hone_status hn_eval_position(hone_eval *eval, int input, int64_t count, int64_t most, int64_t otherwise, int64_t *out) {
  *out = otherwise;
  if (hn_eval_given(eval, input)) {
    if (hn_elems(&eval->in[input].type.shape) != 1)
      return HN_FAIL(eval->diagnostics, HONE_INVALID, "the position has more than one element, or none");
    *out = hn_int(&eval->in[input], 0);
    if (*out < 0) *out += count;
  }
  if (*out >= 0 && *out <= most) return HONE_OK;
  return HN_FAIL(eval->diagnostics, HONE_INVALID, "position %lld lies outside a sequence of %lld elements",
                 (long long)*out, (long long)count);
}

hone_status hn_eval_give(hone_eval *eval, const hone_tensor *item) {
  hone_tensor *out = &eval->out[0];
  if (out->data)
    HN_TRY(hn_eval_expect(eval, 0, item->type.shape.rank, item->type.shape.dim));
  else
    HN_TRY(eval->resize(eval, 0, item->type.shape.rank, item->type.shape.dim));
  size_t bytes = 0;
  (void)hn_held_bytes(&item->type, &bytes);
  if (bytes > 0) memcpy(eval->out[0].data, item->data, bytes);
  return HONE_OK;
}
