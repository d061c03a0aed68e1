/* SPDX-License-Identifier: Apache-2.0 */
/* api/quantize.h - inside of api/: one quantisation in the making. */
#ifndef HN_API_QUANTIZE_H
#define HN_API_QUANTIZE_H

#include "base/context.h"
#include "calib/sites.h"
#include "device/device.h"
#include <hone/hone.h>

typedef struct hn_quantizing {
  hone_context *context;
  hone_quantize_options options;
  hone_device *const *devices;
  int device_count;
  hn_scheme scheme;
  const hn_picker *picker;
  double picker_number;
  hn_arena arena;
  hone_graph *graph; /* our copy */
  hn_sites sites;
  int64_t samples; /* that were seen */
} hn_quantizing;

/* Runs the graph over the samples and fills the sites' histograms (compile_quantize_observe.c). */
hone_status hn_quantize_observe(hn_quantizing *q);

#endif
