/* SPDX-License-Identifier: Apache-2.0 */
/* sensitivity_plot.h - layers, the error that 8 bits in each make, and the time that they save, as SVG. */
#ifndef HN_REPORT_SENSITIVITY_PLOT_H
#define HN_REPORT_SENSITIVITY_PLOT_H

#include "base/memory.h"
#include "base/text.h"
#include <hone/quantize.h>

/* alone, cumulative: count rows each, of the same layers. times: count rows, or NULL. NO_MEMORY shows in out->failed.
 */
void hn_sensitivity_plot(const char *title, const hone_sensitivity *alone, const hone_sensitivity *cumulative,
                         const hone_layer_time *times, int64_t count, hn_arena *arena, hn_text *out);

#endif
