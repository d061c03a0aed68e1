/* SPDX-License-Identifier: Apache-2.0 */
/* common_blocks.c - facts that cross a block's border. */
#include "ops/common_blocks.h"

void hn_params_of_captures(hone_infer *infer, int first_input, hone_fact *params, int first_param, int param_count) {
  for (int i = 0; first_param + i < param_count && first_input + i < infer->in_count; ++i) {
    int64_t count;
    hone_fact *param = &params[first_param + i];
    *param = (hone_fact){.type = infer->in[first_input + i].type};
    param->value = hn_in_value(infer, first_input + i, &count);
    param->value_count = param->value ? count : 0;
  }
}

void hn_param_carried(hone_infer *infer, const hone_fact *initial, const hone_fact *result, hone_fact *param) {
  const hone_shape *from = &initial->type.shape, *to = result ? &result->type.shape : from;
  const hone_shape old = param->type.shape;
  *param = (hone_fact){.type = initial->type};
  hone_shape *shape = &param->type.shape;
  if (from->rank != to->rank) shape->rank = -1;
  for (int d = 0; d < shape->rank; ++d) {
    const bool open =
        old.rank == shape->rank && HONE_SYMBOLIC(old.dim[d]) && hn_dim_is_after_run(infer->dims, old.dim[d]);
    if (open)
      shape->dim[d] = old.dim[d];
    else if (from->dim[d] != to->dim[d])
      shape->dim[d] = hn_dim_fresh(infer->dims, infer->op->name, true, INT64_MAX);
  }
}

hone_status hn_out_either(hone_infer *infer, int output, const hone_fact *a, const hone_fact *b, const char *what) {
  if (output >= infer->out_count) return HONE_OK;
  if (a->type.kind != b->type.kind || a->type.dtype != b->type.dtype)
    return HN_INFER_FAIL(infer, "%s %d is %s in one case and %s in the other", what, output,
                         hone_dtype_name(a->type.dtype), hone_dtype_name(b->type.dtype));
  hone_fact *out = &infer->out[output];
  out->type = a->type;
  hone_shape *shape = &out->type.shape;
  if (shape->rank != b->type.shape.rank) shape->rank = -1;
  for (int d = 0; d < shape->rank; ++d)
    if (shape->dim[d] != b->type.shape.dim[d])
      shape->dim[d] = hn_dim_fresh(infer->dims, infer->op->name, true, INT64_MAX);
  return HONE_OK;
}

hone_status hn_infer_carried(hone_infer *infer, int output, const hone_fact *initial, const hone_fact *result) {
  const hone_shape *from = &initial->type.shape, *to = &result->type.shape;
  if (initial->type.kind == HONE_OPTIONAL_SEQUENCE && result->type.kind == HONE_SEQUENCE &&
      initial->type.dtype == result->type.dtype && output < infer->out_count) { /* it has one after the first turn */
    infer->out[output].type = result->type;
    infer->out[output].type.shape.rank = -1;
    return HONE_OK;
  }
  HN_TRY(hn_out_either(infer, output, initial, result, "carried value"));
  if (initial->type.kind != HONE_TENSOR) return HONE_OK;
  if (from->rank >= 0 && to->rank >= 0 && from->rank != to->rank)
    return HN_INFER_UNSUPPORTED(infer, "carried value %d begins with rank %d and comes back with rank %d", output,
                                from->rank, to->rank);
  return HONE_OK;
}

const hone_fact *hn_block_results(const hone_infer *infer, int block, int *out_count) {
  *out_count = 0;
  if (!infer->block_results || block >= infer->block_count || !infer->block_results[block]) return NULL;
  *out_count = infer->block_result_counts[block];
  return infer->block_results[block];
}
