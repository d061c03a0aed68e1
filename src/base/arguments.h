/* SPDX-License-Identifier: Apache-2.0 */
/* arguments.h - what every public function checks of its arguments first, said in one way:
 *   hone_engine_save: path is NULL
 *   build option level is 99; allowed: -1 to 5
 * Each is INVALID and adds a message; diag may be NULL. */
#ifndef HN_BASE_ARGUMENTS_H
#define HN_BASE_ARGUMENTS_H

#include "base/diag.h"
#include <stdint.h>

/* The most that a count of bytes, nodes or entries is asked for: "allowed: 0 or more". */
#define HN_NO_MOST INT64_MAX
/* The most milliseconds that a limit may have: 31 years, so that no clock overflows. */
#define HN_MOST_MS INT64_C(1000000000000)

hone_status hn_argument_missing(hone_diagnostics *diag, const char *function, const char *name);
hone_status hn_argument_range(hone_diagnostics *diag, const char *what, int64_t value, int64_t low, int64_t high);
/* A finite number of at least low. */
hone_status hn_argument_real(hone_diagnostics *diag, const char *what, double value, double low);
/* A list and its count: 0 to most entries, which are there. */
hone_status hn_argument_list(hone_diagnostics *diag, const char *what, const void *list, int64_t count, int64_t most);
/* The same for a list of pointers, none of which may be NULL. */
hone_status hn_argument_pointers(hone_diagnostics *diag, const char *what, const void *list, int64_t count,
                                 int64_t most);
/* Options of a program that knew fewer fields: what it has is copied to out, the rest is zero, and out's struct_size
 * is that of this library. first_bytes: of the options' first version. given NULL: all zero. */
hone_status hn_argument_options(hone_diagnostics *diag, const char *what, const void *given, size_t first_bytes,
                                size_t bytes, void *out);

/* A struct that is filled in for a program that may know fewer fields: its struct_size, which stays, is checked, and
 * the rest of it becomes zero. */
hone_status hn_result_begin(hone_diagnostics *diag, const char *function, size_t first_bytes, size_t bytes, void *out);
/* Copies as much of `from` as the program knows; out went through hn_result_begin(). */
void hn_result_give(const void *from, void *out);

/* In a public function: returns unless the pointer is given. */
#define HN_GIVEN(diag, argument)                                                                                       \
  do {                                                                                                                 \
    if (!(argument)) return hn_argument_missing((diag), __func__, #argument);                                          \
  } while (0)
/* Takes options of a type whose first version ended with the field `first`. */
#define HN_OPTIONS(diag, what, given, type, first, out)                                                                \
  HN_TRY(hn_argument_options((diag), (what), (given), offsetof(type, first) + sizeof((type *)0)->first, sizeof(type),  \
                             (out)))
/* Begins a struct to fill in, whose first version ended with the field `first`. */
#define HN_RESULT(diag, out, type, first)                                                                              \
  HN_TRY(hn_result_begin((diag), __func__, offsetof(type, first) + sizeof((type *)0)->first, sizeof(type), (out)))

#endif
