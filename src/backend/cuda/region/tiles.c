/* SPDX-License-Identifier: Apache-2.0 */
/* tiles.c - which tiles of an inverted residual are worth timing. Each is given a time: of a block, what it keeps the
 * multiprocessor busy with (work) and what it waits for at least (latency); blocks that run together share the former.
 * Held against 275 tiles of MobileNetV2's blocks on an H200 at batch 1 and 256, the first eight of a block hold its
 * fastest or one 2 % slower, the first four one 9 % slower, in one block of 24 21 %. */
#include "backend/cuda/region/region.h"

/* Of a multiprocessor: threads that can have 128 registers, sums that fit in them beside everything else. */
enum { THREADS = 512, MOST_SUMS = 80, MOST_OUTS = 256, MOST_CHUNK = 192, MOST_PARTS = 16 };

bool hn_region_fits(const hn_region *r) {
  const bool threads = r->threads == 128 || r->threads == 256 || r->threads == 512;
  if (!threads || r->chunk % 16 || r->chunk > MOST_CHUNK || r->split > HN_REGION_LARGEST_SPLIT) return false;
  if ((int64_t)r->tile_h * r->tile_w * r->images > MOST_OUTS) return false;
  if ((int64_t)r->tile_h * r->tile_w * r->stride * r->stride * r->images > 4 * MOST_OUTS) return false;
  const hn_region_layout l = hn_region_lay_out(*r);
  if (r->images > 1 && !(l.whole_h && l.whole_w)) return false;
  if (l.pixels > 16 * MOST_OUTS || l.bytes > HN_REGION_SHARED) return false;
  return !r->projects || hn_region_sums(*r) <= MOST_SUMS;
}

static double greater(double a, double b) { return a > b ? a : b; }

/* Clocks of one block. */
static void price(const hn_region *r, const hn_region_layout *l, double *out_work, double *out_latency) {
  const int warps = r->threads / 32, deep = l->deep / 16, across = r->chunk / 16;
  double work = 0, latency = 200;
  if (r->expands) {
    const hn_units u = hn_units_of(l->rows / 16, across, warps);
    const int units = hn_region_parts(l->rows / 16, u.high) * (across / u.broad);
    work += units * (deep * 4.0 * (u.high + u.broad + u.high * u.broad) + 12 * u.high * u.broad);
    latency += hn_region_parts(units, warps) * (deep * 45.0 + 150);
  }
  const int run = hn_run_of(*r, l->turns), items = l->outs / run * (r->chunk / 8);
  const int reads = 2 * r->kernel + (run - 1) * r->stride;
  work += hn_region_parts(items, 32) * (r->kernel * (4.0 * reads + run * (r->kernel + 4)) + 30);
  latency += hn_region_parts(items, r->threads) * (200 + r->kernel * run * 30.0);
  if (r->projects) {
    const int down = hn_warps_down(l->out_rows / 16, l->wide / 16, warps);
    const int high = hn_region_parts(l->out_rows / 16, down), broad = hn_region_parts(l->wide / 16, warps / down);
    work += across * warps * 4.0 * (high + broad + high * broad);
    latency += across * (40 + 8.0 * high * broad);
  }
  const double moved =
      (l->rows * (double)(r->expands ? l->deep : r->chunk * l->turns) + l->outs * (double)l->y_pitch) / 16;
  *out_work = work * l->turns + moved + 300;
  *out_latency =
      greater(latency, work) * l->turns + moved + 1200 + (r->projects && r->split > 1 ? 1000 + 60 * r->split : 300);
}

/* How many blocks run at once. Members of a cluster lie in one group of 16 multiprocessors, which large ones fill. */
static double at_once(const hn_region *r, int together) {
  enum { GROUPS = 8, GROUP = 16, LARGE = 13 };
  if (!r->projects || r->split == 1) return HN_REGION_UNITS * together;
  const int clusters = r->split >= LARGE ? 1 : GROUP * together / r->split;
  return (double)GROUPS * clusters * r->split;
}

