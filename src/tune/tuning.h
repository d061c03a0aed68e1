/* SPDX-License-Identifier: Apache-2.0 */
/* tuning.h - inside of tune/: what enumerating, measuring and assigning share. */
#ifndef HN_TUNE_TUNING_H
#define HN_TUNE_TUNING_H

#include "base/file.h"
#include "base/hash.h"
#include "base/span.h"
#include "search/pbqp.h"
#include "tune/tune.h"

enum { HN_MAX_VARIANTS = 16 };

/* When the tuner times the parts of a fused node against it. */
typedef enum hn_parts_effort {
  HN_PARTS_NEVER, /* only where nothing but the reference runs the fused node, or nothing in a type that is allowed */
  HN_PARTS_LIKE,  /* a part of the fused node's own kind by what won there, the others by all candidates */
  HN_PARTS_ALL
} hn_parts_effort;

/* One builder level (tune/levels.c). */
typedef struct hn_level {
  const char *doc;
  bool times;
  int variants;     /* of a tactic in a pair of storages, at most */
  int samples;      /* of a candidate, at most */
  double sample_ns; /* a sample repeats launches for so long */
  double prune;     /* not timed: estimates so many times the best one */
  double drop;      /* dropped early: so many times slower than the best of its storages */
  hn_parts_effort parts;
  int rivals;      /* of a layer, that are timed in its place in the whole network (tune/in_network.c), */
  int host_rivals; /* and of one that works in the host's memory */
  double race_ns;  /* of one such contest */
} hn_level;
/* Of the options; without timing where a device is described only. */
const hn_level *hn_level_of(const hone_build_options *options, hone_device *const *devices, int device_count);

/* One build (tune/tuner.c). */
typedef struct hn_timing_cache hn_timing_cache;
struct hn_tuner {
  hone_context *context;
  const hone_build_options *options;
  hn_arena arena; /* of the cache */
  hn_timing_cache *cache;
  int64_t stop_ns; /* on hn_clock_ns(): the end of the time budget; 0: none */
  int schedule_count, tuned_count;
  size_t cold_bytes;     /* what won is timed again on weights spread over so much memory; 0: it is not (tune/cold.c) */
  bool unproved;         /* what is chosen is not held against the reference */
  hn_sampling *sampling; /* NULL: everything is timed */
  hn_blob lock_file;
  hn_lock lock;     /* as it was read; text NULL: there was none */
  hn_text new_lock; /* to be written where there was none, and kept in a refittable engine */
};
hone_status hn_tuner_note(hn_tuner *tuner, const hn_choices *choices); /* a schedule is tuned: its part of the lock */

/* One call of hn_tune: what outlives a round of choosing, since a split of fused nodes begins a new one. */
/* Large blocks of memory that one bench after the other uses: to get fresh pages from the system takes longer than what
 * is done to them. */
enum { HN_KEPT_BLOCKS = 24 };
typedef struct hn_kept_block {
  void *data;
  size_t bytes;
  const void *user; /* NULL: nobody's now */
} hn_kept_block;

typedef struct hn_tuning {
  hone_context *context;
  const hone_build_options *options;
  const hn_level *level;
  hn_arena arena;
  hn_timing_cache *cache; /* the build's */
  hn_table contests;      /* by contestants: a bool, was it decided? */
  const hn_lock *lock;    /* what it says of this schedule; NULL: there is none */
  int64_t stop_ns;        /* on hn_clock_ns(): no timing after it; 0: none */
  bool stopped;
  int split_count, split_capacity;
  hn_split *splits;
  bool splitting_over; /* no more rounds for the sake of parts */
  hn_spans spans;
  int miss_count; /* layers that the timing cache must hold and does not */
  hn_kept_block kept[HN_KEPT_BLOCKS];
  size_t kept_bytes, kept_most; /* of all; of those that had a user at the same time */
  size_t cold_bytes;            /* the tuner's */
  bool unproved;                /* the tuner's */
  hn_sampling *sampling;        /* the tuner's */
} hn_tuning;
void hn_tuning_forget_blocks(hn_tuning *tuning); /* that have no user (bench.c) */
/* Is the time for measuring used up, or does the caller want what there is? */
bool hn_tuning_stopped(hn_tuning *tuning);
extern const char hn_time_used_up[]; /* the reason of candidates that therefore have no time */
/* After a stop: estimates of what has no time, by what the same tactics took elsewhere (tune/calibrate.c). */
hone_status hn_tune_calibrate(hn_choices *choices);

