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

HN_INLINE int64_t lanes_from(int64_t lane, int64_t channels) {
  return channels - lane < HN_LANES ? channels - lane : HN_LANES;
}

/* The last block of channels, which has fewer: whole tiles of pixels even so, since its lanes are there in memory. Not
 * in blocks of less than a vector: its tail would lie in the next pixel. */
HN_INLINE void part_to_blocked(const hn_reorder_args *a, const reorder_unit *u) {
  const float *x = a->x + u->plain;
  float *y = a->y + u->blocked;
  if (a->block < HN_LANES) {
    memset(y, 0, (size_t)(u->pixels * a->block) * sizeof *y);
    tile_any(x, a->pixels, y, a->block, u->channels, u->pixels);
    return;
  }
  for (int64_t lane = 0; lane < a->block; lane += HN_LANES) {
    const int64_t count = lanes_from(lane, u->channels), rows = count > 0 ? count : 0;
    const float *from = x + (rows ? lane * a->pixels : 0);
    int64_t p = 0;
    for (; u->pixels - p >= HN_LANES; p += HN_LANES)
      tile_some(from + p, a->pixels, y + p * a->block + lane, a->block, rows, HN_LANES);
    for (; p < u->pixels; ++p) {
      memset(y + p * a->block + lane, 0, HN_LANES * sizeof *y);
      tile_part(from + p, a->pixels, y + p * a->block + lane, a->block, rows, 1);
    }
  }
}

HN_INLINE void part_from_blocked(const hn_reorder_args *a, const reorder_unit *u) {
  const float *x = a->x + u->blocked;
  float *y = a->y + u->plain;
  if (a->block < HN_LANES) {
    tile_any(x, a->block, y, a->pixels, u->pixels, u->channels);
    return;
  }
  for (int64_t lane = 0; lane < u->channels; lane += HN_LANES) {
    int64_t p = 0;
    for (; u->pixels - p >= HN_LANES; p += HN_LANES)
      tile_some(x + p * a->block + lane, a->block, y + lane * a->pixels + p, a->pixels, HN_LANES,
                lanes_from(lane, u->channels));
    tile_part(x + p * a->block + lane, a->block, y + lane * a->pixels + p, a->pixels, u->pixels - p,
              lanes_from(lane, u->channels));
  }
}

void HN_SIMD_NAME(hn_reorder_to_blocked_f32)(const hn_reorder_args *a, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const reorder_unit u = unit_at(a, i);
    if (u.channels < a->block)
      part_to_blocked(a, &u);
    else
      tile_any(a->x + u.plain, a->pixels, a->y + u.blocked, a->block, u.channels, u.pixels);
  }
}

void HN_SIMD_NAME(hn_reorder_from_blocked_f32)(const hn_reorder_args *a, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const reorder_unit u = unit_at(a, i);
    if (u.channels < a->block)
      part_from_blocked(a, &u);
    else
      tile_any(a->x + u.blocked, a->block, a->y + u.plain, a->pixels, u.pixels, u.channels);
  }
}

/* Where the unit begins with channels last. */
HN_INLINE int64_t last_of(const hn_reorder_args *a, int64_t unit) {
  const int64_t chunks = (a->pixels + HN_REORDER_PIXELS - 1) / HN_REORDER_PIXELS;
  const int64_t blocks = (a->channels + a->block - 1) / a->block, plane = unit / chunks;
  return (plane / blocks * a->pixels + unit % chunks * HN_REORDER_PIXELS) * a->channels + plane % blocks * a->block;
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
