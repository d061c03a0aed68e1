/* SPDX-License-Identifier: Apache-2.0 */
/* target.h - inside of api/: what passes may ask devices. Which of them have a tactic, not the reference, for this op
 * with these facts? Shapes may be symbolic; symbols are taken as 64 then. */
#ifndef HN_API_TARGET_H
#define HN_API_TARGET_H

#include "tensor/target.h"
#include <hone/hone.h>

typedef struct hn_device_target {
  hone_device *const *devices; /* borrowed */
  int device_count;
  const hone_dims *dims; /* of the graph; borrowed */
} hn_device_target;

hn_target hn_target_of_devices(hone_device *const *devices, int device_count, const hone_dims *dims,
                               hn_device_target *out);

#endif
