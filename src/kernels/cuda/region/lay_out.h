/* SPDX-License-Identifier: Apache-2.0 */
/* lay_out.h - where inverted_residual.cuh keeps what in shared memory and in packed memory, from extents and a tile:
 * computed by the host, which packs and launches, and by the compiler of the kernel, for which all are constants.
 * Extents are in elements, places in bytes. NVRTC reads this text in front of the kernel's: it includes nothing. */
#ifndef HN_KERNELS_CUDA_REGION_LAY_OUT_H
#define HN_KERNELS_CUDA_REGION_LAY_OUT_H

#ifdef __CUDACC__
#define HN_REGION_FUNCTION constexpr static __host__ __device__
#else
#define HN_REGION_FUNCTION static inline
#endif

/* A block makes tile_h x tile_w pixels of so many images, from `chunk` hidden channels at a time (a multiple of 16);
 * `split` blocks share the hidden channels. cin 0 is none of these: without expansion it is hid. */
typedef struct hn_region {
  int cin, hid, cout, in_h, in_w, out_h, out_w, kernel, stride, pad_h, pad_w;
  int expands, projects, has_residual;
  int tile_h, tile_w, images, chunk, split, threads;
} hn_region;

typedef struct hn_region_layout {
  int tiles_h, tiles_w, whole_h, whole_w; /* whole: the tile is the image along this axis, and no halo is computed */
  int in_h, in_w, pixels, rows;           /* what is read for a tile; rows: pixels, filled up to 16 */
  int outs, out_rows;                     /* the same of what is written */
  int deep, x_row, e_row, wide;           /* input channels filled up; elements of a row; output channels filled up */
  int x_pitch, y_pitch;                   /* of the images in global memory */
  int turns, buffers;                     /* chunks of a block, weights held at once */
  int we, wp, wd, be, bd, bp, blob;       /* one chunk's weights and biases */
  int x, e, d, weights, sums, mask, barriers, bytes; /* shared memory */
  int owned, sums_row;                               /* pixels that a block of a split finishes at most, f32 of one */
} hn_region_layout;

HN_REGION_FUNCTION int hn_region_up(int value, int step) { return (value + step - 1) / step * step; }
HN_REGION_FUNCTION int hn_region_parts(int value, int step) { return (value + step - 1) / step; }

HN_REGION_FUNCTION hn_region_layout hn_region_lay_out(hn_region r) {
  hn_region_layout l = {0};
  l.tiles_h = hn_region_parts(r.out_h, r.tile_h), l.tiles_w = hn_region_parts(r.out_w, r.tile_w);
  l.whole_h = l.tiles_h == 1, l.whole_w = l.tiles_w == 1;
  l.in_h = l.whole_h ? r.in_h : (r.tile_h - 1) * r.stride + r.kernel;
  l.in_w = l.whole_w ? r.in_w : (r.tile_w - 1) * r.stride + r.kernel;
  l.pixels = r.images * l.in_h * l.in_w, l.rows = hn_region_up(l.pixels, 16);
  l.outs = r.images * r.tile_h * r.tile_w, l.out_rows = hn_region_up(l.outs, 16);
  l.x_pitch = hn_region_up(r.cin, 8), l.y_pitch = hn_region_up(r.projects ? r.cout : r.hid, 8);
  l.deep = hn_region_up(r.cin, 16), l.wide = r.projects ? hn_region_up(r.cout, 16) : 0;
  l.x_row = l.deep + 8, l.e_row = r.chunk + 8; /* eight rows begin in different banks */
  l.turns = hn_region_parts(hn_region_parts(r.hid, r.chunk), r.split), l.buffers = l.turns > 1 ? 2 : 1;
  l.wp = r.expands ? r.chunk * l.x_row * 2 : 0;
  l.wd = l.wp + l.wide * l.e_row * 2;
  l.be = l.wd + r.kernel * r.kernel * r.chunk * 2;
  l.bd = l.be + (r.expands ? r.chunk * 4 : 0);
  l.bp = l.bd + r.chunk * 4;
  l.blob = hn_region_up(l.bp + l.wide * 4, 128);
  l.e = r.expands ? l.rows * l.x_row * 2 : 0;
  l.d = hn_region_up(l.e + l.rows * l.e_row * 2, 128);
  l.weights = hn_region_up(l.d + (r.projects ? l.out_rows * l.e_row * 2 : 0), 128);
  l.mask = l.weights + l.buffers * l.blob;
  l.barriers = hn_region_up(l.mask + (l.whole_h && l.whole_w ? 0 : l.rows), 8);
  l.bytes = hn_region_up(l.barriers + 16, 128);
  l.owned = hn_region_parts(l.outs, r.split), l.sums_row = l.wide + 4;
  const int sums = r.projects ? r.split * l.owned * l.sums_row * 4 : 0;
  l.sums = r.split > 1 ? l.bytes : 0; /* a block by itself puts them where everything else is done with */
  if (l.bytes < l.sums + sums) l.bytes = hn_region_up(l.sums + sums, 128);
  return l;
}