bool hn_candidate_usable(const hn_candidate *candidate); /* neither rejected nor inexact */
/* The fastest usable candidate of these storages (NULL: of any) that is no reference; NULL: none (parts.c). */
const hn_candidate *hn_choice_best(const hn_choice *choice, const hone_storage_pair *pair);
static inline bool hn_candidate_is_reference(const hn_candidate *candidate) {
  return candidate->tactic->flags & HONE_TACTIC_REFERENCE;
}
bool hn_candidate_is_narrow(const hn_candidate *candidate); /* it holds or computes f32 in a narrower type */
/* Is there a candidate that needs no narrow type? withheld: also where a narrow one was asked for by name. */
bool hn_choice_can_widen(const hn_choice *choice, bool withheld);
/* What it is taken to cost: the lower end of its interval, since other programs on the machine only add time. */
static inline double hn_candidate_ns(const hn_candidate *candidate) {
  return candidate->state == HN_CANDIDATE_TIMED ? candidate->time_low_ns : candidate->estimate_ns;
}
int hn_compare_doubles(const void *a, const void *b); /* for qsort: the least first (tune/measure.c) */
/* A device with memory of its own was asked for: where one of its candidates is usable, those in the host's memory
 * wait, since every change between the two costs copies; where the choice stays with the host, the other way round. */
bool hn_candidate_waits(const hn_choices *choices, const hn_choice *choice, const hn_candidate *candidate);
hone_status hn_tune_place_on_host(hn_choices *choices); /* decides which choices stay (tune/host_placement.c) */
/* What tells two choices apart for measuring: op, attributes, types, constness. Text in the arena; NULL: no memory. */
const char *hn_choice_key(hn_choices *choices, const hn_choice *choice);

/* Timing cache (tune/cache.c). path NULL: an empty one that is never written. INVALID: the file is none of ours. */
hone_status hn_timing_cache_open(hone_context *context, hn_arena *arena, const char *path, hn_timing_cache **out);
bool hn_timing_cache_get(const hn_timing_cache *cache, const char *key, hn_candidate *candidate);
hone_status hn_timing_cache_put(hn_timing_cache *cache, const char *key, const hn_candidate *candidate);
hone_status hn_timing_cache_save(hone_context *context, hn_timing_cache *cache);
const char *hn_timing_cache_key(hn_choices *choices, const char *choice_key, const hn_candidate *candidate);

/* Buffers and reference results for one choice (tune/bench.c). */
typedef struct hn_bench hn_bench;
/* reference false: times alone; errors stay as they are. */
hone_status hn_bench_open(hn_choices *choices, const hn_choice *choice, uint64_t seed, bool reference, hn_bench **out);
void hn_bench_close(hn_bench *bench);
/* Makes a candidate ready; its first launch measures the error (rel. L2 over the sampled elements, HUGE_VAL if an
 * integer differs or a number is NaN against a number). */
hone_status hn_bench_prepare(hn_bench *bench, hn_candidate *candidate, int slot, bool timed);
/* Runs a prepared candidate `repeat` times and gives the elapsed time of all; warm: after one launch that brings the
 * inputs back, wakes the threads and does not count. */
hone_status hn_bench_time(hn_bench *bench, int slot, int repeat, bool warm, double *out_elapsed_ns);
void hn_bench_drop(hn_bench *bench, int slot); /* its memory is free again */
/* What becomes of the reference's own outputs when each real input is off by one rounding: an error of this size is the
 * node's, not a kernel's. Evaluates the reference once more; kept. */
hone_status hn_bench_sensitivity(hn_bench *bench, double *out);

/* The runs of elements of an output that are compared, the same for every candidate (tune/error.c). */
enum { HN_SAMPLED_RUNS = 16 };
int hn_sampled_runs(int64_t count);
void hn_sampled_run(int64_t count, int run, hone_window *out); /* [first, last) */
/* All of them in their order, those that overlap joined, so that no element is computed twice. How many there are. */
int hn_sampled_windows(int64_t count, int output, hone_window out[HN_SAMPLED_RUNS]);

/* Relative L2 over several runs of elements (tune/error.c). */
typedef struct hn_error_sum {
  double difference, reference;
  bool broken; /* an integer differs, or a number is NaN or infinite against another */
} hn_error_sum;
void hn_error_add(const hone_tensor *got, const hone_tensor *want, const hone_window *window, hn_error_sum *sum);
double hn_error_of(const hn_error_sum *sum); /* HUGE_VAL: broken */
enum { HN_BENCH_SLOTS = 12 };

/* What converting a tensor, of this type in the graph, from one storage into another takes: nothing where the bytes
 * stay as they are, else measured on tensors of several sizes and interpolated, or taken from the device's bandwidth
 * (tune/converts.c). */
double hn_convert_ns(const hn_choices *choices, const hone_type *type, hone_storage from, hone_storage to);
hone_status hn_converts_measure(hn_choices *choices);

/* Every tactic about one choice; by_options: as --tactic wants it. */
hone_status hn_tune_ask(hn_choices *choices, hn_choice *choice, bool by_options);

/* By how much parts must be faster than the fused node to be worth a step more: what intervals leave open. */
#define HN_PARTS_MARGIN 0.95
hone_status hn_tune_cold(hn_choices *choices); /* with the tuner's cold_bytes (tune/cold.c) */
/* The first candidate against all others together, timed again in turns where the first times say that it is to give
 * way; ends as soon as the others no longer lead by the margin. *out_decided: enough samples, and half of each one's
 * near its least; on a disturbed machine that may never come (tune/measure.c). */
