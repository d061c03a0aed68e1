/* SPDX-License-Identifier: Apache-2.0 */
/* letters.h - kinds of ASCII characters, whatever the process's locale, and characters of UTF-8. */
#ifndef HN_BASE_LETTERS_H
#define HN_BASE_LETTERS_H

#include <stdbool.h>
#include <stddef.h>

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

/* ---- one character of UTF-8 (RFC 3629): overlong forms, surrogates and what is above U+10FFFF are refused ---- */
/* Bytes of the character that starts at text, 0 when it is not valid or does not end within length (> 0). */
static inline size_t hn_utf8_bytes(const unsigned char *text, size_t length) {
  const unsigned first = text[0];
  if (first < 0x80) return 1;
  const size_t bytes = first >= 0xc2 && first <= 0xdf   ? 2
                       : first >= 0xe0 && first <= 0xef ? 3
                       : first >= 0xf0 && first <= 0xf4 ? 4
                                                        : 0;
  if (bytes == 0 || bytes > length) return 0;
  for (size_t i = 1; i < bytes; ++i) {
    if ((text[i] & 0xc0) != 0x80) return 0;
  }
  if (first == 0xe0 && text[1] < 0xa0) return 0; /* overlong */
  if (first == 0xed && text[1] > 0x9f) return 0; /* a surrogate */
  if (first == 0xf0 && text[1] < 0x90) return 0; /* overlong */
  if (first == 0xf4 && text[1] > 0x8f) return 0; /* too high */
  return bytes;
}

#endif