double hn_region_seconds(const hn_region *r, int n) {
  const double clock = 1.75e9, second_level = 2300, begin = 2000; /* bytes a clock; clocks */
  const hn_region_layout l = hn_region_lay_out(*r);
  double work, latency;
  price(r, &l, &work, &latency);
  const double blocks = (double)r->split * l.tiles_h * l.tiles_w * hn_region_parts(n, r->images);
  const int room = (HN_REGION_SHARED + 1024) / (l.bytes + 1024), most = THREADS / r->threads;
  const int together = room < most ? room : most;
  double waves = blocks / at_once(r, together);
  if (waves <= 4) waves = (double)(int64_t)(waves + 0.999);
  const double shared = waves > 1 ? together : (double)(int64_t)(blocks / HN_REGION_UNITS + 0.999);
  const double computed = greater(waves, 1) * greater(latency, shared * work);
  const double moved = blocks * ((double)l.turns * l.blob + l.rows * (double)l.deep * 2) / second_level;
  return (begin + greater(computed, moved) + 0.3 * (computed < moved ? computed : moved)) / clock;
}

/* ---- the search ---- */

typedef struct found {
  hn_region *tile;
  double seconds[MOST_PARTS];
  int count, room, n;
} found;

/* At most two of one tile: what differs otherwise may be what the prices do not know. */
static void consider(found *f, const hn_region *r) {
  if (!hn_region_fits(r)) return;
  const double seconds = hn_region_seconds(r, f->n);
  int at = f->count, alike = 0, last = -1;
  for (int i = 0; i < f->count; ++i)
    if (f->tile[i].tile_h == r->tile_h && f->tile[i].tile_w == r->tile_w && f->tile[i].images == r->images)
      ++alike, last = i;
  if (alike >= 2) {
    if (f->seconds[last] <= seconds) return;
    at = last;
  } else if (f->count == f->room) {
    at = f->count - 1;
    if (f->seconds[at] <= seconds) return;
  } else {
    ++f->count;
  }
  for (; at > 0 && f->seconds[at - 1] > seconds; --at)
    f->tile[at] = f->tile[at - 1], f->seconds[at] = f->seconds[at - 1];
  f->tile[at] = *r, f->seconds[at] = seconds;
}

/* Each chunk by all numbers of blocks that share the chunks, one to three turns each, or by one block. */
static void consider_chunks(found *f, hn_region *r) {
  for (r->chunk = 16; r->chunk <= MOST_CHUNK && r->chunk < r->hid + 16; r->chunk += 16) {
    const int chunks = hn_region_parts(r->hid, r->chunk);
    for (int turns = 1; turns <= 4; ++turns) {
      r->split = turns <= 3 ? hn_region_parts(chunks, turns) : 1;
      if (r->split > HN_REGION_LARGEST_SPLIT || (turns > 1 && r->split == 1 && turns <= 3)) continue;
      if (turns == 4 && chunks == 1) continue;
      for (r->threads = 128; r->threads <= 512; r->threads *= 2) consider(f, r);
    }
  }
}

int hn_region_tiles(const hn_region *region, int n, hn_region *out, int room) {
  static const int extents[] = {1, 2, 4, 7, 8, 14, 16};
  enum { EXTENTS = sizeof extents / sizeof *extents };
  found f = {.tile = out, .room = room < MOST_PARTS ? room : MOST_PARTS, .n = n};
  hn_region r = *region;
  for (int h = 0; h <= EXTENTS; ++h)
    for (int w = 0; w <= EXTENTS; ++w) {
      r.tile_h = h < EXTENTS ? extents[h] : r.out_h, r.tile_w = w < EXTENTS ? extents[w] : r.out_w;
      if ((h < EXTENTS && r.tile_h >= r.out_h) || (w < EXTENTS && r.tile_w >= r.out_w)) continue;
      if (r.tile_h > r.tile_w && r.tile_w < r.out_w) continue; /* runs are along rows */
      for (r.images = 1; r.images <= 4 && r.images <= n; r.images *= 2) consider_chunks(&f, &r);
    }
  return f.count;
}

int hn_region_order(void *state, int count, double (*seconds_at)(void *state, int number), int *out) {
  enum { MOST = 64 };
  double seconds[MOST];
  int fitting = 0;
  for (int i = 0; i < count && i < MOST; ++i) {
    const double mine = seconds_at(state, i);
    if (mine < 0) continue;
    int at = fitting++;
    for (; at > 0 && seconds[at - 1] > mine; --at) seconds[at] = seconds[at - 1], out[at] = out[at - 1];
    seconds[at] = mine, out[at] = i;
  }
  return fitting;
}
