/* SPDX-License-Identifier: Apache-2.0 */
/* windows_half.inc.h - the windows of a plain image, copied 64 bytes at a time: what a copy writes too much, the next
 * one writes again, since they go through each block in order. The includer says in which type. */
#ifndef HN_KERNELS_CPU_CONV_WINDOWS_HALF_INC_H
#define HN_KERNELS_CPU_CONV_WINDOWS_HALF_INC_H

#include "kernels/cpu/conv/windows_half.h"
#include "kernels/cpu/held.inc.h"

enum { BLOCK = 32, LINE_BYTES = 64 };

/* Part of a window that lies in one run and in one depth block: elements from a window's first one in both. */
typedef struct piece {
  int64_t from, to;
} piece;

/* Pixels of one channel, rounded. */
HN_INLINE void load_run(const hn_windows_half *w, int64_t at, int64_t count, held *to) {
  if (w->x_is_half) {
    memcpy(to, (const held *)w->x + at, (size_t)count * sizeof *to);
    return;
  }
  const float *x = (const float *)w->x + at;
  float some[BLOCK];
  if (count < BLOCK) {
    memset(some, 0, sizeof some);
    memcpy(some, x, (size_t)count * sizeof *some);
    x = some;
  }
  for (int i = 0; i < BLOCK; i += HN_LANES) h_store(to + i, v_load(x + i));
}

/* Pixels beside each other become channels beside each other. */
HN_INLINE void interleave(held runs[][BLOCK], int64_t count, const int64_t channels, held *to) {
  for (int64_t i = 0; i < count; ++i) {
    HN_UNROLL
    for (int64_t c = 0; c < channels; ++c) to[i * channels + c] = runs[c][i];
  }
}

HN_OUTLINE void make_line(const hn_windows_half *w, int64_t row, held *line) {
  const int64_t pixels = hn_windows_half_line_pixels(w), channels = w->channels, room = w->in_width + w->pad_left;
  memset(line, 0, (size_t)w->line * sizeof *line);
  if (row < 0 || row >= w->in_height) return;
  const int64_t end = room < pixels ? room : pixels; /* of the line's pixels that the image has */
  for (int64_t p = w->pad_left; p < end; p += BLOCK) {
    const int64_t count = end - p < BLOCK ? end - p : BLOCK;
    held runs[HN_WINDOWS_HALF_CHANNELS][BLOCK], *to = line + p * channels;
    for (int64_t c = 0; c < channels; ++c)
      load_run(w, (c * w->in_height + row) * w->in_width + p - w->pad_left, count, runs[c]);
    if (channels == 3 && count == BLOCK)
      interleave(runs, BLOCK, 3, to);
    else if (channels == 1)
      memcpy(to, runs[0], (size_t)count * sizeof *to);
    else
      for (int64_t i = 0; i < count * channels; ++i) to[i] = runs[i % channels][i / channels];
  }
}

/* All of a window; room for one piece for each run and each depth block. */
HN_INLINE int64_t cut_window(const hn_windows_half *w, piece *pieces) {
  const int64_t columns = w->dilation_width == 1 ? 1 : w->kernel_width, depth = hn_windows_half_depth(w);
  const int64_t run = depth / (w->kernel_height * columns);
  int64_t count = 0;
  for (int64_t k = 0; k < depth;) {
    const int64_t at = k / run, in_run = k % run, in_block = k % BLOCK;
    const int64_t left = run - in_run < BLOCK - in_block ? run - in_run : BLOCK - in_block;
    pieces[count++] =
        (piece){at / columns * w->dilation_height * w->line + at % columns * w->dilation_width * w->channels + in_run,
                k / BLOCK * w->y_block + in_block};
    k += left;
  }
  return count;
}

void HN_HELD_NAME(hn_windows)(const hn_windows_half *w, int64_t begin, int64_t end) {
  const int64_t depth = hn_windows_half_depth(w), lines = hn_windows_half_line_rows(w, end - begin);
  const int64_t behind = depth % BLOCK ? depth / BLOCK * w->y_block + depth % BLOCK : -1;
  piece pieces[HN_WINDOWS_HALF_RUNS + HN_WINDOWS_HALF_DEPTH / BLOCK + 1];
  const int64_t count = cut_window(w, pieces);
  static const held zeros[BLOCK] = {0};
  for (int64_t i = 0; i < lines; ++i) make_line(w, begin * w->stride_height - w->pad_top + i, w->lines + i * w->line);
  for (int64_t i = 0; i < (end - begin) * w->out_width; ++i) {
    const held *from =
        w->lines + i / w->out_width * w->stride_height * w->line + i % w->out_width * w->stride_width * w->channels;
    held *to = w->y + i * BLOCK;
    for (int64_t p = 0; p < count; ++p) memcpy(to + pieces[p].to, from + pieces[p].from, LINE_BYTES);
    if (behind >= 0) memcpy(to + behind, zeros, LINE_BYTES);
  }
}

#endif
