/* SPDX-License-Identifier: Apache-2.0 */
/* looks.h - what a file that is not the expected one looks like, told by its first bytes: for messages alone. */
#ifndef HN_BASE_LOOKS_H
#define HN_BASE_LOOKS_H

#include "base/diag.h"
#include <stdint.h>

typedef enum hn_wanted { HN_WANTED_MODEL, HN_WANTED_ENGINE, HN_WANTED_TENSOR } hn_wanted;

/* After a reader has failed, so that no readable file is refused for its looks: replaces the messages from number
 * `from` on by what the bytes look like and what to do instead. False when they look like nothing that is known here.
 * path: NULL for bytes in memory. */
bool hn_say_looks(hone_diagnostics *diag, int from, hone_status status, hn_wanted wanted, const char *path,
                  const uint8_t *bytes, size_t count);
/* The failure of a folder that was named instead of a file. */
hone_status hn_fail_folder(hone_diagnostics *diag, const char *path);

#endif
