/* SPDX-License-Identifier: Apache-2.0 */
/* slices.c - tiles and slices of products of few rows. */
#include "backend/cuda/product/slices.h"
#include <string.h>

enum { DEPTH = HN_CUDA_STAGE_DEPTH, MOST_BLOCKS = 540, LEAST_SLICE = 32, LEAST_TILE = 64, MOST_OF_A_TILE = 5 };
static const int64_t most_scratch_bytes = (int64_t)256 << 20;

const char *hn_cuda_sliced_begin(const hone_query *query, hn_cuda_sliced *s) {
  const hn_activation activation = hn_cuda_activation(query);
  *s = (hn_cuda_sliced){.batch = 1, .args.act = (int)activation};
  for (int i = 0; i < query->in_count; ++i)
    if (hn_cuda_given(query, i) && !hn_cuda_plain_f32(&query->in[i])) return "an input is not plain f32";
  if (!hn_cuda_plain_f32(&query->out[0])) return "the output is not plain f32";
  s->args.alpha = (float)hn_cuda_attr_float(query->attrs, "act_alpha", 0);
  s->args.beta = (float)hn_cuda_attr_float(query->attrs, "act_beta", 0);
  const bool takes_slopes = activation == HN_ACTIVATION_PRELU;
  return takes_slopes || activation == HN_ACTIVATION_COUNT ? "its activation is not the kernel's own" : NULL;
}

/* For the sums of all slices, their rows of a multiple of four floats. */
static size_t scratch_bytes(const hn_cuda_sliced *s) {
  const size_t pitch = ((size_t)s->args.n + 3) / 4 * 4;
  return (size_t)s->args.slices * (size_t)s->batch * (size_t)s->args.m * pitch * sizeof(float);
}

/* false: these slices would be too small, or too large for their scratch. */
static bool cut(hn_cuda_sliced *s, int tile, int slices) {
  const hn_cuda_slice_tile *t = &s->tiles[tile];
  hn_cuda_product_args *a = &s->args;
  const int each = (a->k + slices - 1) / slices, whole = DEPTH * t->groups;
  a->slice = (each + whole - 1) / whole * whole;
  a->slices = (a->k + a->slice - 1) / a->slice;
  s->tile = tile;
  s->threads = (unsigned)(t->rows * t->columns / 64 * t->groups);
  const int staged = t->groups * t->stages * (t->rows + t->columns) * HN_CUDA_STAGE_PITCH; /* floats */
  s->shared_bytes = (unsigned)((size_t)staged * sizeof(float));
  s->grid = (hn_cuda_grid){(unsigned)((a->n + t->columns - 1) / t->columns), (unsigned)((a->m + t->rows - 1) / t->rows),
                           (unsigned)(a->slices * s->batch)};
  if (s->clusters) {
    const int owned = (t->rows + slices - 1) / slices; /* rows */
    s->grid.x *= (unsigned)slices, s->grid.z = 1;
    s->shared_bytes += (unsigned)((size_t)(owned * slices * t->columns) * sizeof(float));
    if (slices < 2 || slices > HN_CUDA_MOST_CLUSTER) return false;
  }
  return a->slices == slices && (slices == 1 || a->slice >= LEAST_SLICE * t->groups) &&
         (s->clusters || (int64_t)scratch_bytes(s) <= most_scratch_bytes);
}

/* Of each tile that is not mostly outside, the most slices that fill a device of about a hundred multiprocessors up to
 * a few times. */
int hn_cuda_sliced_variants(const hn_cuda_sliced *of, hone_params *out, int room) {
  static const int slices[] = {36, 22, 16, 11, 10, 8, 7, 6, 5, 4, 3, 2, 1}; /* of clusters what they may have */
  int count = 0;
  for (int t = 0; t < of->tile_count; ++t) {
    const hn_cuda_slice_tile *tile = &of->tiles[t];
    const bool is_least = tile->rows == LEAST_TILE && tile->columns == LEAST_TILE;
    if (!is_least && (2 * of->args.m <= tile->rows || 2 * of->args.n <= tile->columns)) continue;
    int taken = 0;
    for (size_t i = 0; i < sizeof slices / sizeof *slices && count < room && taken < MOST_OF_A_TILE; ++i) {
      hn_cuda_sliced s = *of;
      if (!cut(&s, t, slices[i])) continue;
      if ((int64_t)s.grid.x * s.grid.y * s.grid.z > MOST_BLOCKS && slices[i] > 1) continue;
      out[count] = (hone_params){.count = 2};
      strcpy(out[count].items[0].name, "tile");
      out[count].items[0].value = t;
      strcpy(out[count].items[1].name, "slices");
      out[count++].items[1].value = slices[i];
      ++taken;
    }
  }
  return count;
}

const char *hn_cuda_sliced_plan(const hone_query *query, hn_cuda_sliced *s, hone_needs *needs) {
  hone_params first;
  const hone_params *params = query->params ? query->params : &first;
  if (!hn_cuda_sliced_variants(s, &first, 1)) return "it is too large to be cut into slices";
  if (params->count != 2) return "no tile and slices are given";
  const int64_t tile = params->items[0].value, slices = params->items[1].value;
  if (tile < 0 || tile >= s->tile_count || slices < 1 || slices > 64) return "no such tile or slices";
  int fewer = (int)slices; /* other extents than were tuned for may need it */
  while (fewer > 0 && !cut(s, (int)tile, fewer)) --fewer;
  if (!fewer) return "its slices are too large";
  needs->scratch = s->clusters ? 0 : scratch_bytes(s);
  return NULL;
}
