/* SPDX-License-Identifier: Apache-2.0 */
/* reorder_held.c - 32 channels of 64 pixels at a time through floats in the first cache: read by one layout, written by
 * the other. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/half.inc.h"
#include "kernels/cpu/reorder/reorder.h"
#include "kernels/cpu/tile.inc.h"

enum { CHANNELS = HN_REORDER_HELD_MOST, PIXELS = HN_REORDER_HELD_PIXELS };

HN_INLINE vf load_held(const void *x, int64_t at, hn_held held) {
  return held == HN_HELD_F32    ? v_load((const float *)x + at)
         : held == HN_HELD_BF16 ? v_load_bf16((const uint16_t *)x + at)
                                : v_load_f16((const uint16_t *)x + at);
}
HN_INLINE void store_held(void *y, int64_t at, hn_held held, vf v) {
  if (held == HN_HELD_F32)
    v_store((float *)y + at, v);
  else if (held == HN_HELD_BF16)
    v_store_bf16((uint16_t *)y + at, v);
  else
    v_store_f16((uint16_t *)y + at, v);
}

/* count elements that lie beside each other; the last vector goes through a copy. */
HN_INLINE void read_run(const void *x, int64_t at, hn_held held, float *to, int64_t count) {
  const size_t size = held == HN_HELD_F32 ? sizeof(float) : sizeof(uint16_t);
  int64_t i = 0;
  for (; i + HN_LANES <= count; i += HN_LANES) v_store(to + i, load_held(x, at + i, held));
  if (i == count) return;
  float copy[HN_LANES] = {0};
  memcpy(copy, (const char *)x + (size_t)(at + i) * size, (size_t)(count - i) * size);
  v_store(copy, load_held(copy, 0, held));
  memcpy(to + i, copy, (size_t)(count - i) * sizeof *to);
}
HN_INLINE void write_run(void *y, int64_t at, hn_held held, const float *from, int64_t count) {
  const size_t size = held == HN_HELD_F32 ? sizeof(float) : sizeof(uint16_t);
  int64_t i = 0;
  for (; i + HN_LANES <= count; i += HN_LANES) store_held(y, at + i, held, v_load(from + i));
  if (i == count) return;
  float copy[HN_LANES] = {0};
  memcpy(copy, from + i, (size_t)(count - i) * sizeof *from);
  store_held(copy, 0, held, v_load(copy));
  memcpy((char *)y + (size_t)(at + i) * size, copy, (size_t)(count - i) * size);
}

/* One unit: channels [channel, channel + count), pixels [pixel, pixel + pixels) of an image; between equal layouts
 * elements [pixel, pixel + pixels) of all. */
typedef struct part {
  int64_t image, channel, count, pixel, pixels;
} part;

HN_INLINE void read_part_of(const hn_reorder_held_args *a, const part *u, hn_held held, float *to) {
  if (a->x_lanes == a->y_lanes) {
    read_run(a->x, u->pixel, held, to, u->pixels);
    return;
  }
  float row[CHANNELS][PIXELS];
  if (u->count < CHANNELS) memset(to, 0, (size_t)(u->pixels * CHANNELS) * sizeof *to);
  if (a->x_lanes == 1) {
    for (int64_t c = 0; c < u->count; ++c)
      read_run(a->x, (u->image * a->channels + u->channel + c) * a->pixels + u->pixel, held, row[c], u->pixels);
    tile_any(row[0], PIXELS, to, CHANNELS, u->count, u->pixels);
    return;
  }
  const int64_t lanes = a->x_lanes, blocks = (a->channels + lanes - 1) / lanes;
  for (int64_t c = 0; c < u->count; c += lanes) {
    const int64_t at = ((u->image * blocks + (u->channel + c) / lanes) * a->pixels + u->pixel) * lanes;
    for (int64_t p = 0; p < u->pixels; ++p) read_run(a->x, at + p * lanes, held, to + p * CHANNELS + c, lanes);
  }
}

