/* SPDX-License-Identifier: Apache-2.0 */
/* channels.c - concat, split and slice along the channels of images in halves, f32 or bytes with their channels last,
 * and shuffles of them, also of planes: one launch for all parts. */
#include "backend/cuda/image/image.h"

enum { THREADS = 256 };

typedef struct state {
  hn_cuda_channels args;
  hn_cuda_builtin kernel;
} state;

/* Planes: the channels are not last. */
static bool of_planes(const hone_query *query) { return query->tactic->storages[0].in == HONE_PLAIN; }

static const char *read_planes(const hone_fact *fact, hone_dtype dtype, hn_cuda_image *out) {
  const hone_shape *shape = &fact->type.shape;
  if (!hn_cuda_plain_of(fact, dtype) || shape->rank < 2) return "it is not plain, or has no channels";
  if (hn_cuda_elements(shape) < 1 || hn_cuda_elements(shape) > INT32_MAX / 2)
    return "no elements, or more than 30 bits count";
  *out = (hn_cuda_image){.n = (int)shape->dim[0],
                         .c = (int)shape->dim[1],
                         .h = 1,
                         .w = (int)(hn_cuda_elements(shape) / shape->dim[0] / shape->dim[1]),
                         .pitch = (int)shape->dim[1]};
  return NULL;
}

/* Facts of one image size; their channels one after the other. */
static const char *lay_out(const hone_query *query, const hone_fact *list, int count, hn_cuda_image *first, int *begin,
                           int *pitch) {
  const hone_dtype held = query->in[0].type.dtype;
  if (count < 1 || count > HN_CUDA_PARTS) return "too many parts";
  begin[0] = 0;
  for (int i = 0; i < count; ++i) {
    hn_cuda_image image;
    HN_TRY_REASON(of_planes(query) ? read_planes(&list[i], held, &image) : hn_cuda_image_of(&list[i], held, &image));
    if (first->n == 0) *first = image;
    if (image.n != first->n || image.h != first->h || image.w != first->w) return "a part has other extents";
    begin[i + 1] = begin[i] + image.c;
    pitch[i] = image.pitch;
  }
  return NULL;
}

static const char *plan(const hone_query *query, int ins, int first, int groups, state *out) {
  hn_cuda_channels *a = &out->args;
  hn_cuda_image image = {0};
  const hone_dtype held = query->in[0].type.dtype;
  const bool of_bytes = held == HONE_U8 || held == HONE_I8;
  const int lanes = of_bytes ? 16 : held == HONE_F32 ? 4 : 8; /* of sixteen bytes */
  int pitch[HN_CUDA_PARTS];
  *a = (hn_cuda_channels){.ins = ins, .outs = query->out_count, .first = first, .groups = groups};
  HN_TRY_REASON(lay_out(query, query->in, ins, &image, a->in_begin, a->in_pitch));
  HN_TRY_REASON(lay_out(query, query->out, query->out_count, &image, a->out_begin, pitch));
  for (int i = 0; i < a->outs; ++i) a->out_eight[i + 1] = a->out_eight[i] + pitch[i] / lanes;
  a->total = a->in_begin[ins];
  a->eights = (unsigned)a->out_eight[a->outs];
  a->pixels = image.h * image.w;
  a->count = (unsigned)(image.n * a->pixels) * (of_planes(query) ? (unsigned)a->out_begin[a->outs] : a->eights);
  if (of_planes(query))
    out->kernel = held == HONE_F32 ? HN_CUDA_channel_planes_32 : HN_CUDA_channel_planes_16;
  else
    out->kernel = of_bytes ? HN_CUDA_channels_8 : held == HONE_F32 ? HN_CUDA_channels_32 : HN_CUDA_channels_16;
  if (groups < 1 || a->total % groups) return "the groups do not divide the channels";
  return first < 0 || first + a->out_begin[a->outs] > a->total ? "more channels than there are" : NULL;
}

static int64_t axis_of(const hone_query *query, int64_t otherwise) {
  const int64_t axis = hn_cuda_attr_int(query->attrs, "axis", otherwise);
  return axis < 0 ? axis + query->in[0].type.shape.rank : axis;
}

static const char *plan_concat(const hone_query *query, void *state_memory, hone_needs *needs) {
  state asked;
  needs->state = sizeof asked;
  if (axis_of(query, 1) != 1) return "not along the channels";
  return plan(query, query->in_count, 0, 1, state_memory ? state_memory : &asked);
}

static const char *plan_split(const hone_query *query, void *state_memory, hone_needs *needs) {
  state asked;
  needs->state = sizeof asked;
  if (axis_of(query, 0) != 1) return "not along the channels";
  return plan(query, 1, 0, 1, state_memory ? state_memory : &asked);
}

