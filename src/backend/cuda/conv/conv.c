/* SPDX-License-Identifier: Apache-2.0 */
/* conv.c - conv and conv_transpose of plain f32 by cuDNN; bias, residual and activation by one generated kernel after
 * it, in place. */
#include "backend/cuda/conv/dnn.h"
#include <stdio.h>
#include <string.h>

enum { X, W, BIAS, RESIDUAL, VARIANTS = 4, AFTER_BYTES = 640 };

typedef struct state {
  hn_cuda_conv conv;
  hn_cuda_kernel after;
  bool has_after;
  int after_inputs[2], after_count; /* of the launch, beside y */
} state;

typedef struct planned {
  hn_cuda_conv_plan conv;
  char after[AFTER_BYTES]; /* an expression over y, bias, residual; "": none */
  int after_inputs[2], after_count;
} planned;

static const char *check_types(const hone_query *query) {
  for (int i = 0; i < query->in_count; ++i) {
    if (!hn_cuda_given(query, i)) continue;
    if (query->in[i].type.dtype != HONE_F32 || query->in[i].type.format != HONE_PLAIN)
      return "an input is not plain f32";
  }
  const hone_type *y = &query->out[0].type;
  if (y->dtype != HONE_F32 || y->format != HONE_PLAIN) return "the output is not plain f32";
  if (query->in[X].type.shape.rank < 3 || query->in[X].type.shape.rank > 4) return "it has not one or two axes";
  if (query->in[W].type.shape.rank != query->in[X].type.shape.rank) return "the weights have another rank";
  if (hn_cuda_given(query, RESIDUAL) && !hn_cuda_same_shape(&query->in[RESIDUAL].type.shape, &y->shape))
    return "the residual is broadcast";
  return NULL;
}

static const char *plan_after(const hone_query *query, planned *p) {
  char sum[64] = "x0";
  p->after_count = 0;
  p->after[0] = 0;
  for (int i = BIAS; i <= RESIDUAL; ++i) {
    if (!hn_cuda_given(query, i)) continue;
    char next[64];
    snprintf(next, sizeof next, "add(%.40s,x%d)", sum, p->after_count + 1);
    memcpy(sum, next, sizeof sum);
    p->after_inputs[p->after_count++] = i;
  }
  const bool acts = hn_cuda_activation(query) != HN_ACTIVATION_NONE;
  if (!acts && p->after_count == 0) return NULL;
  const int head = snprintf(p->after, sizeof p->after, "t0=%s;", sum);
  if (!acts) {
    snprintf(p->after, sizeof p->after, "%s", sum);
    return NULL;
  }
  return hn_cuda_activation_text(query, "t0", p->after + head, sizeof p->after - (size_t)head)
             ? NULL
             : "an activation that is not known here";
}

static const char *plan(const hone_query *query, bool transposed, planned *p) {
  *p = (planned){.conv.transposed = transposed};
  const char *reason = check_types(query);
  if (reason) return reason;
  const hone_shape *x = &query->in[X].type.shape, *w = &query->in[W].type.shape, *y = &query->out[0].type.shape;
  hn_cuda_conv_plan *c = &p->conv;
  reason = hn_cuda_sliding(query, transposed ? y : x, transposed ? x : y, w->dim + 2, &c->window);
  if (reason) return reason;
  if (transposed) { /* pads follow from the output's extents there; auto_pad would hide what is cut off */
    const hone_attr *automatic = hn_cuda_attr(query->attrs, "auto_pad");
    if (automatic && automatic->kind == HONE_ATTR_STRING && strcmp(automatic->s, "NOTSET") != 0)
      return "its pads are automatic";
    if (hn_cuda_attr(query->attrs, "output_shape")) return "its pads follow from output_shape";
  }
  const int64_t groups = hn_cuda_attr_int(query->attrs, "group", 1);
  c->batch = (int)x->dim[0], c->from = (int)x->dim[1], c->to = (int)y->dim[1];
  if (groups < 1 || c->from % groups || c->to % groups) return "the groups do not divide the channels";
  c->groups = (int)groups;
  if (w->dim[0] != (transposed ? c->from : c->to) || w->dim[1] != (transposed ? c->to : c->from) / groups)
    return "the weights do not fit the channels";
  return plan_after(query, p);
}

/* cuDNN pads both ends alike; more of the far end may be cut off, less not. */
static const char *check_pads(const planned *p) {
  const hn_cuda_window *w = &p->conv.window;
  const int reach_h = (w->in_h + 2 * w->pad_h - (w->kernel_h - 1) * w->dilation_h - 1) / w->stride_h + 1;
  const int reach_w = (w->in_w + 2 * w->pad_w - (w->kernel_w - 1) * w->dilation_w - 1) / w->stride_w + 1;
  return reach_h == w->out_h && reach_w == w->out_w ? NULL : "its pads differ";
}

