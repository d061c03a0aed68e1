/* SPDX-License-Identifier: Apache-2.0 */
/* eltwise.c - elementwise operators and moves by generated kernels: f32, halves (plain or with the channels last) and
 * bool with broadcasting; transposes and copies of any element of 1, 2, 4 or 8 bytes. */
#include "backend/cuda/cuda.h"

typedef struct state {
  hn_cuda_kernel kernel;
  const char *types[HN_CUDA_INPUTS + 1]; /* C's, of the inputs, then of the output */
} state;

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = state_memory;
  const void *in[HN_CUDA_INPUTS];
  for (int i = 0; i < s->kernel.places.in_count; ++i) in[i] = launch->in[i].data;
  return hn_cuda_kernel_launch(&s->kernel, stream, in, launch->out[0].data);
}

/* ---- elementwise ---- */

static const char *number_type(hone_dtype dtype) {
  switch (dtype) {
  case HONE_F32: return "float";
  case HONE_F16: return "f16";
  case HONE_BF16: return "bf16";
  case HONE_BOOL: return "unsigned char";
  default: return NULL;
  }
}

/* The strides of an input along the output's axes, 0 where it is broadcast. */
static void strides_of(const hone_type *type, int rank, int64_t *out) {
  const hone_shape *shape = &type->shape;
  const bool last = type->format == HONE_NHWC;
  int64_t own[HONE_MAX_RANK], step = last ? (shape->dim[1] + 7) / 8 * 8 : 1;
  for (int i = shape->rank - 1; i >= 0; --i) {
    const bool channel = last && i == 1;
    own[i] = channel ? 1 : step;
    if (!channel) step *= shape->dim[i];
  }
  for (int d = 0; d < rank; ++d) {
    const int i = d + shape->rank - rank;
    out[d] = i < 0 || shape->dim[i] == 1 ? 0 : own[i];
  }
}

/* As the output's elements lie: channels last are walked last, with their tail. */
static void walk_last(hone_shape *out, int64_t (*strides)[HONE_MAX_RANK], int in_count, hn_cuda_places *places) {
  const int last = out->rank - 1, channels = (int)out->dim[1], pitch = (channels + 7) / 8 * 8;
  for (int d = 1; d < last; ++d) out->dim[d] = out->dim[d + 1];
  out->dim[last] = pitch;
  for (int k = 0; k < in_count; ++k) {
    const int64_t channel = strides[k][1];
    for (int d = 1; d < last; ++d) strides[k][d] = strides[k][d + 1];
    strides[k][last] = channel;
  }
  if (pitch > channels) places->pitch = pitch, places->channels = channels;
}

static const char *plan_elementwise(const hone_query *query, void *state_memory, hone_needs *needs) {
  state asked, *s = state_memory ? state_memory : &asked;
  int64_t strides[HN_CUDA_INPUTS][HONE_MAX_RANK] = {{0}};
  const hone_type *out = &query->out[0].type;
  const bool is_plain = query->tactic->storages[0].in == HONE_PLAIN;
  if (query->in_count < 1 || query->in_count > HN_CUDA_INPUTS || query->out_count != 1)
    return "more inputs than a kernel takes, or another number of outputs than 1";
  if (query->in_count < HONE_MAX_PORTS && query->op->in[query->in_count].name) return "an optional input is absent";
  hone_shape shape = out->shape;
  for (int i = 0; i <= query->in_count; ++i) {
    const hone_type *type = i < query->in_count ? &query->in[i].type : out;
    if (type->kind != HONE_TENSOR) return "an optional input is absent";
    s->types[i] = number_type(type->dtype);
    if (!s->types[i]) return "it is neither floats nor bool";
    if (is_plain && type->format != HONE_PLAIN) return "it is not plain";
    if (type->format != HONE_PLAIN && type->format != HONE_NHWC) return "it has another format";
    if (i < query->in_count) strides_of(type, shape.rank, strides[i]);
  }
  if (out->dtype == HONE_BOOL && query->tactic->storages[0].in >= HONE_FORMAT_COUNT)
    return "what is rounded compares otherwise";
  if (query->tactic->storages[0].in == HONE_NHWC && out->format != HONE_NHWC) return "its channels are not last";
  hn_cuda_places tail = {0};
  if (out->format == HONE_NHWC) walk_last(&shape, strides, query->in_count, &tail);
  needs->state = sizeof *s;
  if (!hn_cuda_place(&shape, query->in_count, (const int64_t(*)[HONE_MAX_RANK])strides, &s->kernel.places))
    return "more elements than 30 bits count";
  s->kernel.places.pitch = tail.pitch, s->kernel.places.channels = tail.channels;
  return NULL;
}

