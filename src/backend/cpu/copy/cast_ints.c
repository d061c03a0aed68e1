/* SPDX-License-Identifier: Apache-2.0 */
/* cast_ints.c - conversions between integer types (and bool): widened to 64 bits and cut, a block at a time. */
#include "backend/cpu/copy/copy.h"
#include "tensor/element.h"

enum { BLOCK = 256 };

typedef struct state {
  hone_dtype from, to;
  int64_t elements, grain;
} state;

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  HN_TRY_REASON(hn_cpu_check(query, 1, 1, 1));
  const hone_type *in = &query->in[0].type, *out = &query->out[0].type;
  const hone_type *const both[] = {in, out};
  for (int i = 0; i < 2; ++i) {
    if (both[i]->format != HONE_PLAIN) return "it is not plain";
    if (!(hn_dtype_is_int(both[i]->dtype) || both[i]->dtype == HONE_BOOL) || !hn_cpu_element_bytes(both[i]->dtype))
      return "it is not between integers of whole bytes";
  }
  if (!hn_shape_equal(&in->shape, &out->shape)) return "the output has another shape";
  state *s = memory;
  needs->state = sizeof *s;
  if (!s) return NULL;
  *s = (state){.from = in->dtype, .to = out->dtype, .elements = hn_elems(&in->shape)};
  s->grain = hn_cpu_grain(s->elements, (double)(hn_bytes(in) + hn_bytes(out)) * 4 * HN_CPU_NS_PER_BYTE);
  return NULL;
}

#define WIDEN(code, type)                                                                                              \
  case code:                                                                                                           \
    for (int64_t i = 0; i < count; ++i) wide[i] = (int64_t)((const type *)from)[first + i];                            \
    break;
#define CUT(code, type)                                                                                                \
  case code:                                                                                                           \
    for (int64_t i = 0; i < count; ++i) ((type *)to)[first + i] = (type)(uint64_t)wide[i];                             \
    break;

static void widen(hone_dtype dtype, const void *from, int64_t first, int64_t count, int64_t *wide) {
  switch (dtype) {
    WIDEN(HONE_I8, int8_t)
    WIDEN(HONE_I16, int16_t)
    WIDEN(HONE_U16, uint16_t)
    WIDEN(HONE_I32, int32_t)
    WIDEN(HONE_U32, uint32_t)
    WIDEN(HONE_I64, int64_t)
    WIDEN(HONE_U64, uint64_t)
  default:
    for (int64_t i = 0; i < count; ++i) wide[i] = ((const uint8_t *)from)[first + i];
  }
}

static void cut(hone_dtype dtype, const int64_t *wide, int64_t first, int64_t count, void *to) {
  switch (dtype) {
    CUT(HONE_I8, int8_t)
    CUT(HONE_U8, uint8_t)
    CUT(HONE_I16, int16_t)
    CUT(HONE_U16, uint16_t)
    CUT(HONE_I32, int32_t)
    CUT(HONE_U32, uint32_t)
    CUT(HONE_I64, int64_t)
    CUT(HONE_U64, uint64_t)
  default:
    for (int64_t i = 0; i < count; ++i) ((uint8_t *)to)[first + i] = wide[i] != 0;
  }
}

typedef struct job {
  const state *state;
  const void *from;
  void *to;
} job;

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  int64_t wide[BLOCK];
  for (int64_t at = begin; at < end; at += BLOCK) {
    const int64_t count = hn_cpu_lesser(BLOCK, end - at);
    widen(j->state->from, j->from, at, count, wide);
    cut(j->state->to, wide, at, count, j->to);
  }
}

static hone_status launch(void *memory, hone_stream *stream, const hone_launch *l) {
  const state *s = memory;
  job j = {.state = s, .from = l->in[0].data, .to = l->out[0].data};
  hn_pool_run(hn_stream_pool(stream), s->elements, s->grain, body, &j);
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_cast_ints[] = {{sizeof(hone_tactic), .name = "cpu.cast.ints.c", .version = 1,
                                                 .op = "cast", .flags = HONE_TACTIC_REPEATABLE, .plan = plan,
                                                 .launch = launch},
                                                {0}};
