/* SPDX-License-Identifier: Apache-2.0 */
/* advice_predict.c - what remedies would save, from the roofs and the times of the layers that they change.
 *
 * A layer's new time is its old one scaled by what bounds it: operations by the ratio of two units' roofs, bytes by the
 * ratio of their widths, both damped, since kernels reach a smaller share of a higher roof. The ends of the interval
 * are what half and what a third more of the damped saving would be; docs/PROFILING.md has the constants' sources. */
#include "device/device.h"
#include "report/advice.h"
#include "report/fusion.h"
#include <math.h>
#include <string.h>

static void put(hn_advice_item *item, double saving_ns, double low, double high) {
  item->saving_ns = saving_ns;
  item->low_ns = saving_ns * low;
  item->high_ns = saving_ns * high;
}

void hn_predict_removed(const hn_advising *a, hn_advice_item *item) {
  double sum = 0;
  for (int i = 0; i < item->row_count; ++i) sum += a->p->rows[item->rows[i]].median_ns;
  put(item, sum, 0.7, 1.1);
}

/* A step that is gone leaves no gap on a device's queue before it either. */
void hn_predict_fused(const hn_advising *a, hn_advice_item *item) {
  double sum = 0;
  for (int i = 0; i < item->row_count; ++i) {
    const hn_profile_row *row = &a->p->rows[item->rows[i]];
    const double saved_ns = hn_fusion_saving_ns(a->p, row);
    sum += saved_ns + (saved_ns > 0 ? row->times->gap_ns : 0);
  }
  put(item, sum, 0.7, 1.3);
}

/* Of a run that nobody profiles. */
void hn_predict_share(const hn_advising *a, hn_advice_item *item) { put(item, item->factor * a->run_ns, 0, 2); }

void hn_predict_reference(const hn_advising *a, hn_advice_item *item) {
  double saving = 0;
  for (int i = 0; i < item->row_count; ++i) {
    const hn_profile_row *row = &a->p->rows[item->rows[i]];
    saving += fmax(0, row->median_ns - fmax(2 * row->bound.floor_ns, 1e3)); /* a kernel at half of the roof */
  }
  put(item, saving, 0.8, 1);
}

/* ---- narrower types ---- */

/* What is known of an operator's kernels: how much of their time is products of matrices, which share of a higher
 * roof's gain they reach, and the share of a layer that more threads do not make shorter: starting them, the last part
 * of a loop, what all read. As measured from 1 to 8 and 16 threads of a Xeon; products of matrices have more parts than
 * convolutions of small images. */
typedef struct habit {
  const char *op;
  double products, reach, serial; /* 0: the usual share */
} habit;

/* Of its roof, that a kernel reaches on a layer that is large enough for it. */
static const double usual_share = 0.9, shortest_ns = 10e3;

static const habit habits[] = {
    {"inverted_residual", 0.55, 0.15, 0.25}, /* its depthwise part computes in f32 */
    {"conv", 0.95, 0.6, 0.15},
    {"affine_conv", 0.9, 0.7, 0}, /* by its parts, where the type has no kernel for the whole */
    {"conv_pool", 0.9, 0.6, 0.15},
    {"conv_transpose", 0.9, 0.6, 0},
    {"linear", 0.97, 0.92, 0.1},
    {"matmul", 0.97, 0.92, 0.1},
    {"gemm", 0.97, 0.92, 0.1},
    {"attention", 0.8, 0.8, 0.1},
    {"qkv_attention", 0.8, 0.8, 0.1},
    {"lstm", 0.9, 1, 0.32},
    {"gru", 0.9, 1, 0.32},
};

static const habit *habit_of(const hn_plan_step *step) {
  for (size_t i = 0; step->op && i < HN_COUNT(habits); ++i)
    if (strcmp(habits[i].op, step->op->name) == 0) return &habits[i];
  return NULL;
}

static bool is_depthwise(const hn_profile_row *row) {
  const hn_work *work = row->work;
  const double elements = (work->cost.bytes_read + work->cost.bytes_written) / 4;
  return hn_attr_int(&row->step->attrs, "group") > 1 && work->cost.flops < 60 * elements;
}

/* With all bytes of the run fewer: what does not fit a cache in f32 may do so then. */
static double narrow_memory_ns(const hn_advising *a, const hn_profile_row *row, double width) {
  const hn_profile_input *in = a->p->in;
  const double wide = hn_step_memory_ns(in->plan, row->step, row->work, in->facts, a->p->options->cold, 1),
               narrow = hn_step_memory_ns(in->plan, row->step, row->work, in->facts, a->p->options->cold, width);
  return row->bound.memory_ns * (wide > 0 ? narrow / wide : width);
}

/* Is there a kernel for the operator that multiplies in the type, and that the device can run? What has none stays as
 * it is. Where the device's tactics are not known, all have some. */
static bool has_kernel(const hn_advising *a, const hn_plan_step *step, hone_roof unit) {
  const hone_tactic *const *rows = a->facts.tactics;
  if (!rows || !step->op) return true;
  for (; *rows; ++rows)
    if (strcmp((*rows)->op, step->op->name) == 0 && ((*rows)->isa & a->p->in->facts->isa) == (*rows)->isa &&
        (unit == HONE_ROOF_INT8 || hn_roof_of_type((*rows)->compute) == unit))
      return true;
  return false;
}

/* Of a layer's time on several threads, what is no waiting for one another. */
static double working_share(const hn_advising *a, const habit *n) {
  const double threads = a->p->in->facts->threads > 1 ? a->p->in->facts->threads : 1;
  return 1 / threads / (1 / threads + n->serial * (1 - 1 / threads));
}

