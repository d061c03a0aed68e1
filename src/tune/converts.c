/* SPDX-License-Identifier: Apache-2.0 */
/* converts.c - what it costs to turn a tensor from one storage into another. Three sizes are measured with the same
 * bench as layers, and other sizes lie on the lines between them. */
#include "tune/tuning.h"
#include "tensor/shape.h"
#include "tensor/storage.h"
#include <math.h>

enum { SIZES = 3 };
static const int64_t sides[SIZES] = {8, 36, 128}; /* of [1, 64, side, side]: 16 KiB, 324 KiB, 4 MiB */

struct hn_convert_times {
  double bytes[SIZES];
  double ns[HONE_STORAGE_COUNT][HONE_STORAGE_COUNT][SIZES]; /* 0: not measured */
};

/* A step that moves next to nothing, with what comes with a step in a network: its start, and lines that are cold. Less
 * would let noise between two equal layers put a convert between them. */
static const double least_step_ns = 1000;

/* With one element a channel, and whole blocks of them, the bytes are the same in every format. */
static bool same_bytes(const hone_type *type, hone_storage from, hone_storage to) {
  if (hn_storage_dtype(from) != hn_storage_dtype(to)) return false;
  for (int i = 2; i < type->shape.rank; ++i)
    if (type->shape.dim[i] != 1) return false;
  const hone_type in = hn_stored_type(type, from), out = hn_stored_type(type, to);
  return type->shape.rank > 2 && type->shape.dim[1] % hn_type_block(&in) == 0 &&
         type->shape.dim[1] % hn_type_block(&out) == 0;
}

/* Read and written once, at twice the speed of main memory: most activations lie in caches. */
static double by_bandwidth(const hn_choices *choices, double bytes) {
  const hone_facts *facts = &choices->devices[0]->facts;
  const double threads = facts->threads > 0 ? facts->threads : 1;
  const double speed = facts->roofs[HONE_ROOF_MEMORY] > 0 ? facts->roofs[HONE_ROOF_MEMORY] : 15e9 * threads;
  return 1000 + bytes / speed * 1e9;
}

static double between_points(const double *x, const double *y, double at) {
  int k = 0;
  while (k + 2 < SIZES && at > x[k + 1]) ++k;
  const double value = y[k] + (y[k + 1] - y[k]) / (x[k + 1] - x[k]) * (at - x[k]);
  return fmax(value, fmax(0.5 * y[0], least_step_ns));
}

static double once_ns(const hn_choices *choices, double bytes, hone_storage from, hone_storage to) {
  const struct hn_convert_times *times = choices->converts;
  if (!times || times->ns[from][to][0] <= 0) return by_bandwidth(choices, bytes);
  return between_points(times->bytes, times->ns[from][to], bytes);
}

/* What is read and what is written, the lanes behind the last channel too, as bytes of one tensor. */
static double moved_bytes(const hone_type *type, hone_storage from, hone_storage to) {
  const hone_type in = hn_stored_type(type, from), out = hn_stored_type(type, to);
  return ((double)hn_bytes(&in) + (double)hn_bytes(&out)) / 2;
}

/* Where one step cannot do it the way leads over plain, as lowering does it. */
double hn_convert_ns(const hn_choices *choices, const hone_type *type, hone_storage from, hone_storage to) {
  if (from == to) return 0;
  if (same_bytes(type, from, to)) return from == HONE_PLAIN || to == HONE_PLAIN ? least_step_ns : 2 * least_step_ns;
  if (!hn_storage_is_direct(from, to))
    return hn_convert_ns(choices, type, from, HONE_PLAIN) + hn_convert_ns(choices, type, HONE_PLAIN, to);
  return once_ns(choices, moved_bytes(type, from, to), from, to);
}

/* A node that converts, in no graph. */
typedef struct stand_in {
  hn_node node;
  hn_value in, out, *in_list, *out_list;
  hone_fact in_fact, out_fact;
} stand_in;

static hone_status measure_size(hn_choices *choices, const hone_op *op, int k, struct hn_convert_times *times) {
  stand_in *s = HN_NEW(&choices->arena, stand_in, 1);
  hn_choice *choice = HN_NEW(&choices->arena, hn_choice, 1);
  if (!s || !choice) return HN_FAIL_MEMORY(&choices->context->diag);
  s->in_fact.type = s->out_fact.type = hn_tensor_type(HONE_F32, 4, (const int64_t[]){1, 64, sides[k], sides[k]});
  s->in.fact = s->out.fact = s->in_fact;
  s->in.name = s->out.name = "x";
  s->in_list = &s->in;
  s->out_list = &s->out;
  s->node = (hn_node){.op = op,
                      .name = "(convert)",
                      .in_count = 1,
                      .in = &s->in_list,
                      .out_count = 1,
                      .out = &s->out_list,
                      .owner = choices->root};
  *choice = (hn_choice){
      .node = &s->node, .in = &s->in_fact, .out = &s->out_fact, .each_pair = true, .same_as = -1, .chosen = -1};
  times->bytes[k] = (double)hn_bytes(&s->in_fact.type);
  choice->cost = (hone_cost){.bytes_read = times->bytes[k], .bytes_written = times->bytes[k]};
  HN_TRY(hn_tune_ask(choices, choice, false));
  HN_TRY(hn_tune_measure(choices, choice, -1));
  for (int c = 0; c < choice->candidate_count; ++c) {
    const hn_candidate *timed = &choice->candidates[c];
    double *ns = &times->ns[timed->storages.in][timed->storages.out][k];
    if (timed->state == HN_CANDIDATE_TIMED && (*ns <= 0 || timed->time_ns < *ns)) *ns = timed->time_ns;
  }
  return HONE_OK;
}

static bool uses_blocks(const hn_choices *choices) {
  for (int i = 0; i < choices->count; ++i)
    for (int c = 0; c < choices->items[i].candidate_count; ++c) {
      const hn_candidate *candidate = &choices->items[i].candidates[c];
      if (hn_candidate_usable(candidate) && (candidate->storages.in || candidate->storages.out)) return true;
    }
  return false;
}

hone_status hn_converts_measure(hn_choices *choices) {
  const hn_tuning *tuning = choices->tuning;
  const hone_op *op = hn_op_find(choices->context->ops, "convert");
  if (!op || !tuning->level->times || tuning->level->parts == HN_PARTS_NEVER || tuning->options->timing_cache_only ||
      tuning->options->reference_only || !uses_blocks(choices))
    return HONE_OK;
  struct hn_convert_times *times = HN_NEW(&choices->arena, struct hn_convert_times, 1);
  if (!times) return HN_FAIL_MEMORY(&choices->context->diag);
  for (int k = 0; k < SIZES; ++k) HN_TRY(measure_size(choices, op, k, times));
  for (int from = 0; from < HONE_STORAGE_COUNT; ++from) /* a pair is known at every size, or not at all */
    for (int to = 0; to < HONE_STORAGE_COUNT; ++to)
      for (int k = 0; k < SIZES; ++k)
        if (times->ns[from][to][k] <= 0) times->ns[from][to][0] = 0;
  choices->converts = times;
  return HONE_OK;
}
