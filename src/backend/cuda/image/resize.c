/* SPDX-License-Identifier: Apache-2.0 */
/* resize.c - resize and upsample to the nearest pixel or linearly, over one or two axes: f32 and halves, plain or with
 * the channels last; of bytes with their channels last to the nearest pixel. */
#include "backend/cuda/image/image.h"
#include <string.h>

enum { THREADS = 256 };

typedef struct state {
  hn_cuda_resize args;
  hn_cuda_builtin kernel;
} state;

typedef struct row_kernel {
  int scales_input;
} row_kernel;

/* The number of an attribute's word in a list that ends with NULL; -1: none. */
static int word_of(const hone_query *query, const char *name, const char *otherwise, const char *const *words) {
  const hone_attr *attr = hn_cuda_attr(query->attrs, name);
  const char *text = attr && attr->kind == HONE_ATTR_STRING ? attr->s : otherwise;
  for (int i = 0; words[i]; ++i)
    if (strcmp(text, words[i]) == 0) return i;
  return -1;
}

static const char *read_words(const hone_query *query, hn_cuda_resize *r) {
  static const char *const modes[] = {"nearest", "linear", NULL};
  static const char *const transforms[] = {[HN_CUDA_HALF_PIXEL] = "half_pixel",
                                           [HN_CUDA_HALF_PIXEL_SYMMETRIC] = "half_pixel_symmetric",
                                           [HN_CUDA_PYTORCH_HALF_PIXEL] = "pytorch_half_pixel",
                                           [HN_CUDA_ASYMMETRIC] = "asymmetric",
                                           [HN_CUDA_ALIGN_CORNERS] = "align_corners",
                                           [HN_CUDA_TF_HALF_PIXEL] = "tf_half_pixel_for_nn",
                                           NULL};
  static const char *const roundings[] = {[HN_CUDA_PREFER_FLOOR] = "round_prefer_floor",
                                          [HN_CUDA_PREFER_CEIL] = "round_prefer_ceil",
                                          [HN_CUDA_FLOOR] = "floor",
                                          [HN_CUDA_CEIL] = "ceil",
                                          NULL};
  static const char *const policies[] = {"stretch", NULL};
  const int mode = word_of(query, "mode", "nearest", modes);
  r->is_linear = mode == 1;
  r->transform = word_of(query, "coordinate_transformation_mode", "asymmetric", transforms);
  r->rounding = word_of(query, "nearest_mode", "floor", roundings);
  if (mode < 0 || r->transform < 0 || r->rounding < 0) return "there is no code for its words";
  if (word_of(query, "keep_aspect_ratio_policy", "stretch", policies) < 0) return "it keeps the aspect ratio";
  if (hn_cuda_attr_int(query->attrs, "antialias", 0) || hn_cuda_attr_int(query->attrs, "exclude_outside", 0))
    return "it smooths, or leaves out what is outside";
  return NULL;
}

/* The scales of all axes: given ones, or those that the extents tell. */
static const char *read_scales(const hone_query *query, int input, double *scale) {
  const hone_shape *x = &query->in[0].type.shape, *y = &query->out[0].type.shape;
  for (int d = 0; d < x->rank; ++d) scale[d] = (double)y->dim[d] / (double)x->dim[d];
  if (!hn_cuda_given(query, input) || hn_cuda_elements(&query->in[input].type.shape) == 0) return NULL;
  const hone_tensor *scales = query->in[input].constant;
  const hone_attr *axes = hn_cuda_attr(query->attrs, "axes");
  const bool named = axes && axes->kind == HONE_ATTR_INTS && axes->count;
  if (!scales || !scales->data || scales->type.dtype != HONE_F32) return "its scales are not constants";
  const int64_t count = hn_cuda_elements(&scales->type.shape);
  if (count != (named ? axes->count : x->rank)) return "its scales have another length";
  for (int64_t i = 0; i < count; ++i) {
    const int64_t d = !named ? i : axes->ints[i] < 0 ? axes->ints[i] + x->rank : axes->ints[i];
    if (d < 0 || d >= x->rank) return "an axis is out of range";
    scale[d] = (double)((const float *)scales->data)[i];
    if (!(scale[d] > 0)) return "a scale is out of range";
  }
  return NULL;
}

