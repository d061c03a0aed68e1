/* SPDX-License-Identifier: Apache-2.0 */
/* activation.c - what follows a product or a convolution, as an expression for a generated kernel. */
#include "backend/cuda/cuda.h"
#include <stdio.h>

hn_activation hn_cuda_activation(const hone_query *query) {
  const hone_attr *attr = hn_cuda_attr(query->attrs, "act");
  return hn_activation_find(attr && attr->kind == HONE_ATTR_STRING ? attr->s : "");
}

bool hn_cuda_activation_text(const hone_query *query, const char *argument, char *out, size_t room) {
  static const char *const expressions[HN_ACTIVATION_COUNT + 1] = {
#define HN_ACT(NUMBER, name, expression, ...) expression,
#include "kernels/activations.inc"
#undef HN_ACT
  };
  const char *text = expressions[hn_cuda_activation(query)];
  if (!text) return false;
  size_t used = 0;
  for (; *text && used < room; ++text) {
    int written = 1;
    if (*text == '@')
      written = snprintf(out + used, room - used, "%s", argument);
    else if (*text == 'A' || *text == 'B')
      written = snprintf(out + used, room - used, "%.9g",
                         hn_cuda_attr_float(query->attrs, *text == 'A' ? "act_alpha" : "act_beta", 0));
    else
      out[used] = *text;
    used += (size_t)written;
  }
  if (used >= room) return false;
  out[used] = 0;
  return true;
}
