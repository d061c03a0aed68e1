/* SPDX-License-Identifier: Apache-2.0 */
/* range.h - from a histogram to the range that 256 bytes, or the numbers of e4m3, stand for. Each way is a row of
 * hn_pickers. */
#ifndef HN_CALIB_RANGE_H
#define HN_CALIB_RANGE_H

#include "calib/histogram.h"

/* How bytes stand for numbers: x = (byte - zero) * scale. */
typedef struct hn_scheme {
  hone_dtype dtype; /* U8, I8 or F8E4M3FN, whose bytes are the numbers to 448 that they code */
  bool symmetric;   /* zero is 0 (I8: -127 to 127; F8E4M3FN) or 128 (U8) */
} hn_scheme;

/* What is to be represented: low <= 0 <= high. */
typedef struct hn_range {
  double low, high;
} hn_range;

typedef struct hn_scale {
  float scale;
  int zero;
} hn_scale;

typedef struct hn_picker {
  const char *name, *doc;
  double number, least, most; /* its default number ("percentile:99.99") and bounds; least == most: it has none */
  bool even;                  /* it counts on bytes that stand for evenly spaced numbers: not for F8E4M3FN */
  hn_range (*pick)(const hn_histogram *histogram, const hn_scheme *scheme, double number);
} hn_picker;

extern const hn_picker hn_pickers[]; /* the default first; ends with name NULL */

/* "NAME" or "NAME:NUMBER". NULL: none is named so, or the number is out of its bounds. */
const hn_picker *hn_picker_find(const char *text, double *out_number);

hn_scale hn_scale_of_range(const hn_range *range, const hn_scheme *scheme);
double hn_lowest(const hn_scale *scale, const hn_scheme *scheme); /* the numbers that bytes reach */
double hn_highest(const hn_scale *scale, const hn_scheme *scheme);
/* The number that a byte gives for x. */
double hn_rounded(const hn_scale *scale, const hn_scheme *scheme, double x);
/* The share of the values other than 0 that lie beyond what bytes reach. */
double hn_clipped_share(const hn_histogram *histogram, const hn_scale *scale, const hn_scheme *scheme);

#endif
