/* SPDX-License-Identifier: Apache-2.0 */
/* ref.c - the reference backend: one tactic that calls the op's own eval, slow and obviously right. Every importable
 * model runs with it, and every other tactic is compared with it. */
#include "device/host_unit.h"
#include "base/text.h"

static hone_status open_ref(hone_driver *driver, int index, const hone_device_options *options, hone_unit **out,
                            hone_diagnostics *diagnostics) {
  HN_TRY(hn_host_open(driver, index, options, out, diagnostics));
  hn_copy_text((*out)->facts.name, sizeof(*out)->facts.name, "reference");
  hn_copy_text((*out)->facts.version, sizeof(*out)->facts.version, "1");
  return HONE_OK;
}

static const hone_tactic rows[] = {{sizeof(hone_tactic), .name = "ref.eval", .version = 1, .op = "*",
                                    .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_REFERENCE, .plan = hn_eval_plan,
                                    .launch = hn_eval_launch},
                                   {0}};

static const hone_tactic *const families[] = {rows, NULL};

const hone_backend hn_backend_ref = {HN_HOST_ENTRIES, .name = "ref", .load = hn_host_load, .open = open_ref,
                                     .families = families};
