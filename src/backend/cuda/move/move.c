/* SPDX-License-Identifier: Apache-2.0 */
/* move.c - slice, concat, split, expand, pad and cast by the built-in kernels: elements of 1, 2, 4 or 8 bytes, sixteen
 * bytes at once where all lies so. Lists of extents must be constants: they are read when a step is made ready. Images
 * with their channels last are plain tensors of other extents; along their channels see image/channels.c. */
#include "backend/cuda/image/image.h"
#include "kernels/cuda/args.h"
#include <string.h>

enum { MAX_PARTS = 64 };

/* One strided copy, in elements and, where that is possible, in words of 16 bytes. */
typedef struct copy {
  hn_cuda_walk walk, wide; /* wide.count 0: not possible */
  int bytes;               /* of an element */
  int64_t from, to;        /* bytes from the tensors' beginnings */
} copy;

static int element_bytes(hone_dtype dtype) {
  switch (dtype) {
  case HONE_F32:
  case HONE_I32:
  case HONE_U32: return 4;
  case HONE_F64:
  case HONE_I64:
  case HONE_U64: return 8;
  case HONE_F16:
  case HONE_BF16:
  case HONE_I16:
  case HONE_U16: return 2;
  case HONE_I8:
  case HONE_U8:
  case HONE_BOOL: return 1;
  default: return 0;
  }
}

/* Of rows for images with their channels last. */
static bool is_last(const hone_query *query) { return query->tactic->storages[0].in != HONE_PLAIN; }

/* The extents as they lie in memory: [N, d..., C up to a multiple of eight] where the channels are last. */
static hone_shape extents_of(const hone_query *query, const hone_type *type) {
  hone_shape shape = type->shape;
  const int last = shape.rank - 1;
  if (!is_last(query) || last < 2) return shape;
  for (int d = 1; d < last; ++d) shape.dim[d] = type->shape.dim[d + 1];
  shape.dim[last] = (type->shape.dim[1] + 7) / 8 * 8;
  return shape;
}

/* Where an axis lies among them; -1: the channels, which cannot be cut there. */
static int64_t axis_among(const hone_query *query, int64_t axis) {
  if (!is_last(query) || axis == 0) return axis;
  return axis == 1 ? -1 : axis - 1;
}

static const char *check_fact(const hone_query *query, const hone_fact *fact) {
  const hone_type *type = &fact->type;
  if (type->kind != HONE_TENSOR) return "not a tensor";
  const hone_shape shape = extents_of(query, type);
  if (is_last(query)) {
    const bool is_pixel = type->format == HONE_PLAIN && type->shape.rank > 2 && type->shape.dim[1] % 8 == 0 &&
                          hn_cuda_elements(&type->shape) == type->shape.dim[0] * type->shape.dim[1];
    if (element_bytes(type->dtype) != 2 || (type->format != HONE_NHWC && !is_pixel)) return "its channels are not last";
  } else if (type->format != HONE_PLAIN) {
    return "not a plain tensor";
  }
  if (!element_bytes(type->dtype)) return "elements of no whole number of bytes";
  return hn_cuda_elements(&shape) > INT32_MAX / 2 ? "more elements than 30 bits count" : NULL;
}

static void strides_of(const hone_shape *shape, int64_t *out) {
  int64_t step = 1;
  for (int d = shape->rank - 1; d >= 0; step *= shape->dim[d--]) out[d] = step;
}

static bool make_wide(const copy *c, hn_cuda_walk *out) {
  const int words = 16 / c->bytes, last = c->walk.rank - 1;
  *out = c->walk;
  if (last < 0 || out->from[last] != 1 || out->to[last] != 1 || out->dim[last] % words) return false;
  if (c->from % 16 || c->to % 16) return false;
  for (int d = 0; d < last; ++d) {
    if (out->from[d] % words || out->to[d] % words) return false;
    out->from[d] /= words;
    out->to[d] /= words;
  }
  out->dim[last] /= words;
  out->count /= (unsigned)words;
  return true;
}

