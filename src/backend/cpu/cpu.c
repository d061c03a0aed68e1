/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.c - the CPU backend: the host's memory and threads, and every family of tactics that families.inc lists. */
#include "backend/cpu/cpu.h"

#define HN_FAMILY(name) extern const hone_tactic hn_tactics_cpu_##name[];
#include "backend/cpu/families.inc"
#undef HN_FAMILY

#define HN_FAMILY(name) hn_tactics_cpu_##name,
static const hone_tactic *const families[] = {
#include "backend/cpu/families.inc"
    NULL};
#undef HN_FAMILY

static hone_status open_cpu(hone_driver *driver, int index, const hone_device_options *options, hone_unit **out,
                            hone_diagnostics *diagnostics) {
  const hone_device_options alone = {.struct_size = sizeof alone, .threads = 1}; /* nothing will run */
  const bool described = options->machine != NULL;
  hone_facts facts = {0};
  if (described) HN_TRY(hn_cpu_describe(options->machine, options->threads, &facts, diagnostics));
  HN_TRY(hn_host_open(driver, index, described ? &alone : options, out, diagnostics));
  if (described)
    (*out)->facts = facts;
  else
    hn_cpu_facts(&(*out)->facts);
  return HONE_OK;
}

const hone_backend hn_backend_cpu = {HN_HOST_ENTRIES,  .name = "cpu",        .load = hn_host_load,
                                     .open = open_cpu, .families = families, .measure = hn_cpu_measure};
