/* SPDX-License-Identifier: Apache-2.0 */
/* histogram.h - what calibration remembers of one activation: its extremes and how its values lie between them.
 * One pass over the samples: where a value lies beyond the bins, each becomes twice as wide and neighbours merge, so
 * that nothing has to be read again. */
#ifndef HN_CALIB_HISTOGRAM_H
#define HN_CALIB_HISTOGRAM_H

#include <hone/types.h>

enum { HN_BINS = 4096, HN_BIN_ZERO = HN_BINS / 2 };

/* Zero-initialised: nothing was seen. Bin i counts values in [i - HN_BIN_ZERO, i + 1 - HN_BIN_ZERO) * reach /
 * HN_BIN_ZERO; numbers that are 0 are counted apart, since behind a ReLU they are most and cost no precision. */
typedef struct hn_histogram {
  double low, high; /* the extremes; 0 where nothing was seen */
  double reach;     /* the bins span [-reach, reach] */
  uint64_t count;   /* of all values, zeros included */
  uint64_t zeros;
  uint64_t bins[HN_BINS];
} hn_histogram;

/* False: a number is NaN or infinite, and nothing was added; *out_at says which. */
bool hn_histogram_add(hn_histogram *histogram, const float *values, int64_t count, int64_t *out_at);
double hn_bin_width(const hn_histogram *histogram);
double hn_bin_centre(const hn_histogram *histogram, int bin); /* the extremes' bins are cut off at these */

#endif