static hone_status prepare_elementwise(hone_unit *unit, const hone_query *query, void *state_memory,
                                       hone_diagnostics *diag) {
  state *s = state_memory;
  char *text = hn_cuda_new(unit->host, HN_CUDA_TEXT_BYTES);
  if (!text) return unit->host->fail(diag, HONE_NO_MEMORY, "out of memory");
  const bool written =
      unit->host->expression(unit->host->self, query->op, query->attrs, query->in_count, text, HN_CUDA_TEXT_BYTES);
  const hone_status status = written ? hn_cuda_kernel_make(unit, text, s->types, &s->kernel, diag)
                                     : unit->host->fail(diag, HONE_INTERNAL, "the operator has no expression");
  hn_cuda_delete(unit->host, text, HN_CUDA_TEXT_BYTES);
  return status;
}

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

typedef struct move_kernel {
  bool transposes;
} move_kernel;

/* strides: the input's along each axis of the output. */
static const char *plan_move(const hone_query *query, void *state_memory, hone_needs *needs) {
  state asked, *s = state_memory ? state_memory : &asked;
  int64_t strides[1][HONE_MAX_RANK] = {{0}}, own[HONE_MAX_RANK];
  const hone_type *in = &query->in[0].type, *out = &query->out[0].type;
  if (query->in_count < 1 || in->kind != HONE_TENSOR || in->format != HONE_PLAIN || out->format != HONE_PLAIN)
    return "the input is not a plain tensor";
  s->types[0] = s->types[1] = bits_type(in->dtype);
  if (!s->types[0]) return "elements of no whole number of bytes";
  hone_shape shape = out->shape;
  if (((const move_kernel *)query->tactic->kernel)->transposes) {
    const hone_attr *perm = hn_cuda_attr(query->attrs, "perm");
    int64_t step = 1;
    for (int d = in->shape.rank - 1; d >= 0; step *= in->shape.dim[d--]) own[d] = step;
    for (int d = 0; d < shape.rank; ++d) strides[0][d] = own[perm ? perm->ints[d] : shape.rank - 1 - d];
  } else {
    shape = (hone_shape){.rank = 1, .dim = {hn_cuda_elements(&out->shape)}};
    strides[0][0] = 1;
  }
  needs->state = sizeof *s;
  return hn_cuda_place(&shape, 1, (const int64_t(*)[HONE_MAX_RANK])strides, &s->kernel.places)
             ? NULL
             : "more elements than 30 bits count";
}

static hone_status prepare_move(hone_unit *unit, const hone_query *query, void *state_memory, hone_diagnostics *diag) {
  state *s = state_memory;
  (void)query;
  return hn_cuda_kernel_make(unit, "x0", s->types, &s->kernel, diag);
}

const hone_tactic hn_tactics_cuda_eltwise[] = {
    {sizeof(hone_tactic), .name = "cuda.elementwise.f32", .version = 1, .op = "*elementwise", .isa = HN_CUDA_NVRTC,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE | HONE_TACTIC_IN_PLACE, .plan = plan_elementwise,
     .prepare = prepare_elementwise, .launch = launch, .library = "NVRTC"},
    {sizeof(hone_tactic), .name = "cuda.elementwise.f32.nhwc", .version = 1, .op = "*elementwise", .isa = HN_CUDA_NVRTC,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE | HONE_TACTIC_IN_PLACE,
     .storages = {{HONE_NHWC, HONE_NHWC}}, .plan = plan_elementwise, .prepare = prepare_elementwise, .launch = launch,
     .library = "NVRTC"},
    {sizeof(hone_tactic), .name = "cuda.elementwise.half", .version = 1, .op = "*elementwise",
     .isa = HN_CUDA_NVRTC | HN_CUDA_SM80,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE | HONE_TACTIC_IN_PLACE,
     .storages = {{HONE_F16_NHWC, HONE_F16_NHWC},
                  {HONE_F16_PLAIN, HONE_F16_PLAIN},
                  {HONE_BF16_NHWC, HONE_BF16_NHWC},
                  {HONE_BF16_PLAIN, HONE_BF16_PLAIN}},
     .plan = plan_elementwise, .prepare = prepare_elementwise, .launch = launch, .library = "NVRTC"},
    {sizeof(hone_tactic), .name = "cuda.transpose", .version = 1, .op = "transpose", .isa = HN_CUDA_NVRTC,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}},
     .plan = plan_move, .prepare = prepare_move, .launch = launch, .library = "NVRTC",
     .kernel = &(const move_kernel){.transposes = true}},
    {sizeof(hone_tactic), .name = "cuda.copy.identity", .version = 1, .op = "identity", .isa = HN_CUDA_NVRTC,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}},
     .plan = plan_move, .prepare = prepare_move, .launch = launch, .library = "NVRTC",
     .kernel = &(const move_kernel){.transposes = false}},
    {sizeof(hone_tactic), .name = "cuda.copy.view", .version = 1, .op = "view", .isa = HN_CUDA_NVRTC,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}},
     .plan = plan_move, .prepare = prepare_move, .launch = launch, .library = "NVRTC",
     .kernel = &(const move_kernel){.transposes = false}},
    {0}};
