/* SPDX-License-Identifier: Apache-2.0 */
/* null.c - a backend with a fake clock: results come from the op's eval, times from its cost on a made-up machine, so
 * that tuning, planning, running and reports are tested exactly, with no hardware. */
#include "device/host_unit.h"
#include "base/text.h"

static hone_status load_null(const hone_host *host, hone_driver **out, hone_diagnostics *diagnostics) {
  HN_TRY(hn_host_load(host, out, diagnostics));
  (*out)->fake_clock = true;
  return HONE_OK;
}

static hone_status open_null(hone_driver *driver, int index, const hone_device_options *options, hone_unit **out,
                             hone_diagnostics *diagnostics) {
  HN_TRY(hn_host_open(driver, index, options, out, diagnostics));
  hone_facts *facts = &(*out)->facts;
  hn_copy_text(facts->name, sizeof facts->name, "null device");
  hn_copy_text(facts->version, sizeof facts->version, "1");
  facts->roofs[HONE_ROOF_F32] = 100e9;
  facts->roofs[HONE_ROOF_MEMORY] = 10e9;
  return HONE_OK;
}

static const hone_tactic rows[] = {{sizeof(hone_tactic), .name = "null.eval", .version = 1, .op = "*",
                                    .flags = HONE_TACTIC_REPEATABLE, .plan = hn_eval_plan, .prepare = hn_eval_prepare,
                                    .launch = hn_eval_launch},
                                   {0}};

static const hone_tactic *const families[] = {rows, NULL};

const hone_backend hn_backend_null = {HN_HOST_ENTRIES, .name = "null", .load = load_null, .open = open_null,
                                      .families = families};
