/* SPDX-License-Identifier: Apache-2.0 */
/* tactic_rows.h - the rows of a backend's families, one after the other. */
#ifndef TESTS_SUPPORT_TACTIC_ROWS_H
#define TESTS_SUPPORT_TACTIC_ROWS_H

#include <hone/backend.h>
#include <stdlib.h>

/* Writes at most room rows and returns how many there are. */
static inline int tactic_rows(const hone_backend *backend, const hone_tactic **rows, int room) {
  int count = 0;
  for (const hone_tactic *const *family = backend->families; *family; ++family)
    for (const hone_tactic *row = *family; row->name; ++row, ++count)
      if (count < room) rows[count] = row;
  return count;
}

#endif
