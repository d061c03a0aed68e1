/* SPDX-License-Identifier: Apache-2.0 */
/* conv.c - conv and conv_transpose of plain f32 by cuDNN, in f32 or tf32; bias, residual and activation by one
 * generated kernel after it, in place. */
#include "backend/cuda/conv/dnn.h"
#include <stdio.h>
#include <string.h>

enum { X, W, BIAS, RESIDUAL, VARIANTS = 4, AFTER_BYTES = 640 };

typedef struct state {
  hn_cuda_conv conv;
  char after_text[AFTER_BYTES]; /* an expression over y, bias, residual; "": none */
  hn_cuda_kernel after;
  int after_inputs[2], after_count; /* of the launch, beside y */
} state;

typedef struct row_kernel {
  bool transposed;
} row_kernel;

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

static bool place_after(const hone_query *query, state *s) {
  const hone_shape *y = &query->out[0].type.shape;
  int64_t strides[3][HONE_MAX_RANK] = {{0}};
  hn_cuda_broadcast(y, y, strides[0]);
  for (int i = 0; i < s->after_count; ++i) {
    if (s->after_inputs[i] == BIAS)
      strides[1 + i][1] = 1;
    else
      hn_cuda_broadcast(y, y, strides[1 + i]);
  }
  return hn_cuda_place(y, 1 + s->after_count, (const int64_t(*)[HONE_MAX_RANK])strides, &s->after.places);
}

static const char *plan_after(const hone_query *query, state *s) {
  char sum[64] = "x0";
  for (int i = BIAS; i <= RESIDUAL; ++i) {
    if (!hn_cuda_given(query, i)) continue;
    char next[64];
    snprintf(next, sizeof next, "add(%.40s,x%d)", sum, s->after_count + 1);
    memcpy(sum, next, sizeof sum);
    s->after_inputs[s->after_count++] = i;
  }
  const bool acts = hn_cuda_activation(query) != HN_ACTIVATION_NONE;
  if (!acts && s->after_count == 0) return NULL;
  const int head = snprintf(s->after_text, sizeof s->after_text, acts ? "t0=%s;" : "%s", sum);
  if (acts && !hn_cuda_activation_text(query, "t0", s->after_text + head, sizeof s->after_text - (size_t)head))
    return "an activation that is not known here";
  return place_after(query, s) ? NULL : "more elements than 30 bits count";
}

/* cuDNN pads both ends alike; more of the far end may be cut off, less not. */
static const char *check_pads(const hn_cuda_window *w) {
  const int reach_h = (w->in_h + 2 * w->pad_h - (w->kernel_h - 1) * w->dilation_h - 1) / w->stride_h + 1;
  const int reach_w = (w->in_w + 2 * w->pad_w - (w->kernel_w - 1) * w->dilation_w - 1) / w->stride_w + 1;
  return reach_h == w->out_h && reach_w == w->out_w ? NULL : "its pads differ";
}

static const char *plan(const hone_query *query, void *state_memory, hone_needs *needs) {
  state asked, *s = state_memory ? state_memory : &asked;
  const bool transposed = ((const row_kernel *)query->tactic->kernel)->transposed;
  hn_cuda_conv_plan *c = &s->conv.plan;
  *s = (state){.conv.plan = {.transposed = transposed,
                             .in_tf32 = query->tactic->compute == HONE_TF32,
                             .algorithm = (int)hn_cuda_first_param(query)}};
  HN_TRY_REASON(check_types(query));
  const hone_shape *x = &query->in[X].type.shape, *w = &query->in[W].type.shape, *y = &query->out[0].type.shape;
  HN_TRY_REASON(hn_cuda_sliding(query, transposed ? y : x, transposed ? x : y, w->dim + 2, &c->window));
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
  HN_TRY_REASON(plan_after(query, s));
  needs->state = sizeof *s;
  needs->scratch = HN_CUDA_DNN_WORKSPACE_BYTES;
  return check_pads(&c->window);
}

static int variants(const hone_query *query, hone_params *out, int room) {
  (void)query;
  return hn_cuda_proposals(out, room < VARIANTS ? room : VARIANTS);
}

static hone_status prepare(hone_unit *unit, const hone_query *query, void *state_memory, hone_diagnostics *diag) {
  static const char *const types[4] = {"float", "float", "float", "float"};
  state *s = state_memory;
  (void)query;
  hone_status status = hn_cuda_conv_make(unit, &s->conv, diag);
  if (status == HONE_OK && s->after_text[0]) status = hn_cuda_kernel_make(unit, s->after_text, types, &s->after, diag);
  if (status != HONE_OK) hn_cuda_conv_drop(&s->conv);
  return status;
}

static void release(void *s) { hn_cuda_conv_drop(&((state *)s)->conv); }

static hone_status run_after(const state *s, hone_stream *stream, const hone_launch *launch) {
  const void *in[3] = {launch->out[0].data};
  for (int i = 0; i < s->after_count; ++i) in[1 + i] = launch->in[s->after_inputs[i]].data;
  return s->after_text[0] ? hn_cuda_kernel_launch(&s->after, stream, in, launch->out[0].data) : HONE_OK;
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = state_memory;
  const hone_status status = hn_cuda_conv_launch(&s->conv, stream, launch->in[X].data, launch->in[W].data,
                                                 launch->out[0].data, launch->scratch);
  return status == HONE_OK ? run_after(s, stream, launch) : status;
}

const hone_tactic hn_tactics_cuda_conv[] = {
    {sizeof(hone_tactic), .name = "cuda.conv.f32.cudnn", .version = 1, .op = "conv", .isa = HN_CUDA_NVRTC | HN_CUDA_DNN,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .variants = variants, .plan = plan, .prepare = prepare,
     .release = release, .launch = launch, .library = "CUDNN", .kernel = &(const row_kernel){.transposed = false}},
    {sizeof(hone_tactic), .name = "cuda.conv_transpose.f32.cudnn", .version = 1, .op = "conv_transpose",
     .isa = HN_CUDA_NVRTC | HN_CUDA_DNN, .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .variants = variants,
     .plan = plan, .prepare = prepare, .release = release, .launch = launch, .library = "CUDNN",
     .kernel = &(const row_kernel){.transposed = true}},
    {sizeof(hone_tactic), .name = "cuda.conv.tf32.cudnn", .version = 1, .op = "conv",
     .isa = HN_CUDA_NVRTC | HN_CUDA_DNN | HN_CUDA_SM80, .compute = HONE_TF32,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .variants = variants, .plan = plan, .prepare = prepare,
     .release = release, .launch = launch, .library = "CUDNN", .kernel = &(const row_kernel){.transposed = false}},
    {sizeof(hone_tactic), .name = "cuda.conv_transpose.tf32.cudnn", .version = 1, .op = "conv_transpose",
     .isa = HN_CUDA_NVRTC | HN_CUDA_DNN | HN_CUDA_SM80, .compute = HONE_TF32,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .variants = variants, .plan = plan, .prepare = prepare,
     .release = release, .launch = launch, .library = "CUDNN", .kernel = &(const row_kernel){.transposed = true}},
    {0}};
