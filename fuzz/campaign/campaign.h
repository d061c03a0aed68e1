/* SPDX-License-Identifier: Apache-2.0 */
/* campaign.h - very many damaged files, each in a process that may die of it.
 *
 * A family makes case number n from the seed and n alone, so that every case can be made again, and tries it in a child
 * process that handles a batch of cases; a child that dies, hangs or complains costs that one case. What the child is
 * at is in memory that it shares with its parent. */
#ifndef FUZZ_CAMPAIGN_H
#define FUZZ_CAMPAIGN_H

#include "base/random.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define CAMPAIGN_SANITIZED
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define CAMPAIGN_SANITIZED
#endif

/* How far a case came; the words are campaign_stages. */
typedef enum campaign_stage {
  STAGE_MAKE,
  STAGE_IMPORT,
  STAGE_BUILD,
  STAGE_SAVE,
  STAGE_LOAD,
  STAGE_SESSION,
  STAGE_RUN,
  STAGE_DONE,
  STAGE_COUNT
} campaign_stage;

/* A child's state, as its parent sees it. */
typedef struct campaign_slot {
  int64_t now, end;           /* the case at work; the batch's end */
  double began, cpu;          /* of the call at work: seconds of the clock, and of the child's processor time */
  campaign_stage stage;       /* of that case */
  int64_t ended[STAGE_COUNT]; /* how many cases of the batch ended in a stage; STAGE_DONE: ran to their end */
  double slowest;             /* seconds of the slowest case so far */
  int64_t slowest_case;
  char complaint[256]; /* "": none */
} campaign_slot;

typedef struct campaign_file {
  uint8_t *bytes; /* malloc'ed */
  size_t count;
  char name[96];
} campaign_file;

typedef struct campaign_options {
  uint64_t seed;
  int64_t from, count; /* count 0: as many as the family has */
  int jobs;
  double call_seconds;      /* a call that takes longer is a finding */
  uint64_t memory_bytes;    /* what the library's allocator gives */
  int64_t deadline_ms;      /* of a context */
  const char *keep;         /* folder for what was found */
  const char *far_path;     /* the plug-in of the device far */
  const char *const *seeds; /* files and folders of models */
  int seed_count;
  bool quiet;
} campaign_options;

typedef struct campaign_family {
  const char *name, *doc;
  /* In the parent, once: NULL and a line on stderr after a failure. out_total: how many cases the family has before
   * they repeat; INT64_MAX when they never do. */
  void *(*begin)(const campaign_options *options, int64_t *out_total);
  void (*end)(void *world);
  /* Fills file->bytes, count and name. */
  void (*make)(void *world, uint64_t seed, int64_t number, campaign_file *file);
  /* Tries a file; the slot's stage follows. A complaint is a finding: NULL is none. */
  const char *(*attempt)(void *world, const campaign_file *file, uint64_t seed, int64_t number, campaign_slot *slot);
} campaign_family;

extern const campaign_family campaign_engine_bytes, campaign_engine_tokens, campaign_engine_splices;
extern const campaign_family campaign_engine_files, campaign_model_files;
extern const campaign_family campaign_model_bytes, campaign_model_structure;
extern const char *const campaign_stages[STAGE_COUNT];

/* How many findings; -1: it could not begin. */
int64_t campaign_run(const campaign_family *family, void *world, int64_t total, const campaign_options *options);
/* Case number options->from, in this process; its file is written to options->keep. */
bool campaign_run_one(const campaign_family *family, void *world, const campaign_options *options);

/* A call of the library begins, whose time is watched. */
void campaign_enter(campaign_slot *slot, campaign_stage stage);

static inline uint64_t campaign_below(hn_random *random, uint64_t count) {
  return count ? hn_random_u64(random) % count : 0;
}
/* The case's own numbers. */
static inline hn_random campaign_random(uint64_t seed, int64_t number) {
  hn_random mixed = {seed * 0x9e3779b97f4a7c15u ^ (uint64_t)number};
  return (hn_random){hn_random_u64(&mixed)};
}

#endif
