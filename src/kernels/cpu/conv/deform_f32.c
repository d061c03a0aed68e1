/* SPDX-License-Identifier: Apache-2.0 */
/* deform_f32.c - channels read at moved taps. A pixel's channels lie side by side where there are enough of them, so
 * that each of four corners is one load for a vector of channels; then channels and pixels change places in registers.
 * Gathers over neighbouring pixels take a load for each lane: they are left to groups of few channels. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/conv/deform.h"
#include "kernels/cpu/simd.inc.h"
#include "kernels/cpu/tile.inc.h"

enum { WIDTH = HN_LANES < 8 ? 8 : HN_LANES }; /* panels of the portable products have eight columns */

/* ---- places and weights, in double ---- */

typedef struct points {
  double y[WIDTH], x[WIDTH], mask[WIDTH];
} points;

static void put_points(const hn_deform_args *a, int64_t move, int64_t pixel, int count, points *p) {
  const int64_t pixels = a->out_h * a->out_w, tap = move % (a->kernel_h * a->kernel_w);
  const float *dy = a->offset + move * 2 * pixels + pixel, *dx = dy + pixels;
  const int64_t ky = tap / a->kernel_w * a->dilation_h - a->pad_top;
  const int64_t kx = tap % a->kernel_w * a->dilation_w - a->pad_left;
  int64_t oy = pixel / a->out_w, ox = pixel % a->out_w;
  for (int i = 0; i < WIDTH; ++i) {
    p->y[i] = p->x[i] = -2; /* outside */
    p->mask[i] = 1;
    if (i >= count) continue;
    p->y[i] = (double)(oy * a->stride_h + ky) + (double)dy[i];
    p->x[i] = (double)(ox * a->stride_w + kx) + (double)dx[i];
    if (a->mask) p->mask[i] = (double)a->mask[move * pixels + pixel + i];
    if (++ox == a->out_w) ox = 0, ++oy;
  }
}

void HN_SIMD_NAME(hn_deform_place_f32)(const hn_deform_args *args, int64_t move, int64_t pixel, int count,
                                       hn_deform_place *out) {
  const hn_deform_args *a = args;
  const double height = (double)a->in_h, width = (double)a->in_w, nowhere = height * width;
  points p;
  put_points(a, move, pixel, count, &p);
  for (int k = 0; k < HN_DEFORM_CORNERS; ++k) {
    const double below = k / 2, behind = k % 2;
    for (int i = 0; i < WIDTH; ++i) {
      const double y = p.y[i], x = p.x[i], top = floor(y), left = floor(x), row = top + below, column = left + behind;
      const double part_y = y - top, part_x = x - left;
      const float weight =
          (float)((below != 0 ? part_y : 1 - part_y) * (behind != 0 ? part_x : 1 - part_x) * p.mask[i]);
      const int inside = (row >= 0) & (row < height) & (column >= 0) & (column < width) & (weight != 0);
      out->at[k][i] = (int32_t)(inside ? row * width + column : nowhere);
      out->weight[k][i] = inside ? weight : 0;
    }
  }
}

/* ---- channels by themselves ---- */

HN_INLINE vf weighed(const float *plane, const hn_deform_place *p, int corner, int lane) {
  const vf w = v_load(p->weight[corner] + lane);
  const vm reads = v_ne(w, v_set(0.0F));
  const vi at = vi_of(v_select(reads, vf_of(vi_load(p->at[corner] + lane)), vf_of(vi_set(0))));
  return v_select(reads, v_gather(plane, at), v_set(0.0F)) * w; /* what counts for nothing may be anything */
}

void HN_SIMD_NAME(hn_deform_gather_f32)(const float *plane, int64_t taps, const hn_deform_place *places, float *to) {
  for (int64_t tap = 0; tap < taps; ++tap, to += WIDTH)
    for (int lane = 0; lane < WIDTH; lane += HN_LANES) {
      const hn_deform_place *p = &places[tap];
      const vf top = weighed(plane, p, 0, lane) + weighed(plane, p, 1, lane);
      v_store(to + lane, top + (weighed(plane, p, 2, lane) + weighed(plane, p, 3, lane)));
    }
}

/* ---- channels side by side ---- */

void HN_SIMD_NAME(hn_deform_join_f32)(const float *planes, int64_t pixels, int channels, float *to) {
  tile_any(planes, pixels, to, HN_LANES, channels, pixels);
  v_store(to + pixels * HN_LANES, v_set(0.0F));
}

void HN_SIMD_NAME(hn_deform_blend_f32)(const float *joined, int channels, int64_t taps, const hn_deform_place *places,
                                       float *to) {
  for (int64_t tap = 0; tap < taps; ++tap, to += WIDTH)
    for (int lane = 0; lane < WIDTH; lane += HN_LANES) {
      const hn_deform_place *p = &places[tap];
      vf r[HN_LANES];
      HN_UNROLL for (int i = 0; i < HN_LANES; ++i) {
        r[i] = v_load(joined + (int64_t)p->at[0][lane + i] * HN_LANES) * v_set(p->weight[0][lane + i]);
        HN_UNROLL for (int k = 1; k < HN_DEFORM_CORNERS; ++k) r[i] =
            v_fma(v_load(joined + (int64_t)p->at[k][lane + i] * HN_LANES), v_set(p->weight[k][lane + i]), r[i]);
      }
      tile_turn(r);
      HN_UNROLL for (int c = 0; c < HN_LANES; ++c) if (c < channels) v_store(to + c * taps * WIDTH + lane, r[c]);
    }
}
