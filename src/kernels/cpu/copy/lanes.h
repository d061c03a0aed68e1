/* SPDX-License-Identifier: Apache-2.0 */
/* lanes.h - channels of blocked tensors put into other lanes and blocks: shuffles, and joins and cuts inside a block.
 *
 * Tensors are nChwBc, [image][block][pixel][B], of f32. Every block of every output is made of parts; a part takes
 * lanes of one block of one input. Lanes that no part fills become zero. */
#ifndef HN_KERNELS_CPU_LANES_H
#define HN_KERNELS_CPU_LANES_H

#include <stdint.h>

enum { HN_LANES_MOST = 16 };

/* Pixels of one work unit at most: two blocks of them stay in L1. */
#define HN_LANES_PIXELS INT64_C(128)

typedef struct {
  int64_t input, block;        /* the block within an image of that input */
  int32_t from[HN_LANES_MOST]; /* the lane that each lane of the output takes; -1: none of this part's */
} hn_lanes_part;

typedef struct {
  int64_t output, block;
  const hn_lanes_part *parts; /* at least one */
  int64_t count;
  int32_t is_whole; /* the first part is the whole block, every lane at its place */
} hn_lanes_block;

typedef struct {
  const hn_lanes_block *blocks; /* of one image of all outputs */
  int64_t block_count, images, pixels;
  int64_t chunk; /* pixels of one work unit, 1 .. HN_LANES_PIXELS */
  const float *const *x;
  float *const *y;          /* no output is an input's memory */
  const int64_t *in_blocks; /* of one image, for each input; out_blocks for each output */
  const int64_t *out_blocks;
} hn_lanes_args;

/* Work units: `chunk` pixels of one block of one image's outputs; all blocks of a chunk before the next chunk. */
static inline int64_t hn_lanes_units(const hn_lanes_args *a) {
  return a->images * a->block_count * ((a->pixels + a->chunk - 1) / a->chunk);
}

/* Computes the units [begin, end). B is 16 for _avx512 and 8 for the others. */
typedef void hn_lanes_f32_fn(const hn_lanes_args *args, int64_t begin, int64_t end);

hn_lanes_f32_fn hn_lanes_f32_avx512, hn_lanes_f32_avx2, hn_lanes_f32_c;

#endif
