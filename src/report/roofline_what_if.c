/* SPDX-License-Identifier: Apache-2.0 */
/* roofline_what_if.c - what a layer's shape does to its intensity, by formula: a convolution of 3x3, 64 channels to 64
 * on 56x56, changed in one thing at a time, a fully connected layer over the batch, and a reshape.
 *
 *   operations  2 N K P Q (C / groups) R S           a multiply-add as two; "same" padding, stride 1
 *   bytes       N C H W + K (C / groups) R S + N K P Q elements, each once
 *   time        the larger of operations over the peak and bytes over main memory's bandwidth */
#include "device/device.h"
#include "report/grid.h"
#include "report/roofline.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct shape {
  double batch, in, out, size, kernel, groups;
} shape;

typedef struct table {
  const hn_roof_set *set;
  hn_what_if_row *rows;
  int count;
} table;

static void add(table *t, const char *curve, const char *at, hone_dtype type, double flops, double elements) {
  const hone_roof unit = hn_roof_set_unit(t->set, true, hn_roof_of_type(type));
  const double peak = t->set->peaks[1][unit], speed = t->set->levels[HONE_ROOF_MEMORY];
  hn_what_if_row *row = &t->rows[t->count++];
  *row = (hn_what_if_row){.curve = curve,
                          .flops = flops,
                          .bytes = elements * (double)hone_dtype_bits(type) / 8,
                          .unit = t->set->units[1][unit]};
  hn_copy_text(row->at, sizeof row->at, at);
  const double compute_ns = peak > 0 ? flops / peak * 1e9 : 0, memory_ns = speed > 0 ? row->bytes / speed * 1e9 : 0;
  row->time_ns = fmax(compute_ns, memory_ns);
  row->computes = compute_ns > memory_ns;
}

static void add_conv(table *t, const char *curve, const char *at, hone_dtype type, const shape *s) {
  const double pixels = s->size * s->size, weights = s->out * (s->in / s->groups) * s->kernel * s->kernel;
  add(t, curve, at, type, 2 * s->batch * pixels * weights, s->batch * pixels * (s->in + s->out) + weights);
}

static void add_curves(table *t, hone_dtype type) {
  static const int kernels[] = {1, 3, 5, 7, 9, 11}, sizes[] = {7, 14, 28, 56, 112, 224};
  static const int channels[] = {16, 32, 64, 128, 256, 512}, groups[] = {1, 2, 4, 8, 16, 32, 64};
  static const int batches[] = {1, 2, 4, 8, 16, 32, 64};
  const shape base = {.batch = 1, .in = 64, .out = 64, .size = 56, .kernel = 3, .groups = 1};
  char at[32];
  for (size_t i = 0; i < HN_COUNT(kernels); ++i) {
    shape s = base;
    s.kernel = kernels[i];
    (void)snprintf(at, sizeof at, "%dx%d", kernels[i], kernels[i]);
    add_conv(t, "kernel", at, type, &s);
  }
  for (size_t i = 0; i < HN_COUNT(sizes); ++i) {
    shape s = base;
    s.size = sizes[i];
    (void)snprintf(at, sizeof at, "%dx%d", sizes[i], sizes[i]);
    add_conv(t, "output size", at, type, &s);
  }
  for (size_t i = 0; i < HN_COUNT(channels); ++i) {
    shape s = base;
    s.in = s.out = channels[i];
    (void)snprintf(at, sizeof at, "%d to %d", channels[i], channels[i]);
    add_conv(t, "channels", at, type, &s);
  }
  for (size_t i = 0; i < HN_COUNT(groups); ++i) {
    shape s = base;
    s.groups = groups[i];
    (void)snprintf(at, sizeof at, groups[i] == 64 ? "%d: depthwise" : "%d", groups[i]);
    add_conv(t, "groups", at, type, &s);
  }
  for (size_t i = 0; i < HN_COUNT(batches); ++i) {
    shape s = base;
    s.batch = batches[i];
    (void)snprintf(at, sizeof at, "%d", batches[i]);
    add_conv(t, "batch", at, type, &s);
  }
}

