/* SPDX-License-Identifier: Apache-2.0 */
/* profile.h - a layer profile, gathered once and written as text, JSON or CSV. */
#ifndef HN_REPORT_PROFILE_H
#define HN_REPORT_PROFILE_H

#include "report/bound.h"
#include "report/report.h"

typedef struct hn_profile_row {
  const hn_plan_step *step;
  const hn_trace_step *times;
  const hn_work *work;
  hn_bound bound;
  double mean_ns, median_ns, share; /* share: percent of the layers' sum, by medians */
  double above_ns;                  /* the median above the roof: what could be saved at most */
  double gflops, gbytes;            /* per second; 0: not known. gbytes: of what is compulsory */
  const char *tactic;               /* with its parameters */
  bool matrix_units;                /* its products run on units for matrices */
  const char *plain_reason;         /* why not; NULL: they do, or there are none */
  const char *storage;              /* "f32 nchw16c", "f32 > bf16 nchw32c" */
} hn_profile_row;

/* Layers of one class, type, node or module together. */
typedef struct hn_profile_group {
  const char *name;
  double median_ns, floor_ns, flops, bytes;
  int count;
} hn_profile_group;

/* A layer that is no product, and a fused form whose parts run instead. */
typedef struct hn_leftover {
  const struct hn_profile_row *row;
  const char *rule;   /* of the passes, that knows the fusion; NULL: none does yet */
  const char *fusion; /* in words: what would take the layer in; NULL: no fusion is known */
  const char *unmet;  /* the first condition that is not met; NULL where no fusion is known */
  double saving_ns;   /* by hn_fusion_saving_ns() */
} hn_leftover;

typedef struct hn_refused_region {
  const char *name, *op, *why;
  double fused_ns, parts_ns; /* 0: not measured */
} hn_refused_region;

typedef struct hn_leftovers {
  hn_leftover *items; /* by what would be saved, the most first */
  hn_refused_region *regions;
  int count, region_count;
  double sum_ns, saving_ns;
} hn_leftovers;

typedef struct hn_profile {
  const hn_profile_input *in;
  const hone_report_options *options;
  hn_arena *arena;
  int count, class_count, group_count;
  hn_profile_row *rows;                   /* in the order of execution */
  hn_profile_row **candidates;            /* by what could be saved, the most first */
  hn_profile_group *classes;              /* by time, the longest first */
  hn_profile_group *groups;               /* what options->by asks for; 0 of them by layer */
  double sum_ns, reference_ns;            /* of medians: layers; those on the reference */
  double mean_sum_ns, mean_ns, median_ns; /* layers by their means; one run, end to end */
  double gemm_ns, floor_ns;               /* of the sum: convolutions and products; at the roofs */
  double matrix_ns;                       /* of the sum: layers on a device's units for matrices */
  double to_device_ns, to_host_ns;        /* of the sum: transfers between memory spaces */
  int transfers;
  bool traced;    /* the device's steps have the times of the replayed run */
  double run_ns;  /* a run, end to end: without profiling where that would lengthen it */
  double host_ns; /* of a traced run, with runs that are not to tell it by: how far run_ns is beyond the device's span,
                   * its launches in it */
  double fps;
  hn_leftovers leftovers;           /* what is no product, and which fusion would remove it */
  const struct hn_advising *advice; /* NULL: none was asked for */
} hn_profile;

/* What all views of a profile begin with. NO_MEMORY. */
hone_status hn_profile_gather(const hn_profile_input *input, const hone_report_options *options, hn_arena *arena,
                              hn_profile **out);
/* Rows of options->by (profile_groups.c): key() of each row names its group. */
hone_status hn_profile_group_by(hn_profile *profile);
hone_status hn_profile_classes(hn_profile *profile);
bool hn_profile_is_gemm(const char *report_class);
const char *hn_profile_class(const hn_profile_row *row);
const char *hn_step_class(const hn_plan_step *step);

void hn_profile_write_text(const hn_profile *profile, hn_text *out);
void hn_profile_write_json(const hn_profile *profile, hn_text *out);
void hn_profile_write_csv(const hn_profile *profile, hn_text *out);

int hn_profile_top(const hn_profile *profile); /* candidates that are listed */

#endif
