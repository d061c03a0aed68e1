/* SPDX-License-Identifier: Apache-2.0 */
/* eltwise_place.c - broadcasting as strides: the output's dimensions as they lie in memory, neighbours joined wherever
 * every operand walks them as one. */
#include "backend/cpu/eltwise/eltwise.h"
#include <string.h>

enum { STORED_RANK = HONE_MAX_RANK + 1 };
#define PART INT64_C(8192) /* elements of one work unit of a long row */

/* Extents as they lie in memory: blocked [N, C, d...] is [N, ceil(C / B), d..., B]. */
static int stored_dims(const hone_type *type, int64_t *out) {
  const int block = hn_format_block(type->format), rank = type->shape.rank;
  memcpy(out, type->shape.dim, sizeof(int64_t) * (size_t)rank);
  if (block == 1) return rank;
  out[1] = hn_ceil_div(out[1], block);
  out[rank] = block;
  return rank + 1;
}

static bool broadcasts(const hone_shape *from, const hone_shape *to) {
  if (from->rank > to->rank) return false;
  for (int i = 0; i < from->rank; ++i) {
    const int64_t dim = from->dim[i];
    if (dim != 1 && dim != to->dim[to->rank - from->rank + i]) return false;
  }
  return true;
}

/* Strides of one operand over the output's stored dims. */
static const char *strides_of(const hone_type *type, const hone_type *out, int rank, int64_t *stride) {
  int64_t dims[STORED_RANK], step = 1;
  memset(stride, 0, sizeof(int64_t) * (size_t)rank);
  if (!broadcasts(&type->shape, &out->shape)) return "an operand does not broadcast to the output";
  if (hn_elems(&type->shape) == 1) return NULL; /* element 0 in every format */
  if (!hn_reads_as(type, out->format)) return "an operand has another format than the output";
  hone_type stored = *type;
  stored.format = out->format;
  if (out->format != HONE_PLAIN && (type->shape.rank != out->shape.rank || type->shape.dim[1] != out->shape.dim[1]))
    return "a blocked operand has other channels than the output";
  const int own = stored_dims(&stored, dims), lead = rank - own;
  for (int i = own - 1; i >= 0; --i) {
    stride[lead + i] = dims[i] == 1 ? 0 : step;
    step *= dims[i];
  }
  return NULL;
}

/* How an operand runs over the pixels and lanes of one channel block. */
typedef enum walk { ALONG, REPEATED, CONSTANT, OTHERWISE } walk;

static walk walk_of(const int64_t *stride, const int64_t *dims, int rank) {
  bool is_along = stride[rank - 1] == 1, stands = true;
  int64_t step = dims[rank - 1];
  for (int d = rank - 2; d >= 2; step *= dims[d--]) {
    if (dims[d] == 1) continue;
    is_along = is_along && stride[d] == step;
    stands = stands && stride[d] == 0;
  }
  if (is_along) return ALONG;
  if (!stands) return OTHERWISE;
  return stride[rank - 1] == 1 ? REPEATED : stride[rank - 1] == 0 ? CONSTANT : OTHERWISE;
}

/* One factor or summand a channel beside whole planes: a row is a channel block's plane, not a pixel's few lanes. */
static bool place_planes(const int64_t *dims, int rank, int64_t stride[][STORED_RANK], int in_count,
                         hn_eltwise_places *places) {
  bool repeats = false;
  if (places->block == 1 || places->block % 8) return false;
  for (int i = 0; i < in_count; ++i) {
    const walk way = walk_of(stride[i], dims, rank);
    if (way == OTHERWISE) return false;
    repeats = repeats || way == REPEATED;
    places->in_inner[i] = way != CONSTANT;
    places->in_period[i] = way == REPEATED ? places->block : 0;
  }
  if (!repeats) return false;
  for (int d = 2; d < rank; ++d) places->inner *= dims[d];
  places->by_planes = true;
  places->outer_rank = 2;
  for (int d = 0; d < 2; ++d) {
    places->outer_dim[d] = dims[d];
    places->out_stride[d] = d ? places->inner : dims[1] * places->inner;
    for (int i = 0; i < in_count; ++i) places->in_stride[i][d] = stride[i][d];
  }
  places->part = places->inner > 2 * PART ? PART : 0;
  places->blocks = dims[1];
  places->rows_per_block = 1;
  return true;
}

const char *hn_eltwise_place(const hone_fact *in, int in_count, const hone_type *out, hn_eltwise_places *places) {
  int64_t dims[STORED_RANK], stride[HN_ELTWISE_INPUTS][STORED_RANK];
  if (in_count > HN_ELTWISE_INPUTS) return "it has more than 16 inputs";
  const int rank = stored_dims(out, dims);
  for (int i = 0; i < in_count; ++i) {
    HN_TRY_REASON(strides_of(&in[i].type, out, rank, stride[i]));
  }
  *places = (hn_eltwise_places){.inner = 1, .block = hn_format_block(out->format)};
  places->tail = places->block > 1 ? (int)(out->shape.dim[1] % places->block) : 0;
  if (place_planes(dims, rank, stride, in_count, places)) return NULL;
  memset(places->in_period, 0, sizeof places->in_period);
  /* From the innermost dimension outwards; dim 1 of a blocked output with a tail must stay apart from its pixels. */
  int64_t joined[STORED_RANK], joined_stride[HN_ELTWISE_INPUTS][STORED_RANK] = {{0}};
  int count = 0, pixel_dims = -1;
  bool may_join = false;
  for (int d = rank - 1; d >= 0; --d) {
    if (places->tail && d == 1) {
      pixel_dims = count;
      may_join = false;
    }
    if (dims[d] == 1) continue;
    bool joins = may_join;
    for (int i = 0; joins && i < in_count; ++i) joins = stride[i][d] == joined_stride[i][count - 1] * joined[count - 1];
    if (!joins) {
      for (int i = 0; i < in_count; ++i) joined_stride[i][count] = stride[i][d];
      joined[count++] = 1;
    }
    joined[count - 1] *= dims[d];
    may_join = true;
  }
  if (count > HN_ELTWISE_OUTER_RANK + 1) return "broadcasting needs more than 8 dimensions";
  /* joined[0] is the row: the block's lanes at least, where there is a tail. */
  places->inner = count > 0 ? joined[0] : 1;
  places->outer_rank = count > 0 ? count - 1 : 0;
  int64_t step = places->inner;
  for (int j = 1; j < count; ++j) {
    const int d = count - 1 - j;
    places->outer_dim[d] = joined[j];
    places->out_stride[d] = step;
    step *= joined[j];
    for (int i = 0; i < in_count; ++i) places->in_stride[i][d] = joined_stride[i][j];
  }
  for (int i = 0; i < in_count; ++i) places->in_inner[i] = count > 0 ? joined_stride[i][0] : 0;
  places->part = places->inner > 2 * PART ? PART : 0;
  if (places->tail) {
    places->blocks = dims[1];
    places->rows_per_block = 1;
    for (int j = 1; j < pixel_dims; ++j) places->rows_per_block *= joined[j];
  }
  return NULL;
}
