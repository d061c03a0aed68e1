/* SPDX-License-Identifier: Apache-2.0 */
/* range.c - ways to pick a range. A wider one rounds all values more coarsely, a narrower one cuts the rare large ones.
 *   mse         least mean square error over a grid of ranges
 *   minmax      all that was seen
 *   percentile  all but a share of the values
 *   entropy     least Kullback-Leibler divergence from what was seen (Migacz, "8-bit inference with TensorRT", GTC
 *               2017); the threshold is on magnitudes
 * A bound at which more than one value in a hundred lies (a ReLU6's 6) is never cut. */
#include "calib/range.h"
#include "tensor/element.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- bytes ---- */

static const double most_float8 = 448;
static bool of_floats(const hn_scheme *scheme) { return scheme->dtype == HONE_F8E4M3FN; }

static double least_byte(const hn_scheme *scheme) {
  if (of_floats(scheme)) return -most_float8;
  return scheme->dtype == HONE_U8 ? 0 : scheme->symmetric ? -127 : -128;
}
static double most_byte(const hn_scheme *scheme) {
  return of_floats(scheme) ? most_float8 : scheme->dtype == HONE_U8 ? 255 : 127;
}

hn_scale hn_scale_of_range(const hn_range *range, const hn_scheme *scheme) {
  const double low = fmin(range->low, 0), high = fmax(range->high, 0);
  const double span = scheme->symmetric ? fmax(high, -low) / most_byte(scheme) : (high - low) / 255;
  const float scale = (float)span;
  const int middle = scheme->dtype == HONE_U8 ? 128 : 0;
  if (!(scale >= FLT_MIN) || !isfinite(scale))
    return (hn_scale){1, scheme->symmetric ? middle : (int)least_byte(scheme)};
  if (scheme->symmetric) return (hn_scale){scale, middle};
  return (hn_scale){scale, (int)(least_byte(scheme) + nearbyint(-low / (double)scale))};
}

double hn_lowest(const hn_scale *scale, const hn_scheme *scheme) {
  return (least_byte(scheme) - scale->zero) * (double)scale->scale;
}
double hn_highest(const hn_scale *scale, const hn_scheme *scheme) {
  return (most_byte(scheme) - scale->zero) * (double)scale->scale;
}

double hn_rounded(const hn_scale *scale, const hn_scheme *scheme, double x) {
  if (of_floats(scheme)) {
    const uint8_t byte = hn_f8_from_f64(scheme->dtype, x / (double)scale->scale, true);
    return hn_f8_to_f64(scheme->dtype, byte) * (double)scale->scale;
  }
  const double byte = nearbyint(x / (double)scale->scale) + scale->zero;
  return (fmin(fmax(byte, least_byte(scheme)), most_byte(scheme)) - scale->zero) * (double)scale->scale;
}

double hn_clipped_share(const hn_histogram *h, const hn_scale *scale, const hn_scheme *scheme) {
  const double half = (double)scale->scale * (of_floats(scheme) ? 16 : 0.5), low = hn_lowest(scale, scheme) - half,
               high = hn_highest(scale, scheme) + half;
  uint64_t beyond = 0;
  for (int i = 0; i < HN_BINS; ++i) {
    const double centre = h->bins[i] ? hn_bin_centre(h, i) : 0;
    if (centre < low || centre > high) beyond += h->bins[i];
  }
  const uint64_t others = h->count - h->zeros;
  return others ? (double)beyond / (double)others : 0;
}

/* ---- the pickers ---- */

static int bin_of(const hn_histogram *h, double x) {
  if (h->reach == 0) return HN_BIN_ZERO;
  const int at = (int)floor(x / hn_bin_width(h)) + HN_BIN_ZERO;
  return at < 0 ? 0 : at < HN_BINS ? at : HN_BINS - 1;
}

/* Is an extreme a wall that many values lie at? */
static bool is_wall(const hn_histogram *h, double extreme) {
  return extreme != 0 && (double)h->bins[bin_of(h, extreme)] > 0.01 * (double)(h->count - h->zeros) &&
         h->count - h->zeros > 1000;
}

