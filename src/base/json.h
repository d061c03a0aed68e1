/* SPDX-License-Identifier: Apache-2.0 */
/* json.h - bounded JSON (RFC 8259): a reader into an arena and a writer onto a text. Depth is capped at 64.
 * Integers that fit int64_t are kept exactly. Duplicate keys are an error. */
#ifndef HN_BASE_JSON_H
#define HN_BASE_JSON_H

#include "base/diag.h"
#include "base/memory.h"
#include "base/text.h"

typedef enum hn_json_kind {
  HN_JSON_NULL,
  HN_JSON_BOOL,
  HN_JSON_INT,
  HN_JSON_REAL,
  HN_JSON_STRING,
  HN_JSON_ARRAY,
  HN_JSON_OBJECT
} hn_json_kind;

typedef struct hn_json {
  hn_json_kind kind;
  const char *key;       /* inside an object, else NULL */
  int64_t i;             /* BOOL, INT; for REAL the truncated value is not given */
  double real;           /* REAL and INT */
  const char *string;    /* terminated; length may count embedded zeros */
  size_t length;         /* of the string, or number of items */
  struct hn_json *items; /* ARRAY, OBJECT: length of them, contiguous */
} hn_json;

/* Reads one value that must fill the text. MALFORMED names `what`, line and column. */
hone_status hn_json_read(hn_arena *arena, hone_diagnostics *diag, const char *what, const char *text, size_t length,
                         hn_json **out);
const hn_json *hn_json_get(const hn_json *object, const char *key); /* NULL when absent or not an object */
/* Getters with a check: MALFORMED naming the key when it is absent or of another kind or out of [low, high]. */
hone_status hn_json_int(const hn_json *object, const char *key, int64_t low, int64_t high, int64_t *out,
                        hone_diagnostics *diag);
hone_status hn_json_real(const hn_json *object, const char *key, double *out, hone_diagnostics *diag);
hone_status hn_json_text(const hn_json *object, const char *key, const char **out, hone_diagnostics *diag);
hone_status hn_json_array(const hn_json *object, const char *key, const hn_json **out, hone_diagnostics *diag);

/* Writer: commas and indentation are its job. key is NULL inside arrays. Non-finite reals are written as strings. */
typedef struct hn_json_writer {
  hn_text *text;
  int depth;
  bool first[66];
  bool flat[66]; /* this container is written on one line */
} hn_json_writer;
void hn_json_begin(hn_json_writer *writer, hn_text *text); /* the caller opens the outer container itself */
void hn_json_open(hn_json_writer *writer, const char *key, char bracket);      /* '{' or '[' */
void hn_json_open_flat(hn_json_writer *writer, const char *key, char bracket); /* kept on one line, as all inside */
void hn_json_close(hn_json_writer *writer, char bracket);                      /* '}' or ']' */
void hn_json_put_int(hn_json_writer *writer, const char *key, int64_t value);
void hn_json_put_real(hn_json_writer *writer, const char *key, double value);
void hn_json_put_bool(hn_json_writer *writer, const char *key, bool value);
void hn_json_put_text(hn_json_writer *writer, const char *key, const char *value); /* NULL is null */
void hn_json_put_bytes(hn_json_writer *writer, const char *key, const char *value, size_t length);
void hn_json_put(hn_json_writer *writer, const char *key, const hn_json *value); /* what was read, as it is */

#endif
