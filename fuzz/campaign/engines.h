/* SPDX-License-Identifier: Apache-2.0 */
/* engines.h - the small engines that are damaged, one of every kind of plan. */
#ifndef FUZZ_ENGINES_H
#define FUZZ_ENGINES_H

#include "trial.h"

enum { ENGINES = 6 };

typedef struct small_engine {
  const char *name;
  bool far;
  uint8_t *bytes;
  size_t count;
  uint64_t hash; /* of what it says to the inputs of seed 1 */
} small_engine;

typedef struct engine_world {
  const campaign_options *options;
  small_engine engines[ENGINES];
} engine_world;

/* Builds all; NULL with a line on stderr when one does not build. */
engine_world *engines_build(const campaign_options *options);
void engines_free(engine_world *world);

/* Loads and runs, with the device far where the file speaks of it. same_hash: what runs must say what the engine said
 * that it was, 0: anything. */
const char *engines_attempt(const engine_world *world, const campaign_file *file, uint64_t same_hash,
                            campaign_slot *slot);

/* An engine of this header and these weights, with right sizes and checksums. */
void engines_assemble(const char *header, size_t header_bytes, const small_engine *weights_of, campaign_file *file);
/* Where the header and the weights stand. */
const char *engines_header(const small_engine *engine, size_t *out_bytes);

#endif
