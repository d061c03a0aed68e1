/* SPDX-License-Identifier: Apache-2.0 */
/* trial.h - what the families have in common: a context of little memory, and an engine's runs at all corners. */
#ifndef FUZZ_TRIAL_H
#define FUZZ_TRIAL_H

#include "campaign.h"
#include <hone/hone.h>
#include <stdatomic.h>

typedef struct trial {
  atomic_uint_fast64_t live;          /* bytes that the library holds */
  atomic_uint_fast64_t turns, broken; /* allocations; bytes of a block that was written past its end */
  uint64_t limit;
  campaign_slot *slot; /* of the case that runs */
  hone_context *context;
  hone_device *devices[2];
  int device_count;
  char complaint[256];
} trial;

/* Opens the CPU with so many threads, and beside it perhaps the device of the plug-in far. */
bool trial_begin(trial *t, const campaign_options *options, bool with_far, int threads);
/* A complaint when the library still holds memory; NULL: none. */
const char *trial_end(trial *t);

/* A complaint about a status: one that is our bug, or says nothing. */
const char *trial_check(trial *t, hone_status status, const char *call);

/* Runs every schedule at its opt, min and max shapes with inputs of the seed, then out of its range, and at opt again:
 * refused, and the same as before. The outputs' hash is joined to *out_hash, which stays as it is when nothing ran. The
 * slot's stage is STAGE_DONE when everything ran. */
const char *trial_run(trial *t, hone_engine *engine, uint64_t seed, campaign_slot *slot, uint64_t *out_hash);

/* A name for a temporary file of this process. */
void trial_path(char *out, size_t room, const char *ending);
/* Saves into a temporary file, whose ledger goes at once; its bytes are malloc'ed. NULL: out is filled. */
const char *trial_save(trial *t, const hone_engine *engine, uint8_t **out_bytes, size_t *out_count);

/* Prints the context's messages, for what a family cannot begin without. */
void trial_print_messages(const trial *t);

#endif