static hn_range pick_minmax(const hn_histogram *h, const hn_scheme *scheme, double number) {
  (void)scheme, (void)number;
  return (hn_range){h->low, h->high};
}

static hn_range pick_percentile(const hn_histogram *h, const hn_scheme *scheme, double percent) {
  (void)scheme;
  const bool two = h->low < 0 && h->high > 0;
  const double allowed = (1 - percent / 100) * (double)(h->count - h->zeros) / (two ? 2 : 1);
  hn_range range = {h->low, h->high};
  double cut = 0;
  for (int i = HN_BINS - 1; i > HN_BIN_ZERO && !is_wall(h, h->high); --i) {
    cut += (double)h->bins[i];
    if (cut > allowed) break;
    range.high = fmin(h->high, (i - HN_BIN_ZERO) * hn_bin_width(h));
  }
  cut = 0;
  for (int i = 0; i < HN_BIN_ZERO - 1 && !is_wall(h, h->low); ++i) {
    cut += (double)h->bins[i];
    if (cut > allowed) break;
    range.low = fmax(h->low, (i + 1 - HN_BIN_ZERO) * hn_bin_width(h));
  }
  return range;
}

/* The bins that hold something, for sums over many ranges. */
enum { LANES = 8 }; /* sums side by side, so that compilers make vectors of them */
typedef struct crowd {
  int count; /* a multiple of LANES, filled up with weights of 0 */
  double centre[HN_BINS + LANES], weight[HN_BINS + LANES];
} crowd;

static void gather(const hn_histogram *h, crowd *out) {
  out->count = 0;
  for (int i = bin_of(h, h->low); i <= bin_of(h, h->high); ++i) {
    if (h->bins[i] == 0) continue;
    out->centre[out->count] = hn_bin_centre(h, i);
    out->weight[out->count++] = (double)h->bins[i];
  }
  for (; out->count % LANES; ++out->count) out->centre[out->count] = out->weight[out->count] = 0;
}

/* As hn_rounded has it, without calls: bytes are bounded first, and what is added to them leaves no room for fractions.
 * Sums of `enough` and more may be cut short. */
static double square_error(const crowd *c, const hn_range *range, const hn_scheme *scheme, double enough) {
  enum { ROUND = 64 * LANES };
  const hn_scale scale = hn_scale_of_range(range, scheme);
  const double each = (double)scale.scale, low = least_byte(scheme) - scale.zero, high = most_byte(scheme) - scale.zero;
  const double magic = 0x1.8p52;
  double lanes[LANES] = {0}, sum = 0;
  for (int first = 0; first < c->count && sum < enough; first += ROUND) {
    const int end = first + ROUND < c->count ? first + ROUND : c->count;
    for (int i = first; i < end; i += LANES)
      for (int k = 0; k < LANES; ++k) {
        const double centre = c->centre[i + k];
        double byte = centre / each;
        byte = byte < low ? low : byte;
        byte = byte > high ? high : byte;
        const double apart = ((byte + magic) - magic) * each - centre;
        lanes[k] += c->weight[i + k] * apart * apart;
      }
    sum = 0;
    for (int k = 0; k < LANES; ++k) sum += lanes[k];
  }
  return sum;
}

/* Coarse steps of both ends, then fine ones of each around the best. */
static hn_range pick_mse(const hn_histogram *h, const hn_scheme *scheme, double number) {
  (void)number;
  const bool low_free = h->low < 0 && !is_wall(h, h->low), high_free = h->high > 0 && !is_wall(h, h->high);
  hn_range best = {h->low, h->high};
  crowd c;
  gather(h, &c);
  double least = square_error(&c, &best, scheme, HUGE_VAL);
  for (int a = 20; a >= (low_free ? 4 : 20); --a)
    for (int b = 20; b >= (high_free ? 4 : 20); --b) {
      const hn_range range = {h->low * a / 20, h->high * b / 20};
      const double error = square_error(&c, &range, scheme, least);
      if (error < least) best = range, least = error;
    }
  const hn_range coarse = best;
  for (int end = 0; end < 2; ++end)
    for (int step = -4; step <= 4; ++step) {
      hn_range range = end == 0 ? coarse : best;
      if (end == 0 && high_free) range.high = fmin(h->high, coarse.high + h->high * step / 100);
      if (end == 1 && low_free) range.low = fmax(h->low, coarse.low + h->low * step / 100);
      const double error = square_error(&c, &range, scheme, least);
      if (error < least) best = range, least = error;
    }
  return best;
}

