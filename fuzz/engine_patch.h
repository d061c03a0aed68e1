/* SPDX-License-Identifier: Apache-2.0 */
/* engine_patch.h - makes the checksums of a changed engine right again, so that what stands behind them is tested.
 * Layout: src/plan/format.h. */
#ifndef FUZZ_ENGINE_PATCH_H
#define FUZZ_ENGINE_PATCH_H

#include "base/hash.h"
#include "plan/format.h"
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* The 16 hex digits after each quote behind "weight_hashes", page by page. */
static inline void engine_patch_weights(uint8_t *bytes, size_t count, const hn_engine_fixed *fixed) {
  static const char key[] = "\"weight_hashes\"";
  uint8_t *header = bytes + HN_ENGINE_FIXED_BYTES, *end = header + fixed->header_bytes;
  uint8_t *at = memmem(header, (size_t)fixed->header_bytes, key, sizeof key - 1);
  if (!at || fixed->weights_offset > count || fixed->weights_bytes > count - fixed->weights_offset) return;
  at += sizeof key - 1;
  for (uint64_t done = 0; done < fixed->weights_bytes; done += HN_WEIGHT_PAGE_BYTES) {
    at = memchr(at, '"', (size_t)(end - at));
    if (!at || end - at < 18) return;
    const uint64_t left = fixed->weights_bytes - done;
    const size_t page = (size_t)(left < HN_WEIGHT_PAGE_BYTES ? left : HN_WEIGHT_PAGE_BYTES);
    char hex[24];
    snprintf(hex, sizeof hex, "%016llx", (unsigned long long)hn_hash(bytes + fixed->weights_offset + done, page));
    memcpy(at + 1, hex, 16);
    at += 18;
  }
}

/* fit: the file's and the weights' sizes are made those of the bytes given, too. */
static inline void engine_patch(uint8_t *bytes, size_t count, int fit) {
  hn_engine_fixed fixed;
  if (count < HN_ENGINE_FIXED_BYTES) return;
  memcpy(&fixed, bytes, sizeof fixed);
  if (fit) {
    fixed.file_bytes = count;
    if (fixed.header_bytes > count - HN_ENGINE_FIXED_BYTES) fixed.header_bytes = count - HN_ENGINE_FIXED_BYTES;
    if (fixed.weights_offset > count) fixed.weights_offset = count;
    if (fixed.weights_bytes > count - fixed.weights_offset) fixed.weights_bytes = count - fixed.weights_offset;
  }
  if (fixed.header_bytes <= count - HN_ENGINE_FIXED_BYTES) {
    engine_patch_weights(bytes, count, &fixed);
    fixed.header_hash = hn_hash(bytes + HN_ENGINE_FIXED_BYTES, (size_t)fixed.header_bytes);
  }
  fixed.fixed_hash = hn_hash(&fixed, HN_ENGINE_FIXED_BYTES - sizeof fixed.fixed_hash);
  memcpy(bytes, &fixed, sizeof fixed);
}

#endif