static const char *plan_conv(const hone_query *query, planned *p) {
  const char *reason = plan(query, false, p);
  return reason ? reason : check_pads(p);
}
static const char *plan_transposed(const hone_query *query, planned *p) {
  const char *reason = plan(query, true, p);
  return reason ? reason : check_pads(p);
}
/* ---- rows ---- */

static int variants(const hone_query *query, hone_params *out, int room) {
  (void)query;
  return hn_cuda_proposals(out, room < VARIANTS ? room : VARIANTS);
}

static size_t scratch(const hone_query *query) {
  (void)query;
  return HN_CUDA_DNN_WORKSPACE_BYTES;
}

static size_t state_bytes(const hone_query *query) {
  (void)query;
  return sizeof(state);
}

static hone_status make_after(hone_unit *unit, const hone_query *query, const planned *p, state *s,
                              hone_diagnostics *diag) {
  static const char *const types[4] = {"float", "float", "float", "float"};
  const hone_shape *y = &query->out[0].type.shape;
  int64_t strides[3][HONE_MAX_RANK] = {{0}};
  hn_cuda_places places;
  hn_cuda_broadcast(y, y, strides[0]);
  for (int i = 0; i < p->after_count; ++i) {
    if (p->after_inputs[i] == BIAS)
      strides[1 + i][1] = 1;
    else
      hn_cuda_broadcast(y, y, strides[1 + i]);
    s->after_inputs[i] = p->after_inputs[i];
  }
  s->after_count = p->after_count;
  s->has_after = true;
  if (!hn_cuda_place(y, 1 + p->after_count, (const int64_t(*)[HONE_MAX_RANK])strides, &places))
    return unit->host->fail(diag, HONE_UNSUPPORTED, "more elements than 30 bits count");
  return hn_cuda_kernel_make(unit, p->after, &places, types, &s->after, diag);
}

static hone_status prepare(hone_unit *unit, const hone_query *query, planned *p, const char *reason, state *s,
                           hone_diagnostics *diag) {
  if (reason) return unit->host->fail(diag, HONE_UNSUPPORTED, reason);
  p->conv.algorithm = query->params && query->params->count ? (int)query->params->items[0].value : 0;
  hone_status status = hn_cuda_conv_make(unit, &p->conv, &s->conv, diag);
  if (status == HONE_OK && p->after[0]) status = make_after(unit, query, p, s, diag);
  if (status != HONE_OK) hn_cuda_conv_drop(&s->conv);
  return status;
}

static void release(void *s) { hn_cuda_conv_drop(&((state *)s)->conv); }

static hone_status run_after(const state *s, hone_stream *stream, const hone_launch *launch) {
  const void *in[3] = {launch->out[0].data};
  for (int i = 0; i < s->after_count; ++i) in[1 + i] = launch->in[s->after_inputs[i]].data;
  return s->has_after ? hn_cuda_kernel_launch(&s->after, stream, in, launch->out[0].data) : HONE_OK;
}

static hone_status launch(void *made, hone_stream *stream, const hone_launch *launch) {
  const state *s = made;
  const hone_status status = hn_cuda_conv_launch(&s->conv, stream, launch->in[X].data, launch->in[W].data,
                                                 launch->out[0].data, launch->scratch);
  return status == HONE_OK ? run_after(s, stream, launch) : status;
}

#define ROW(row, row_name, row_op)                                                                                     \
  static const char *reject_##row(const hone_query *query) {                                                           \
    planned p;                                                                                                         \
    return plan_##row(query, &p);                                                                                      \
  }                                                                                                                    \
  static hone_status prepare_##row(hone_unit *unit, const hone_query *query, void *s, hone_diagnostics *diag) {        \
    planned p;                                                                                                         \
    const char *reason = plan_##row(query, &p);                                                                        \
    return prepare(unit, query, &p, reason, s, diag);                                                                  \
  }                                                                                                                    \
  const hone_tactic hn_tactic_cuda_##row = {                                                                           \
      .struct_size = sizeof(hone_tactic),                                                                              \
      .name = row_name,                                                                                                \
      .version = 1,                                                                                                    \
      .op = row_op,                                                                                                    \
      .isa = HN_CUDA_NVRTC | HN_CUDA_DNN,                                                                              \
      .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,                                                        \
      .reject = reject_##row,                                                                                          \
      .variants = variants,                                                                                            \
      .scratch = scratch,                                                                                              \
      .state_bytes = state_bytes,                                                                                      \
      .prepare = prepare_##row,                                                                                        \
      .release = release,                                                                                              \
      .launch = launch,                                                                                                \
      .library = "CUDNN",                                                                                              \
  };
ROW(conv, "cuda.conv.f32.cudnn", "conv")
ROW(transposed, "cuda.conv_transpose.f32.cudnn", "conv_transpose")
