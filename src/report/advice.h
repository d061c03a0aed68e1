/* SPDX-License-Identifier: Apache-2.0 */
/* advice.h - what to do about a profile: a pattern that names where the time goes, and remedies, each a row of a const
 * table with its condition, its prediction and the flags or the change of the model that it asks for.
 *
 * Rows see the profile, the decision ledger where there is one, and the model before the passes as a plain list of
 * nodes, so that this folder knows nothing of graphs. */
#ifndef HN_REPORT_ADVICE_H
#define HN_REPORT_ADVICE_H

#include "base/json.h"
#include "report/profile.h"
#include <hone/advice.h>

enum { HN_ADVICE_TOP = 3 /* lines of advice at a profile's end */, HN_MORE_ITEMS = 8 /* of a batch */ };

/* ---- the model as it was imported: nodes in order, values by number ---- */
typedef struct hn_advice_value {
  const char *name;
  hone_type type;              /* dims may be negative or symbolic */
  int producer;                /* node number; -1: an input or a constant */
  int reader;                  /* the first node that reads it; -1: none */
  int use_count;               /* by nodes, and as outputs of the model */
  const hone_tensor *constant; /* NULL: none */
} hn_advice_value;

typedef struct hn_advice_node {
  const char *name; /* of the ONNX node that it came from, else its own */
  const char *op;
  const hone_op *row;
  const hone_attrs *attrs;
  int in_count, out_count;
  const int *in, *out; /* value numbers; -1: absent */
} hn_advice_node;

typedef struct hn_advice_model {
  int node_count, value_count;
  hn_advice_node *nodes;
  hn_advice_value *values;
} hn_advice_model;

/* ---- the pattern ---- */
typedef enum hn_pattern {
  HN_PATTERN_UNKNOWN,    /* no roofs: the profile alone cannot tell */
  HN_PATTERN_REFERENCE,  /* operators without kernels */
  HN_PATTERN_TRANSFER,   /* copies between host and device */
  HN_PATTERN_LAUNCH,     /* what lies between steps */
  HN_PATTERN_SMALL,      /* many steps too short to be worth their fixed costs */
  HN_PATTERN_FORMAT,     /* conversions between layouts and types */
  HN_PATTERN_UNBALANCED, /* threads that wait for the last one */
  HN_PATTERN_COMPUTE,
  HN_PATTERN_MEMORY,
  HN_PATTERN_MIXED,
  HN_PATTERN_COUNT
} hn_pattern;

/* What of a run a pattern's leaf looks at, as shares from 0 to 1. */
typedef struct hn_pattern_shares {
  double reference, transfer, between, latency, convert, waiting, compute, memory;
} hn_pattern_shares;

/* ---- remedies ---- */
typedef struct hn_advising hn_advising;
typedef struct hn_advice_item hn_advice_item;

#define HN_ADVICE_POWER "power"   /* the kind of what saves energy, not time */
#define HN_ADVICE_DEFECT "defect" /* the kind of what a model should not have: told however little it costs */

typedef struct hn_advice_row {
  const char *name, *kind;
  const char *remedy;       /* what to do; a finding tells why */
  const char *model_change; /* what the model's author would change; NULL: nothing */
  const char *confidence;   /* "high", "medium", "low": of the prediction */
  bool applies_itself;      /* a build with the item's flags is all that it takes */
  /* Adds an item, with its finding and steps or nodes, for each place where the condition holds. */
  void (*find)(hn_advising *a, const struct hn_advice_row *row);
  void (*predict)(const hn_advising *a, hn_advice_item *item); /* saving_ns, low_ns, high_ns */
  /* The same from what a sample of the remedy's layers took; false: it does not tell. NULL: no build shows it. */
  bool (*expect)(const hn_advising *a, hn_advice_item *item, const hone_expectation *expectation);
} hn_advice_row;

struct hn_advice_item {
  const hn_advice_row *row;
  const char *finding, *flags; /* flags NULL: none */
  const char *const *layers;   /* names of steps, or of the model's nodes */
  int layer_count;
  const int *rows; /* of the profile: the steps that change */
  int row_count;
  double factor;                     /* what the row's prediction needs: threads, a ratio */
  hone_roof unit;                    /* of a change of types: that of the new one */
  double saving_ns, low_ns, high_ns; /* of a run; an interval by the prediction's own reckoning */
  bool removed;                      /* the build did it */
  int timed_layers, unknown_layers;  /* as in hone_advice_info, */
  double timed_share;                /* this, */
  bool unsure;                       /* and this */
};

