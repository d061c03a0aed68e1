/* SPDX-License-Identifier: Apache-2.0 */
/* conv_pool.h - where conv_pool.cuh keeps what in shared memory, as lay_out.h for inverted residuals; behind it. */
#ifndef HN_KERNELS_CUDA_REGION_CONV_POOL_H
#define HN_KERNELS_CUDA_REGION_CONV_POOL_H

/* The image has at most 8 channels, in rows of 8; mid_h x mid_w is what is convolved. A block makes tile_h x tile_w
 * pooled pixels at a time. quads: of at most 4 channels, with an even stride; four are kept of each pixel, and sixteen
 * bytes are two pixels side by side. pool 1: nothing is pooled. */
typedef struct hn_conv_pool {
  int in_h, in_w, mid_h, mid_w, out_h, out_w, cout;
  int kernel, stride, pad_h, pad_w, pool, pool_stride, pool_pad_h, pool_pad_w, quads;
  int tile_h, tile_w, threads;
} hn_conv_pool;

typedef struct hn_conv_pool_layout {
  int tiles_h, tiles_w;
  int mid_h, mid_w, mid_rows; /* convolved for a tile; pixels, filled up to 16 */
  int in_h, in_w, part,
      in_row;               /* read for it; columns with the same remainder by the stride lie together, if no quads */
  int pixel, along, chunks; /* bytes of a pixel; of eight elements of k: in a row of the window, in all */
  int deep, w_row, wide;    /* elements of k and of a row of weights; channels, filled up to 16 */
  int m_row;                /* elements of a convolved pixel */
  int w, bias, packed;      /* places in packed memory and its bytes, which all lie in shared memory, too */
  int x, mid, bytes;
} hn_conv_pool_layout;

HN_REGION_FUNCTION hn_conv_pool_layout hn_conv_pool_lay_out(hn_conv_pool r) {
  hn_conv_pool_layout l = {0};
  l.tiles_h = hn_region_parts(r.out_h, r.tile_h), l.tiles_w = hn_region_parts(r.out_w, r.tile_w);
  l.mid_h = (r.tile_h - 1) * r.pool_stride + r.pool, l.mid_w = (r.tile_w - 1) * r.pool_stride + r.pool;
  l.mid_rows = hn_region_up(l.mid_h * l.mid_w, 16);
  l.pixel = r.quads ? 8 : 16, l.along = r.quads ? hn_region_parts(r.kernel, 2) : r.kernel;
  l.in_h = (l.mid_h - 1) * r.stride + r.kernel;
  l.in_w = (l.mid_w - 1) * r.stride + (r.quads ? 2 * l.along : r.kernel);
  l.part = hn_region_parts(l.in_w, r.stride), l.in_row = r.quads ? hn_region_up(l.in_w, 2) : l.part * r.stride;
  l.chunks = r.kernel * l.along, l.deep = hn_region_up(l.chunks, 2) * 8, l.w_row = l.deep + 8;
  l.wide = hn_region_up(r.cout, 16), l.m_row = l.wide + 8;
  l.bias = l.wide * l.w_row * 2;
  l.packed = hn_region_up(l.bias + l.wide * 4, 128);
  l.x = l.packed;
  l.mid = hn_region_up(l.x + l.in_h * l.in_row * l.pixel, 128);
  l.bytes = hn_region_up(l.mid + l.mid_rows * l.m_row * 2 + 8, 128);
  return l;
}

/* Chunk k of a convolved pixel's window, behind the pixel's own place; where a convolved pixel's place is. */
HN_REGION_FUNCTION int hn_conv_pool_chunk(hn_conv_pool r, hn_conv_pool_layout l, int k) {
  const int y = k / l.along, x = k % l.along;
  return r.quads ? (y * l.in_row + 2 * x) * 8 : (y * l.in_row + x % r.stride * l.part + x / r.stride) * 16;
}
HN_REGION_FUNCTION int hn_conv_pool_place(hn_conv_pool r, hn_conv_pool_layout l, int y, int x) {
  return (y * r.stride * l.in_row + (r.quads ? x * r.stride : x)) * l.pixel;
}
/* Elements of chunk k that are in the window: 8, or 4 of a pair whose second pixel is beyond it, or none. */
HN_REGION_FUNCTION int hn_conv_pool_inside(hn_conv_pool r, hn_conv_pool_layout l, int k) {
  if (k >= l.chunks) return 0;
  return r.quads && 2 * (k % l.along) + 1 >= r.kernel ? 4 : 8;
}

#endif
