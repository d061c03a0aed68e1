/* SPDX-License-Identifier: Apache-2.0 */
/* eltwise.c - elementwise operators and moves by generated kernels: f32 and bool with broadcasting; transposes and
 * copies of any element of 1, 2, 4 or 8 bytes. */
#include "backend/cuda/cuda.h"
#include <string.h>

typedef struct state {
  hn_cuda_kernel kernel;
} state;

static size_t state_bytes(const hone_query *query) {
  (void)query;
  return sizeof(state);
}

static hone_status launch(void *s, hone_stream *stream, const hone_launch *launch) {
  const state *made = s;
  const void *in[HN_CUDA_INPUTS];
  for (int i = 0; i < made->kernel.places.in_count; ++i) in[i] = launch->in[i].data;
  return hn_cuda_kernel_launch(&made->kernel, stream, in, launch->out[0].data);
}

/* ---- elementwise ---- */

static const char *number_type(hone_dtype dtype) {
  return dtype == HONE_F32 ? "float" : dtype == HONE_BOOL ? "unsigned char" : NULL;
}

static const char *plan_elementwise(const hone_query *query, hn_cuda_places *places, const char **types) {
  int64_t strides[HN_CUDA_INPUTS][HONE_MAX_RANK];
  if (query->in_count < 1 || query->in_count > HN_CUDA_INPUTS || query->out_count != 1)
    return "more inputs than a kernel takes, or another number of outputs than 1";
  for (int i = 0; i < query->in_count; ++i) {
    const hone_type *type = &query->in[i].type;
    if (type->kind != HONE_TENSOR) return "an optional input is absent";
    types[i] = number_type(type->dtype);
    if (!types[i] || type->format != HONE_PLAIN) return "an input is not plain f32 or bool";
    hn_cuda_broadcast(&type->shape, &query->out[0].type.shape, strides[i]);
  }
  types[query->in_count] = number_type(query->out[0].type.dtype);
  if (!types[query->in_count] || query->out[0].type.format != HONE_PLAIN) return "the output is not plain f32 or bool";
  if (!hn_cuda_place(&query->out[0].type.shape, query->in_count, (const int64_t(*)[HONE_MAX_RANK])strides, places))
    return "more elements than 30 bits count";
  return NULL;
}

static const char *reject_elementwise(const hone_query *query) {
  hn_cuda_places places;
  const char *types[HN_CUDA_INPUTS + 1];
  return plan_elementwise(query, &places, types);
}

static hone_status prepare_elementwise(hone_unit *unit, const hone_query *query, void *s, hone_diagnostics *diag) {
  state *made = s;
  hn_cuda_places places;
  const char *types[HN_CUDA_INPUTS + 1];
  const char *reason = plan_elementwise(query, &places, types);
  if (reason) return unit->host->fail(diag, HONE_UNSUPPORTED, reason);
  char *text = hn_cuda_new(unit->host, HN_CUDA_TEXT_BYTES);
  if (!text) return unit->host->fail(diag, HONE_NO_MEMORY, "out of memory");
  const bool written =
      unit->host->expression(unit->host->self, query->op, query->attrs, query->in_count, text, HN_CUDA_TEXT_BYTES);
  const hone_status status = written ? hn_cuda_kernel_make(unit, text, &places, types, &made->kernel, diag)
                                     : unit->host->fail(diag, HONE_INTERNAL, "the operator has no expression");
  hn_cuda_delete(unit->host, text, HN_CUDA_TEXT_BYTES);
  return status;
}

const hone_tactic hn_tactic_cuda_elementwise = {
    .struct_size = sizeof(hone_tactic),
    .name = "cuda.elementwise.f32",
    .version = 1,
    .op = "*elementwise",
    .isa = HN_CUDA_NVRTC,
    .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE | HONE_TACTIC_IN_PLACE,
    .reject = reject_elementwise,
    .state_bytes = state_bytes,
    .prepare = prepare_elementwise,
    .launch = launch,
    .library = "NVRTC",
};

