/* SPDX-License-Identifier: Apache-2.0 */
/* roofline.c - what a roofline is made of. Measured: the rows of a profile, each with the roof that hn_step_bound()
 * finds for it. On paper: operations by definition over the peak of their type, bytes over the memory's bandwidth, the
 * larger of the two (Williams, Waterman and Patterson 2009). */
#include "device/device.h"
#include "report/roofline.h"
#include "tensor/shape.h"
#include <math.h>
#include <string.h>

/* ---- roofs ---- */

void hn_roof_set_measured(const hone_facts *facts, const double *theory, hn_roof_set *out) {
  *out = (hn_roof_set){.name = facts->name};
  for (int r = 0; r < HONE_ROOF_L1; ++r)
    for (int product = 0; product < 2; ++product) {
      out->peaks[product][r] = facts->roofs[r];
      out->units[product][r] = hone_roof_name((hone_roof)r);
    }
  for (int r = HONE_ROOF_L1; r < HONE_ROOF_COUNT; ++r) out->levels[r] = facts->roofs[r];
  memcpy(out->theory, theory, sizeof out->theory);
}

void hn_roof_set_chip(const hn_chip *chip, hn_roof_set *out) {
  static const char *const matrix[HONE_ROOF_L1] = {"f64 matrix",  "f32 matrix", "tf32 matrix", "f16 matrix",
                                                   "bf16 matrix", "fp8 matrix", "int8 matrix"};
  *out = (hn_roof_set){.name = chip->name, .levels = {[HONE_ROOF_MEMORY] = hn_chip_bandwidth(chip)}};
  for (int r = 0; r < HONE_ROOF_L1; ++r) {
    const hn_chip_type type = hn_chip_type_of((hone_roof)r);
    const double plain = hn_chip_peak(chip, HN_CHIP_PLAIN, type), tiles = hn_chip_peak(chip, HN_CHIP_MATRIX, type);
    out->peaks[0][r] = plain;
    out->peaks[1][r] = fmax(plain, tiles);
    out->units[0][r] = hone_roof_name((hone_roof)r);
    out->units[1][r] = tiles > plain ? matrix[r] : out->units[0][r];
  }
}

hone_roof hn_roof_set_unit(const hn_roof_set *set, bool product, hone_roof type) {
  return set->peaks[product][type] > 0 ? type : HONE_ROOF_F32;
}

/* ---- points ---- */

double hn_roofline_intensity(const hn_roofline_row *row) {
  return hn_roofline_bytes(row) > 0 ? row->flops / hn_roofline_bytes(row) : 0;
}

double hn_roofline_reached(const hn_roofline_row *row) {
  return row->time_ns > 0 ? row->flops / row->time_ns * 1e9 : 0;
}

double hn_roofline_roof(const hn_roofline_row *row) { return row->floor_ns > 0 ? row->flops / row->floor_ns * 1e9 : 0; }

/* Sums; the time of the whole is the caller's to say. */
static void add_row(hn_roofline *r, const hn_roofline_row *row) {
  hn_roofline_row *whole = &r->whole;
  whole->flops += row->flops;
  whole->params_bytes += row->params_bytes;
  whole->activations_bytes += row->activations_bytes;
  whole->time_ns += row->time_ns;
  whole->floor_ns += row->floor_ns;
  if (row->kind == HN_BOUND_COMPUTE) r->compute_ns += row->time_ns;
  if (row->kind == HN_BOUND_MEMORY) r->memory_ns += row->time_ns;
  if (row->flops > 0) r->used[row->product][row->roof] = true;
  r->rows[r->count++] = *row;
}

static void finish(hn_roofline *r) {
  for (int i = 0; i < r->count; ++i) r->rows[i].percent = hn_percent(r->rows[i].time_ns, r->whole.time_ns);
  r->whole.name = r->model;
  r->whole.percent = 100;
}

hone_status hn_roofline_measured(const hn_profile *p, const double *theory, hn_arena *arena, hn_roofline *out) {
  const hone_facts *facts = p->in->facts;
  *out = (hn_roofline){.model = p->in->name, .threads = facts->threads};
  hn_roof_set_measured(facts, theory, &out->roofs);
  out->rows = HN_NEW(arena, hn_roofline_row, p->count + 1);
  if (!out->rows) return HONE_NO_MEMORY;
  for (int i = 0; i < p->count; ++i) {
    const hn_profile_row *from = &p->rows[i];
    const hn_roofline_row row = {.name = from->step->name,
                                 .type = hn_step_type(from->step),
                                 .report_class = hn_profile_class(from),
                                 .flops = from->work->cost.flops,
                                 .params_bytes = from->work->params_bytes,
                                 .activations_bytes = from->work->in_bytes + from->work->out_bytes,
                                 .time_ns = from->median_ns,
                                 .floor_ns = from->bound.floor_ns,
                                 .kind = from->bound.kind,
                                 .unit = hone_roof_name(from->bound.unit),
                                 .level = hone_roof_name(from->bound.level),
                                 .roof = from->bound.unit,
                                 .product = hn_profile_is_gemm(hn_profile_class(from)),
                                 .reason = from->bound.reason};
    add_row(out, &row);
  }
  finish(out);
  out->whole.time_ns = p->median_ns; /* with what lies between the layers */
  return HONE_OK;
}

/* ---- on paper ---- */

