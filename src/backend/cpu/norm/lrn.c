/* SPDX-License-Identifier: Apache-2.0 */
/* lrn.c - local response normalisation across channels: a piece of pixels at a time. Every window is summed
 * anew: a sum that moves along the channels would carry an infinity, or its rounding, to channels that never saw it. */
#include "backend/cpu/cpu.h"
#include <math.h>

enum { PIECE = 64 };
static const double ns_per_element = 4;

typedef struct state {
  int64_t batch, channels, pixels, pieces, grain;
  int64_t below, above; /* channels of the window beside its own */
  float scale, bias, beta;
} state;

typedef struct job {
  const state *state;
  const float *x;
  float *y;
} job;

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  HN_TRY_REASON(hn_cpu_check(query, 1, 1, 1));
  if (!hn_cpu_is(&query->in[0], HONE_F32, HONE_PLAIN) || !hn_cpu_is(&query->out[0], HONE_F32, HONE_PLAIN))
    return "it is not plain f32";
  const hone_shape *x = &query->in[0].type.shape;
  if (x->rank < 2 || !hn_shape_equal(x, &query->out[0].type.shape)) return "the shapes do not fit together";
  const int64_t size = hn_attr_int(query->attrs, "size");
  if (size < 1 || size > INT32_MAX) return "its window is empty";
  state *s = memory;
  needs->state = sizeof *s;
  if (!s) return NULL;
  const hn_cpu_rows rows = hn_cpu_rows_along(x, 1);
  *s = (state){.batch = rows.outer, .channels = rows.axis, .pixels = rows.inner};
  s->below = (size - 1) / 2;
  s->above = size / 2;
  s->scale = (float)(hn_attr_float(query->attrs, "alpha") / (double)size);
  s->bias = (float)hn_attr_float(query->attrs, "bias");
  s->beta = (float)hn_attr_float(query->attrs, "beta");
  s->pieces = hn_ceil_div(s->pixels, PIECE);
  s->grain = hn_cpu_grain(s->batch * s->pieces, (double)hn_elems(x) * ns_per_element);
  return NULL;
}

static void add_squares(float *sums, const float *x, int64_t count) {
  for (int64_t i = 0; i < count; ++i) sums[i] += x[i] * x[i];
}

/* base^-beta; 3/4 is what nearly everybody asks for. */
static void divide(const state *s, const float *sums, const float *x, float *y, int64_t count) {
  if (s->beta == 0.75F) {
    for (int64_t i = 0; i < count; ++i) {
      const float root = sqrtf(s->bias + s->scale * sums[i]);
      y[i] = x[i] / (root * sqrtf(root));
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i) y[i] = x[i] / powf(s->bias + s->scale * sums[i], s->beta);
}

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  const state *s = j->state;
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t first = unit % s->pieces * PIECE, count = hn_cpu_lesser(PIECE, s->pixels - first);
    const float *x = j->x + unit / s->pieces * s->channels * s->pixels + first;
    float *y = j->y + (x - j->x);
    for (int64_t c = 0; c < s->channels; ++c) {
      const int64_t low = hn_cpu_greater(c - s->below, 0), high = hn_cpu_lesser(c + s->above, s->channels - 1);
      float sums[PIECE] = {0};
      for (int64_t i = low; i <= high; ++i) add_squares(sums, x + i * s->pixels, count);
      divide(s, sums, x + c * s->pixels, y + c * s->pixels, count);
    }
  }
}

static hone_status launch(void *memory, hone_stream *stream, const hone_launch *l) {
  const state *s = memory;
  job j = {.state = s, .x = l->in[0].data, .y = l->out[0].data};
  hn_pool_run(hn_stream_pool(stream), s->batch * s->pieces, s->grain, body, &j);
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_lrn[] = {{sizeof(hone_tactic), .name = "cpu.lrn.f32.c", .version = 1, .op = "lrn",
                                           .isa = HONE_ISA_C, .flags = HONE_TACTIC_REPEATABLE, .plan = plan,
                                           .launch = launch},
                                          {0}};