/* The only number of a constant list. */
static bool one_of(const hone_query *query, int input, int64_t otherwise, int64_t *out) {
  *out = otherwise;
  if (!hn_cuda_given(query, input)) return true;
  const hone_tensor *list = query->in[input].constant;
  if (!list || !list->data || hn_cuda_elements(&list->type.shape) != 1) return false;
  if (list->type.dtype == HONE_I64) *out = *(const int64_t *)list->data;
  if (list->type.dtype == HONE_I32) *out = *(const int32_t *)list->data;
  return list->type.dtype == HONE_I64 || list->type.dtype == HONE_I32;
}

static const char *plan_slice(const hone_query *query, void *state_memory, hone_needs *needs) {
  enum { STARTS = 1, AXES = 3, STEPS };
  state asked;
  int64_t start, axis, step;
  const hone_shape *in = &query->in[0].type.shape;
  needs->state = sizeof asked;
  if (!one_of(query, STARTS, 0, &start) || !one_of(query, AXES, 0, &axis) || !one_of(query, STEPS, 1, &step))
    return "its bounds are not constants, or of several axes";
  if ((axis < 0 ? axis + in->rank : axis) != 1 || step != 1) return "not along the channels, or in steps";
  if (start < 0) start += in->dim[1];
  start = start < 0 ? 0 : start > in->dim[1] ? in->dim[1] : start;
  return plan(query, 1, (int)start, 1, state_memory ? state_memory : &asked);
}

/* The channels of channel_gather as a shuffle of groups; 0: they are none. */
static int groups_of(const hone_query *query) {
  const hone_attr *list = hn_cuda_attr(query->attrs, "channels");
  int64_t total = 0;
  for (int i = 0; i < query->in_count; ++i)
    total += query->in[i].type.shape.rank > 1 ? query->in[i].type.shape.dim[1] : 0;
  if (!list || list->kind != HONE_ATTR_INTS || list->count < 2 || list->count != total) return 0;
  const int64_t each = list->ints[1];
  if (each < 1 || total % each) return 0;
  const int64_t groups = total / each;
  for (int64_t f = 0; f < total; ++f)
    if (list->ints[f] != f % groups * each + f / groups) return 0;
  return (int)groups;
}

static const char *plan_gather(const hone_query *query, void *state_memory, hone_needs *needs) {
  state asked;
  const int groups = groups_of(query);
  const uint32_t floats = HONE_BIT(HONE_F32) | HONE_BIT(HONE_F16) | HONE_BIT(HONE_BF16);
  if (!(HONE_BIT(query->in[0].type.dtype) & floats)) return "it is of another type";
  needs->state = sizeof asked;
  if (!groups) return "its channels are in no order of groups";
  return plan(query, query->in_count, 0, groups, state_memory ? state_memory : &asked);
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = state_memory;
  hn_cuda_channels args = s->args;
  for (int i = 0; i < args.ins; ++i) args.in[i] = launch->in[i].data;
  for (int i = 0; i < args.outs; ++i) args.out[i] = launch->out[i].data;
  void *arguments[] = {&args};
  return hn_cuda_launch_shaped(
      stream, s->kernel,
      &(hn_cuda_shape){.grid = {(args.count + THREADS - 1) / THREADS, 1, 1}, .threads = THREADS, .dependent = true},
      arguments);
}

const hone_tactic hn_tactics_cuda_channels[] = {
    {sizeof(hone_tactic), .name = "cuda.concat.channels", .version = 1, .op = "concat",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_F16_NHWC, HONE_F16_NHWC}, {HONE_BF16_NHWC, HONE_BF16_NHWC}, {HONE_NHWC, HONE_NHWC}},
     .plan = plan_concat, .launch = launch},
    {sizeof(hone_tactic), .name = "cuda.split.channels", .version = 1, .op = "split",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_F16_NHWC, HONE_F16_NHWC}, {HONE_BF16_NHWC, HONE_BF16_NHWC}, {HONE_NHWC, HONE_NHWC}},
     .plan = plan_split, .launch = launch},
    {sizeof(hone_tactic), .name = "cuda.slice.channels", .version = 1, .op = "slice",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_F16_NHWC, HONE_F16_NHWC}, {HONE_BF16_NHWC, HONE_BF16_NHWC}, {HONE_NHWC, HONE_NHWC}},
     .plan = plan_slice, .launch = launch},
    {sizeof(hone_tactic), .name = "cuda.channel_gather.planes", .version = 1, .op = "channel_gather",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}},
     .plan = plan_gather, .launch = launch},
    {sizeof(hone_tactic), .name = "cuda.channel_gather.shuffle", .version = 1, .op = "channel_gather",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_F16_NHWC, HONE_F16_NHWC}, {HONE_BF16_NHWC, HONE_BF16_NHWC}, {HONE_NHWC, HONE_NHWC}},
     .plan = plan_gather, .launch = launch},
    {0}};