/* Axes of one element are left out; an axis that goes on where the next one ends is joined with it. */
static void make_copy(const hone_shape *shape, const int64_t *from, const int64_t *to, int bytes, copy *out) {
  hn_cuda_walk *w = &out->walk;
  *w = (hn_cuda_walk){.count = (unsigned)hn_cuda_elements(shape)};
  for (int d = 0; d < shape->rank; ++d) {
    const int extent = (int)shape->dim[d], last = w->rank - 1;
    if (extent == 1) continue;
    if (last >= 0 && w->from[last] == from[d] * extent && w->to[last] == to[d] * extent) {
      w->dim[last] *= extent;
    } else {
      w->dim[w->rank++] = extent;
    }
    w->from[w->rank - 1] = (int)from[d];
    w->to[w->rank - 1] = (int)to[d];
  }
  out->bytes = bytes;
  if (!w->count || !make_wide(out, &out->wide)) out->wide.count = 0;
}

static hone_status run_copy(const copy *c, hone_stream *stream, const void *x, void *y) {
  static const hn_cuda_builtin kernels[] = {[1] = HN_CUDA_move_8,
                                            [2] = HN_CUDA_move_16,
                                            [4] = HN_CUDA_move_32,
                                            [8] = HN_CUDA_move_64,
                                            [16] = HN_CUDA_move_128};
  const char *from = (const char *)x + c->from;
  char *to = (char *)y + c->to;
  const bool wide = c->wide.count && ((uintptr_t)from | (uintptr_t)to) % 16 == 0;
  hn_cuda_walk walk = wide ? c->wide : c->walk;
  void *arguments[] = {&to, (void *)&from, &walk};
  if (from == to) return HONE_OK; /* laid over each other by the memory plan */
  return hn_cuda_launch(stream, kernels[wide ? 16 : c->bytes],
                        (hn_cuda_grid){(walk.count + HN_CUDA_MOVE_THREADS - 1) / HN_CUDA_MOVE_THREADS, 1, 1},
                        HN_CUDA_MOVE_THREADS, arguments);
}

/* A constant list of integers; -1: it is none. */
static int list_of(const hone_query *query, int input, int64_t *out) {
  const hone_tensor *list = hn_cuda_given(query, input) ? query->in[input].constant : NULL;
  if (!list || !list->data || list->type.format != HONE_PLAIN) return -1;
  const int64_t count = hn_cuda_elements(&list->type.shape);
  if (count > 2 * HONE_MAX_RANK || (list->type.dtype != HONE_I64 && list->type.dtype != HONE_I32)) return -1;
  for (int64_t i = 0; i < count; ++i)
    out[i] = list->type.dtype == HONE_I64 ? ((const int64_t *)list->data)[i] : ((const int32_t *)list->data)[i];
  return (int)count;
}

/* ---- slice and expand: one copy ---- */

static int64_t clamped(int64_t value, int64_t low, int64_t high) {
  return value < low ? low : value > high ? high : value;
}

/* Where the slice begins along an axis; as ONNX clamps it. */
static int64_t first_of(int64_t extent, int64_t start, int64_t step) {
  if (start < 0) start += extent;
  return step > 0 ? clamped(start, 0, extent) : extent > 0 ? clamped(start, 0, extent - 1) : 0;
}

static const char *plan_slice(const hone_query *query, void *state_memory, hone_needs *needs) {
  copy asked, *c = state_memory ? state_memory : &asked;
  enum { STARTS = 1, AXES = 3, STEPS };
  int64_t starts[2 * HONE_MAX_RANK], axes[2 * HONE_MAX_RANK], steps[2 * HONE_MAX_RANK];
  int64_t from[HONE_MAX_RANK], to[HONE_MAX_RANK], base = 0;
  *c = (copy){0};
  HN_TRY_REASON(check_fact(query, &query->in[0]));
  HN_TRY_REASON(check_fact(query, &query->out[0]));
  const hone_shape in = extents_of(query, &query->in[0].type), own = extents_of(query, &query->out[0].type);
  const hone_shape *shape = &in, *out = &own;
  const int count = list_of(query, STARTS, starts);
  const bool has_axes = hn_cuda_given(query, AXES), has_steps = hn_cuda_given(query, STEPS);
  if (count < 0 || (has_axes && list_of(query, AXES, axes) != count) ||
      (has_steps && list_of(query, STEPS, steps) != count) || out->rank != shape->rank || count > shape->rank)
    return "its bounds are not constants";
  strides_of(shape, from);
  strides_of(out, to);
  for (int i = 0; i < count; ++i) {
    const int64_t given = !has_axes     ? i
                          : axes[i] < 0 ? axes[i] + shape->rank
                                        : axes[i],
                  step = has_steps ? steps[i] : 1;
    const int64_t axis = axis_among(query, given);
    if (axis < 0 || axis >= shape->rank || step == 0 || step > INT32_MAX || step < -INT32_MAX)
      return "an axis or a step is out of range";
    base += first_of(shape->dim[axis], starts[i], step) * from[axis];
    from[axis] *= out->dim[axis] > 1 ? step : 0;
  }
  needs->state = sizeof *c;
  c->from = base * element_bytes(query->in[0].type.dtype);
  make_copy(out, from, to, element_bytes(query->in[0].type.dtype), c);
  return NULL;
}