/* What else is known beside the profile; zero or NULL: not known. */
typedef struct hn_advice_facts {
  const hn_advice_model *model;
  const hn_json *ledger;             /* of the schedule that ran */
  int machine_threads;               /* that the process may use */
  int level;                         /* the engine was tuned at; -1: nothing was timed */
  double waiting_ns;                 /* a run's mean time that threads waited for the last one of a loop */
  bool no_replay;                    /* recorded runs of steps were turned off */
  int disabled_passes;               /* that the build left out */
  bool reference_only;               /* the build was told to */
  const hone_tactic *const *tactics; /* of the first device; ends with NULL. Not kept */
  const hone_facts *other;           /* of another device that the model could run on */
  bool calibrated, throughput;       /* samples are at hand; requests may run side by side */
} hn_advice_facts;

struct hn_advising {
  const hn_profile *p;
  hn_advice_facts facts;
  hn_arena *arena;
  hn_pattern pattern;
  hn_pattern_shares shares;
  const char *pattern_text;
  double run_ns;         /* without profiling, where that is known */
  double scale;          /* of what the layers' medians save, to what the run does */
  hn_advice_item *items; /* by what they save, the most first; then those that the build removed */
  int count, capacity;
  bool failed; /* out of memory */
};

/* Evaluates all rows. NO_MEMORY. */
hone_status hn_advise(const hn_profile *profile, const hn_advice_facts *facts, hn_arena *arena, hn_advising **out);

hn_pattern hn_pattern_of(const hn_pattern_shares *shares, bool has_roofs, int steps);
const char *hn_pattern_name(hn_pattern pattern); /* "compute-bound"; static */

/* ---- inside of the rows ---- */
extern const hn_advice_row hn_advice_run_rows[], hn_advice_model_rows[], hn_advice_ledger_rows[],
    hn_advice_device_rows[]; /* end with name NULL */

/* NULL: out of memory, which a->failed keeps. The finding is a printf text. */
hn_advice_item *hn_advice_add(hn_advising *a, const hn_advice_row *row, const char *finding, ...) HONE_PRINTF(3, 4);
/* The step of that name, or that alone stands for the node of that name; NULL: none. */
const hn_profile_row *hn_advice_row_named(const hn_advising *a, const char *name);
/* Steps of the profile for which `takes` holds, and their names as the item's layers; how many. */
int hn_advice_take_rows(hn_advising *a, hn_advice_item *item,
                        bool (*takes)(const hn_advising *a, const hn_profile_row *row));
/* The model's nodes as the item's layers, and as its rows the steps that stand for nothing else. Where there are none,
 * the build removed them, or other steps took them in. */
void hn_advice_take_nodes(hn_advising *a, hn_advice_item *item, const int *nodes, int count);
void hn_advice_flags(hn_advising *a, hn_advice_item *item, const char *format, ...) HONE_PRINTF(3, 4);

/* The new time of a step when its unit, bytes or threads change (advice_predict.c). */
void hn_predict_removed(const hn_advising *a, hn_advice_item *item);
void hn_predict_fused(const hn_advising *a, hn_advice_item *item); /* rows that others take in */
void hn_predict_precision(const hn_advising *a, hn_advice_item *item);
void hn_predict_threads(const hn_advising *a, hn_advice_item *item);
void hn_predict_share(const hn_advising *a, hn_advice_item *item); /* factor: the share that is saved */
void hn_predict_reference(const hn_advising *a, hn_advice_item *item);

/* The region row (advice_region.c). */
void hn_find_region(hn_advising *a, const hn_advice_row *row);
void hn_predict_region(const hn_advising *a, hn_advice_item *item);

/* From a sample of layers (advice_expect.c). */
bool hn_expect_run(const hn_advising *a, hn_advice_item *item, const hone_expectation *e);
bool hn_expect_narrower(const hn_advising *a, hn_advice_item *item, const hone_expectation *e); /* bf16, f16 */
bool hn_expect_fusions(const hn_advising *a, hn_advice_item *item, const hone_expectation *e);
bool hn_expect_items(const hn_advising *a, hn_advice_item *item, const hone_expectation *e); /* of HN_MORE_ITEMS */
bool hn_expect_times(const hn_advising *a, hn_advice_item *item, const hone_expectation *e); /* estimates chose */
void hn_advice_sort(hn_advising *a);                                                         /* by what they save */
bool hn_advice_expects(hn_advising *a, int index, const hone_expectation *e);

/* Did the step save what was predicted: by 30 % of it more or less, or within what was measured's own interval? */
bool hn_advice_step_fits(const hone_advice_step *step);

/* ---- writing (advice_text.c, advice_data.c) ---- */
void hn_advice_write_text(const hn_advising *a, const hone_advice_step *steps, int step_count, hn_text *out);
void hn_advice_write_json(const hn_advising *a, const hone_advice_step *steps, int step_count, hn_text *out);
/* "pattern" and "advice" as members of an object that is open. */
void hn_advice_put(hn_json_writer *w, const hn_advising *a, int most);
/* The pattern and the first few lines of advice: a profile's end. */
void hn_advice_write_top(const hn_advising *a, int most, hn_text *out);

#endif
