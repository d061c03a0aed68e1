/* SPDX-License-Identifier: Apache-2.0 */
/* winograd_f32_pack_c.c - transformed weights of 3x3 convolutions by minimal filtering, and its sizes. */
#include "kernels/cpu/conv/winograd.h"

#include <string.h>

enum { LINE_FLOATS = 16 };

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

static int64_t odd_lines(int64_t floats) { return (ceil_div(floats, LINE_FLOATS) | 1) * LINE_FLOATS; }

void hn_winograd_f32_plan(hn_winograd_f32 *w, int64_t outputs, int64_t call_tiles, int block) {
  const hn_conv_f32 *c = &w->conv;
  w->outputs = outputs;
  w->tiles_across = ceil_div(c->out_width, outputs);
  w->tiles_down = ceil_div(c->out_height, outputs);
  w->tiles = c->batch * w->tiles_across * w->tiles_down;
  w->call_tiles = call_tiles < w->tiles ? call_tiles : w->tiles;
  w->patch_step = odd_lines(ceil_div(c->in_channels, block) * block * w->call_tiles);
  w->product_step = odd_lines(c->oc_blocks * block * w->call_tiles);
}

int64_t hn_winograd_f32_patch_floats(const hn_winograd_f32 *w) {
  return hn_winograd_f32_places(w->outputs) * w->patch_step;
}

int64_t hn_winograd_f32_product_floats(const hn_winograd_f32 *w) {
  return hn_winograd_f32_places(w->outputs) * w->product_step;
}

int64_t hn_winograd_f32_packed_floats(int64_t out_channels, int64_t in_channels, int64_t outputs, int block) {
  return ceil_div(out_channels, block) * block * ceil_div(in_channels, block) * block * hn_winograd_f32_places(outputs);
}

/* Row p of the transform for a finite point x is (1, x, x^2) / N(x), N the product of x's distances to the other
 * points; for infinity it is (0, 0, 1). */
static const double rows_2[4][3] = {{-1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
#define A2 (0.75 * 0.75)
#define B2 (1.5 * 1.5)
#define NEAR (2 * A2 * (A2 - B2))
#define FAR (2 * B2 * (B2 - A2))
static const double rows_4[6][3] = {
    {1 / (A2 * B2), 0, 0},          {1 / NEAR, 0.75 / NEAR, A2 / NEAR}, {1 / NEAR, -0.75 / NEAR, A2 / NEAR},
    {1 / FAR, 1.5 / FAR, B2 / FAR}, {1 / FAR, -1.5 / FAR, B2 / FAR},    {0, 0, 1}};

static void transform(const float *kernel, int edge, const double (*rows)[3], float *to, int64_t step) {
  for (int y = 0; y < edge; ++y) {
    double line[3];
    for (int x = 0; x < 3; ++x)
      line[x] =
          rows[y][0] * (double)kernel[x] + rows[y][1] * (double)kernel[3 + x] + rows[y][2] * (double)kernel[6 + x];
    for (int x = 0; x < edge; ++x)
      to[(y * edge + x) * step] = (float)(rows[x][0] * line[0] + rows[x][1] * line[1] + rows[x][2] * line[2]);
  }
}

void hn_winograd_f32_pack_c(const float *oihw, int64_t out_channels, int64_t in_channels, int64_t outputs, int block,
                            int64_t block_begin, int64_t block_end, float *packed) {
  const double(*rows)[3] = outputs == 2 ? rows_2 : rows_4;
  const int edge = (int)outputs + 2;
  const int64_t square = (int64_t)block * block, in_blocks = ceil_div(in_channels, block);
  for (int64_t ob = block_begin; ob < block_end; ++ob) {
    float *base = packed + ob * edge * edge * in_blocks * square;
    memset(base, 0, (size_t)(edge * edge * in_blocks * square) * sizeof(float));
    for (int64_t i = 0; i < in_channels; ++i)
      for (int64_t lane = 0; lane < block && ob * block + lane < out_channels; ++lane)
        transform(oihw + ((ob * block + lane) * in_channels + i) * 9, edge, rows, base + i * block + lane,
                  in_blocks * square);
  }
}