static const char *plan_expand(const hone_query *query, void *state_memory, hone_needs *needs) {
  copy asked, *c = state_memory ? state_memory : &asked;
  int64_t from[HONE_MAX_RANK], to[HONE_MAX_RANK];
  *c = (copy){0};
  HN_TRY_REASON(check_fact(query, &query->in[0]));
  HN_TRY_REASON(check_fact(query, &query->out[0]));
  needs->state = sizeof *c;
  hn_cuda_broadcast(&query->in[0].type.shape, &query->out[0].type.shape, from);
  strides_of(&query->out[0].type.shape, to);
  make_copy(&query->out[0].type.shape, from, to, element_bytes(query->in[0].type.dtype), c);
  return NULL;
}

static hone_status launch_one(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  return run_copy(state_memory, stream, launch->in[0].data, launch->out[0].data);
}

/* ---- concat and split: one copy a part ---- */

typedef struct parts {
  int count;
  copy copies[];
} parts;

static int axis_of(const hone_query *query, int64_t otherwise, int rank) {
  const int64_t axis = hn_cuda_attr_int(query->attrs, "axis", otherwise);
  return (int)axis_among(query, axis < 0 ? axis + rank : axis);
}

static const char *check_parts(const hone_query *query, const hone_fact *whole, const hone_fact *list, int count,
                               int axis) {
  int64_t sum = 0;
  HN_TRY_REASON(check_fact(query, whole));
  if (count > MAX_PARTS || axis < 0 || axis >= whole->type.shape.rank) return "too many parts, or no such axis";
  const hone_shape all = extents_of(query, &whole->type);
  for (int i = 0; i < count; ++i) {
    HN_TRY_REASON(check_fact(query, &list[i]));
    const hone_shape shape = extents_of(query, &list[i].type);
    if (shape.rank != all.rank || list[i].type.dtype != whole->type.dtype) return "a part differs";
    for (int d = 0; d < shape.rank; ++d)
      if (d != axis && shape.dim[d] != all.dim[d]) return "a part has other extents beside the axis";
    sum += shape.dim[axis];
  }
  return sum == all.dim[axis] ? NULL : "the parts do not add up to the whole";
}

static const char *plan_parts(const hone_query *query, const hone_fact *whole, const hone_fact *list, int count,
                              int axis, bool joins, parts *out, hone_needs *needs) {
  int64_t in_whole[HONE_MAX_RANK], own[HONE_MAX_RANK], at = 0;
  const char *reason = check_parts(query, whole, list, count, axis);
  needs->state = sizeof(parts) + (size_t)count * sizeof(copy);
  if (reason || !out) return reason;
  const int bytes = element_bytes(whole->type.dtype);
  const hone_shape all = extents_of(query, &whole->type);
  strides_of(&all, in_whole);
  out->count = count;
  for (int i = 0; i < count; ++i) {
    copy *c = &out->copies[i];
    const hone_shape shape = extents_of(query, &list[i].type);
    *c = (copy){0};
    strides_of(&shape, own);
    *(joins ? &c->to : &c->from) = at * in_whole[axis] * bytes;
    make_copy(&shape, joins ? own : in_whole, joins ? in_whole : own, bytes, c);
    at += shape.dim[axis];
  }
  return NULL;
}