/* Magnitudes: both signs of a bin together, without zeros. */
static void fold(const hn_histogram *h, double *out) {
  for (int i = 0; i < HN_BIN_ZERO; ++i) out[i] = (double)(h->bins[HN_BIN_ZERO + i] + h->bins[HN_BIN_ZERO - 1 - i]);
}

/* Of the first `kept` bins with the rest put into the last of them, from the same cut to `levels` steps. Both are
 * smoothed, since the latter may have zeros where the former has none. */
static double divergence(const double *mass, int kept, int levels, double *p, double *q) {
  const double smooth = 1e-4;
  double rest = 0, all = 0, p_sum = 0, q_sum = 0, sum = 0;
  for (int i = kept; i < HN_BIN_ZERO; ++i) rest += mass[i];
  for (int i = 0; i < kept; ++i) all += p[i] = mass[i] + (i == kept - 1 ? rest : 0);
  for (int level = 0; level < levels; ++level) {
    const int first = (int)((int64_t)level * kept / levels), last = (int)((int64_t)(level + 1) * kept / levels);
    double held = 0;
    int filled = 0;
    for (int i = first; i < last; ++i) held += mass[i], filled += mass[i] > 0;
    for (int i = first; i < last; ++i) q[i] = mass[i] > 0 ? held / filled : 0;
  }
  const double q_all = all - rest;
  for (int i = 0; i < kept; ++i) {
    p_sum += p[i] = p[i] / all + smooth / kept;
    q_sum += q[i] = (q_all > 0 ? q[i] / q_all : 0) + smooth / kept;
  }
  for (int i = 0; i < kept; ++i) sum += p[i] / p_sum * log(p[i] / p_sum / (q[i] / q_sum));
  return sum;
}

static hn_range pick_entropy(const hn_histogram *h, const hn_scheme *scheme, double number) {
  (void)number;
  const int levels = scheme->symmetric || h->low < 0 ? 128 : 256;
  const int last = bin_of(h, fmax(h->high, -h->low)) - HN_BIN_ZERO + 1;
  double mass[HN_BIN_ZERO], p[HN_BIN_ZERO], q[HN_BIN_ZERO], least = HUGE_VAL;
  int best = last;
  fold(h, mass);
  if (h->count == h->zeros || is_wall(h, h->high) || is_wall(h, h->low)) return (hn_range){h->low, h->high};
  for (int kept = last; kept >= levels; kept -= 1 + (last > 1024)) {
    const double apart = divergence(mass, kept, levels, p, q);
    if (apart < least) least = apart, best = kept;
  }
  const double reach = best == last ? fmax(h->high, -h->low) : best * hn_bin_width(h);
  return (hn_range){fmax(h->low, -reach), fmin(h->high, reach)};
}

const hn_picker hn_pickers[] = {
    {.name = "mse", .doc = "least mean square error", .even = true, .pick = pick_mse},
    {.name = "minmax", .doc = "all that was seen", .pick = pick_minmax},
    {.name = "percentile",
     .doc = "all but a share of the values; percentile:P keeps P percent",
     .number = 99.999,
     .least = 50,
     .most = 100,
     .pick = pick_percentile},
    {.name = "entropy", .doc = "least Kullback-Leibler divergence", .even = true, .pick = pick_entropy},
    {0},
};

const hn_picker *hn_picker_find(const char *text, double *out_number) {
  const size_t length = strcspn(text, ":");
  for (const hn_picker *row = hn_pickers; row->name; ++row) {
    if (strlen(row->name) != length || strncmp(row->name, text, length) != 0) continue;
    *out_number = row->number;
    if (text[length] == 0) return row;
    if (row->least == row->most) return NULL;
    char *end;
    *out_number = strtod(text + length + 1, &end);
    return *end == 0 && end != text + length + 1 && *out_number >= row->least && *out_number <= row->most ? row : NULL;
  }
  return NULL;
}
