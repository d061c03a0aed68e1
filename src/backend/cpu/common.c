/* SPDX-License-Identifier: Apache-2.0 */
/* common.c - what the CPU's tactics share. */
#include "backend/cpu/cpu.h"
#include "device/device.h"
#include "tensor/storage.h"

enum { FLOATS_PER_LINE = 16 };

bool hn_cpu_is_sized(const hone_fact *fact) {
  size_t bytes;
  return fact->type.kind == HONE_ABSENT || (fact->type.kind == HONE_TENSOR && hn_type_bytes(&fact->type, &bytes));
}

const char *hn_cpu_check(const hone_query *query, int least, int most, int outs) {
  if (query->in_count < least || query->in_count > most) return "it has another number of inputs";
  if (query->out_count < 1 || query->out_count > outs) return "it has another number of outputs";
  for (int i = 0; i < query->in_count; ++i) {
    if (i < least && query->in[i].type.kind == HONE_ABSENT) return "an input is absent";
    if (!hn_cpu_is_sized(&query->in[i])) return "an input's extents are not known";
  }
  if (query->out[0].type.kind == HONE_ABSENT) return "the output is absent";
  for (int i = 0; i < query->out_count; ++i)
    if (!hn_cpu_is_sized(&query->out[i])) return "an output's extents are not known";
  return NULL;
}

bool hn_cpu_given(const hone_query *query, int input) {
  return input < query->in_count && query->in[input].type.kind != HONE_ABSENT;
}

int hn_cpu_axis(const hone_query *query, const char *attr, int rank) {
  const int64_t axis = hn_attr_int(query->attrs, attr);
  if (axis < -rank || axis >= rank) return -1;
  return (int)(axis < 0 ? axis + rank : axis);
}

hn_cpu_rows hn_cpu_rows_along(const hone_shape *shape, int axis) {
  hn_cpu_rows rows = {.outer = 1, .axis = shape->dim[axis], .inner = 1};
  for (int i = 0; i < axis; ++i) rows.outer *= shape->dim[i];
  for (int i = axis + 1; i < shape->rank; ++i) rows.inner *= shape->dim[i];
  return rows;
}

hone_status hn_cpu_axis_or_flat(const hone_attrs *attrs, hone_shape *shape, int *out_axis, hone_diagnostics *diag) {
  *out_axis = 0;
  if (!hn_attr_has(attrs, "axis")) {
    *shape = (hone_shape){.rank = 1, .dim = {hn_elems(shape)}};
    return HONE_OK;
  }
  const int64_t axis = hn_attr_int(attrs, "axis");
  if (axis < -shape->rank || axis >= shape->rank) return HN_FAIL(diag, HONE_MALFORMED, "axis is out of range");
  *out_axis = (int)(axis + (axis < 0 ? shape->rank : 0));
  return HONE_OK;
}

int64_t hn_cpu_stored(const hone_type *type) {
  const size_t bits = hone_dtype_bits(type->dtype);
  return bits < 8 ? 0 : (int64_t)(hn_bytes(type) / (bits / 8));
}

bool hn_cpu_is(const hone_fact *fact, hone_dtype dtype, hone_format format) {
  return fact->type.kind == HONE_TENSOR && fact->type.dtype == dtype && fact->type.format == format;
}

hone_dtype hn_cpu_held(const hone_tactic *tactic) {
  const hone_dtype dtype = hn_storage_dtype(tactic->storages[0].in);
  return dtype == HONE_NONE ? HONE_F32 : dtype;
}

hone_dtype hn_cpu_real(const hone_tactic *tactic) { return hn_cpu_held(tactic) == HONE_F64 ? HONE_F64 : HONE_F32; }

/* What is f32 beside activations in another type would be read as that. */
static bool as_f32(hone_fact *fact, hone_dtype held) {
  if (fact->type.kind != HONE_TENSOR) return true;
  if (fact->type.dtype == HONE_F32 && held != HONE_F32) return false;
  if (fact->type.dtype == held) fact->type.dtype = HONE_F32;
  return true;
}

const char *hn_cpu_ask_f32(const hone_query *query, hn_cpu_asked *asked) {
  const hone_dtype held = hn_cpu_held(query->tactic);
  bool fits = true;
  if (query->in_count > HN_CPU_ASKED_INPUTS || query->out_count > HONE_MAX_PORTS) return "it has too many inputs";
  for (int i = 0; i < query->in_count; ++i) {
    asked->in[i] = query->in[i];
    if (held == HONE_F64 || !hn_port_is_param(query->op, i)) fits = as_f32(&asked->in[i], held) && fits;
  }
  for (int i = 0; i < query->out_count; ++i) {
    asked->out[i] = query->out[i];
    fits = as_f32(&asked->out[i], held) && fits;
  }
  asked->query = *query;
  asked->query.in = asked->in;
  asked->query.out = asked->out;
  return fits ? NULL : "an activation has another type than the row's";
}

int64_t hn_cpu_threads(const hone_facts *facts) { return facts->threads > 0 ? facts->threads : 1; }

size_t hn_cpu_l2_bytes(const hone_facts *facts) { return facts->l2_bytes ? facts->l2_bytes : HN_CPU_DEFAULT_L2_BYTES; }

int64_t hn_cpu_whole_lines(int64_t floats) { return hn_ceil_div(floats, FLOATS_PER_LINE) * FLOATS_PER_LINE; }

int64_t hn_cpu_grain(int64_t units, double total_ns) {
  if (units < 2 || total_ns < 4e3) return units < 1 ? 1 : units;
  const double grain = (double)units * 2e3 / total_ns;
  return grain < 1 ? 1 : (int64_t)grain;
}

bool hn_cpu_batch_of(const hone_shape *a, const hone_shape *b, hn_cpu_batch *out) {
  int64_t a_step = 1, b_step = 1;
  out->rank = (a->rank > b->rank ? a->rank : b->rank) - 2;
  for (int i = out->rank - 1; i >= 0; --i) {
    const int ai = i - out->rank + a->rank - 2, bi = i - out->rank + b->rank - 2;
    const int64_t ad = ai >= 0 ? a->dim[ai] : 1, bd = bi >= 0 ? b->dim[bi] : 1;
    if (ad != bd && ad != 1 && bd != 1) return false;
    out->dim[i] = ad == 1 ? bd : ad;
    out->a_step[i] = ad == 1 ? 0 : a_step;
    out->b_step[i] = bd == 1 ? 0 : b_step;
    a_step *= ad;
    b_step *= bd;
  }
  out->b_matrices = b_step;
  return true;
}

int64_t hn_cpu_batch_count(const hn_cpu_batch *batch) {
  int64_t count = 1;
  for (int i = 0; i < batch->rank; ++i) count *= batch->dim[i];
  return count;
}

void hn_cpu_batch_at(const hn_cpu_batch *batch, int64_t product, int64_t *out_a, int64_t *out_b) {
  *out_a = *out_b = 0;
  for (int i = batch->rank - 1; i >= 0; --i) {
    *out_a += product % batch->dim[i] * batch->a_step[i];
    *out_b += product % batch->dim[i] * batch->b_step[i];
    product /= batch->dim[i];
  }
}

int64_t hn_cpu_row_parts(const hone_facts *facts, int64_t images, int64_t rows, int64_t width) {
  const int64_t threads = hn_cpu_threads(facts), least = 96 * threads; /* pixels; as convolutions are cut */
  return threads == 1 || images >= threads || width <= 0 || rows < hn_ceil_div(least, width) ? 1 : threads;
}