static const char *plan_concat(const hone_query *query, void *state_memory, hone_needs *needs) {
  const int axis = axis_of(query, 1, query->out[0].type.shape.rank);
  return plan_parts(query, &query->out[0], query->in, query->in_count, axis, true, state_memory, needs);
}
static const char *plan_split(const hone_query *query, void *state_memory, hone_needs *needs) {
  const int axis = axis_of(query, 0, query->in[0].type.shape.rank);
  return plan_parts(query, &query->in[0], query->out, query->out_count, axis, false, state_memory, needs);
}
static hone_status launch_concat(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const parts *p = state_memory;
  hone_status status = HONE_OK;
  for (int i = 0; i < p->count && status == HONE_OK; ++i)
    status = run_copy(&p->copies[i], stream, launch->in[i].data, launch->out[0].data);
  return status;
}
static hone_status launch_split(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const parts *p = state_memory;
  hone_status status = HONE_OK;
  for (int i = 0; i < p->count && status == HONE_OK; ++i)
    status = run_copy(&p->copies[i], stream, launch->in[0].data, launch->out[i].data);
  return status;
}

/* Where a part lies in the whole, if in one piece and so that every kernel may read it: at a multiple of 64 bytes. */
static int64_t part_offset(const hone_query *query, const hone_fact *whole, const hone_fact *list, int number,
                           int axis) {
  int64_t outer = 1, inner = element_bytes(whole->type.dtype), at = 0;
  const hone_shape shape = extents_of(query, &whole->type);
  if (axis < 0) return -1;
  for (int d = 0; d < axis; ++d) outer *= shape.dim[d];
  for (int d = axis + 1; d < shape.rank; ++d) inner *= shape.dim[d];
  for (int i = 0; i < number; ++i) at += extents_of(query, &list[i].type).dim[axis];
  return outer == 1 && at * inner % 64 == 0 ? at * inner : -1;
}
static int64_t overlay_concat(const hone_query *query, int input, int output) {
  return part_offset(query, &query->out[output], query->in, input, axis_of(query, 1, query->out[0].type.shape.rank));
}
static int64_t overlay_split(const hone_query *query, int input, int output) {
  if (input != 0) return -1;
  return part_offset(query, &query->in[0], query->out, output, axis_of(query, 0, query->in[0].type.shape.rank));
}

/* ---- the channels behind the planes, or back, between images and plain tensors: as they lie ---- */

/* The image's fact, and the plain tensor's behind it. */
static const hone_fact *image_among(const hone_query *query, const hone_fact **out_plain) {
  const bool to_last = query->in[0].type.format == HONE_NHWC;
  *out_plain = to_last ? &query->out[0] : &query->in[0];
  return to_last ? &query->in[0] : &query->out[0];
}

static const char *plan_last(const hone_query *query, void *state_memory, hone_needs *needs) {
  copy asked, *c = state_memory ? state_memory : &asked;
  const hone_fact *plain, *image = image_among(query, &plain);
  const bool to_last = plain == &query->out[0];
  const int rank = image->type.shape.rank;
  const hone_attr *perm = hn_cuda_attr(query->attrs, "perm");
  hn_cuda_image as;
  *c = (copy){0};
  HN_TRY_REASON(hn_cuda_image_of(image, image->type.dtype, &as));
  if (!hn_cuda_plain_of(plain, image->type.dtype) || plain->type.shape.rank != rank) return "no tensor is plain";
  if (!perm || perm->count != rank) return "perm has another rank";
  for (int i = 0; i < rank; ++i) {
    const int moved = to_last ? (i == rank - 1 ? 1 : i + 1) : i == 1 ? rank - 1 : i - 1;
    if (perm->ints[i] != (i == 0 ? 0 : moved)) return "it does not move the channels behind the planes or back";
  }
  if (!to_last && as.pitch != as.c) return "channels that are not there would have to be zeros";
  const hone_shape shape = {.rank = 2, .dim = {(int64_t)as.n * as.h * as.w, as.c}};
  const int64_t padded[] = {as.pitch, 1}, whole[] = {as.c, 1};
  needs->state = sizeof *c;
  make_copy(&shape, to_last ? padded : whole, to_last ? whole : padded, element_bytes(image->type.dtype), c);
  return NULL;
}
static int64_t overlay_last(const hone_query *query, int input, int output) {
  const hone_fact *plain, *image = image_among(query, &plain);
  hn_cuda_image as;
  (void)output;
  return input == 0 && !hn_cuda_image_of(image, image->type.dtype, &as) && as.pitch == as.c ? 0 : -1;
}

/* ---- pad ---- */

