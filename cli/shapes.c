/* SPDX-License-Identifier: Apache-2.0 */
/* shapes.c - shapes on the command line, in trtexec's form: NAME:1x3x224x224,OTHER:5. */
#include "cli.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool parse_dims(const char *text, size_t length, hone_shape *out) {
  *out = (hone_shape){0};
  if (length == strlen("scalar") && strncmp(text, "scalar", length) == 0) return true;
  const char *at = text, *end = text + length;
  while (at < end) {
    char *next;
    errno = 0;
    if (*at < '0' || *at > '9' || out->rank == HONE_MAX_RANK) return false;
    out->dim[out->rank++] = strtoll(at, &next, 10);
    if (errno != 0 || (next < end && *next != 'x' && *next != 'X')) return false;
    at = next < end ? next + 1 : end;
    if (next + 1 == end) return false; /* ends with an x */
  }
  return out->rank > 0;
}

/* One NAME:DIMS of length bytes. Names may hold colons: the last one counts. */
static bool parse_one(const char *option, const char *text, size_t length, cli_shape *out) {
  size_t colon = length;
  for (size_t i = 0; i < length; ++i)
    if (text[i] == ':') colon = i;
  const size_t name_length = colon == length ? 0 : colon;
  const char *dims = colon == length ? text : text + colon + 1;
  if (name_length >= sizeof out->input || !parse_dims(dims, (size_t)(text + length - dims), &out->shape)) {
    cli_error("--%s: \"%.*s\" is not NAME:1x3x224x224 (up to %d dims)", option, (int)length, text, HONE_MAX_RANK);
    return false;
  }
  memcpy(out->input, text, name_length);
  out->input[name_length] = 0;
  if (name_length >= 2 && (out->input[0] == '\'' || out->input[0] == '"') &&
      out->input[name_length - 1] == out->input[0]) {
    memmove(out->input, out->input + 1, name_length - 2);
    out->input[name_length - 2] = 0;
  }
  return true;
}

bool cli_parse_shapes(const char *option, const char *text, cli_shape *out, int *count) {
  for (const char *at = text; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
    if (*count == CLI_MAX_SHAPES) {
      cli_error("--%s: more than %d shapes", option, CLI_MAX_SHAPES);
      return false;
    }
    if (!parse_one(option, at, strcspn(at, ","), &out[*count])) return false;
    ++*count;
  }
  return true;
}

void cli_print_shape(FILE *to, const hone_shape *shape) {
  fputc('[', to);
  for (int i = 0; i < shape->rank; ++i) {
    if (i > 0) fputc(',', to);
    if (shape->dim[i] < 0)
      fputc('?', to);
    else
      fprintf(to, "%lld", (long long)shape->dim[i]);
  }
  fputc(']', to);
}
