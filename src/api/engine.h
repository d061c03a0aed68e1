/* SPDX-License-Identifier: Apache-2.0 */
/* engine.h - inside of api/: what building and loading share. */
#ifndef HN_API_ENGINE_H
#define HN_API_ENGINE_H

#include "base/context.h"
#include "run/engine.h"

/* The caller's devices and, unless it is among them, a reference device of one thread, which *out_reference holds and
 * the caller releases. out_devices has room for 16. */
hone_status hn_with_reference(hone_context *context, hone_device *const *devices, int device_count,
                              hone_device **out_devices, int *out_count, hone_device **out_reference);

#endif
