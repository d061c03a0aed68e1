/* SPDX-License-Identifier: Apache-2.0 */
/* byte_pairs.c - qlinear_add, qlinear_mul and byte_lookup: images with their channels last, or plain tensors; of a pair
 * the second may be a number for each channel of an image. */
#include "backend/cuda/bytes/bytes.h"

enum { A, A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, Y_SCALE, Y_ZERO, PORTS };

typedef struct state {
  hn_cuda_byte_pair args;
  hn_cuda_builtin kernel;
} state;

/* Of u8 and i8. */
typedef struct row_kernel {
  hn_cuda_builtin run[2];
  bool is_sum;
} row_kernel;

/* A plain tensor is pixels of sixteen channels. */
static const char *lay_out(const hone_fact *fact, hn_cuda_sixteens *out) {
  const hone_dtype held = fact->type.dtype;
  const int64_t elements = hn_cuda_elements(&fact->type.shape);
  hn_cuda_image image;
  if (!hn_cuda_is_byte(held)) return "it is not of bytes";
  if (elements < 1 || elements > INT32_MAX / 2) return "no elements, or more than 30 bits count";
  if (hn_cuda_plain_of(fact, held)) {
    const unsigned pieces = (unsigned)(elements / 16);
    *out = (hn_cuda_sixteens){.c = 16, .pixels = (int)pieces, .pitch = 16, .count = pieces};
    return elements % 16 ? "its elements are no multiple of 16" : NULL;
  }
  HN_TRY_REASON(hn_cuda_image_of(fact, held, &image));
  *out = (hn_cuda_sixteens){.c = image.c,
                            .pixels = image.h * image.w,
                            .pitch = image.pitch,
                            .count = (unsigned)(image.n * image.h * image.w * (image.pitch / 16))};
  return NULL;
}

/* One pixel for each image. */
static bool is_pixel(const hone_query *query) {
  const hone_shape *b = &query->in[B].type.shape, *y = &query->out[0].type.shape;
  if (b->rank != y->rank || b->rank < 3 || b->dim[0] != y->dim[0] || b->dim[1] != y->dim[1]) return false;
  for (int i = 2; i < b->rank; ++i)
    if (b->dim[i] != 1) return false;
  return true;
}

static const char *read_operands(const hone_query *query, hn_cuda_byte_pair *q) {
  const hone_shape *a = &query->in[A].type.shape, *b = &query->in[B].type.shape, *y = &query->out[0].type.shape;
  hn_cuda_sixteens other;
  if (!hn_cuda_same_shape(a, y)) return "the first is broadcast";
  HN_TRY_REASON(lay_out(&query->out[0], &q->at));
  HN_TRY_REASON(lay_out(&query->in[A], &other));
  if (other.pitch != q->at.pitch) return "they lie otherwise";
  HN_TRY_REASON(lay_out(&query->in[B], &other));
  if (hn_cuda_same_shape(b, y)) return other.pitch == q->at.pitch ? NULL : "they lie otherwise";
  q->b_of_images = true;
  if (!is_pixel(query)) return "the second is broadcast, and not over the pixels of images";
  if (query->out[0].type.format != HONE_NHWC) return "its channels are not last";
  return other.pitch == q->at.pitch || query->in[B].type.format == HONE_PLAIN ? NULL : "they lie otherwise";
}

/* Each step is rounded to f32, as the operators say. */
static void read_numbers(const hone_query *query, bool is_sum, hn_cuda_byte_pair *q) {
  const float a_scale = hn_cuda_scale_at(query->in[A_SCALE].constant, 0);
  const float b_scale = hn_cuda_scale_at(query->in[B_SCALE].constant, 0);
  const float y_scale = hn_cuda_scale_at(query->in[Y_SCALE].constant, 0);
  const float y_zero = (float)hn_cuda_byte_at(query->in[Y_ZERO].constant, 0);
  int low, high;
  q->a_zero = (float)hn_cuda_byte_at(query->in[A_ZERO].constant, 0);
  q->b_zero = (float)hn_cuda_byte_at(query->in[B_ZERO].constant, 0);
  if (is_sum) {
    q->a_ratio = a_scale / y_scale, q->b_ratio = b_scale / y_scale;
    const float a = q->a_ratio * q->a_zero, b = q->b_ratio * q->b_zero, zeros = a + b;
    q->shift = y_zero - zeros;
  } else {
    const float product = a_scale * b_scale;
    q->a_ratio = product / y_scale, q->shift = y_zero;
  }
  (void)hn_cuda_byte_bounds(query, "low", "high", &low, &high);
  q->low = (float)low, q->high = (float)high;
}

static const char *plan(const hone_query *query, void *state_memory, hone_needs *needs) {
  const row_kernel *row = query->tactic->kernel;
  state asked, *s = state_memory ? state_memory : &asked;
  const hone_dtype held = query->out[0].type.dtype;
  if (query->in_count != PORTS) return "it has other ports";
  if (query->in[A].type.dtype != held || query->in[B].type.dtype != held) return "the types differ";
  for (int i = A; i < PORTS; i += B) HN_TRY_REASON(hn_cuda_check_scale(query, i == Y_SCALE ? i : i + 1, held));
  s->args = (hn_cuda_byte_pair){0};
  HN_TRY_REASON(read_operands(query, &s->args));
  read_numbers(query, row->is_sum, &s->args);
  s->kernel = row->run[held == HONE_I8];
  needs->state = sizeof *s;
  return NULL;
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  state *s = state_memory;
  void *arguments[] = {&launch->out[0].data, (void *)(uintptr_t)&launch->in[A].data,
                       (void *)(uintptr_t)&launch->in[B].data, &s->args};
  return hn_cuda_bytes_launch(stream, s->kernel, s->args.at.count, arguments);
}

static const char *plan_lookup(const hone_query *query, void *state_memory, hone_needs *needs) {
  hn_cuda_sixteens asked, *s = state_memory ? state_memory : &asked, out;
  HN_TRY_REASON(lay_out(&query->in[0], s));
  HN_TRY_REASON(lay_out(&query->out[0], &out));
  if (hn_cuda_elements(&query->in[1].type.shape) != 256) return "the table has not 256 elements";
  needs->state = sizeof *s;
  return out.pitch == s->pitch && out.count == s->count ? NULL : "the output lies otherwise";
}

static hone_status launch_lookup(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  hn_cuda_sixteens *s = state_memory;
  void *arguments[] = {&launch->out[0].data, (void *)(uintptr_t)&launch->in[0].data,
                       (void *)(uintptr_t)&launch->in[1].data, s};
  return hn_cuda_bytes_launch(stream, HN_CUDA_byte_lookup, s->count, arguments);
}

const hone_tactic hn_tactics_cuda_byte_pairs[] = {
    {sizeof(hone_tactic), .name = "cuda.qlinear_add.bytes", .version = 1, .op = "qlinear_add",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE | HONE_TACTIC_IN_PLACE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NHWC, HONE_NHWC}}, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){{HN_CUDA_bytes_u8_add, HN_CUDA_bytes_i8_add}, true}},
    {sizeof(hone_tactic), .name = "cuda.qlinear_mul.bytes", .version = 1, .op = "qlinear_mul",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE | HONE_TACTIC_IN_PLACE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NHWC, HONE_NHWC}}, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){{HN_CUDA_bytes_u8_mul, HN_CUDA_bytes_i8_mul}, false}},
    {sizeof(hone_tactic), .name = "cuda.byte_lookup.bytes", .version = 1, .op = "byte_lookup",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NHWC, HONE_NHWC}}, .plan = plan_lookup, .launch = launch_lookup},
    {0}};
