/* SPDX-License-Identifier: Apache-2.0 */
/* arguments.c - the checks that all public functions share. */
#include "base/arguments.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

hone_status hn_argument_missing(hone_diagnostics *diag, const char *function, const char *name) {
  return HN_FAIL(diag, HONE_INVALID, "%s: %s is NULL", function, name);
}

hone_status hn_argument_range(hone_diagnostics *diag, const char *what, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return HONE_OK;
  if (high == HN_NO_MOST)
    return HN_FAIL(diag, HONE_INVALID, "%s is %" PRId64 "; allowed: %" PRId64 " or more", what, value, low);
  return HN_FAIL(diag, HONE_INVALID, "%s is %" PRId64 "; allowed: %" PRId64 " to %" PRId64, what, value, low, high);
}

hone_status hn_argument_real(hone_diagnostics *diag, const char *what, double value, double low) {
  if (isfinite(value) && value >= low) return HONE_OK;
  return HN_FAIL(diag, HONE_INVALID, "%s is %g; allowed: finite numbers, %g or more", what, value, low);
}

hone_status hn_argument_list(hone_diagnostics *diag, const char *what, const void *list, int64_t count, int64_t most) {
  if (count < 0 || count > most)
    return HN_FAIL(diag, HONE_INVALID, "%s: the count is %" PRId64 "; allowed: 0 to %" PRId64, what, count, most);
  if (count > 0 && !list)
    return HN_FAIL(diag, HONE_INVALID, "%s: the count is %" PRId64 ", and the list is NULL", what, count);
  return HONE_OK;
}

hone_status hn_argument_pointers(hone_diagnostics *diag, const char *what, const void *list, int64_t count,
                                 int64_t most) {
  HN_TRY(hn_argument_list(diag, what, list, count, most));
  for (int64_t i = 0; i < count; ++i) {
    const void *entry; /* the caller's entries are pointers to something else */
    memcpy(&entry, (const char *)list + (size_t)i * sizeof entry, sizeof entry);
    if (!entry) return HN_FAIL(diag, HONE_INVALID, "%s: entry %" PRId64 " is NULL", what, i);
  }
  return HONE_OK;
}

hone_status hn_argument_options(hone_diagnostics *diag, const char *what, const void *given, size_t first_bytes,
                                size_t bytes, void *out) {
  uint32_t size = (uint32_t)bytes;
  memset(out, 0, bytes);
  if (given) {
    memcpy(&size, given, sizeof size);
    if (size < first_bytes || size > bytes)
      return HN_FAIL(diag, HONE_INVALID, "%s options have struct_size %" PRIu32 "; this library knows %zu to %zu", what,
                     size, first_bytes, bytes);
    memcpy(out, given, size);
    size = (uint32_t)bytes;
  }
  memcpy(out, &size, sizeof size);
  return HONE_OK;
}

hone_status hn_result_begin(hone_diagnostics *diag, const char *function, size_t first_bytes, size_t bytes, void *out) {
  uint32_t size;
  if (!out) return HN_FAIL(diag, HONE_INVALID, "%s: the struct to fill in is NULL", function);
  memcpy(&size, out, sizeof size);
  if (size < first_bytes || size > bytes)
    return HN_FAIL(diag, HONE_INVALID,
                   "%s: the struct to fill in has struct_size %" PRIu32 "; this library knows %zu to %zu", function,
                   size, first_bytes, bytes);
  memset((char *)out + sizeof size, 0, size - sizeof size);
  return HONE_OK;
}

void hn_result_give(const void *from, void *out) {
  uint32_t size;
  memcpy(&size, out, sizeof size);
  memcpy((char *)out + sizeof size, (const char *)from + sizeof size, size - sizeof size);
}
