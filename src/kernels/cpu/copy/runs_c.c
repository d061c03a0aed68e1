/* SPDX-License-Identifier: Apache-2.0 */
/* runs_c.c - the body: a run at a time along a row, so that the compiler knows how many bytes each copy has. */
#include "kernels/cpu/copy/copy.h"
#include <string.h>

#define COPY(bytes)                                                                                                    \
  case bytes:                                                                                                          \
    for (int64_t i = 0; i < pixels; ++i, from += HN_RUNS_BLOCK, to += to_step) memcpy(to, from, bytes);                \
    break

/* `count` bytes of each pixel of a row. */
static void copy_run(const uint8_t *from, uint8_t *to, int64_t to_step, int64_t pixels, int32_t count) {
  switch (count) {
    COPY(1);
    COPY(2);
    COPY(4);
    COPY(8);
    COPY(16);
    COPY(32);
    COPY(64);
  default: break;
  }
}

/* One of the side x side rows of pixels that a row of the inputs becomes; `to`: the block's first pixel there. */
static void make_row(const hn_runs_args *a, const hn_runs_list *list, int64_t image, int64_t y, uint8_t *to) {
  const int64_t plane = a->height * a->width, to_step = a->side * HN_RUNS_BLOCK;
  int64_t filled = 0;
  for (int64_t i = 0; i < list->count; ++i) {
    const hn_runs_run *run = &list->runs[i];
    const int64_t first = (image * a->in_blocks[run->input] + run->block) * plane + y * a->width;
    const uint8_t *from = (const uint8_t *)a->x[run->input] + first * HN_RUNS_BLOCK + run->from;
    copy_run(from, to + run->to, to_step, a->width, run->count);
    filled = run->to + run->count;
  }
  for (int64_t i = 0; i < a->width && filled < HN_RUNS_BLOCK; ++i)
    memset(to + i * to_step + filled, 0, (size_t)(HN_RUNS_BLOCK - filled));
}

void hn_runs_c(const hn_runs_args *a, int64_t begin, int64_t end) {
  const int64_t places = a->side * a->side, out_width = a->width * a->side, out_plane = a->height * places * a->width;
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t at = unit % a->block_count, y = unit / a->block_count % a->height;
    const int64_t image = unit / a->block_count / a->height;
    const hn_runs_block *block = &a->blocks[at];
    const int64_t first = (image * a->out_blocks[block->output] + block->block) * out_plane;
    for (int64_t p = 0; p < places; ++p) {
      const int64_t pixel = first + (y * a->side + p / a->side) * out_width + p % a->side;
      make_row(a, &a->lists[at * places + p], image, y, (uint8_t *)a->y[block->output] + pixel * HN_RUNS_BLOCK);
    }
  }
}