typedef struct padding {
  hn_cuda_pad args;
  hn_cuda_builtin kernel;
} padding;

static bool pads_with_zeros(const hone_query *query) {
  enum { VALUE = 2 };
  if (!hn_cuda_given(query, VALUE)) return true;
  const hone_tensor *value = query->in[VALUE].constant;
  return value && value->data && hn_cuda_is_weight(query, VALUE) && hn_cuda_weight(value, 0) == 0;
}

static const char *plan_pad(const hone_query *query, void *state_memory, hone_needs *needs) {
  padding asked, *p = state_memory ? state_memory : &asked;
  enum { PADS = 1, AXES = 3 };
  static const char *const modes[] = {"constant", "edge", "reflect", "wrap"};
  int64_t pads[2 * HONE_MAX_RANK], axes[2 * HONE_MAX_RANK], stride[HONE_MAX_RANK];
  *p = (padding){.args.mode = -1};
  HN_TRY_REASON(check_fact(query, &query->in[0]));
  HN_TRY_REASON(check_fact(query, &query->out[0]));
  const hone_shape from = extents_of(query, &query->in[0].type), to = extents_of(query, &query->out[0].type);
  const hone_shape *in = &from, *out = &to;
  const hone_attr *mode = hn_cuda_attr(query->attrs, "mode");
  for (int m = 0; m < 4; ++m)
    if (mode && mode->kind == HONE_ATTR_STRING && strcmp(mode->s, modes[m]) == 0) p->args.mode = m;
  int count = in->rank;
  if (hn_cuda_given(query, AXES)) count = list_of(query, AXES, axes);
  if (count < 0 || list_of(query, PADS, pads) != 2 * count || p->args.mode < 0) return "its pads are not constants";
  hn_cuda_pad *a = &p->args;
  a->rank = in->rank;
  a->count = (unsigned)hn_cuda_elements(out);
  strides_of(in, stride);
  for (int d = 0; d < in->rank; ++d)
    a->out[d] = (int)out->dim[d], a->in[d] = (int)in->dim[d], a->stride[d] = (int)stride[d];
  for (int i = 0; i < count; ++i) {
    if (pads[i] == 0 && pads[i + count] == 0) continue;
    const int64_t given = !hn_cuda_given(query, AXES) ? i : axes[i] < 0 ? axes[i] + in->rank : axes[i];
    const int64_t axis = axis_among(query, given);
    if (axis < 0 || axis >= in->rank || pads[i] < 0 || pads[i + count] < 0) return "negative pads, or of channels";
    if (in->dim[axis] + pads[i] + pads[i + count] != out->dim[axis] || in->dim[axis] == 0)
      return "the pads do not fit the output";
    a->begin[axis] = (int)pads[i];
  }
  needs->state = sizeof *p;
  if (is_last(query)) { /* sixteen bytes at once; their tail stays zeros */
    p->kernel = HN_CUDA_pad_128;
    a->count /= 8;
    a->out[a->rank - 1] /= 8, a->in[a->rank - 1] /= 8;
    for (int d = 0; d < a->rank - 1; ++d) a->stride[d] /= 8;
    return a->mode == 0 && !pads_with_zeros(query) ? "it pads with other numbers than 0" : NULL;
  }
  switch (element_bytes(query->in[0].type.dtype)) {
  case 1: p->kernel = HN_CUDA_pad_8; break;
  case 2: p->kernel = HN_CUDA_pad_16; break;
  case 4: p->kernel = HN_CUDA_pad_32; break;
  default: p->kernel = HN_CUDA_pad_64; break;
  }
  return NULL;
}

static hone_status launch_pad(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  padding *p = state_memory;
  const bool has_value = p->kernel != HN_CUDA_pad_128 && launch->in_count > 2 &&
                         launch->in[2].type.kind != HONE_ABSENT && launch->in[2].bytes > 0;
  const void *value = has_value ? launch->in[2].data : NULL;
  void *arguments[] = {&launch->out[0].data, (void *)(uintptr_t)&launch->in[0].data, (void *)&value, &p->args};
  return hn_cuda_launch(stream, p->kernel,
                        (hn_cuda_grid){(p->args.count + HN_CUDA_MOVE_THREADS - 1) / HN_CUDA_MOVE_THREADS, 1, 1},
                        HN_CUDA_MOVE_THREADS, arguments);
}