HN_INLINE void write_part_of(const hn_reorder_held_args *a, const part *u, hn_held held, const float *from) {
  if (a->x_lanes == a->y_lanes) {
    write_run(a->y, u->pixel, held, from, u->pixels);
    return;
  }
  float row[CHANNELS][PIXELS];
  if (a->y_lanes == 1) {
    tile_any(from, CHANNELS, row[0], PIXELS, u->pixels, u->count);
    for (int64_t c = 0; c < u->count; ++c)
      write_run(a->y, (u->image * a->channels + u->channel + c) * a->pixels + u->pixel, held, row[c], u->pixels);
    return;
  }
  const int64_t lanes = a->y_lanes, blocks = (a->channels + lanes - 1) / lanes;
  for (int64_t c = 0; c < u->count; c += lanes) {
    const int64_t at = ((u->image * blocks + (u->channel + c) / lanes) * a->pixels + u->pixel) * lanes;
    for (int64_t p = 0; p < u->pixels; ++p) write_run(a->y, at + p * lanes, held, from + p * CHANNELS + c, lanes);
  }
}

static int64_t stored(const hn_reorder_held_args *a) {
  return a->images * ((a->channels + a->x_lanes - 1) / a->x_lanes) * a->x_lanes * a->pixels;
}

#if defined(HN_SIMD_C)
int64_t hn_reorder_held_units(const hn_reorder_held_args *a) {
  if (a->x_lanes == a->y_lanes) return (stored(a) + HN_REORDER_RUN - 1) / HN_REORDER_RUN;
  return a->images * ((a->channels + CHANNELS - 1) / CHANNELS) * ((a->pixels + PIXELS - 1) / PIXELS);
}
#endif

/* One of each for a type: a pair of types would make six of both. */
HN_OUTLINE void read_part(const hn_reorder_held_args *a, const part *u, float *to) {
  if (a->x_held == HN_HELD_F32)
    read_part_of(a, u, HN_HELD_F32, to);
  else if (a->x_held == HN_HELD_BF16)
    read_part_of(a, u, HN_HELD_BF16, to);
  else
    read_part_of(a, u, HN_HELD_F16, to);
}

HN_OUTLINE void write_part(const hn_reorder_held_args *a, const part *u, const float *from) {
  if (a->y_held == HN_HELD_F32)
    write_part_of(a, u, HN_HELD_F32, from);
  else if (a->y_held == HN_HELD_BF16)
    write_part_of(a, u, HN_HELD_BF16, from);
  else
    write_part_of(a, u, HN_HELD_F16, from);
}

static void reorder_run(const hn_reorder_held_args *a, int64_t unit, float *block) {
  const int64_t all = stored(a), end = (unit + 1) * HN_REORDER_RUN < all ? (unit + 1) * HN_REORDER_RUN : all;
  for (int64_t at = unit * HN_REORDER_RUN; at < end; at += PIXELS * CHANNELS) {
    const part u = {.pixel = at, .pixels = end - at < PIXELS * CHANNELS ? end - at : PIXELS * CHANNELS};
    read_part(a, &u, block);
    write_part(a, &u, block);
  }
}

void HN_SIMD_NAME(hn_reorder_held)(const hn_reorder_held_args *a, int64_t begin, int64_t end) {
  const int64_t chunks = (a->pixels + PIXELS - 1) / PIXELS, blocks = (a->channels + CHANNELS - 1) / CHANNELS;
  _Alignas(64) float block[PIXELS * CHANNELS];
  for (int64_t i = begin; i < end; ++i) {
    if (a->x_lanes == a->y_lanes) {
      reorder_run(a, i, block);
      continue;
    }
    const int64_t pixel = i % chunks * PIXELS, channel = i / chunks % blocks * CHANNELS;
    const part u = {.image = i / chunks / blocks,
                    .channel = channel,
                    .count = a->channels - channel < CHANNELS ? a->channels - channel : CHANNELS,
                    .pixel = pixel,
                    .pixels = a->pixels - pixel < PIXELS ? a->pixels - pixel : PIXELS};
    read_part(a, &u, block);
    write_part(a, &u, block);
  }
}
