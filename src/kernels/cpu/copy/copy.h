/* SPDX-License-Identifier: Apache-2.0 */
/* copy.h - strided copies of up to 8 dimensions (concat, slice, split, pad, expand), fills, casts, and lanes moved. */
#ifndef HN_KERNELS_CPU_COPY_H
#define HN_KERNELS_CPU_COPY_H

#include <stdint.h>

enum { HN_COPY_RANK = 8 };

/* Filled by hn_copy_plan_make; plain data. */
typedef struct {
  int32_t element_bytes;
  int32_t outer_rank; /* dimensions outside the innermost loop */
  int64_t outer_dim[HN_COPY_RANK], outer_from[HN_COPY_RANK], outer_to[HN_COPY_RANK]; /* strides in elements */
  int64_t inner, inner_from, inner_to; /* the innermost loop: elements and strides */
  int64_t part, parts;                 /* elements of an inner loop that make one unit; units of an inner loop */
  int64_t units;                       /* work units in all */
} hn_copy_plan;

/* dim: extents; strides in elements of element_bytes (1, 2, 4 or 8). from_stride may be negative (the pointer given
 * to hn_copy_c is index 0's place) or 0 (repeats). Destination elements must not share memory with one another or
 * with the source. rank 0 .. HN_COPY_RANK; an extent of 0 gives no units. */
void hn_copy_plan_make(hn_copy_plan *plan, int32_t rank, const int64_t *dim, const int64_t *from_stride,
                       const int64_t *to_stride, int32_t element_bytes);

/* Computes the units [begin, end) of plan->units. */
void hn_copy_c(const hn_copy_plan *plan, const void *from, void *to, int64_t begin, int64_t end);

/* Sets the elements [begin, end) of `to` to *value; element_bytes is 1, 2, 4 or 8. */
void hn_fill_c(void *to, const void *value, int32_t element_bytes, int64_t begin, int64_t end);

/* ---- conversions between f32, or f64, and the other element types ----
 *   to f16, bf16   round to nearest even; overflow gives infinity, a NaN stays one
 *   to i32, i64    towards zero; what does not fit, and NaN, gives the type's least value (as x86 does)
 *   to i8, u8      as i32, then the low 8 bits
 *   to bool        one byte, 0 or 1; NaN is 1
 *   from any       round to nearest even; bool is read as u8 */
/* Converts the elements [begin, end): to[i] = from[i]. The buffers do not overlap. */
typedef void hn_cast_fn(const void *from, void *to, int64_t begin, int64_t end);

hn_cast_fn hn_cast_f32_f16_avx512, hn_cast_f32_f16_avx2, hn_cast_f32_f16_c;
hn_cast_fn hn_cast_f16_f32_avx512, hn_cast_f16_f32_avx2, hn_cast_f16_f32_c;
hn_cast_fn hn_cast_f32_bf16_avx512, hn_cast_f32_bf16_avx2, hn_cast_f32_bf16_c;
hn_cast_fn hn_cast_bf16_f32_avx512, hn_cast_bf16_f32_avx2, hn_cast_bf16_f32_c;
hn_cast_fn hn_cast_f32_i64_avx512, hn_cast_f32_i64_avx2, hn_cast_f32_i64_c;
hn_cast_fn hn_cast_i64_f32_avx512, hn_cast_i64_f32_avx2, hn_cast_i64_f32_c;
hn_cast_fn hn_cast_f32_i32_avx512, hn_cast_f32_i32_avx2, hn_cast_f32_i32_c;
hn_cast_fn hn_cast_i32_f32_avx512, hn_cast_i32_f32_avx2, hn_cast_i32_f32_c;
hn_cast_fn hn_cast_f32_i8_avx512, hn_cast_f32_i8_avx2, hn_cast_f32_i8_c;
hn_cast_fn hn_cast_i8_f32_avx512, hn_cast_i8_f32_avx2, hn_cast_i8_f32_c;
hn_cast_fn hn_cast_f32_u8_avx512, hn_cast_f32_u8_avx2, hn_cast_f32_u8_c;
hn_cast_fn hn_cast_u8_f32_avx512, hn_cast_u8_f32_avx2, hn_cast_u8_f32_c;
hn_cast_fn hn_cast_f32_bool_avx512, hn_cast_f32_bool_avx2, hn_cast_f32_bool_c;
hn_cast_fn hn_cast_f64_i64_avx512, hn_cast_f64_i64_avx2, hn_cast_f64_i64_c;
hn_cast_fn hn_cast_i64_f64_avx512, hn_cast_i64_f64_avx2, hn_cast_i64_f64_c;
hn_cast_fn hn_cast_f64_i32_avx512, hn_cast_f64_i32_avx2, hn_cast_f64_i32_c;
hn_cast_fn hn_cast_i32_f64_avx512, hn_cast_i32_f64_avx2, hn_cast_i32_f64_c;
hn_cast_fn hn_cast_f64_i8_avx512, hn_cast_f64_i8_avx2, hn_cast_f64_i8_c;
hn_cast_fn hn_cast_i8_f64_avx512, hn_cast_i8_f64_avx2, hn_cast_i8_f64_c;
hn_cast_fn hn_cast_f64_u8_avx512, hn_cast_f64_u8_avx2, hn_cast_f64_u8_c;
hn_cast_fn hn_cast_u8_f64_avx512, hn_cast_u8_f64_avx2, hn_cast_u8_f64_c;
hn_cast_fn hn_cast_f64_bool_avx512, hn_cast_f64_bool_avx2, hn_cast_f64_bool_c;
hn_cast_fn hn_cast_f64_f32_avx512, hn_cast_f64_f32_avx2, hn_cast_f64_f32_c;
hn_cast_fn hn_cast_f32_f64_avx512, hn_cast_f32_f64_avx2, hn_cast_f32_f64_c;

