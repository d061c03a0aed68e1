/* SPDX-License-Identifier: Apache-2.0 */
/* chips_read.c - rows of chips: the reader of their text (chips.h), which anybody may have written. */
#include "report/chips.h"
#include "base/file.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CHIPS = 1000, MOST_LINE = 2048, MOST_NAME = 64 };

typedef struct reader {
  hn_arena *arena;
  hone_diagnostics *diag;
  const char *what;
  int line;
  hn_chips *chips;
  int first;      /* of the chips: those before it are of another text */
  hn_chip *chip;  /* NULL: before the first */
  unsigned given; /* fields of it, a bit each */
} reader;

static const char *const type_names[HN_CHIP_TYPES] = {"f64", "f32", "tf32", "f16", "bf16", "fp8", "int8", "int4"};
static const char *const path_names[HN_CHIP_PATHS] = {"plain", "matrix", "sparse"};

const char *hn_chip_type_name(hn_chip_type type) { return type_names[type]; }
const char *hn_chip_path_name(hn_chip_path path) { return path_names[path]; }

static const char *skip_blanks(const char *at) { return at + strspn(at, " "); }

/* A number of a field, in its range; *at stands behind it and behind blanks. */
static hone_status read_number(const reader *r, const char *field, const char **at, double low, double high,
                               double *out) {
  char *end = NULL;
  const bool begins = isdigit((unsigned char)**at) || **at == '-' || **at == '.';
  *out = begins ? strtod(*at, &end) : 0;
  if (!begins || end == *at)
    return HN_FAIL(r->diag, HONE_MALFORMED, "%s:%d: %s: a number is expected at \"%.40s\"", r->what, r->line, field,
                   *at);
  if (!(*out >= low && *out <= high))
    return HN_FAIL(r->diag, HONE_MALFORMED, "%s:%d: %s is %.*s; allowed: %g to %g", r->what, r->line, field,
                   (int)(end - *at < 40 ? end - *at : 40), *at, low, high);
  *at = skip_blanks(end);
  return HONE_OK;
}

static hone_status refuse_rest(const reader *r, const char *field, const char *at) {
  if (!*at) return HONE_OK;
  return HN_FAIL(r->diag, HONE_MALFORMED, "%s:%d: %s: \"%.40s\" is left over", r->what, r->line, field, at);
}

static hone_status read_name(reader *r, const char *text) {
  if (!hn_chip_name_is_good(text) || strlen(text) > MOST_NAME)
    return HN_FAIL(r->diag, HONE_MALFORMED, "%s:%d: chip: a name of 1 to %d letters and digits is expected", r->what,
                   r->line, MOST_NAME);
  r->chip->name = hn_arena_text(r->arena, text);
  return r->chip->name ? HONE_OK : HN_FAIL_MEMORY(r->diag);
}

static hone_status keep_text(const reader *r, const char *text, const char **out) {
  *out = hn_arena_text(r->arena, text);
  return *out ? HONE_OK : HN_FAIL_MEMORY(r->diag);
}

static hone_status read_aliases(reader *r, const char *text) { return keep_text(r, text, &r->chip->aliases); }
static hone_status read_vendor(reader *r, const char *text) { return keep_text(r, text, &r->chip->vendor); }
static hone_status read_note(reader *r, const char *text) { return keep_text(r, text, &r->chip->note); }

static hone_status read_units(reader *r, const char *text) {
  hn_chip *chip = r->chip;
  for (chip->kinds = 0;;) {
    if (chip->kinds == HN_CHIP_KINDS)
      return HN_FAIL(r->diag, HONE_MALFORMED, "%s:%d: units: at most %d kinds", r->what, r->line, HN_CHIP_KINDS);
    HN_TRY(read_number(r, "units", &text, 1, 1e6, &chip->units[chip->kinds]));
    const size_t length = strcspn(text, "+ ");
    chip->unit_names[chip->kinds] = length ? hn_arena_printf(r->arena, "%.*s", (int)length, text) : "units";
    if (!chip->unit_names[chip->kinds++]) return HN_FAIL_MEMORY(r->diag);
    text = skip_blanks(text + length);
    if (*text != '+') return refuse_rest(r, "units", text);
    text = skip_blanks(text + 1);
  }
}

