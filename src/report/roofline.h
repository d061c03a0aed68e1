/* SPDX-License-Identifier: Apache-2.0 */
/* roofline.h - the layers of a plan as points under roofs: operations a byte against operations a second. Measured on
 * this machine (from a profile), or on paper for a chip. Written as text, JSON and a plot. */
#ifndef HN_REPORT_ROOFLINE_H
#define HN_REPORT_ROOFLINE_H

#include "base/json.h"
#include "report/chips.h"
#include "report/profile.h"

/* What computes and what moves: a machine as measured, or a chip on paper. */
typedef struct hn_roof_set {
  const char *name;
  double peaks[2][HONE_ROOF_L1];      /* operations a second; [1]: in what matrix units are for. 0: there is none */
  const char *units[2][HONE_ROOF_L1]; /* "f32"; of a chip "f16 matrix" */
  double levels[HONE_ROOF_COUNT];     /* bytes a second, from HONE_ROOF_L1 on; 0: not known */
  double theory[HONE_ROOF_COUNT];     /* what a measured roof can be at most; 0: nothing tells */
} hn_roof_set;

/* theory: HONE_ROOF_COUNT numbers. */
void hn_roof_set_measured(const hone_facts *facts, const double *theory, hn_roof_set *out);
void hn_roof_set_chip(const hn_chip *chip, hn_roof_set *out);
/* The type that computes this one: itself, or f32 where there is no unit for it. */
hone_roof hn_roof_set_unit(const hn_roof_set *set, bool product, hone_roof type);

/* A layer, or the whole model. */
typedef struct hn_roofline_row {
  const char *name, *type, *report_class;
  double flops;                           /* by definition */
  double params_bytes, activations_bytes; /* as they lie */
  double time_ns, percent;                /* the median; on paper that of the roof */
  double floor_ns;                        /* at the roof; 0: not known */
  hn_bound_kind kind;
  const char *unit, *level; /* what computes; where most of the time for its bytes goes */
  hone_roof roof;           /* of unit */
  bool product;             /* it is what matrix units are for */
  const char *reason;       /* why it is above its roof, or may be; NULL */
} hn_roofline_row;

typedef struct hn_roofline {
  const char *model;
  hn_roof_set roofs;
  bool on_paper;
  int threads; /* 0 on paper */
  int count;
  hn_roofline_row *rows; /* in the order of execution */
  hn_roofline_row whole;
  double compute_ns, memory_ns; /* of the layers' time: those bound by either */
  bool used[2][HONE_ROOF_L1];   /* the roofs that layers compute under */
} hn_roofline;

hone_status hn_roofline_measured(const hn_profile *profile, const double *theory, hn_arena *arena, hn_roofline *out);
/* type: what floats and bytes lie and compute in; HONE_NONE: as the plan has it. symbols: as in hn_step_work(). */
hone_status hn_roofline_on_paper(const char *model, const hn_plan *plan, const int64_t *symbols, const hn_chip *chip,
                                 hone_dtype type, hn_arena *arena, hn_roofline *out);

static inline double hn_roofline_bytes(const hn_roofline_row *row) {
  return row->params_bytes + row->activations_bytes;
}
double hn_roofline_intensity(const hn_roofline_row *row); /* operations a byte; 0 when there is neither */
double hn_roofline_reached(const hn_roofline_row *row);   /* operations a second; 0 when nothing is known */
double hn_roofline_roof(const hn_roofline_row *row);      /* the most of them, at this intensity */

void hn_roofline_write(const hn_roofline *roofline, const hone_report_options *options, hn_arena *arena, hn_text *out);
void hn_roofline_put(const hn_roofline *roofline, hn_json_writer *writer); /* the fields of an open object */
/* A whole file of SVG. NO_MEMORY. */
hone_status hn_roofline_plot(const hn_roofline *roofline, hn_arena *arena, hn_text *out);

/* ---- by formula: one layer after the other, changed in one thing at a time (roofline_what_if.c) ---- */
typedef struct hn_what_if_row {
  const char *curve; /* "kernel": what changes; a new one begins where it differs from the row before */
  char at[32];       /* "3x3" */
  double flops, bytes, time_ns;
  const char *unit;
  bool computes; /* else its bytes take longer */
} hn_what_if_row;

enum { HN_WHAT_IF_MOST = 64 };
/* How many rows; type: of elements. */
int hn_what_if(const hn_roof_set *set, hone_dtype type, hn_what_if_row *rows);
void hn_what_if_write(const hn_roof_set *set, hone_dtype type, const hone_report_options *options, hn_arena *arena,
                      hn_text *out);
void hn_what_if_put(const hn_roof_set *set, hone_dtype type, hn_json_writer *writer); /* a list "what_if" */

#endif
