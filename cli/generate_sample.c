/* SPDX-License-Identifier: Apache-2.0 */
/* generate_sample.c - a token of its logits: the likeliest, or one drawn from the likely ones (Holtzman et al.,
 * arXiv:1904.09751). */
#include "generate.h"
#include <math.h>
#include <stdlib.h>

typedef struct cli_candidate {
  double weight; /* exp((logit - greatest) / temperature) */
  int64_t token;
} candidate;

/* e^-30 of the likeliest: a million such tokens are drawn once in 10^7 times. Leaving them out keeps lists short. */
static const double least_exponent = -30;

bool cli_sampler_open(cli_sampler *sampler, int64_t vocabulary) {
  sampler->candidates = sampler->greedy ? NULL : calloc((size_t)vocabulary, sizeof *sampler->candidates);
  return sampler->greedy || sampler->candidates;
}

void cli_sampler_close(cli_sampler *sampler) {
  free(sampler->candidates);
  sampler->candidates = NULL;
}

/* The greatest logit, the first of equal ones; NaN is none. Many comparisons at a time: one after the other they would
 * take a tenth of a millisecond for 32,000 logits, 3 % of a small model's token. */
static int64_t likeliest(const float *logits, int64_t vocabulary) {
  enum { LANES = 64 };
  float most[LANES], all = -INFINITY;
  for (int l = 0; l < LANES; ++l) most[l] = -INFINITY;
  int64_t i = 0;
  for (; i + LANES <= vocabulary; i += LANES)
    for (int l = 0; l < LANES; ++l) most[l] = logits[i + l] > most[l] ? logits[i + l] : most[l];
  for (int l = 0; l < LANES; ++l) all = most[l] > all ? most[l] : all;
  for (; i < vocabulary; ++i) all = logits[i] > all ? logits[i] : all;
  for (i = 0; i < vocabulary; ++i)
    if (logits[i] == all) return i;
  return 0;
}

static int heavier_first(const void *a, const void *b) {
  const candidate *x = a, *y = b;
  if (x->weight != y->weight) return x->weight > y->weight ? -1 : 1;
  return x->token < y->token ? -1 : x->token > y->token;
}

int64_t cli_sample(cli_sampler *sampler, const float *logits, int64_t vocabulary) {
  const int64_t best = likeliest(logits, vocabulary);
  if (sampler->greedy) return best;
  candidate *list = sampler->candidates;
  int64_t count = 0;
  double all = 0, sum = 0;
  for (int64_t i = 0; i < vocabulary; ++i) {
    const double exponent = ((double)logits[i] - (double)logits[best]) / sampler->temperature;
    if (!(exponent >= least_exponent)) continue;
    list[count++] = (candidate){exp(exponent), i};
  }
  if (count == 0) return best; /* not a number */
  qsort(list, (size_t)count, sizeof *list, heavier_first);
  if (sampler->top_k > 0 && count > sampler->top_k) count = sampler->top_k;
  for (int64_t i = 0; i < count; ++i) all += list[i].weight;
  int64_t kept = 0;
  while (kept < count && (kept == 0 || sum < sampler->top_p * all)) sum += list[kept++].weight;
  double left = (double)(cli_random(&sampler->seed) >> 11) * 0x1p-53 * sum;
  for (int64_t i = 0; i < kept; ++i)
    if ((left -= list[i].weight) < 0) return list[i].token;
  return list[kept - 1].token;
}
