/* SPDX-License-Identifier: Apache-2.0 */
/* cache.c - the text of ranges, read and written. */
#include "calib/cache.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LINE = 8192, MOST_RANGES = 1 << 20 };
static const char own_header[] = "hone calibration 1", trt_header[] = "TRT-";

typedef struct reader {
  hone_diagnostics *diag;
  const char *path;
  int64_t line;
  hn_arena *arena;
  hn_calib_cache *out;
} reader;

static hone_status fail(const reader *r, const char *why) {
  return HN_FAIL(r->diag, HONE_MALFORMED, "%s:%lld: %s", r->path, (long long)r->line, why);
}

static hone_status add(const reader *r, const char *name, double low, double high) {
  hn_calib_cache *out = r->out;
  if (!isfinite(low) || !isfinite(high) || low > high) return fail(r, "a range needs two finite numbers in order");
  if (out->count >= MOST_RANGES) return fail(r, "there are too many ranges");
  if (!hn_arena_grow(r->arena, (void **)&out->items, &out->capacity, out->count + 1, sizeof *out->items) ||
      !(name = hn_arena_text(r->arena, name)))
    return HN_FAIL_MEMORY(r->diag);
  out->items[out->count++] = (hn_cached_range){name, {fmin(low, 0), fmax(high, 0)}};
  return HONE_OK;
}

/* "...", as hn_text_quoted writes it; only \" and \\ and \uXXXX of control characters occur. NULL: it does not end. The
 * text is changed to what it stands for. */
static char *unquote(char *text, char **out_rest) {
  char *to = text;
  for (char *at = text + 1; *at; ++at) {
    if (*at == '"') {
      *to = 0;
      *out_rest = at + 1;
      return text;
    }
    if (*at == '\\') {
      ++at;
      const char *plain = "\"\\/", *coded = "nt", *codes = "\n\t", *found;
      unsigned number;
      if (*at == 0) return NULL;
      if (strchr(plain, *at)) {
        *to++ = *at;
      } else if ((found = strchr(coded, *at))) {
        *to++ = codes[found - coded];
      } else if (*at == 'u' && strspn(at + 1, "0123456789abcdefABCDEF") >= 4) {
        const char digits[5] = {at[1], at[2], at[3], at[4], 0};
        number = (unsigned)strtoul(digits, NULL, 16);
        if (number == 0 || number > 0x7f) return NULL;
        *to++ = (char)number;
        at += 4;
      } else {
        return NULL;
      }
    } else {
      *to++ = *at;
    }
  }
  return NULL;
}

/* A word, then the line's end. */
static bool read_two(const char *text, double *low, double *high) {
  char *end;
  *low = strtod(text, &end);
  if (end == text || (*end != ' ' && *end != '\t')) return false;
  const char *next = end;
  *high = strtod(next, &end);
  return end != next && end[strspn(end, " \t\r")] == 0;
}

static hone_status read_own(const reader *r, char *line) {
  char *rest;
  double low, high;
  const size_t word = strcspn(line, " \t\r");
  if (line[0] == 0 || line[0] == '#' || line[0] == '\r') return HONE_OK;
  if (word == 5 && strncmp(line, "model", 5) == 0) {
    r->out->model = strtoull(line + 5, &rest, 16);
    return rest != line + 5 && rest[strspn(rest, " \t\r")] == 0 ? HONE_OK : fail(r, "the model's hash is no number");
  }
  if ((word == 6 && strncmp(line, "method", 6) == 0) || (word == 7 && strncmp(line, "samples", 7) == 0)) return HONE_OK;
  if (word != 5 || strncmp(line, "range", 5) != 0)
    return fail(r, "a line begins with model, method, samples, range or #");
  char *name = line + 5 + strspn(line + 5, " \t");
  if (*name != '"' || !(name = unquote(name, &rest)) || !*name) return fail(r, "a tensor's name stands between quotes");
  return read_two(rest, &low, &high) ? add(r, name, low, high) : fail(r, "a range needs two finite numbers in order");
}

/* `name: 3c010a14`: names may have colons, too. */
static hone_status read_trt(const reader *r, char *line) {
  line[strcspn(line, "\r")] = 0;
  if (line[0] == 0) return HONE_OK;
  char *colon = strrchr(line, ':');
  const char *digits = colon ? colon + 1 + strspn(colon + 1, " \t") : NULL;
  if (!colon || colon == line || strlen(digits) != 8 || strspn(digits, "0123456789abcdefABCDEF") != 8)
    return fail(r, "a line of trtexec's is a name, a colon and the eight digits of a scale");
  *colon = 0;
  const uint32_t bits = (uint32_t)strtoul(digits, NULL, 16);
  float scale;
  memcpy(&scale, &bits, sizeof scale);
  if (!isfinite(scale) || scale <= 0) return fail(r, "a scale is no positive number");
  return add(r, line, -127 * (double)scale, 127 * (double)scale);
}

hone_status hn_calib_cache_parse(hone_diagnostics *diag, const char *path, const char *text, size_t length,
                                 hn_arena *arena, hn_calib_cache *out) {
  *out = (hn_calib_cache){0};
  reader r = {.diag = diag, .path = path, .arena = arena, .out = out};
  bool trt = false;
  char line[MOST_LINE];
  for (size_t at = 0; at < length;) {
    const char *stop = memchr(text + at, '\n', length - at);
    const size_t bytes = (stop ? (size_t)(stop - text) : length) - at;
    ++r.line;
    if (bytes >= sizeof line) return fail(&r, "the line is too long");
    if (memchr(text + at, 0, bytes)) return fail(&r, "this is no text");
    memcpy(line, text + at, bytes);
    line[bytes] = 0;
    at += bytes + 1;
    if (r.line == 1) {
      trt = strncmp(line, trt_header, sizeof trt_header - 1) == 0;
      if (!trt && strncmp(line, own_header, sizeof own_header - 1) != 0)
        return fail(&r, "this is no calibration: the first line is neither \"hone calibration 1\" nor \"TRT-...\"");
      continue;
    }
    HN_TRY(trt ? read_trt(&r, line) : read_own(&r, line));
  }
  if (out->count > 0) return HONE_OK;
  return HN_FAIL(diag, HONE_MALFORMED, "%s: it holds no range", path);
}

const hn_cached_range *hn_calib_cache_find(const hn_calib_cache *cache, const char *name) {
  for (int i = cache->count - 1; i >= 0; --i) /* of several the last one counts */
    if (strcmp(cache->items[i].name, name) == 0) return &cache->items[i];
  return NULL;
}

void hn_calib_cache_write(const hn_sites *p, uint64_t model, const char *method, int64_t samples, hn_text *out) {
  hn_text_printf(out, "%s\nmodel %016llx\nmethod %s\nsamples %lld\n", own_header, (unsigned long long)model, method,
                 (long long)samples);
  for (int i = 0; i < p->count; ++i) {
    const hn_site *site = &p->items[i];
    if (site->shares != i) continue;
    hn_text_add(out, "range ");
    hn_text_quoted(out, site->value->name, strlen(site->value->name));
    hn_text_printf(out, " %.9g %.9g\n", site->range.low, site->range.high);
  }
}