static double bytes_of_elements(hone_dtype type) {
  return (double)hone_dtype_bits(type == HONE_TF32 ? HONE_F32 : type) / 8;
}

/* The type that a tensor's elements would have: numbers that are computed with change, indices and flags do not. */
static hone_dtype type_in(hone_dtype wanted, hone_dtype own) {
  return wanted != HONE_NONE && hn_roof_of_type(own) != HONE_ROOF_COUNT ? wanted : own;
}

/* How much larger elements become; 1 for what has no size of its own. */
static double ratio_of(hone_dtype wanted, hone_dtype own) {
  const double bytes = bytes_of_elements(own);
  return bytes > 0 ? bytes_of_elements(type_in(wanted, own)) / bytes : 1;
}

static bool is_constant(const hn_plan *plan, int tensor) {
  return tensor >= 0 &&
         (plan->tensors[tensor].place == HN_PLACE_CONSTANT || plan->tensors[tensor].place == HN_PLACE_PACKED);
}

static double scale_of(const hn_plan *plan, int count, const int *tensors, hone_dtype wanted) {
  for (int i = 0; i < count; ++i)
    if (tensors[i] >= 0 && !is_constant(plan, tensors[i]))
      return ratio_of(wanted, plan->tensors[tensors[i]].type.dtype);
  return 1;
}

/* Weights are packed for a kernel of this machine (some for algorithms that make them larger): elsewhere they are as
 * many as the model has, in the type that is multiplied. */
static double params_of(const hn_plan *plan, const hn_plan_step *step, const hn_work *work, hone_dtype wanted,
                        hone_dtype computed) {
  double sum = 0;
  if (step->packed_bytes == 0) {
    for (int i = 0; i < step->in_count; ++i)
      if (is_constant(plan, step->in[i]))
        return work->params_bytes * ratio_of(wanted, plan->tensors[step->in[i]].type.dtype);
    return work->params_bytes;
  }
  for (int i = 0; i < step->in_count; ++i) {
    int64_t elements;
    if (!is_constant(plan, step->in[i])) continue;
    const hone_type *type = &plan->tensors[step->in[i]].type;
    if (!hn_elems_checked(&type->shape, &elements)) continue;
    sum +=
        (double)elements * bytes_of_elements(hn_roof_of_type(type->dtype) == HONE_ROOF_COUNT ? type->dtype : computed);
  }
  return sum;
}

static hone_dtype type_of_unit(hone_roof unit) {
  switch (unit) {
  case HONE_ROOF_F64: return HONE_F64;
  case HONE_ROOF_F16: return HONE_F16;
  case HONE_ROOF_BF16: return HONE_BF16;
  case HONE_ROOF_TF32: return HONE_TF32;
  case HONE_ROOF_INT8: return HONE_I8;
  default: return HONE_F32;
  }
}

static void add_on_paper(hn_roofline *r, const hn_plan *plan, const hn_plan_step *step, const int64_t *symbols,
                         hone_dtype type) {
  const hn_work work = hn_step_work(plan, step, symbols);
  const hone_dtype computed = type == HONE_NONE ? type_of_unit(hn_step_unit(plan, step)) : type;
  hn_roofline_row row = {.name = step->name,
                         .type = hn_step_type(step),
                         .report_class = hn_step_class(step),
                         .flops = work.cost.flops,
                         .level = hone_roof_name(HONE_ROOF_MEMORY)};
  row.product = hn_profile_is_gemm(row.report_class);
  row.roof = hn_roof_set_unit(&r->roofs, row.product, hn_roof_of_type(computed));
  row.unit = r->roofs.units[row.product][row.roof];
  row.params_bytes = params_of(plan, step, &work, type, computed);
  row.activations_bytes = work.in_bytes * scale_of(plan, step->in_count, step->in, type) +
                          work.out_bytes * scale_of(plan, step->out_count, step->out, type);
  const double peak = r->roofs.peaks[row.product][row.roof], speed = r->roofs.levels[HONE_ROOF_MEMORY];
  const double compute_ns = peak > 0 ? row.flops / peak * 1e9 : 0;
  const double memory_ns = speed > 0 ? hn_roofline_bytes(&row) / speed * 1e9 : 0;
  row.floor_ns = row.time_ns = fmax(compute_ns, memory_ns);
  row.kind = compute_ns > memory_ns ? HN_BOUND_COMPUTE : memory_ns > 0 ? HN_BOUND_MEMORY : HN_BOUND_UNKNOWN;
  add_row(r, &row);
}

hone_status hn_roofline_on_paper(const char *model, const hn_plan *plan, const int64_t *symbols, const hn_chip *chip,
                                 hone_dtype type, hn_arena *arena, hn_roofline *out) {
  *out = (hn_roofline){.model = model, .on_paper = true};
  hn_roof_set_chip(chip, &out->roofs);
  out->rows = HN_NEW(arena, hn_roofline_row, plan->step_count + 1);
  if (!out->rows) return HONE_NO_MEMORY;
  for (int s = 0; s < plan->step_count; ++s) {
    const hn_plan_step *step = &plan->steps[s];
    /* Converts and copies serve kernels of this machine; a block's steps come as often as only a run tells. */
    if (hn_step_runs(step) && !step->caused_by) add_on_paper(out, plan, step, symbols, type);
  }
  finish(out);
  return HONE_OK;
}
