/* SPDX-License-Identifier: Apache-2.0 */
/* comma.h - runs part of a test as in a program that uses a decimal comma. Tests may call setlocale, the library not.
 */
#ifndef TEST_BASE_COMMA_H
#define TEST_BASE_COMMA_H

#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An installed locale, or else one made for the occasion; false when neither can be had. */
static inline bool comma_begin(void) {
  if (setlocale(LC_NUMERIC, "de_DE.UTF-8") || setlocale(LC_NUMERIC, "fr_FR.UTF-8")) return true;
  char folder[] = "/tmp/hone_locale_XXXXXX", command[200];
  if (!mkdtemp(folder)) return false;
  snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", folder);
  bool found = false;
  if (system(command) == 0 && setenv("LOCPATH", folder, 1) == 0) found = setlocale(LC_NUMERIC, "de_DE.UTF-8") != NULL;
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command) == 0 && found && strcmp(localeconv()->decimal_point, ",") == 0;
}

static inline void comma_end(void) { setlocale(LC_NUMERIC, "C"); }

#endif