/* ---- cast ---- */

typedef struct casting {
  unsigned count;
  int from, to;
} casting;

static const char *plan_cast(const hone_query *query, void *state_memory, hone_needs *needs) {
  casting *c = state_memory;
  const hone_dtype from = query->in[0].type.dtype, to = query->out[0].type.dtype;
  HN_TRY_REASON(check_fact(query, &query->in[0]));
  HN_TRY_REASON(check_fact(query, &query->out[0]));
  needs->state = sizeof *c;
  if (c) *c = (casting){(unsigned)hn_cuda_elements(&query->in[0].type.shape), (int)from, (int)to};
  return NULL;
}

static hone_status launch_cast(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  casting *c = state_memory;
  void *arguments[] = {&launch->out[0].data, (void *)(uintptr_t)&launch->in[0].data, &c->count, &c->from, &c->to};
  return hn_cuda_launch(stream, HN_CUDA_cast,
                        (hn_cuda_grid){(c->count + HN_CUDA_MOVE_THREADS - 1) / HN_CUDA_MOVE_THREADS, 1, 1},
                        HN_CUDA_MOVE_THREADS, arguments);
}

const hone_tactic hn_tactics_cuda_move[] = {
    {sizeof(hone_tactic), .name = "cuda.slice", .version = 1, .op = "slice",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}},
     .plan = plan_slice, .launch = launch_one},
    {sizeof(hone_tactic), .name = "cuda.expand", .version = 1, .op = "expand",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}},
     .plan = plan_expand, .launch = launch_one},
    {sizeof(hone_tactic), .name = "cuda.concat", .version = 1, .op = "concat",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}},
     .plan = plan_concat, .launch = launch_concat, .overlay = overlay_concat},
    {sizeof(hone_tactic), .name = "cuda.split", .version = 1, .op = "split",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}},
     .plan = plan_split, .launch = launch_split, .overlay = overlay_split},
    {sizeof(hone_tactic), .name = "cuda.pad", .version = 1, .op = "pad",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}},
     .plan = plan_pad, .launch = launch_pad},
    {sizeof(hone_tactic), .name = "cuda.cast", .version = 1, .op = "cast",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .plan = plan_cast, .launch = launch_cast},
    {sizeof(hone_tactic), .name = "cuda.transpose.half.last", .version = 1, .op = "transpose",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_F16_NHWC, HONE_F16_PLAIN},
                  {HONE_F16_PLAIN, HONE_F16_NHWC},
                  {HONE_BF16_NHWC, HONE_BF16_PLAIN},
                  {HONE_BF16_PLAIN, HONE_BF16_NHWC}},
     .plan = plan_last, .launch = launch_one, .overlay = overlay_last},
    {sizeof(hone_tactic), .name = "cuda.transpose.any.last", .version = 1, .op = "transpose",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_NHWC, HONE_PLAIN}, {HONE_PLAIN, HONE_NHWC}}, .plan = plan_last, .launch = launch_one,
     .overlay = overlay_last},
    {sizeof(hone_tactic), .name = "cuda.slice.nhwc", .version = 1, .op = "slice",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_F16_NHWC, HONE_F16_NHWC}, {HONE_BF16_NHWC, HONE_BF16_NHWC}}, .plan = plan_slice,
     .launch = launch_one},
    {sizeof(hone_tactic), .name = "cuda.concat.nhwc", .version = 1, .op = "concat",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_F16_NHWC, HONE_F16_NHWC}, {HONE_BF16_NHWC, HONE_BF16_NHWC}}, .plan = plan_concat,
     .launch = launch_concat, .overlay = overlay_concat},
    {sizeof(hone_tactic), .name = "cuda.split.nhwc", .version = 1, .op = "split",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_F16_NHWC, HONE_F16_NHWC}, {HONE_BF16_NHWC, HONE_BF16_NHWC}}, .plan = plan_split,
     .launch = launch_split, .overlay = overlay_split},
    {sizeof(hone_tactic), .name = "cuda.pad.nhwc", .version = 1, .op = "pad",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_F16_NHWC, HONE_F16_NHWC}, {HONE_BF16_NHWC, HONE_BF16_NHWC}}, .plan = plan_pad,
     .launch = launch_pad},
    {0}};
