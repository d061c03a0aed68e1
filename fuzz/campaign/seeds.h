/* SPDX-License-Identifier: Apache-2.0 */
/* seeds.h - the files that mutants are made of. */
#ifndef FUZZ_SEEDS_H
#define FUZZ_SEEDS_H

#include "campaign.h"

enum { MOST_SEEDS = 8192, MOST_SEED_BYTES = 1 << 16 };

typedef struct seed_file {
  char *path;
  uint8_t *bytes;
  size_t count;
} seed_file;

typedef struct seed_list {
  const campaign_options *options;
  int count;
  seed_file items[MOST_SEEDS];
} seed_list;

/* The options' files and, from their folders, those of that ending; larger ones are left out. NULL and a line on stderr
 * when there are none, or one cannot be read. */
seed_list *seeds_read(const campaign_options *options, const char *ending);
void seeds_free(void *list);
void seeds_take(const seed_file *seed, campaign_file *file); /* a copy of it, and its name */

#endif