/* A region without a kernel in the type runs as its parts where those were timed, each of which has one. */
static double narrowed_parts_ns(const hn_advising *a, const hn_profile_row *row, const habit *n, double ratio) {
  enum { TIMES_PARTS = 3 /* a tuning level that does */ };
  if (a->facts.level < TIMES_PARTS || row->step->origin_count < 2 || ratio <= 1) return row->median_ns;
  return row->median_ns * (1 - n->products * (1 - 1 / ratio) * working_share(a, n));
}

/* A recurrent layer reads its weights at each step, and its threads wait for one another there: what is no waiting
 * shrinks as its bytes do. */
static double narrowed_recurrent_ns(const hn_advising *a, const hn_profile_row *row, const habit *n, double width) {
  const double bytes = row->bound.memory_ns > 0 ? narrow_memory_ns(a, row, width) / row->bound.memory_ns : width;
  return row->median_ns * (1 - working_share(a, n) * (1 - fmin(bytes, width)));
}

static double narrowed_ns(const hn_advising *a, const hn_profile_row *row, hone_roof unit) {
  const double *roofs = a->p->in->facts->roofs, width = unit == HONE_ROOF_INT8 ? 0.25 : 0.5;
  const habit *n = habit_of(row->step);
  const double old = row->median_ns;
  if (row->bound.kind == HN_BOUND_LATENCY || row->step->caused_by) return old;
  if (row->median_ns < shortest_ns) return old;                    /* packing and rounding eat what arithmetic wins */
  if (unit == HONE_ROOF_INT8 && (!n || n->reach >= 1)) return old; /* recurrent layers have no kernels in bytes */
  const double ratio = roofs[HONE_ROOF_F32] > 0 ? roofs[unit] / roofs[HONE_ROOF_F32] : 0;
  if (n && !has_kernel(a, row->step, unit)) return narrowed_parts_ns(a, row, n, ratio);
  if (n && n->reach >= 1) return narrowed_recurrent_ns(a, row, n, width);
  const double floor_ns = row->bound.floor_ns;
  if (!n || is_depthwise(row)) { /* f32 arithmetic on halves: bytes alone count, and half of that gain is seen */
    if (row->bound.kind != HN_BOUND_MEMORY || floor_ns <= 0) return old;
    const double gained = 1 - fmax(row->bound.compute_ns, narrow_memory_ns(a, row, width)) / floor_ns;
    return old * (1 - 0.5 * fmax(0, gained));
  }
  if (ratio <= 0 || floor_ns <= 0) return old;
  const double estimated = 0.7; /* of the gain, where estimates choose among the new type's kernels */
  const double reach = n->reach * (a->facts.level < 0 ? estimated : 1);
  /* What f32 saves by Winograd, products in the new type do not: they begin at the definition's operations. */
  const bool fewer = row->step->tactic && row->step->tactic->fewer > 1;
  const double all_ns = row->bound.compute_ns * (fewer ? row->step->tactic->fewer : 1);
  const double scaled_ns = fmax(all_ns / (1 + (ratio - 1) * reach), narrow_memory_ns(a, row, width)) / usual_share;
  /* What a layer takes beyond the usual share of its roof (starting threads, edges of tiles) is the same in any type.
   */
  const double beyond_ns = fmax(0, old - floor_ns / usual_share);
  return fmin(old, old - n->products * (old - beyond_ns - scaled_ns));
}

/* Layers of fixed costs keep them, or another type has kernels that compute several of them at once: no roof tells. */
void hn_predict_precision(const hn_advising *a, hn_advice_item *item) {
  double saving = 0, all = 0, fixed = 0;
  for (int i = 0; i < item->row_count; ++i) {
    const hn_profile_row *row = &a->p->rows[item->rows[i]];
    saving += fmax(0, row->median_ns - narrowed_ns(a, row, item->unit));
    all += row->median_ns;
    if (row->bound.kind == HN_BOUND_LATENCY) fixed += row->median_ns;
  }
  put(item, saving, 0.5, 1.33);
  item->unsure = item->row->expect && fixed > 0.5 * all;
  if (item->unsure) item->high_ns = fmax(item->high_ns, 0.8 * all);
}

/* ---- threads ---- */

static double serial_share(const hn_profile_row *row) {
  const double usual = 0.28;
  const habit *known = habit_of(row->step);
  return known && known->serial > 0 && !is_depthwise(row) ? known->serial : usual;
}

/* Amdahl 1967. Short layers are not shared. Main memory is shared by all cores: twice of what one thread reads is what
 * it gives. */
static double threaded_ns(const hn_profile_row *row, double from, double to) {
  const double alone = row->median_ns * from, least_shared_ns = 20e3, serial = serial_share(row);
  if (alone < least_shared_ns) return row->median_ns;
  double scale = (serial + (1 - serial) / to) / (serial + (1 - serial) / from);
  if (row->bound.kind == HN_BOUND_MEMORY && row->bound.level == HONE_ROOF_MEMORY) scale = fmax(scale, 0.5);
  return row->median_ns * scale;
}

void hn_predict_threads(const hn_advising *a, hn_advice_item *item) {
  double saving = 0;
  const double from = a->p->in->facts->threads > 0 ? a->p->in->facts->threads : 1;
  for (int i = 0; i < item->row_count; ++i) {
    const hn_profile_row *row = &a->p->rows[item->rows[i]];
    saving += row->median_ns - threaded_ns(row, from, item->factor);
  }
  put(item, saving, 0.75, 1.15);
}