/* ---- how the warps share the work ---- */

/* Expansion: units of `high` x `broad` tiles of 16 x 16 are dealt out. Costs are clocks of a multiprocessor, roughly:
 * four for a load of a fragment, and as many for two products and what follows them. */
typedef struct hn_units {
  int high, broad;
} hn_units;
HN_REGION_FUNCTION hn_units hn_units_of(int tiles_h, int tiles_w, int warps) {
  hn_units best = {1, 1};
  int least = 1 << 30;
  for (int high = 1; high <= 2; ++high)
    for (int broad = 1; broad <= 3; ++broad) {
      if (tiles_w % broad) continue;
      const int rounds = hn_region_parts(hn_region_parts(tiles_h, high) * (tiles_w / broad), warps);
      const int cost = rounds * (4 * (high + broad) + 8 * high * broad);
      if (cost < least) least = cost, best.high = high, best.broad = broad;
    }
  return best;
}
/* Projection: each warp has a rectangle of tiles; so many warps one below the other. */
HN_REGION_FUNCTION int hn_warps_down(int tiles_h, int tiles_w, int warps) {
  int best = 1, least = 1 << 30;
  for (int down = 1; down <= warps; down *= 2) {
    const int high = hn_region_parts(tiles_h, down), broad = hn_region_parts(tiles_w, warps / down);
    const int cost = high * broad * 4 + (high + broad) * 4;
    if (cost < least) least = cost, best = down;
  }
  return best;
}
/* The sums that a thread of a projection holds. */
HN_REGION_FUNCTION int hn_region_sums(hn_region r) {
  const int tiles_h = hn_region_parts(r.images * r.tile_h * r.tile_w, 16), tiles_w = hn_region_parts(r.cout, 16);
  const int warps = r.threads / 32, down = hn_warps_down(tiles_h, tiles_w, warps);
  return 8 * hn_region_parts(tiles_h, down) * hn_region_parts(tiles_w, warps / down);
}
/* Depthwise: a thread makes a run of pixels, so that it reads what they share once; as many as have room in 128
 * registers beside the projection's sums. */
HN_REGION_FUNCTION int hn_run_of(hn_region r, int turns) {
  const int room = 96 - (r.projects && turns > 1 ? hn_region_sums(r) : 0);
  int best = 1, least = 1 << 30;
  for (int run = 1; run <= r.tile_w && (run == 1 || 12 * run <= room); ++run) {
    if (r.tile_w % run) continue;
    const int rounds = hn_region_parts(r.images * r.tile_h * (r.tile_w / run) * (r.chunk / 8), r.threads);
    const int reads = r.kernel + (run - 1) * r.stride + r.kernel;
    const int cost = rounds * (40 + r.kernel * (4 * reads + run * (r.kernel + 4)));
    if (cost < least) least = cost, best = run;
  }
  return best;
}

#endif
