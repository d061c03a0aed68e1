/* SPDX-License-Identifier: Apache-2.0 */
/* cache.h - ranges as text that a person can read and change, so that calibration need not be done again:
 *
 *   hone calibration 1
 *   model 0123456789abcdef
 *   method mse
 *   samples 64
 *   range "input" -2.1179 2.64
 *
 * The model's hash may be left out. Read, too: trtexec's, a line that begins with TRT- and then `tensor: 3c010a14`, the
 * bits of a symmetric scale. */
#ifndef HN_CALIB_CACHE_H
#define HN_CALIB_CACHE_H

#include "base/text.h"
#include "calib/sites.h"

typedef struct hn_cached_range {
  const char *name;
  hn_range range;
} hn_cached_range;

typedef struct hn_calib_cache {
  uint64_t model; /* 0: not said */
  int count, capacity;
  hn_cached_range *items;
} hn_calib_cache;

/* Any bytes. MALFORMED names path and line; NO_MEMORY. */
hone_status hn_calib_cache_parse(hone_diagnostics *diag, const char *path, const char *text, size_t length,
                                 hn_arena *arena, hn_calib_cache *out);
const hn_cached_range *hn_calib_cache_find(const hn_calib_cache *cache, const char *name);
void hn_calib_cache_write(const hn_sites *sites, uint64_t model, const char *method, int64_t samples, hn_text *out);

#endif
