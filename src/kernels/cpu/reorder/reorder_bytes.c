/* SPDX-License-Identifier: Apache-2.0 */
/* reorder_bytes.c - both directions as transposes of up to 64 channels x some pixels. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/reorder/reorder.h"
#include "kernels/cpu/quant/bytes.inc.h"

typedef struct {
  int64_t plain, blocked; /* where the unit begins in either layout */
  int64_t pixels, channels;
} unit_bytes;

HN_INLINE unit_bytes unit_at(const hn_reorder_bytes_args *a, int64_t unit) {
  const int64_t chunks = (a->pixels + HN_REORDER_PIXELS - 1) / HN_REORDER_PIXELS;
  const int64_t blocks = (a->channels + HN_REORDER_BYTES - 1) / HN_REORDER_BYTES;
  const int64_t pixel = unit % chunks * HN_REORDER_PIXELS, plane = unit / chunks;
  const int64_t image = plane / blocks, channel = plane % blocks * HN_REORDER_BYTES;
  return (unit_bytes){
      .plain = (image * a->channels + channel) * a->pixels + pixel,
      .blocked = (plane * a->pixels + pixel) * HN_REORDER_BYTES,
      .pixels = a->pixels - pixel < HN_REORDER_PIXELS ? a->pixels - pixel : HN_REORDER_PIXELS,
      .channels = a->channels - channel < HN_REORDER_BYTES ? a->channels - channel : HN_REORDER_BYTES,
  };
}

void HN_SIMD_NAME(hn_reorder_to_blocked_bytes)(const hn_reorder_bytes_args *a, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const unit_bytes u = unit_at(a, i);
    uint8_t *y = a->y + u.blocked;
    for (int64_t p = 0; u.channels < HN_REORDER_BYTES && p < u.pixels; ++p)
      memset(y + p * HN_REORDER_BYTES + u.channels, 0, (size_t)(HN_REORDER_BYTES - u.channels));
    b_transpose(a->x + u.plain, a->pixels, y, HN_REORDER_BYTES, u.channels, u.pixels);
  }
}

void HN_SIMD_NAME(hn_reorder_from_blocked_bytes)(const hn_reorder_bytes_args *a, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const unit_bytes u = unit_at(a, i);
    b_transpose(a->x + u.blocked, HN_REORDER_BYTES, a->y + u.plain, a->pixels, u.pixels, u.channels);
  }
}
