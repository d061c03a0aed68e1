/* SPDX-License-Identifier: Apache-2.0 */
/* windows_half.h - the windows of a plain image as products of halves read them (kernels/cpu/gemm/product_half.h): the
 * elements under a window are the depth, (kernel row, kernel column, channel) in this order. For images of few
 * channels, whose taps would leave most of a depth block empty. */
#ifndef HN_KERNELS_CPU_WINDOWS_HALF_H
#define HN_KERNELS_CPU_WINDOWS_HALF_H

#include <stdint.h>

enum {
  HN_WINDOWS_HALF_RUNS = 256,
  HN_WINDOWS_HALF_CHANNELS = 32,
  HN_WINDOWS_HALF_DEPTH = 4096,
  HN_WINDOWS_HALF_MARGIN = 32
};

/* Rows of the image are first rounded into lines, in which a pixel's channels lie beside each other: without dilation a
 * row of a window is one run of a line, else each pixel is; there are at most HN_WINDOWS_HALF_RUNS of them.
 * hn_windows_half_depth() is at most HN_WINDOWS_HALF_DEPTH. Lines are made once: they stay in their ring from one call
 * to the next one, which asks for later rows. */
typedef struct hn_windows_half {
  const void *x;   /* [channel][row][column], f32 or halves; at most HN_WINDOWS_HALF_CHANNELS channels */
  uint16_t *lines; /* of the caller's own: `ring` lines, and HN_WINDOWS_HALF_MARGIN elements on either side of them */
  uint16_t *y;     /* [depth block][row][column][32]; zero behind the last element of a window */
  int64_t y_block; /* elements */
  int64_t line;    /* hn_windows_half_line() */
  int64_t ring;    /* hn_windows_half_line_rows() of the most rows that are asked for at once, or more */
  int64_t made;    /* lines before this one are there, counted from the first pad; 0 at first */
  int64_t channels, in_height, in_width, out_width, kernel_height, kernel_width, stride_height, stride_width;
  int64_t dilation_height, dilation_width, pad_top, pad_left;
  int32_t x_is_half;
} hn_windows_half;

static inline int64_t hn_windows_half_depth(const hn_windows_half *w) {
  return w->kernel_height * w->kernel_width * w->channels;
}
static inline int64_t hn_windows_half_runs(const hn_windows_half *w) {
  return w->kernel_height * (w->dilation_width == 1 ? 1 : w->kernel_width);
}
/* Pixels of a line that windows reach. */
static inline int64_t hn_windows_half_line_pixels(const hn_windows_half *w) {
  return (w->out_width - 1) * w->stride_width + (w->kernel_width - 1) * w->dilation_width + 1;
}
/* Elements of a line: whole blocks of 32, with room for 32 pixels from any one of it on. */
static inline int64_t hn_windows_half_line(const hn_windows_half *w) {
  return ((hn_windows_half_line_pixels(w) + 31) * w->channels / 32 + 1) * 32;
}
static inline int64_t hn_windows_half_line_rows(const hn_windows_half *w, int64_t rows) {
  return (rows - 1) * w->stride_height + (w->kernel_height - 1) * w->dilation_height + 1;
}

/* The first line that is not made yet when a call for output rows up to `end` is over. */
static inline int64_t hn_windows_half_made(const hn_windows_half *w, int64_t end) {
  return (end - 1) * w->stride_height + hn_windows_half_line_rows(w, 1);
}

/* Output rows [begin, end): y's rows are those alone. */
typedef void hn_windows_half_fn(const hn_windows_half *windows, int64_t begin, int64_t end);
hn_windows_half_fn hn_windows_bf16_c, hn_windows_bf16_avx512_bf16, hn_windows_bf16_amx_bf16, hn_windows_f16_c,
    hn_windows_f16_avx512_fp16;

#endif
