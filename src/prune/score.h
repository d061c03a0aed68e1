/* SPDX-License-Identifier: Apache-2.0 */
/* score.h - what each unit is worth, and which of them go. */
#ifndef HN_PRUNE_SCORE_H
#define HN_PRUNE_SCORE_H

#include "prune/coupling.h"

/* Squares of what layers read, summed along each channel over the calibration data. */
typedef struct hn_moments_of_layer {
  double *square; /* [channel of the layer's input]; NULL: it was not seen */
} hn_moments_of_layer;

/* A way to score (a row). The higher, the more a unit is worth; the mean over a tensor's channels is 1, so that units
 * of several layers, and groups, compare. */
typedef struct hn_scorer {
  const char *name, *doc;
  bool samples; /* it needs moments */
  hone_status (*score)(const hn_coupling *coupling, const hn_moments_of_layer *moments, double *out_scores);
} hn_scorer;
extern const hn_scorer hn_scorers[];               /* the default first; ends with name NULL */
const hn_scorer *hn_scorer_find(const char *name); /* NULL: none */

typedef struct hn_choice_of_units {
  double ratio; /* of each group's channels, or of all of them together, that goes */
  int multiple; /* of which the channels that stay are one, and the least that stay */
  bool global;  /* the units worth least of all groups go; false: as many of each group */
} hn_choice_of_units;
/* Sets what each group keeps, and units' removed. */
hone_status hn_choose_units(hn_coupling *coupling, const double *scores, const hn_choice_of_units *how);
/* The same where groups' kept were set by others. */
hone_status hn_choose_kept(hn_coupling *coupling, const double *scores);
/* The nearest number of channels that may stay. */
int64_t hn_round_channels(const hn_group *group, double channels, int multiple);

#endif
