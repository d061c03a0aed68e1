/* SPDX-License-Identifier: Apache-2.0 */
/* engine.h - inside of api/: what building and loading share. */
#ifndef HN_API_ENGINE_H
#define HN_API_ENGINE_H

#include "base/context.h"
#include "run/engine.h"
#include <hone/graph.h>

enum { HN_MAX_DEVICES = 16, HN_MAX_HELPERS = 2 };

/* The caller's devices and what must stand beside them, unless it is among them: a cpu device where a device has memory
 * of its own (opened with the first device's options), and the reference with one thread. */
typedef struct hn_device_list {
  hone_device *devices[HN_MAX_DEVICES];
  int count;
  hone_device *helpers[HN_MAX_HELPERS]; /* opened here */
  int helper_count;
} hn_device_list;
hone_status hn_device_list_open(hone_context *context, hone_device *const *devices, int device_count,
                                hn_device_list *out);
void hn_device_list_close(hn_device_list *list);

/* Pass options of any version, checked. */
hone_status hn_pass_options_take(hone_diagnostics *diag, const hone_pass_options *given, hone_pass_options *out);

#endif
