/* SPDX-License-Identifier: Apache-2.0 */
/* add_sums.c - add of plain i32 tensors, the second perhaps repeated: biases behind matmul_integer. */
#include "backend/cuda/bytes/bytes.h"

typedef struct state {
  unsigned count, length; /* of the second */
} state;

/* Ones, then the last axes of y. */
static bool is_repeated(const hone_shape *b, const hone_shape *y) {
  int d = b->rank - 1, at = y->rank - 1;
  if (b->rank > y->rank) return false;
  while (d >= 0 && b->dim[d] == y->dim[at]) --d, --at;
  for (; d >= 0; --d)
    if (b->dim[d] != 1) return false;
  return true;
}

static const char *plan(const hone_query *query, void *state_memory, hone_needs *needs) {
  state asked, *s = state_memory ? state_memory : &asked;
  const hone_shape *y = &query->out[0].type.shape;
  if (query->in_count != 2 || !hn_cuda_plain_of(&query->in[0], HONE_I32) ||
      !hn_cuda_plain_of(&query->in[1], HONE_I32) || !hn_cuda_plain_of(&query->out[0], HONE_I32))
    return "it is not of plain i32";
  if (!hn_cuda_same_shape(&query->in[0].type.shape, y) || !is_repeated(&query->in[1].type.shape, y))
    return "the first is broadcast, or the second not along the last axes";
  const int64_t count = hn_cuda_elements(y), length = hn_cuda_elements(&query->in[1].type.shape);
  if (count < 1 || count > INT32_MAX / 2) return "no elements, or more than 30 bits count";
  *s = (state){(unsigned)count, (unsigned)length};
  needs->state = sizeof *s;
  return NULL;
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  state *s = state_memory;
  void *arguments[] = {&launch->out[0].data, (void *)(uintptr_t)&launch->in[0].data,
                       (void *)(uintptr_t)&launch->in[1].data, &s->count, &s->length};
  return hn_cuda_bytes_launch(stream, HN_CUDA_add_sums, s->count, arguments);
}

const hone_tactic hn_tactics_cuda_add_sums[] = {
    {sizeof(hone_tactic), .name = "cuda.add.i32", .version = 1, .op = "add",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE | HONE_TACTIC_IN_PLACE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}}, .plan = plan, .launch = launch},
    {0}};
