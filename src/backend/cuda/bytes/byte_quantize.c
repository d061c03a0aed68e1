/* SPDX-License-Identifier: Apache-2.0 */
/* byte_quantize.c - quantize_linear and dequantize_linear between bytes and f32, plain or with the bytes' channels
 * last, or halves whose channels are last, too; one scale for all. */
#include "backend/cuda/bytes/bytes.h"

enum { X, SCALE, ZERO };

typedef struct state {
  hn_cuda_sixteens args;
  hn_cuda_builtin kernel;
  unsigned threads;
} state;

/* By what is beside the bytes, and u8 or i8. */
enum { FLAT, PLANES, OF_F16, OF_BF16, WAYS };
static const hn_cuda_builtin kernels[2][WAYS][2] = {
    {{HN_CUDA_bytes_u8_quantize_flat, HN_CUDA_bytes_i8_quantize_flat},
     {HN_CUDA_bytes_u8_quantize_last, HN_CUDA_bytes_i8_quantize_last},
     {HN_CUDA_bytes_u8_quantize_f16, HN_CUDA_bytes_i8_quantize_f16},
     {HN_CUDA_bytes_u8_quantize_bf16, HN_CUDA_bytes_i8_quantize_bf16}},
    {{HN_CUDA_bytes_u8_dequantize_flat, HN_CUDA_bytes_i8_dequantize_flat},
     {HN_CUDA_bytes_u8_dequantize_first, HN_CUDA_bytes_i8_dequantize_first},
     {HN_CUDA_bytes_u8_dequantize_f16, HN_CUDA_bytes_i8_dequantize_f16},
     {HN_CUDA_bytes_u8_dequantize_bf16, HN_CUDA_bytes_i8_dequantize_bf16}}};

/* Which way, and how both sides lie. */
static const char *read_sides(const hone_fact *bytes, const hone_fact *floats, int *way, hn_cuda_sixteens *a) {
  const int64_t elements = hn_cuda_elements(&bytes->type.shape);
  hn_cuda_image image, halves;
  if (elements < 1 || elements > INT32_MAX / 2) return "no elements, or more than 30 bits count";
  *a = (hn_cuda_sixteens){.count = (unsigned)elements};
  *way = FLAT;
  if (hn_cuda_plain_of(bytes, bytes->type.dtype) && hn_cuda_plain_f32(floats)) return NULL;
  HN_TRY_REASON(hn_cuda_image_of(bytes, bytes->type.dtype, &image));
  *a = (hn_cuda_sixteens){.c = image.c,
                          .pixels = image.h * image.w,
                          .pitch = image.pitch,
                          .count = (unsigned)(image.n * image.h * image.w * (image.pitch / 16))};
  *way = PLANES;
  if (hn_cuda_plain_f32(floats)) return NULL;
  HN_TRY_REASON(hn_cuda_image_of(floats, floats->type.dtype, &halves));
  *way = floats->type.dtype == HONE_F16 ? OF_F16 : OF_BF16;
  a->x_pitch = halves.pitch;
  return floats->type.dtype == HONE_F32 || hn_cuda_is_byte(floats->type.dtype) ? "it is not between halves and bytes"
                                                                               : NULL;
}

static const char *plan(const hone_query *query, void *state_memory, hone_needs *needs) {
  state asked, *s = state_memory ? state_memory : &asked;
  const bool quantizes = hn_cuda_is_byte(query->out[0].type.dtype);
  const hone_fact *bytes = quantizes ? &query->out[0] : &query->in[X],
                  *floats = quantizes ? &query->in[X] : &query->out[0];
  const int64_t precision = hn_cuda_attr_int(query->attrs, "precision", 0);
  const hone_type *scale = &query->in[SCALE].type;
  int way;
  if (!hn_cuda_is_byte(bytes->type.dtype) || hn_cuda_is_byte(floats->type.dtype))
    return "it is not between floats and bytes";
  if (precision != 0 && precision != 1) return "it does not divide in f32";
  if (scale->dtype != HONE_F32 || hn_cuda_elements(&scale->shape) != 1 ||
      hn_cuda_attr_int(query->attrs, "block_size", 0))
    return "its scale is not one f32";
  if (hn_cuda_given(query, ZERO) &&
      (query->in[ZERO].type.dtype != bytes->type.dtype || hn_cuda_elements(&query->in[ZERO].type.shape) != 1))
    return "its zero point is not one of the bytes' type";
  if (!hn_cuda_same_shape(&bytes->type.shape, &floats->type.shape)) return "the shapes differ";
  HN_TRY_REASON(read_sides(bytes, floats, &way, &s->args));
  s->kernel = kernels[!quantizes][way][bytes->type.dtype == HONE_I8];
  needs->state = sizeof *s;
  return NULL;
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  state *s = state_memory;
  const void *zero = launch->in_count > ZERO ? launch->in[ZERO].data : NULL;
  void *arguments[] = {&launch->out[0].data, (void *)(uintptr_t)&launch->in[X].data,
                       (void *)(uintptr_t)&launch->in[SCALE].data, (void *)&zero, &s->args};
  return hn_cuda_bytes_launch(stream, s->kernel, s->args.count, arguments);
}

const hone_tactic hn_tactics_cuda_byte_quantize[] = {
    {sizeof(hone_tactic), .name = "cuda.quantize_linear.bytes", .version = 1, .op = "quantize_linear",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages =
         {{HONE_PLAIN, HONE_PLAIN}, {HONE_PLAIN, HONE_NHWC}, {HONE_F16_NHWC, HONE_NHWC}, {HONE_BF16_NHWC, HONE_NHWC}},
     .plan = plan, .launch = launch},
    {sizeof(hone_tactic), .name = "cuda.dequantize_linear.bytes", .version = 1, .op = "dequantize_linear",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages =
         {{HONE_PLAIN, HONE_PLAIN}, {HONE_NHWC, HONE_PLAIN}, {HONE_NHWC, HONE_F16_NHWC}, {HONE_NHWC, HONE_BF16_NHWC}},
     .plan = plan, .launch = launch},
    {0}};