static hone_status read_clock(reader *r, const char *text) {
  for (int k = 0;; ++k) {
    if (k == HN_CHIP_KINDS)
      return HN_FAIL(r->diag, HONE_MALFORMED, "%s:%d: clock: at most %d kinds", r->what, r->line, HN_CHIP_KINDS);
    HN_TRY(read_number(r, "clock", &text, 0.01, 20, &r->chip->clock_ghz[k]));
    if (*text != '+') return refuse_rest(r, "clock", text);
    text = skip_blanks(text + 1);
  }
}

/* 32, 2x16, 128@1.98, 2x8+2x4 */
static hone_status read_rate(reader *r, const char *field, const char **at, hn_chip_rate *rates) {
  for (int k = 0; k < HN_CHIP_KINDS; ++k) {
    double ports = 0, lanes, clock_ghz = 0;
    HN_TRY(read_number(r, field, at, 1, 1e6, &lanes));
    if (**at == 'x') {
      ports = lanes;
      *at = skip_blanks(*at + 1);
      HN_TRY(read_number(r, field, at, 1, 1e6, &lanes));
    }
    if (**at == '@') {
      *at = skip_blanks(*at + 1);
      HN_TRY(read_number(r, field, at, 0.01, 20, &clock_ghz));
    }
    rates[k] = (hn_chip_rate){ports, lanes, clock_ghz};
    if (**at != '+') return HONE_OK;
    *at = skip_blanks(*at + 1);
  }
  return HN_FAIL(r->diag, HONE_MALFORMED, "%s:%d: %s: at most %d kinds of units", r->what, r->line, field,
                 HN_CHIP_KINDS);
}

static hone_status read_rates(reader *r, hn_chip_path path, const char *text) {
  for (;;) {
    const size_t length = strcspn(text, " ,");
    int type = 0;
    while (type < HN_CHIP_TYPES && (strlen(type_names[type]) != length || memcmp(type_names[type], text, length) != 0))
      ++type;
    if (type == HN_CHIP_TYPES)
      return HN_FAIL(r->diag, HONE_MALFORMED,
                     "%s:%d: %s: \"%.*s\" is not a type; there are: f64 f32 tf32 f16 bf16 fp8 int8 int4", r->what,
                     r->line, path_names[path], (int)(length < 40 ? length : 40), text);
    text = skip_blanks(text + length);
    if (r->chip->rates[path][type][0].lanes > 0)
      return HN_FAIL(r->diag, HONE_MALFORMED, "%s:%d: %s: %s is there twice", r->what, r->line, path_names[path],
                     type_names[type]);
    HN_TRY(read_rate(r, path_names[path], &text, r->chip->rates[path][type]));
    if (*text != ',') return refuse_rest(r, path_names[path], text);
    text = skip_blanks(text + 1);
  }
}

static hone_status read_plain(reader *r, const char *text) { return read_rates(r, HN_CHIP_PLAIN, text); }
static hone_status read_matrix(reader *r, const char *text) { return read_rates(r, HN_CHIP_MATRIX, text); }
static hone_status read_sparse(reader *r, const char *text) { return read_rates(r, HN_CHIP_SPARSE, text); }

static hone_status read_memory(reader *r, const char *text) {
  hn_chip *chip = r->chip;
  const struct {
    const char *field;
    double low, high, *out;
  } parts[] = {{"memory (bits)", 1, 65536, &chip->bus_bits},
               {"memory (GT/s)", 0.01, 1000, &chip->transfers},
               {"memory (channels)", 1, 1024, &chip->channels}};
  chip->channels = 1;
  for (size_t i = 0; i < HN_COUNT(parts); ++i) {
    if (i > 0 && *text == 'x')
      text = skip_blanks(text + 1);
    else if (i == 1)
      return HN_FAIL(r->diag, HONE_MALFORMED, "%s:%d: memory: expected bits x GT/s, or bits x GT/s x channels", r->what,
                     r->line);
    else if (i == 2)
      break;
    HN_TRY(read_number(r, parts[i].field, &text, parts[i].low, parts[i].high, parts[i].out));
  }
  return refuse_rest(r, "memory", text);
}

