/* SPDX-License-Identifier: Apache-2.0 */
/* chips.h - what chips do at most, on paper: rows of text (chips.c, and a person's own file) and the formulas over
 * them.
 *
 *   chip: A100 SXM 40GB              begins a chip; what follows is of it. # begins a line that is skipped
 *   aliases: A100, A100-SXM4-40GB    other names of it; letters and digits count alone, without case
 *   vendor: NVIDIA
 *   units: 108 SMs                   or two kinds of them: 8 P-cores + 16 E-cores
 *   clock: 1.41                      GHz; of two kinds: 3 + 2.2
 *   plain: f64 32, f32 2x16          multiply-adds that a unit begins a clock: FMA, or ports x lanes. 2x8+2x4: of two
 *                                    kinds; 128@1.98: at another clock
 *   matrix: f16 1024                 the same of tensor cores or tiles
 *   sparse: f16 2048                 the same of these where the vendor counts multiplications by zero
 *   memory: 64 x 2.666 x 6           bits x GT/s, x channels where there are several
 *   note: ...
 *
 * Types: f64 f32 tf32 f16 bf16 fp8 int8 int4. chip, units, clock and memory are needed. */
#ifndef HN_REPORT_CHIPS_H
#define HN_REPORT_CHIPS_H

#include "base/diag.h"
#include "base/memory.h"
#include "base/text.h"
#include <hone/tactic.h>

typedef enum hn_chip_type {
  HN_CHIP_F64,
  HN_CHIP_F32,
  HN_CHIP_TF32,
  HN_CHIP_F16,
  HN_CHIP_BF16,
  HN_CHIP_FP8,
  HN_CHIP_INT8,
  HN_CHIP_INT4,
  HN_CHIP_TYPES
} hn_chip_type;
typedef enum hn_chip_path { HN_CHIP_PLAIN, HN_CHIP_MATRIX, HN_CHIP_SPARSE, HN_CHIP_PATHS } hn_chip_path;

enum { HN_CHIP_KINDS = 2 }; /* of units in one chip */

/* lanes 0: there is none. ports 0: lanes are all that a unit has. clock_ghz 0: the unit's own. */
typedef struct hn_chip_rate {
  double ports, lanes, clock_ghz;
} hn_chip_rate;

typedef struct hn_chip {
  const char *name, *aliases, *vendor, *note; /* aliases, vendor, note: "" when there is none */
  int kinds, line;                            /* line: where it begins */
  const char *unit_names[HN_CHIP_KINDS];
  double units[HN_CHIP_KINDS], clock_ghz[HN_CHIP_KINDS];
  hn_chip_rate rates[HN_CHIP_PATHS][HN_CHIP_TYPES][HN_CHIP_KINDS];
  double bus_bits, transfers, channels; /* transfers: 10^9 a second */
} hn_chip;

typedef struct hn_chips {
  hn_chip *items;
  int count, capacity;
} hn_chips;

extern const char *const hn_chip_rows[]; /* the built-in ones; ends with NULL */

/* Appends the chips of a text. MALFORMED names what, the line, the field and what is allowed. */
hone_status hn_chips_read(hn_arena *arena, hone_diagnostics *diag, const char *what, const char *text, size_t length,
                          hn_chips *chips);
/* The built-in rows. */
hone_status hn_chips_builtin(hn_arena *arena, hone_diagnostics *diag, hn_chips *chips);
/* These and the ones of a file; NULL: none. IO, MALFORMED, LIMIT. */
hone_status hn_chips_open(hn_arena *arena, hone_diagnostics *diag, const char *file, hn_chips *chips);
/* By name or alias; of several the one that came last, so that a file's row stands before a built-in one. NULL. */
const hn_chip *hn_chips_find(const hn_chips *chips, const char *name);
/* The same, and INVALID with the near names. */
hone_status hn_chips_named(const hn_chips *chips, const char *name, hone_diagnostics *diag, const hn_chip **out);

bool hn_chip_name_is_good(const char *name); /* it has a letter or a digit */

double hn_chip_peak(const hn_chip *chip, hn_chip_path path, hn_chip_type type); /* operations a second; 0: none */
double hn_chip_bandwidth(const hn_chip *chip);                                  /* bytes a second */
/* "1.41 GHz x 108 SMs x 32 FMA x 2" */
void hn_chip_terms(const hn_chip *chip, hn_chip_path path, hn_chip_type type, hn_text *out);
void hn_chip_memory_terms(const hn_chip *chip, hn_text *out); /* "6 channels x 64 bits x 2.666 GT/s / 8" */
void hn_rate_terms(const hn_chip_rate *rate, double clock_ghz, double units, const char *unit_name, hn_text *out);
hn_chip_type hn_chip_type_of(hone_roof roof);     /* HN_CHIP_TYPES: of none */
const char *hn_chip_type_name(hn_chip_type type); /* "f64"; "int4" */
const char *hn_chip_path_name(hn_chip_path path); /* "plain"; "matrix"; "sparse" */

#endif
