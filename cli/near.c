/* SPDX-License-Identifier: Apache-2.0 */
/* near.c - "did you mean": edit distance with swaps of neighbours (Damerau 1964), the restricted form. */
#include "cli.h"
#include <string.h>
#include <strings.h>

enum { MAX_LENGTH = 48 };

static int min_of(int a, int b) { return a < b ? a : b; }

static int distance(const char *a, const char *b) {
  const int m = (int)strlen(a), n = (int)strlen(b);
  if (m > MAX_LENGTH || n > MAX_LENGTH) return MAX_LENGTH;
  int row[MAX_LENGTH + 1][MAX_LENGTH + 1];
  for (int i = 0; i <= m; ++i) row[i][0] = i;
  for (int j = 0; j <= n; ++j) row[0][j] = j;
  for (int i = 1; i <= m; ++i)
    for (int j = 1; j <= n; ++j) {
      const int differs = strncasecmp(&a[i - 1], &b[j - 1], 1) != 0;
      row[i][j] = min_of(row[i - 1][j - 1] + differs, min_of(row[i - 1][j], row[i][j - 1]) + 1);
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[i][j] = min_of(row[i][j], row[i - 2][j - 2] + 1);
    }
  return row[m][n];
}

const char *cli_near(const char *wanted, const char *best_so_far, const char *candidate) {
  const int length = (int)strlen(wanted), allowed = length < 3 ? 1 : length < 8 ? 2 : 3;
  const int here = distance(wanted, candidate);
  const bool prefix = length >= 3 && strncasecmp(wanted, candidate, (size_t)length) == 0;
  if (here > allowed && !prefix) return best_so_far;
  if (best_so_far && distance(wanted, best_so_far) <= here) return best_so_far;
  return candidate;
}