/* ---- moves ---- */

static const char *bits_type(hone_dtype dtype) {
  switch (dtype) {
  case HONE_F32:
  case HONE_I32:
  case HONE_U32: return "int";
  case HONE_F64:
  case HONE_I64:
  case HONE_U64: return "long long";
  case HONE_F16:
  case HONE_BF16:
  case HONE_I16:
  case HONE_U16: return "short";
  case HONE_I8:
  case HONE_U8:
  case HONE_BOOL: return "char";
  default: return NULL;
  }
}

/* strides: the input's along each axis of the output. */
static const char *plan_move(const hone_query *query, bool transposes, hn_cuda_places *places, const char **types) {
  int64_t strides[1][HONE_MAX_RANK] = {{0}}, own[HONE_MAX_RANK];
  const hone_type *in = &query->in[0].type, *out = &query->out[0].type;
  if (query->in_count < 1 || in->kind != HONE_TENSOR || in->format != HONE_PLAIN || out->format != HONE_PLAIN)
    return "the input is not a plain tensor";
  types[0] = types[1] = bits_type(in->dtype);
  if (!types[0]) return "elements of no whole number of bytes";
  hone_shape shape = out->shape;
  if (transposes) {
    const hone_attr *perm = hn_cuda_attr(query->attrs, "perm");
    int64_t step = 1;
    for (int d = in->shape.rank - 1; d >= 0; step *= in->shape.dim[d--]) own[d] = step;
    for (int d = 0; d < shape.rank; ++d) strides[0][d] = own[perm ? perm->ints[d] : shape.rank - 1 - d];
  } else {
    shape = (hone_shape){.rank = 1, .dim = {hn_cuda_elements(&out->shape)}};
    strides[0][0] = 1;
  }
  return hn_cuda_place(&shape, 1, (const int64_t(*)[HONE_MAX_RANK])strides, places)
             ? NULL
             : "more elements than 30 bits count";
}

static hone_status prepare_move(hone_unit *unit, const hone_query *query, bool transposes, state *made,
                                hone_diagnostics *diag) {
  hn_cuda_places places;
  const char *types[2];
  const char *reason = plan_move(query, transposes, &places, types);
  if (reason) return unit->host->fail(diag, HONE_UNSUPPORTED, reason);
  return hn_cuda_kernel_make(unit, "x0", &places, types, &made->kernel, diag);
}

static const char *reject_transpose(const hone_query *query) {
  hn_cuda_places places;
  const char *types[2];
  return plan_move(query, true, &places, types);
}
static const char *reject_copy(const hone_query *query) {
  hn_cuda_places places;
  const char *types[2];
  return plan_move(query, false, &places, types);
}
static hone_status prepare_transpose(hone_unit *unit, const hone_query *query, void *s, hone_diagnostics *diag) {
  return prepare_move(unit, query, true, s, diag);
}
static hone_status prepare_copy(hone_unit *unit, const hone_query *query, void *s, hone_diagnostics *diag) {
  return prepare_move(unit, query, false, s, diag);
}

#define MOVE(row, row_name, row_op, how)                                                                               \
  const hone_tactic hn_tactic_cuda_##row = {                                                                           \
      .struct_size = sizeof(hone_tactic),                                                                              \
      .name = row_name,                                                                                                \
      .version = 1,                                                                                                    \
      .op = row_op,                                                                                                    \
      .isa = HN_CUDA_NVRTC,                                                                                            \
      .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,                                                        \
      .reject = reject_##how,                                                                                          \
      .state_bytes = state_bytes,                                                                                      \
      .prepare = prepare_##how,                                                                                        \
      .launch = launch,                                                                                                \
      .library = "NVRTC",                                                                                              \
  }
MOVE(transpose, "cuda.transpose", "transpose", transpose);
MOVE(identity, "cuda.copy.identity", "identity", copy);
MOVE(view, "cuda.copy.view", "view", copy);