static const struct field {
  const char *name;
  hone_status (*read)(reader *r, const char *text);
  bool needed;
} fields[] = {{"chip", read_name, true},     {"units", read_units, true},      {"clock", read_clock, true},
              {"memory", read_memory, true}, {"aliases", read_aliases, false}, {"vendor", read_vendor, false},
              {"plain", read_plain, false},  {"matrix", read_matrix, false},   {"sparse", read_sparse, false},
              {"note", read_note, false}};

/* No rate names a kind of units that there is not, and each kind has a clock. */
static hone_status check_kinds(const reader *r) {
  const hn_chip *chip = r->chip;
  for (int k = 0; k < HN_CHIP_KINDS; ++k) {
    if ((chip->clock_ghz[k] > 0) != (k < chip->kinds))
      return HN_FAIL(r->diag, HONE_MALFORMED, "%s:%d: chip %s: units has %d kinds, and clock another count", r->what,
                     chip->line, chip->name, chip->kinds);
    for (int path = 0; path < HN_CHIP_PATHS; ++path)
      for (int type = 0; type < HN_CHIP_TYPES; ++type)
        if (chip->rates[path][type][k].lanes > 0 && k >= chip->kinds)
          return HN_FAIL(r->diag, HONE_MALFORMED, "%s:%d: chip %s: %s: %s has more kinds of units than units has",
                         r->what, chip->line, chip->name, path_names[path], type_names[type]);
  }
  return HONE_OK;
}

/* Names and aliases tell the chips of one text apart. */
static hone_status check_names(const reader *r) {
  const hn_chips others = {.items = r->chips->items + r->first, .count = r->chips->count - 1 - r->first};
  const char *name = r->chip->name, *rest = r->chip->aliases;
  for (char word[MOST_LINE];;) {
    const hn_chip *other = *name ? hn_chips_find(&others, name) : NULL;
    if (other)
      return HN_FAIL(r->diag, HONE_MALFORMED, "%s:%d: chip %s: %.64s is also a name of the chip at line %d", r->what,
                     r->chip->line, r->chip->name, name, other->line);
    if (!*rest) return HONE_OK;
    const size_t length = strcspn(rest, ",");
    memcpy(word, rest, length);
    word[length] = 0;
    name = word;
    rest += length + (rest[length] == ',');
  }
}

/* The chip whose lines have all been read. */
static hone_status end_chip(const reader *r) {
  if (!r->chip) return HONE_OK;
  for (size_t f = 0; f < HN_COUNT(fields); ++f)
    if (fields[f].needed && !(r->given >> f & 1))
      return HN_FAIL(r->diag, HONE_MALFORMED, "%s:%d: chip %s: the field %s is missing", r->what, r->chip->line,
                     r->chip->name, fields[f].name);
  HN_TRY(check_kinds(r));
  return check_names(r);
}

static hone_status begin_chip(reader *r) {
  HN_TRY(end_chip(r));
  hn_chips *chips = r->chips;
  if (chips->count - r->first == MOST_CHIPS)
    return HN_FAIL(r->diag, HONE_LIMIT, "%s:%d: more than %d chips", r->what, r->line, MOST_CHIPS);
  if (!hn_arena_grow(r->arena, (void **)&chips->items, &chips->capacity, chips->count + 1, sizeof *chips->items))
    return HN_FAIL_MEMORY(r->diag);
  r->chip = &chips->items[chips->count++];
  *r->chip = (hn_chip){.name = "", .aliases = "", .vendor = "", .note = "", .line = r->line};
  r->given = 0;
  return HONE_OK;
}

