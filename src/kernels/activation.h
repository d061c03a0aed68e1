/* SPDX-License-Identifier: Apache-2.0 */
/* activation.h - the numbers of activations.inc. They are stored nowhere. */
#ifndef HN_KERNELS_ACTIVATION_H
#define HN_KERNELS_ACTIVATION_H

#include <string.h>

typedef enum hn_activation {
#define HN_ACT(NUMBER, ...) HN_ACTIVATION_##NUMBER,
#include "kernels/activations.inc"
#undef HN_ACT
  HN_ACTIVATION_COUNT
} hn_activation;

/* HN_ACTIVATION_COUNT when there is none of that name. */
static inline hn_activation hn_activation_find(const char *name) {
  static const char *const names[] = {
#define HN_ACT(NUMBER, name, ...) name,
#include "kernels/activations.inc"
#undef HN_ACT
  };
  int at = 0;
  while (at < HN_ACTIVATION_COUNT && strcmp(names[at], name) != 0) ++at;
  return (hn_activation)at;
}

#endif
