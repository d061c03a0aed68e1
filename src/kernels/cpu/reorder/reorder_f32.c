/* SPDX-License-Identifier: Apache-2.0 */
/* reorder_f32.c - both directions as transposes of channels x pixels. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/reorder/reorder.h"
#include "kernels/cpu/tile.inc.h"

typedef struct {
  int64_t plain, blocked; /* where the unit begins in either layout, in elements */
  int64_t pixels, channels;
} reorder_unit;

HN_INLINE reorder_unit unit_at(const hn_reorder_args *a, int64_t unit) {
  const int64_t chunks = (a->pixels + HN_REORDER_PIXELS - 1) / HN_REORDER_PIXELS;
  const int64_t blocks = (a->channels + a->block - 1) / a->block;
  const int64_t pixel = unit % chunks * HN_REORDER_PIXELS, plane = unit / chunks;
  const int64_t image = plane / blocks, channel = plane % blocks * a->block;
  return (reorder_unit){
      .plain = (image * a->channels + channel) * a->pixels + pixel,
      .blocked = (plane * a->pixels + pixel) * a->block,
      .pixels = a->pixels - pixel < HN_REORDER_PIXELS ? a->pixels - pixel : HN_REORDER_PIXELS,
      .channels = a->channels - channel < a->block ? a->channels - channel : a->block,
  };
}

void HN_SIMD_NAME(hn_reorder_to_blocked_f32)(const hn_reorder_args *a, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const reorder_unit u = unit_at(a, i);
    float *y = a->y + u.blocked;
    tile_any(a->x + u.plain, a->pixels, y, a->block, u.channels, u.pixels);
    for (int64_t p = 0; p < u.pixels && u.channels < a->block; ++p)
      memset(y + p * a->block + u.channels, 0, (size_t)(a->block - u.channels) * sizeof *y);
  }
}

void HN_SIMD_NAME(hn_reorder_from_blocked_f32)(const hn_reorder_args *a, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const reorder_unit u = unit_at(a, i);
    tile_any(a->x + u.blocked, a->block, a->y + u.plain, a->pixels, u.pixels, u.channels);
  }
}

/* Where the unit begins with channels last. */
HN_INLINE int64_t last_of(const hn_reorder_args *a, int64_t unit) {
  const int64_t chunks = (a->pixels + HN_REORDER_PIXELS - 1) / HN_REORDER_PIXELS;
  const int64_t blocks = (a->channels + a->block - 1) / a->block, plane = unit / chunks;
  return (plane / blocks * a->pixels + unit % chunks * HN_REORDER_PIXELS) * a->channels + plane % blocks * a->block;
}

HN_INLINE int64_t lanes_from(int64_t lane, int64_t channels) {
  return channels - lane < HN_LANES ? channels - lane : HN_LANES;
}

void HN_SIMD_NAME(hn_reorder_last_to_blocked_f32)(const hn_reorder_args *a, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const reorder_unit u = unit_at(a, i);
    const float *x = a->x + last_of(a, i);
    float *y = a->y + u.blocked;
    for (int64_t lane = 0; lane < a->block; lane += HN_LANES) {
      const int64_t count = lanes_from(lane, u.channels);
      for (int64_t p = 0; p < u.pixels && count == HN_LANES; ++p)
        v_store(y + p * a->block + lane, v_load(x + p * a->channels + lane));
      for (int64_t p = 0; p < u.pixels && count < HN_LANES; ++p)
        v_store(y + p * a->block + lane, count > 0 ? v_load_part(x + p * a->channels + lane, count) : v_set(0.0F));
    }
  }
}

void HN_SIMD_NAME(hn_reorder_blocked_to_last_f32)(const hn_reorder_args *a, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const reorder_unit u = unit_at(a, i);
    const float *x = a->x + u.blocked;
    float *y = a->y + last_of(a, i);
    for (int64_t lane = 0; lane < u.channels; lane += HN_LANES) {
      const int64_t count = lanes_from(lane, u.channels);
      for (int64_t p = 0; p < u.pixels && count == HN_LANES; ++p)
        v_store(y + p * a->channels + lane, v_load(x + p * a->block + lane));
      for (int64_t p = 0; p < u.pixels && count < HN_LANES; ++p)
        v_store_part(y + p * a->channels + lane, count, v_load(x + p * a->block + lane));
    }
  }
}