static void add_others(table *t, hone_dtype type) {
  static const hone_dtype types[] = {HONE_F32, HONE_F16, HONE_BF16, HONE_I8};
  static const int batches[] = {1, 2, 4, 8, 16, 32, 64, 128};
  const shape base = {.batch = 1, .in = 64, .out = 64, .size = 56, .kernel = 3, .groups = 1};
  char at[32];
  for (size_t i = 0; i < HN_COUNT(types); ++i)
    add_conv(t, "type", types[i] == HONE_I8 ? "int8" : hone_dtype_name(types[i]), types[i], &base);
  for (size_t i = 0; i < HN_COUNT(batches); ++i) {
    const double n = batches[i], in = 2048, out = 1000;
    (void)snprintf(at, sizeof at, "batch %d", batches[i]);
    add(t, "fully connected, 2048 to 1000", at, type, 2 * n * in * out, n * (in + out) + in * out);
  }
  add(t, "reshape, 64x56x56", "a view", type, 0, 0);
  add(t, "reshape, 64x56x56", "a copy", type, 0, 2 * 64 * 56 * 56);
}

int hn_what_if(const hn_roof_set *set, hone_dtype type, hn_what_if_row *rows) {
  table t = {.set = set, .rows = rows};
  add_curves(&t, type);
  add_others(&t, type);
  return t.count;
}

static const char *bound_of(const hn_what_if_row *row) {
  return row->computes ? "compute" : row->bytes > 0 ? "memory" : "-";
}

void hn_what_if_write(const hn_roof_set *set, hone_dtype type, const hone_report_options *options, hn_arena *arena,
                      hn_text *out) {
  hn_what_if_row rows[HN_WHAT_IF_MOST];
  const int count = hn_what_if(set, type, rows);
  hn_grid grid;
  hn_text_printf(out,
                 "What if, by formula, on %s in %s: a convolution of 3x3, 64 channels to 64 on 56x56, batch 1, changed "
                 "in one thing\n",
                 set->name, type == HONE_I8 ? "int8" : hone_dtype_name(type));
  for (int i = 0; i < count; ++i) {
    const hn_what_if_row *row = &rows[i];
    if (i == 0 || strcmp(row->curve, rows[i - 1].curve) != 0) {
      static const char *const heads[] = {"MFLOP", "MB", "FLOP/byte", "us at the roof", "bound", "unit"};
      hn_grid_init(&grid, arena, options, "lrrrrll", "");
      hn_grid_add(&grid, "%s", row->curve);
      for (size_t k = 0; k < HN_COUNT(heads); ++k) hn_grid_add(&grid, "%s", heads[k]);
    }
    hn_grid_add(&grid, "%s", row->at);
    hn_grid_add(&grid, "%.2f", row->flops * 1e-6);
    hn_grid_add(&grid, "%.3f", row->bytes * 1e-6);
    hn_grid_add(&grid, "%.2f", row->bytes > 0 ? row->flops / row->bytes : 0);
    hn_grid_add(&grid, "%.2f", row->time_ns * 1e-3);
    hn_grid_add(&grid, "%s", bound_of(row));
    hn_grid_add(&grid, "%s", row->flops > 0 ? row->unit : "-");
    if (i + 1 < count && strcmp(rows[i + 1].curve, row->curve) == 0) continue;
    hn_text_add(out, "\n");
    hn_grid_write(&grid, out);
    out->failed = out->failed || grid.failed;
  }
}

void hn_what_if_put(const hn_roof_set *set, hone_dtype type, hn_json_writer *w) {
  hn_what_if_row rows[HN_WHAT_IF_MOST];
  const int count = hn_what_if(set, type, rows);
  hn_json_open(w, "what_if", '[');
  for (int i = 0; i < count; ++i) {
    const hn_what_if_row *row = &rows[i];
    hn_json_open_flat(w, NULL, '{');
    hn_json_put_text(w, "curve", row->curve);
    hn_json_put_text(w, "at", row->at);
    hn_json_put_real(w, "flops", row->flops);
    hn_json_put_real(w, "bytes", row->bytes);
    hn_json_put_real(w, "flop_per_byte", row->bytes > 0 ? row->flops / row->bytes : 0);
    hn_json_put_real(w, "roof_ms", row->time_ns * 1e-6);
    hn_json_put_text(w, "bound", bound_of(row));
    hn_json_put_text(w, "unit", row->flops > 0 ? row->unit : NULL);
    hn_json_close(w, '}');
  }
  hn_json_close(w, ']');
}
