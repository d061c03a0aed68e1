/* SPDX-License-Identifier: Apache-2.0 */
/* peaks.h - reports of what a device reached and of what chips do on paper, and the file that keeps measured roofs. */
#ifndef HN_REPORT_PEAKS_H
#define HN_REPORT_PEAKS_H

#include "report/chips.h"
#include <hone/report.h>

/* What a device reached. */
typedef struct hn_peaks_input {
  const hone_facts *facts;
  const hn_chip *chip; /* that the device is one of; NULL: none is known */
  const char *note;    /* what became of the file of measured roofs; NULL: nothing to tell */
  bool cached;         /* the roofs were read from it */
} hn_peaks_input;

/* What a roof can be at most, with its terms; 0: nothing tells. */
double hn_peaks_theory(const hn_peaks_input *input, hone_roof roof, hn_text *terms);

hone_status hn_report_peaks(const hn_peaks_input *input, const hone_report_options *options, hn_arena *arena,
                            hn_text *out);
/* What chips do on paper, one after the other. */
hone_status hn_report_chips(const hn_chip *const *chips, int count, const hone_report_options *options, hn_arena *arena,
                            hn_text *out);
/* A line each, of all. */
hone_status hn_report_chip_list(const hn_chips *chips, const hone_report_options *options, hn_arena *arena,
                                hn_text *out);

/* ---- measured roofs in a file of a folder, one for each device, version, instruction sets and threads ---- */
/* Fills clock, roofs and spreads. False when there is no file of this device, or a damaged one: then *out_note says so
 * (static storage). */
bool hn_roofs_load(const char *folder, hn_allocator allocator, hone_facts *facts, const char **out_note);
/* Makes the folder where it is absent. The file is replaced as a whole. False when it could not be written. */
bool hn_roofs_save(const char *folder, hn_allocator allocator, const hone_facts *facts);

#endif