static hone_status no_such_field(const reader *r, const char *name) {
  const char *near = NULL;
  for (size_t f = 0; f < HN_COUNT(fields); ++f) near = hone_nearest_name(name, near, fields[f].name);
  return HN_FAIL(r->diag, HONE_MALFORMED, "%s:%d: there is no field %.40s%s%s%s", r->what, r->line, name,
                 near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

/* A line without blanks at its ends. */
static hone_status read_line(reader *r, char *line) {
  if (!*line || *line == '#') return HONE_OK;
  char *colon = strchr(line, ':');
  if (!colon)
    return HN_FAIL(r->diag, HONE_MALFORMED, "%s:%d: expected FIELD: VALUE, not \"%.40s\"", r->what, r->line, line);
  *colon = 0;
  for (char *end = colon; end > line && end[-1] == ' ';) *--end = 0;
  size_t f = 0;
  while (f < HN_COUNT(fields) && strcmp(fields[f].name, line) != 0) ++f;
  if (f == HN_COUNT(fields)) return no_such_field(r, line);
  if (f == 0) HN_TRY(begin_chip(r));
  if (!r->chip)
    return HN_FAIL(r->diag, HONE_MALFORMED, "%s:%d: %s stands before the first chip: NAME", r->what, r->line, line);
  if (r->given >> f & 1)
    return HN_FAIL(r->diag, HONE_MALFORMED, "%s:%d: chip %s: the field %s is there twice", r->what, r->line,
                   r->chip->name, line);
  r->given |= 1u << f;
  return fields[f].read(r, skip_blanks(colon + 1));
}

hone_status hn_chips_read(hn_arena *arena, hone_diagnostics *diag, const char *what, const char *text, size_t length,
                          hn_chips *chips) {
  reader r = {.arena = arena, .diag = diag, .what = what, .chips = chips, .first = chips->count};
  for (const char *at = text, *end = text + length; at < end;) {
    char line[MOST_LINE + 1];
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    size_t count = (size_t)((stop ? stop : end) - at);
    ++r.line;
    if (count > 0 && at[count - 1] == '\r') --count;
    if (count > MOST_LINE)
      return HN_FAIL(diag, HONE_MALFORMED, "%s:%d: the line has %zu bytes; allowed: 0 to %d", what, r.line, count,
                     MOST_LINE);
    for (size_t i = 0; i < count; ++i) {
      line[i] = at[i] == '\t' ? ' ' : at[i];
      if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
        return HN_FAIL(diag, HONE_MALFORMED, "%s:%d: byte %zu is 0x%02x: not a text", what, r.line, i + 1,
                       (unsigned)(unsigned char)line[i]);
    }
    while (count > 0 && line[count - 1] == ' ') --count;
    line[count] = 0;
    HN_TRY(read_line(&r, line + strspn(line, " ")));
    at = stop ? stop + 1 : end;
  }
  if (!r.chip) return HN_FAIL(diag, HONE_MALFORMED, "%s: there is no chip: NAME in it", what);
  return end_chip(&r);
}

hone_status hn_chips_builtin(hn_arena *arena, hone_diagnostics *diag, hn_chips *chips) {
  hn_chips own = {0};
  for (const char *const *row = hn_chip_rows; *row; ++row)
    HN_TRY(hn_chips_read(arena, diag, "the built-in chips", *row, strlen(*row), &own));
  *chips = own;
  return HONE_OK;
}

hone_status hn_chips_open(hn_arena *arena, hone_diagnostics *diag, const char *file, hn_chips *chips) {
  enum { MOST_BYTES = 1 << 20 };
  HN_TRY(hn_chips_builtin(arena, diag, chips));
  if (!file) return HONE_OK;
  hn_blob blob = {0};
  HN_TRY(hn_file_map(diag, file, &blob));
  const hone_status status =
      blob.bytes > MOST_BYTES
          ? HN_FAIL(diag, HONE_LIMIT, "%s: %zu bytes; a file of chips has at most %d", file, blob.bytes, MOST_BYTES)
          : hn_chips_read(arena, diag, file, (const char *)blob.data, blob.bytes, chips);
  hn_blob_close(&blob);
  return status;
}
