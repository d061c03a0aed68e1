/* SPDX-License-Identifier: Apache-2.0 */
/* letters.h - kinds of ASCII characters, whatever the process's locale. */
#ifndef HN_BASE_LETTERS_H
#define HN_BASE_LETTERS_H

#include <stdbool.h>

static inline bool hn_is_digit(char c) { return c >= '0' && c <= '9'; }
/* Or an underscore. */
static inline bool hn_is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static inline char hn_lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }
/* Its value; -1: none. */
static inline int hn_hex_digit(char c) {
  if (hn_is_digit(c)) return c - '0';
  c = hn_lower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

#endif
