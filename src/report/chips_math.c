/* SPDX-License-Identifier: Apache-2.0 */
/* chips_math.c - chips by name, and the formulas: clock x units x multiply-adds a clock x 2, bits x transfers / 8. */
#include "report/chips.h"
#include <ctype.h>
#include <string.h>

/* Letters and digits alone, without case: "RTX 3080" is "rtx-3080". The second one ends at its length. */
static bool same_name(const char *a, const char *b, size_t length) {
  for (size_t i = 0;; ++a, ++i) {
    while (*a && !isalnum((unsigned char)*a)) ++a;
    while (i < length && !isalnum((unsigned char)b[i])) ++i;
    if (!*a || i == length) return !*a && i == length;
    if (tolower((unsigned char)*a) != tolower((unsigned char)b[i])) return false;
  }
}

bool hn_chip_name_is_good(const char *name) {
  while (*name && !isalnum((unsigned char)*name)) ++name;
  return *name != 0;
}

static bool is_named(const hn_chip *chip, const char *name) {
  if (same_name(name, chip->name, strlen(chip->name))) return true;
  for (const char *at = chip->aliases; *at;) {
    const size_t length = strcspn(at, ",");
    if (same_name(name, at, length)) return true;
    at += length + (at[length] == ',');
  }
  return false;
}

const hn_chip *hn_chips_find(const hn_chips *chips, const char *name) {
  if (!hn_chip_name_is_good(name)) return NULL;
  for (int i = chips->count - 1; i >= 0; --i)
    if (is_named(&chips->items[i], name)) return &chips->items[i];
  return NULL;
}

hone_status hn_chips_named(const hn_chips *chips, const char *name, hone_diagnostics *diag, const hn_chip **out) {
  *out = hn_chips_find(chips, name);
  if (*out) return HONE_OK;
  char best[80] = "", word[80];
  for (int i = 0; i < chips->count; ++i) {
    const hn_chip *chip = &chips->items[i];
    if (hone_nearest_name(name, *best ? best : NULL, chip->name) == chip->name)
      hn_copy_text(best, sizeof best, chip->name);
    for (const char *at = chip->aliases; *at;) {
      const size_t length = strcspn(at, ",");
      if (length < sizeof word) {
        memcpy(word, at, length);
        word[length] = 0;
        const char *bare = word + strspn(word, " ");
        if (hone_nearest_name(name, *best ? best : NULL, bare) == bare) hn_copy_text(best, sizeof best, bare);
      }
      at += length + (at[length] == ',');
    }
  }
  if (*best) return HN_FAIL(diag, HONE_INVALID, "there is no chip %.64s; did you mean %s?", name, best);
  return HN_FAIL(diag, HONE_INVALID, "there is no chip %.64s; the list names those that there are", name);
}

hn_chip_type hn_chip_type_of(hone_roof roof) {
  static const struct {
    hone_roof roof;
    hn_chip_type type;
  } rows[] = {{HONE_ROOF_F64, HN_CHIP_F64},  {HONE_ROOF_F32, HN_CHIP_F32},   {HONE_ROOF_TF32, HN_CHIP_TF32},
              {HONE_ROOF_F16, HN_CHIP_F16},  {HONE_ROOF_BF16, HN_CHIP_BF16}, {HONE_ROOF_FP8, HN_CHIP_FP8},
              {HONE_ROOF_INT8, HN_CHIP_INT8}};
  for (size_t i = 0; i < HN_COUNT(rows); ++i)
    if (rows[i].roof == roof) return rows[i].type;
  return HN_CHIP_TYPES;
}

static double clock_of(const hn_chip *chip, const hn_chip_rate *rate, int kind) {
  return rate->clock_ghz > 0 ? rate->clock_ghz : chip->clock_ghz[kind];
}

double hn_chip_peak(const hn_chip *chip, hn_chip_path path, hn_chip_type type) {
  double sum = 0;
  for (int k = 0; k < chip->kinds; ++k) {
    const hn_chip_rate *rate = &chip->rates[path][type][k];
    const double ports = rate->ports > 0 ? rate->ports : 1;
    sum += clock_of(chip, rate, k) * 1e9 * chip->units[k] * ports * rate->lanes * 2;
  }
  return sum;
}

double hn_chip_bandwidth(const hn_chip *chip) { return chip->bus_bits * chip->transfers * 1e9 * chip->channels / 8; }

void hn_rate_terms(const hn_chip_rate *rate, double clock_ghz, double units, const char *unit_name, hn_text *out) {
  hn_text_printf(out, "%.4g GHz x %g %s x ", clock_ghz, units, unit_name);
  if (rate->ports > 0)
    hn_text_printf(out, "%g port%s x %g lanes x 2", rate->ports, rate->ports == 1 ? "" : "s", rate->lanes);
  else
    hn_text_printf(out, "%g FMA x 2", rate->lanes);
}

void hn_chip_terms(const hn_chip *chip, hn_chip_path path, hn_chip_type type, hn_text *out) {
  bool more = false;
  for (int k = 0; k < chip->kinds; ++k) {
    const hn_chip_rate *rate = &chip->rates[path][type][k];
    if (!(rate->lanes > 0)) continue;
    if (more) hn_text_add(out, " + ");
    more = true;
    hn_rate_terms(rate, clock_of(chip, rate, k), chip->units[k], chip->unit_names[k], out);
  }
}

void hn_chip_memory_terms(const hn_chip *chip, hn_text *out) {
  if (chip->channels > 1) hn_text_printf(out, "%g channels x ", chip->channels);
  hn_text_printf(out, "%g bits x %g GT/s / 8", chip->bus_bits, chip->transfers);
}
