/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_peaks.c - the report of peaks, for users: measures or finds measured roofs. */
#include "api/reports.h"
#include "base/arguments.h"
#include "device/device.h"
#include "report/peaks.h"

enum { MOST_NAMED = 256 };

static hone_status take_options(hone_diagnostics *diag, const hone_peaks_options *given, hone_peaks_options *out) {
  HN_OPTIONS(diag, "peaks", given, hone_peaks_options, measure, out);
  HN_TRY(hn_argument_range(diag, "peaks option width", out->width, 0, 1 << 16));
  return hn_argument_pointers(diag, "peaks option chips", out->chips, out->chip_count, MOST_NAMED);
}

/* Roofs of the device, measured before or now. A device that cannot be measured has none. */
static hone_status measure(hone_device *device, const hone_peaks_options *options, hone_diagnostics *diag,
                           hone_facts *facts, hn_peaks_input *input) {
  input->facts = facts;
  *facts = device->facts;
  input->cached = options->cache_dir && !options->measure && !facts->described &&
                  hn_roofs_load(options->cache_dir, device->allocator, facts, &input->note);
  if (input->cached || facts->described) return HONE_OK;
  const int messages = diag ? diag->count : 0;
  const hone_status status = hn_device_measure(device, NULL, diag);
  if (status == HONE_UNSUPPORTED && diag) hn_diag_cut(diag, messages);
  if (status != HONE_OK) return status == HONE_UNSUPPORTED ? HONE_OK : status;
  *facts = device->facts;
  if (options->cache_dir && !hn_roofs_save(options->cache_dir, device->allocator, facts) && !input->note)
    input->note = "the cache folder cannot be written: measured peaks are not kept";
  return HONE_OK;
}

static hone_status report_chips(const hn_chips *chips, const hone_peaks_options *options,
                                const hone_report_options *report, hn_arena *arena, hone_diagnostics *diag,
                                hn_text *out) {
  const hn_chip **named = HN_NEW(arena, const hn_chip *, (size_t)options->chip_count);
  if (!named) return HN_FAIL_MEMORY(diag);
  for (int i = 0; i < options->chip_count; ++i) HN_TRY(hn_chips_named(chips, options->chips[i], diag, &named[i]));
  return hn_report_chips(named, options->chip_count, report, arena, out);
}

static hone_status make(hone_device *device, const hone_peaks_options *options, hn_arena *arena, hn_text *out,
                        hone_diagnostics *diag) {
  const hone_report_options report = {
      .struct_size = sizeof report, .json = options->json, .color = options->color, .width = options->width};
  hn_chips chips = {0};
  HN_TRY(hn_chips_open(arena, diag, options->chip_file, &chips));
  if (options->list) return hn_report_chip_list(&chips, &report, arena, out);
  if (options->chip_count > 0) return report_chips(&chips, options, &report, arena, diag, out);
  hone_facts facts;
  hn_peaks_input input = {0};
  HN_TRY(measure(device, options, diag, &facts, &input));
  if (!facts.host_memory) input.chip = hn_chips_find(&chips, facts.name);
  return hn_report_peaks(&input, &report, arena, out);
}

hone_status hone_report_peaks(hone_device *device, const hone_peaks_options *given, hone_write_fn write, void *user,
                              hone_diagnostics *diag) {
  HN_GIVEN(diag, write);
  hone_peaks_options options;
  HN_TRY(take_options(diag, given, &options));
  if (!options.list && options.chip_count == 0) HN_GIVEN(diag, device);
  hn_report_making r;
  hn_report_begin(&r, device ? device->allocator : hn_allocator_default(), diag);
  return hn_report_end(&r, make(device, &options, &r.arena, &r.text, diag), write, user);
}