/* ---- channels of blocked tensors put into other lanes and blocks: shuffles, and joins and cuts inside a block ----
 * Tensors are nChwBc, [image][block][pixel][B], of elements of four bytes or of two. Every block of every output is
 * made of parts; a part takes lanes of one block of one input. Lanes that no part fills become zero. */
enum { HN_LANES_MOST = 32 };

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
  const void *const *x;
  void *const *y;           /* no output is an input's memory */
  const int64_t *in_blocks; /* of one image, for each input; out_blocks for each output */
  const int64_t *out_blocks;
} hn_lanes_args;

/* Work units: `chunk` pixels of one block of one image's outputs; all blocks of a chunk before the next chunk. */
static inline int64_t hn_lanes_units(const hn_lanes_args *a) {
  return a->images * a->block_count * ((a->pixels + a->chunk - 1) / a->chunk);
}

/* Computes the units [begin, end). B is 16 for _f32_avx512, 8 for the other ones of f32, and 32 for those of two bytes,
 * which move any such type. */
typedef void hn_lanes_fn(const hn_lanes_args *args, int64_t begin, int64_t end);

hn_lanes_fn hn_lanes_f32_avx512, hn_lanes_f32_avx2, hn_lanes_f32_c;
hn_lanes_fn hn_lanes_bf16_avx512, hn_lanes_bf16_avx2, hn_lanes_bf16_c;

/* ---- runs of channels of bytes: joins and cuts inside a block, and blocks of pixels ----
 * Tensors are nChw64c, [image][block][pixel][64], of elements of one byte. Every block of every output is made of runs,
 * each from one block of one input. A pixel of the inputs becomes side x side pixels of the outputs, each of them with
 * runs of its own; joins and cuts have side 1. Channels behind the last run become zero. */
enum { HN_RUNS_BLOCK = 64 };

typedef struct {
  int64_t input, block;    /* the block within an image of that input */
  int32_t from, to, count; /* channels in the block, and in that of the output; count is a power of two */
} hn_runs_run;

typedef struct {
  const hn_runs_run *runs; /* from channel 0 of the output's block on, without gaps */
  int64_t count;
} hn_runs_list;

typedef struct {
  int64_t output, block;
} hn_runs_block;

typedef struct {
  const hn_runs_block *blocks; /* of one image of all outputs */
  const hn_runs_list *lists;   /* [block][side * side] */
  int64_t block_count, images;
  int64_t height, width; /* of the inputs */
  int64_t side;
  const void *const *x;
  void *const *y;           /* no output is an input's memory */
  const int64_t *in_blocks; /* of one image, for each input; out_blocks for each output */
  const int64_t *out_blocks;
} hn_runs_args;

/* Work units: what one row of one image's inputs becomes in one block; all blocks of a row before the next row. */
static inline int64_t hn_runs_units(const hn_runs_args *a) { return a->images * a->height * a->block_count; }

/* Computes the units [begin, end). */
void hn_runs_c(const hn_runs_args *args, int64_t begin, int64_t end);

#endif