enum { HN_MAX_CONTESTANTS = 16 };
typedef struct hn_contestant {
  hn_choices *choices;
  hn_choice *choice;
  int candidate;
} hn_contestant;
hone_status hn_tune_contest(hn_tuning *tuning, hn_contestant *list, int count, bool *out_decided);

/* The parts of a choice's fused node, measured, when they may be faster (tune/parts.c). choice->trial is made. */
hone_status hn_tune_parts(hn_choices *choices, hn_choice *choice);
/* A graph's block as choices without candidates: the main one with those inside it, or the parts of a fused node. */
hone_status hn_choices_list(hn_choices *choices);
hone_status hn_choices_find_identical(hn_choices *choices); /* choices with the same query share their measurements */
hone_status hn_tune_pack(hn_choices *choices);              /* what the lock chose, beforehand (tune/pack.c) */
/* Symbol values under one shape an input; -1 for those known only after running. */
hone_status hn_tune_symbols(hn_choices *choices, const hone_shape *shapes, int64_t **out);
/* Times all choices, the most work first (tune/tune.c). */
hone_status hn_choices_measure(hn_choices *choices);
hone_status hn_choice_measure(hn_choices *choices, hn_choice *choice);
/* What a choice is expected to take in the whole network. */
double hn_choice_expected_ns(const hn_choice *choice);
/* The same for a sample of them: order holds their numbers (tune/sample.c). */
hone_status hn_choices_sample(hn_choices *choices, const int *order, int count);
hone_status hn_sample_project(hn_choices *choices); /* on layers that were not in it, behind hn_tune_calibrate() */
hone_status hn_sample_compare(hn_choices *choices); /* with the sampling's plan, once all is chosen (tune/compare.c) */
/* choices->param_places and result_places, by the options (tune/port_places.c). */
hone_status hn_tune_place_ports(hn_choices *choices);
/* The storages that a fused node's inputs and outputs have around its parts. */
typedef struct hn_boundary {
  const hone_storage *params, *results;
} hn_boundary;
/* The cheapest assignment; boundary NULL: the graph's own inputs and outputs, as they were placed. costs are left in
 * choices->total_ns (tune/assign.c). */
hone_status hn_tune_assign(hn_choices *choices, const hn_boundary *boundary);

/* The cheapest assignment whose every choice is within its tactic's bound (tune/tune.c). */
hone_status hn_tune_prove(hn_choices *choices);
/* Measures the error of what is chosen, where it is not known yet. */
hone_status hn_choice_prove(hn_choices *choices, hn_choice *choice);
/* The outputs' error, and layers that give narrow types back for it; judge NULL: nothing is measured
 * (tune/accuracy.c). UNSUPPORTED: the error stays over the options' max_error. */
hone_status hn_tune_accuracy(hn_choices *choices, const hn_judge *judge);
/* Runners-up in the winners' places, while the whole network is timed in turns; judge NULL: nothing is
 * (tune/in_network.c). */
hone_status hn_tune_in_network(hn_choices *choices, const hn_judge *judge);

/* Asked for by --tactic or in the lock's words (tune/tactic_overrides.c). */
typedef struct hn_tactic_override {
  const char *tactic; /* glob */
  size_t tactic_length;
  const char *params; /* "name=value,..."; NULL: any */
  size_t params_length;
  bool glob; /* the nodes' names are a pattern: it counts for those that can */
} hn_tactic_override;
bool hn_tactic_override_find(const hone_build_options *options, const char *node, hn_tactic_override *out);
bool hn_tactic_override_names(const hn_tactic_override *wanted, const char *tactic);
bool hn_tactic_override_allows(const hn_tactic_override *wanted, const hone_params *params);
hone_status hn_tactic_overrides_check(const hn_choices *choices, const hone_build_options *options);
/* Does some option ask for the node's parts? */
bool hn_tactic_override_parts(const hone_build_options *options, const char *node);

/* Types asked for by layers' names (tune/layer_types.c); false: none for this node. */
bool hn_layer_type_find(const hone_build_options *options, const hn_node *node, hone_layer_type *out);
/* Why a candidate is not of the types asked for; NULL: it is, or the choice has no floats. A layer computes in the
 * coarsest of what it reads and of what its tactic multiplies in. */
const char *hn_layer_type_decline(const hone_layer_type *asked, const hn_choice *choice, const hone_tactic *tactic,
                                  const hone_storage_pair *pair);

/* INVALID names the sources of tactics that are not known, and those that are (tune/sources.c). */
hone_status hn_sources_check(const hn_choices *choices, const hone_build_options *options);

void hn_text_candidate(hn_text *out, const hn_candidate *candidate); /* "tactic{param=value} in->out", for people */

#endif
