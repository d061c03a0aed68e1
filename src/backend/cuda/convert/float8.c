/* SPDX-License-Identifier: Apache-2.0 */
/* float8.c - quantize_linear and dequantize_linear between e4m3 and f32, or what f32 is held in, by one scale: networks
 * that an author quantised to 8-bit floats stay on the device. */
#include "backend/cuda/cuda.h"

enum { X, SCALE, ZERO, THREADS = 256, EACH = 8 };

typedef struct state {
  hn_cuda_builtin kernel;
  unsigned count;
} state;

/* By direction, then f32, f16 and bf16. */
static const hn_cuda_builtin kernels[2][3] = {
    {HN_CUDA_float8_from_f32, HN_CUDA_float8_from_f16, HN_CUDA_float8_from_bf16},
    {HN_CUDA_float8_to_f32, HN_CUDA_float8_to_f16, HN_CUDA_float8_to_bf16}};

/* Absent, or a constant +0 or -0 of the type. */
static bool has_no_zero_point(const hone_query *query) {
  if (!hn_cuda_given(query, ZERO)) return true;
  const hone_tensor *zero = query->in[ZERO].constant;
  return zero && zero->data && hn_cuda_elements(&zero->type.shape) == 1 && !(*(const uint8_t *)zero->data & 0x7f);
}

static const char *plan(const hone_query *query, void *state_memory, hone_needs *needs) {
  state asked, *s = state_memory ? state_memory : &asked;
  const bool quantizes = query->out[0].type.dtype == HONE_F8E4M3FN;
  const hone_fact *bytes = quantizes ? &query->out[0] : &query->in[X],
                  *floats = quantizes ? &query->in[X] : &query->out[0];
  const hone_dtype held = floats->type.dtype;
  const hone_type *scale = &query->in[SCALE].type;
  const int64_t precision = hn_cuda_attr_int(query->attrs, "precision", 0), most = INT32_MAX / 2;
  if (!hn_cuda_plain_of(bytes, HONE_F8E4M3FN)) return "it is not of plain e4m3";
  if (held != HONE_F32 && held != HONE_F16 && held != HONE_BF16) return "its other side is neither f32 nor halves";
  if (!hn_cuda_plain_of(floats, held)) return "its other side is not plain";
  if (precision != 0 && precision != 1) return "it does not divide in f32";
  if (!hn_cuda_attr_int(query->attrs, "saturate", 1)) return "it does not saturate";
  if (scale->dtype != HONE_F32 || hn_cuda_elements(&scale->shape) != 1 ||
      hn_cuda_attr_int(query->attrs, "block_size", 0))
    return "its scale is not one f32";
  if (!has_no_zero_point(query)) return "it has a zero point";
  if (!hn_cuda_same_shape(&bytes->type.shape, &floats->type.shape)) return "the shapes differ";
  if (hn_cuda_elements(&bytes->type.shape) > most) return "more elements than 30 bits count";
  needs->state = sizeof *s;
  s->count = (unsigned)hn_cuda_elements(&bytes->type.shape);
  s->kernel = kernels[!quantizes][held == HONE_F32 ? 0 : held == HONE_F16 ? 1 : 2];
  return NULL;
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  state *s = state_memory;
  const unsigned threads = (s->count + EACH - 1) / EACH;
  void *arguments[] = {&launch->out[0].data, (void *)(uintptr_t)&launch->in[X].data,
                       (void *)(uintptr_t)&launch->in[SCALE].data, &s->count};
  return hn_cuda_launch_shaped(
      stream, s->kernel,
      &(hn_cuda_shape){.grid = {(threads + THREADS - 1) / THREADS, 1, 1}, .threads = THREADS, .dependent = true},
      arguments);
}

const hone_tactic hn_tactics_cuda_float8[] = {
    {sizeof(hone_tactic), .name = "cuda.quantize_linear.e4m3", .version = 1, .op = "quantize_linear",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_F16_PLAIN, HONE_PLAIN}, {HONE_BF16_PLAIN, HONE_PLAIN}}, .plan = plan,
     .launch = launch},
    {sizeof(hone_tactic), .name = "cuda.dequantize_linear.e4m3", .version = 1, .op = "dequantize_linear",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_PLAIN, HONE_F16_PLAIN}, {HONE_PLAIN, HONE_BF16_PLAIN}}, .plan = plan,
     .launch = launch},
    {0}};
