/* SPDX-License-Identifier: Apache-2.0 */
/* generate.h - what hone generate is made of: a decoder's ports and session (generate_decoder.c), and choosing a token
 * (generate_sample.c). */
#ifndef CLI_GENERATE_H
#define CLI_GENERATE_H

#include "cli.h"

enum { CLI_MAX_STATES = 512 };

/* A decoder with caches: input_ids, perhaps attention_mask and position_ids, and for each cache an input past... and an
 * output present...; its output logits has a row for each token. */
typedef struct cli_decoder {
  cli_tool *cli;
  hone_engine *engine; /* the model's */
  hone_session *session;
  const char *ids, *mask, *positions;        /* names; NULL: it has none */
  const char *places, *lengths;              /* where new rows begin in the caches, and how many then are there */
  hone_session_state states[CLI_MAX_STATES]; /* of the caches; names are the engine's */
  int state_count;
  bool appends;     /* attention is ONNX's own: the mask has columns for all of the caches, then for the new tokens */
  int64_t capacity; /* tokens that a cache holds */
  int64_t length;   /* tokens in the caches */
  int64_t shaped;   /* tokens that the inputs' shapes are for */
  int64_t state_bytes; /* of all caches */
  int64_t *room;       /* ids, positions, mask: capacity each, the mask twice that */
  const float *logits; /* of the last token; valid until the next run */
  int64_t vocabulary;
  char output_names[CLI_MAX_STATES][64];
} cli_decoder;

/* Builds what is no engine yet, for a prompt of so many tokens and caches of `capacity` tokens; an engine has its own
 * capacity, which is the most then. Exit code; closing is right after every outcome. */
int cli_decoder_open(cli_tool *cli, cli_model *model, int64_t prompt, int64_t capacity, cli_decoder *out);
void cli_decoder_close(cli_decoder *decoder);
/* Runs `count` tokens behind those in the caches, in as many runs as it takes. Exit code. */
int cli_decoder_feed(cli_decoder *decoder, const int64_t *tokens, int64_t count);

/* How a token is chosen of its logits. */
typedef struct cli_sampler {
  bool greedy;
  double temperature, top_p; /* top_p 1: all */
  int64_t top_k;             /* 0: all */
  uint64_t seed;             /* the generator's state */
  struct cli_candidate *candidates;
} cli_sampler;
bool cli_sampler_open(cli_sampler *sampler, int64_t vocabulary); /* false: no memory */
void cli_sampler_close(cli_sampler *sampler);
int64_t cli_sample(cli_sampler *sampler, const float *logits, int64_t vocabulary);

#endif