static const char *find_kernel(const hone_query *query, state *s) {
  const hone_type *x = &query->in[0].type, *y = &query->out[0].type;
  hn_cuda_image in, out;
  int64_t threads = hn_cuda_elements(&y->shape);
  s->args.eights = 1;
  if (x->dtype != y->dtype) return "the types differ";
  const bool plain = hn_cuda_plain_of(&query->in[0], x->dtype) && hn_cuda_plain_of(&query->out[0], x->dtype);
  if (plain) {
    s->kernel = x->dtype == HONE_F32   ? HN_CUDA_resize_f32
                : x->dtype == HONE_F16 ? HN_CUDA_resize_f16
                                       : HN_CUDA_resize_bf16;
    if (x->dtype != HONE_F32 && x->dtype != HONE_F16 && x->dtype != HONE_BF16) return "it is of another type";
  } else {
    HN_TRY_REASON(hn_cuda_image_of(&query->in[0], x->dtype, &in));
    HN_TRY_REASON(hn_cuda_image_of(&query->out[0], x->dtype, &out));
    if (x->dtype == HONE_F32) return "it is f32, and not plain";
    const bool of_bytes = x->dtype == HONE_U8 || x->dtype == HONE_I8;
    if (of_bytes && s->args.is_linear) return "bytes are not mixed";
    s->args.eights = out.pitch / (of_bytes ? 16 : 8); /* sixteen bytes each, which are only moved there */
    s->kernel = x->dtype == HONE_BF16 ? HN_CUDA_resize_last_bf16 : HN_CUDA_resize_last_f16;
    threads = (int64_t)out.n * out.h * out.w * s->args.eights;
  }
  if (threads > INT32_MAX / 2 || hn_cuda_elements(&x->shape) > INT32_MAX / 2) return "more elements than 30 bits count";
  s->args.count = (unsigned)threads;
  return NULL;
}

static const char *plan(const hone_query *query, void *state_memory, hone_needs *needs) {
  state asked, *s = state_memory ? state_memory : &asked;
  const hone_shape *x = &query->in[0].type.shape, *y = &query->out[0].type.shape;
  double scale[HONE_MAX_RANK];
  hn_cuda_resize_axis axis[2] = {{.in = 1, .out = 1, .scale = 1}, {.in = 1, .out = 1, .scale = 1}};
  *s = (state){0};
  HN_TRY_REASON(read_words(query, &s->args));
  if (x->rank < 3 || x->rank > 4 || y->rank != x->rank) return "it has not one or two axes";
  if (!hn_cuda_elements(x) || !hn_cuda_elements(y)) return "it is empty";
  HN_TRY_REASON(read_scales(query, ((const row_kernel *)query->tactic->kernel)->scales_input, scale));
  for (int d = 0; d < x->rank; ++d) {
    const bool active = scale[d] != 1 || x->dim[d] != y->dim[d];
    if (d < 2 && active) return "images or channels are resized";
    if (x->dim[d] > 1 << 24 || y->dim[d] > 1 << 24) return "an extent is out of range";
    if (d > 1)
      axis[d - x->rank + 2] =
          (hn_cuda_resize_axis){.in = (int)x->dim[d], .out = (int)y->dim[d], .active = active, .scale = scale[d]};
  }
  s->args.h = axis[0], s->args.w = axis[1];
  needs->state = sizeof *s;
  return find_kernel(query, s);
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  state *s = state_memory;
  void *arguments[] = {&launch->out[0].data, (void *)(uintptr_t)&launch->in[0].data, &s->args};
  return hn_cuda_launch_shaped(
      stream, s->kernel,
      &(hn_cuda_shape){.grid = {(s->args.count + THREADS - 1) / THREADS, 1, 1}, .threads = THREADS, .dependent = true},
      arguments);
}

static const row_kernel of_resize = {.scales_input = 2}, of_upsample = {.scales_input = 1};

const hone_tactic hn_tactics_cuda_resize[] = {
    {sizeof(hone_tactic), .name = "cuda.resize", .version = 1, .op = "resize",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}},
     .plan = plan, .launch = launch, .kernel = &of_resize},
    {sizeof(hone_tactic), .name = "cuda.resize.nhwc", .version = 1, .op = "resize",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_F16_NHWC, HONE_F16_NHWC}, {HONE_BF16_NHWC, HONE_BF16_NHWC}, {HONE_NHWC, HONE_NHWC}},
     .plan = plan, .launch = launch, .kernel = &of_resize},
    {sizeof(hone_tactic), .name = "cuda.upsample", .version = 1, .op = "upsample",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}},
     .plan = plan, .launch = launch, .kernel = &of_upsample},
    {sizeof(hone_tactic), .name = "cuda.upsample.nhwc", .version = 1, .op = "upsample",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_F16_NHWC, HONE_F16_NHWC}, {HONE_BF16_NHWC, HONE_BF16_NHWC}, {HONE_NHWC, HONE_NHWC}},
     .plan = plan, .launch = launch, .kernel = &of_upsample},
    {0}};
