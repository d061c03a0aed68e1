/* SPDX-License-Identifier: Apache-2.0 */
/* draw.c - what nodes on the bench read. */
#include "tune/draw.h"
#include "tensor/element.h"
#include "tensor/shape.h"
#include <math.h>

/* One of eight binades, of eight bits: halves of either kind hold it exactly, so that what rounds to bytes must give
 * the same wherever its input is held. */
static float short_number(hn_random *random) {
  const uint64_t drawn = hn_random_u64(random);
  return ldexpf((float)(128 + drawn % 128), -8 - (int)(drawn >> 8 & 7)) * (drawn >> 16 & 1 ? 1.0f : -1.0f);
}

void hn_draw(hone_tensor *tensor, int64_t first, int64_t end, const hone_fact *fact, bool is_short, hn_random *random) {
  const hone_dtype dtype = tensor->type.dtype;
  if (dtype == HONE_F32 && !fact->value && is_short) {
    for (int64_t i = first; i < end; ++i) ((float *)tensor->data)[i] = short_number(random);
    return;
  }
  if (dtype == HONE_F32 && !fact->value) {
    for (int64_t i = first; i < end; ++i) ((float *)tensor->data)[i] = (float)(hn_random_unit(random) * 2 - 1);
    return;
  }
  if ((dtype == HONE_U8 || dtype == HONE_I8) && !fact->value) {
    for (int64_t i = first; i < end; ++i) ((uint8_t *)tensor->data)[i] = (uint8_t)(hn_random_u64(random) % 128);
    return;
  }
  for (int64_t i = first; i < end; ++i) {
    if (fact->value && i < fact->value_count)
      hn_store_int(tensor, i, fact->value[i]);
    else if (dtype == HONE_BOOL)
      hn_store_int(tensor, i, (int64_t)(hn_random_u64(random) & 1));
    else if (hn_dtype_is_float(dtype))
      hn_store_real(tensor, i, hn_random_unit(random) * 2 - 1);
    else if (hone_dtype_bits(dtype) <= 8)
      hn_store_int(tensor, i, (int64_t)(hn_random_u64(random) % 128));
    else
      hn_store_int(tensor, i, 0); /* wide integers are mostly indices and shapes */
  }
}

void hn_draw_lengths(hone_tensor *lengths, const hone_shape *x) {
  const int64_t count = hn_elems(&lengths->type.shape);
  int64_t rows = 1;
  for (int i = 0; i + 1 < x->rank; ++i) rows *= x->dim[i];
  for (int64_t i = 0; i < count; ++i) hn_store_int(lengths, i, rows / count);
}
