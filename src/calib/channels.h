/* SPDX-License-Identifier: Apache-2.0 */
/* channels.h - channels that may be scaled without changing what a network computes: what makes them takes the factor
 * into its weights, what reads them takes it out of its own. Between the two stand operators that a positive factor
 * passes through. Sources: cross-layer equalisation (Nagel et al., arXiv:1906.04721, section 4.1), SmoothQuant (Xiao et
 * al., arXiv:2211.10438, section 4).
 *
 * Channels of different values that must have one factor are one class: those of a residual sum and its summands, a
 * part of a concatenation and its place in the whole. A class that anything else reads or makes, the graph's own ends
 * included, keeps the factor 1. */
#ifndef HN_CALIB_CHANNELS_H
#define HN_CALIB_CHANNELS_H

#include "calib/sites.h"

typedef struct hn_channels {
  hone_graph *graph;
  hn_arena *arena;
  int *axis;      /* by the value's id: the axis that its channels lie along; -1: they cannot be scaled */
  int64_t *first; /* by the value's id: the number of its first channel */
  int64_t count;
  int value_count;      /* when they were found: ids beyond are of constants made since */
  int64_t *parent;      /* by channel: towards its class */
  bool *fixed, *normed; /* by class: it keeps the factor 1; a normalisation makes it */
  double *limit;        /* by class: the factor's largest, from bounds behind which channels were seen */
  double *reach;        /* by channel: the largest magnitude seen, a mean over samples */
  double *most;         /* by channel: the largest of all */
  double *scale;        /* by channel; that of its class counts */
  double *middle;       /* by channel: half way between its extremes, a mean over samples */
  double *shift;        /* by channel: added behind the factor */
  bool *shifts;         /* by the value's id: its channels may be shifted */
  int64_t samples;
} hn_channels;

/* Of a graph before roundings are put in. NO_MEMORY. */
hone_status hn_channels_find(hone_graph *graph, hn_arena *arena, hn_channels *out);
int64_t hn_channel_class(const hn_channels *channels, int64_t channel);
/* A value of one sample: what its channels reach. */
void hn_channels_see(hn_channels *channels, const hn_value *value, const hone_tensor *tensor);
/* Factors that give each channel of a rounded value the reach of the widest one, to a power in 0..1; those of a class
 * are the least that one of its rounded values allows, and no bound is passed. False: there is none but 1. */
bool hn_channels_equalise(hn_channels *channels, const hn_sites *sites, double power);
/* Factors of what normalisations write: the weights take on what activations lose, to a power in 0..1. */
bool hn_channels_smooth(hn_channels *channels, double power);
/* Shifts, to be chosen behind the factors: the middle of each channel comes to 0. False: there is none. */
bool hn_channels_align(hn_channels *channels, const hn_sites *sites);
bool hn_channels_changed(const hn_channels *channels, const hn_value *value); /* it has a factor but 1, or a shift */
/* What was seen of values that are not changed, into the channels of a clone to which the others were applied. */
void hn_channels_remember(const hn_channels *channels, hn_channels *clone);
/* Constants of the graph are replaced by scaled and shifted ones. NO_MEMORY. */
hone_status hn_channels_apply(const hn_channels *channels);

#endif
