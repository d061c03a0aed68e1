/* SPDX-License-Identifier: Apache-2.0 */
/* byte_stem.h - what byte_stem.cuh computes and where it keeps it, as lay_out.h for inverted residuals; behind it. */
#ifndef HN_KERNELS_CUDA_REGION_BYTE_STEM_H
#define HN_KERNELS_CUDA_REGION_BYTE_STEM_H

/* What images are read as: bytes in rows of sixteen, halves in rows of eight, or planes of floats. */
enum { HN_STEM_BYTES, HN_STEM_F16, HN_STEM_BF16, HN_STEM_PLANES };

/* An image of at most 4 channels; mid_h x mid_w is what is convolved, out_h x out_w what is left of it: maxima of 2 x 2
 * or 3 x 3 at every second place (pool 2, 3), or the same (pool 1). A strip is `rows` rows of that. */
typedef struct hn_byte_stem {
  int in_h, in_w, mid_h, mid_w, out_h, out_w, cin, cout;
  int kernel, stride, pad_h, pad_w, pool, pool_pad_h, pool_pad_w;
  int source, is_signed, zero, x_zero, low, high; /* of the output: its zero point and bounds; x_zero: the images' */
  int rows, threads;
} hn_byte_stem;

typedef struct hn_byte_stem_layout {
  int strips;                    /* of an image */
  int made, step;                /* outputs of a tile of sixteen convolved pixels; those from tile to tile */
  int tiles, groups, along;      /* tiles of a row; 32s of channels; warps that share the tiles of one */
  int by_rows, steps;            /* a step of k is eight taps: of a row of the window, or any; how many there are */
  int mid_rows, in_rows, in_row; /* of a strip: rows convolved and read; words of a row */
  int pitch;                     /* channels of an output's pixel */
  int vectors, packed;           /* where begins are behind weights (scales behind them), bytes of all */
  int bytes;                     /* shared memory: begins and scales, then pixels of four bytes */
} hn_byte_stem_layout;

HN_REGION_FUNCTION hn_byte_stem_layout hn_byte_stem_lay_out(hn_byte_stem r) {
  hn_byte_stem_layout l = {0};
  l.strips = hn_region_parts(r.out_h, r.rows);
  l.made = r.pool == 1 ? 16 : r.pool == 2 ? 8 : 7;
  l.step = r.pool == 1 ? 16 : 2 * l.made;
  l.tiles = hn_region_parts(r.out_w, l.made);
  l.groups = hn_region_parts(r.cout, 32);
  l.along = r.threads / 32 / l.groups;
  l.by_rows = r.kernel * r.kernel > 8 * (r.kernel - 1) && r.kernel <= 8;
  l.steps = l.by_rows ? r.kernel : hn_region_parts(r.kernel * r.kernel, 8);
  l.mid_rows = r.pool == 1 ? r.rows : (r.rows - 1) * 2 + r.pool;
  l.in_rows = (l.mid_rows - 1) * r.stride + r.kernel;
  l.in_row = ((l.tiles - 1) * l.step + 15) * r.stride + (l.by_rows ? 8 : r.kernel);
  l.pitch = hn_region_up(r.cout, 16);
  l.vectors = l.groups * l.steps * 4 * 2 * 32 * 4;
  l.packed = l.vectors + 2 * l.groups * 32 * 4;
  l.bytes = 2 * l.groups * 32 * 4 + hn_region_up(l.in_rows * l.in_row * 4, 16);
  return l;
}

/* Channel of column n (of 8) of product j (of 4) among 32, so that a lane's are eight side by side. */
HN_REGION_FUNCTION int hn_byte_stem_channel(int j, int n) { return n / 2 * 8 + j * 2 + n % 2; }

#endif
