/* SPDX-License-Identifier: Apache-2.0 */
/* tensor.c - tensor-core products: their plans, launches, and what is packed for them. */
#include "backend/cuda/product/tiles.h"
#include <math.h>
#include <string.h>

enum { BIAS = 2, RESIDUAL = 3, BYTE_ROWS = 64, STORED_ROWS = 64 /* of the boxes that are stored */ };

static hn_cuda_tensor_type type_of(hone_dtype compute) {
  return compute == HONE_TF32 ? HN_CUDA_TENSOR_TF32 : compute == HONE_BF16 ? HN_CUDA_TENSOR_BF16 : HN_CUDA_TENSOR_F16;
}

const char *hn_cuda_tensor_begin(const hone_query *query, hn_cuda_tensor_plan *p) {
  const hn_activation activation = hn_cuda_activation(query);
  *p = (hn_cuda_tensor_plan){.groups = 1,
                             .together = 1,
                             .type = type_of(query->tactic->compute),
                             .residual = hn_cuda_given(query, RESIDUAL) ? RESIDUAL : 0,
                             .args = {.act = (int)activation,
                                      .alpha = (float)hn_cuda_attr_float(query->attrs, "act_alpha", 0),
                                      .beta = (float)hn_cuda_attr_float(query->attrs, "act_beta", 0)}};
  if (activation == HN_ACTIVATION_PRELU || activation == HN_ACTIVATION_COUNT)
    return "its activation is not the kernel's own";
  if (!hn_cuda_is_weight(query, 1)) return "its weights are not constants in f32, f16 or bf16";
  if (hn_cuda_given(query, BIAS) && !hn_cuda_is_weight(query, BIAS))
    return "its bias is not constant in f32, f16 or bf16";
  return NULL;
}

/* ---- plans ---- */

/* Of bytes a chunk of a first layer is a pixel: as many threads as eight rows have chunks. */
static int threads_of(const hone_query *query, const hn_cuda_tensor_plan *p, const hn_cuda_tile *t) {
  const bool is_first = *(const hn_cuda_tensor_way *)query->tactic->kernel == HN_CUDA_TENSOR_FIRST;
  return hn_cuda_of_bytes(p) && is_first ? 256 : t->threads;
}

/* Of bytes in whole sixty-fours: a lane's columns are spread over so many (lasting.cuh). */
static int64_t weight_rows(const hn_cuda_tensor_plan *p) {
  const int rows = p->args.n * p->groups;
  return hn_cuda_of_bytes(p) && p->lasts ? hn_cuda_pieces_of(rows, BYTE_ROWS) * (int64_t)BYTE_ROWS : rows;
}
int64_t hn_cuda_tensor_rows_bytes(const hn_cuda_tensor_plan *p) {
  return weight_rows(p) * p->args.blocks * p->row * hn_cuda_tensor_bytes_each(p);
}

int hn_cuda_tensor_variants(const hone_query *query, hone_params *out, int room) {
  hn_cuda_tensor_plan p;
  hone_needs needs = {0};
  return query->tactic->plan(query, &p, &needs) ? 0 : hn_cuda_tiles_list(query, &p, out, room);
}

/* Blocks that last bound what they store, and pay for many tiles. */
static const char *check_lasting(hn_cuda_tensor_plan *p) {
  hn_cuda_tensor *a = &p->args;
  if (a->act > HN_ACTIVATION_CLIP && a->act != HN_ACTIVATION_GELU) return "its activation is neither a bound nor gelu";
  if (p->groups > 1 || a->is_wide) return "it has groups, or its output is f32";
  if (a->m < 64 * HN_CUDA_UNITS && (int64_t)a->m * a->n < (int64_t)64 * 64 * HN_CUDA_UNITS) return "it has few tiles";
  if (a->act != HN_ACTIVATION_CLIP) a->alpha = a->act == HN_ACTIVATION_RELU ? 0 : -INFINITY, a->beta = INFINITY;
  return NULL;
}

/* Where the pixels of a bulk copy begin and end, and whether it can say so. */
static const char *check_bulk(const hn_cuda_tensor_plan *p, const hn_cuda_tiles *way) {
  const hn_cuda_tensor *a = &p->args;
  const int end_h = (a->out_h - 1) * a->stride_h - a->pad_h - (a->in_h - 1);
  const int end_w = (a->out_w - 1) * a->stride_w - a->pad_w - (a->in_w - 1);
  const bool is_cheap =
      way->deep < 128 && a->kernel_h * a->kernel_w == 1; /* one block of k, beside a longer epilogue */
  if (!is_cheap && 2 * a->depth <= hn_cuda_pieces_of(a->depth, p->row) * p->row)
    return "most of its blocks of channels would be zeros";
  if (way->deep < 128 && (a->depth - 1) % 128 >= 64) return "its channels fill the longer blocks";
  if (p->groups > 1 && a->depth % p->row) return "the channels of a group are no multiple of a block's";
  if (a->bytes.pad && (a->pad_h > 0 || a->pad_w > 0 || end_h > 0 || end_w > 0))
    return "its pads are no zeros, as those of bulk copies are";
  if (a->pad_h > 128 || a->pad_w > 128 || end_h < -128 || end_h > 127 || end_w < -128 || end_w > 127)
    return "its pads are too large for bulk copies";
  if (a->stride_h > 8 || a->stride_w > 8) return "its strides are too large for bulk copies";
  if ((a->kernel_h - 1) * a->dilation_h > 255 || (a->kernel_w - 1) * a->dilation_w > 255)
    return "its window is too large for bulk copies";
  return NULL;
}

/* The image as it lies. But where windows lie side by side and copies could not see them (long steps), or would bring
 * mostly zeros (few channels): a row of a window is one tap of as many channels as its pixels have in all, and the next
 * row's are `band` channels further, since a pixel's channels may reach over its neighbours'. */
static void see_image(hn_cuda_tensor_plan *p, bool bulk) {
  hn_cuda_tensor *a = &p->args;
  const int together = a->kernel_w * a->in_pitch;
  const int64_t band = (int64_t)a->in_w * a->in_pitch;
  p->folded = 1, p->folded_c = 0;
  p->pixel_step = p->channels = a->in_pitch, p->row_step = band, p->image_step = a->in_h * band;
  if (!bulk || p->groups > 1 || a->pad_h || a->pad_w || a->kernel_h != a->stride_h || a->kernel_w != a->stride_w)
    return;
  if (a->out_h * a->stride_h > a->in_h || a->out_w * a->stride_w > a->in_w || a->kernel_h * band > INT32_MAX) return;
  if (a->dilation_h != 1 || a->dilation_w != 1 || together % p->row) return;
  if (a->stride_h <= 8 && a->stride_w <= 8 && 2 * a->depth > p->row) return;
  p->folded = a->kernel_w, p->folded_c = a->in_pitch;
  p->pixel_step = together, p->row_step = a->kernel_h * band, p->channels = a->kernel_h * band;
  a->band = (int)band, a->depth = together;
  a->in_h = a->out_h, a->in_w = a->out_w, a->kernel_w = a->stride_h = a->stride_w = 1, a->dilation_h = 0;
}

static hn_cuda_divisor divisor_of(int by) {
  int shift = 0;
  while (1ll << shift < by) ++shift;
  if (!shift) return (hn_cuda_divisor){0, 0};
  return (hn_cuda_divisor){(unsigned)((1ull << (31 + shift)) / (unsigned)by + 1), (unsigned)shift - 1};
}

const char *hn_cuda_tensor_plan_it(const hone_query *query, hn_cuda_tensor_plan *p, hone_needs *needs) {
  hn_cuda_tensor *a = &p->args;
  hone_params first;
  const hone_params *params = query->params ? query->params : &first;
  const hn_cuda_tiles way = hn_cuda_tiles_of(query);
  p->row = way.deep / hn_cuda_tensor_bytes_each(p);
  p->lasts = way.lasts;
  see_image(p, way.bulk);
  const int64_t taps = (int64_t)a->kernel_h * a->kernel_w,
                depth = hn_cuda_pieces_of(a->depth, p->row) * (int64_t)p->row;
  if (taps < 1 || a->depth < 1 || taps * depth > 1 << 24) return "it has nothing to sum, or too much";
  if (way.bulk) HN_TRY_REASON(check_bulk(p, &way));
  if (way.lasts) HN_TRY_REASON(check_lasting(p));
  a->blocks = way.bulk ? (int)(taps * depth / p->row) : hn_cuda_pieces_of((int)taps * a->depth, p->row);
  p->tap_pitch = way.bulk ? (int)depth : a->depth;
  if (!hn_cuda_tiles_list(query, p, &first, 1)) return "no tile fits it";
  if (params->count != 2) return "no tile and split are given";
  const int64_t number = params->items[0].value, split = params->items[1].value;
  if (number < 0 || number >= way.count || split < way.least_split || split > way.most_split)
    return "no such tile or split";
  const hn_cuda_tile *t = &way.tiles[number];
  if (!t->kernels[p->type]) return "no such tile of its type";
  a->split = split < a->blocks ? (int)split : a->blocks; /* other extents than were tuned for may need it */
  const int64_t shared = hn_cuda_tiles_shared(p, &way, t, a->split, &a->residual_at);
  if (shared > HN_CUDA_MOST_SHARED || hn_cuda_tiles_count(p, t) > HN_CUDA_MOST_TILES) return "it is too large";
  a->group_tiles = hn_cuda_pieces_of(a->n, t->columns);
  a->n_tiles = a->group_tiles * p->groups;
  a->per_tap = a->blocks / (int)taps;
  a->by_split = divisor_of(a->split), a->by_n_tiles = divisor_of(a->n_tiles);
  a->by_group_tiles = divisor_of(a->group_tiles), a->by_per_tap = divisor_of(a->per_tap);
  a->by_kernel_w = divisor_of(a->kernel_w), a->by_depth = divisor_of(a->depth);
  a->by_plane = divisor_of(a->out_h * a->out_w), a->by_out_w = divisor_of(a->out_w);
  a->step_c = p->row % a->depth;
  a->step_x = p->row / a->depth % a->kernel_w;
  a->step_y = p->row / a->depth / a->kernel_w;
  p->box_pixels = way.bulk ? t->rows : 0;
  p->box_columns = hn_cuda_of_floats(p) ? 32 : hn_cuda_of_bytes(p) && t->columns % 128 == 0 ? 128 : 64;
  p->box_rows = t->columns;
  p->residual_rows = t->alternates && !hn_cuda_of_bytes(p) ? t->rows : STORED_ROWS;
  p->blocks_each = way.lasts ? (int)(HN_CUDA_MOST_SHARED / (shared + 1024)) : 0;
  p->kernel = t->kernels[p->type];
  p->shape = (hn_cuda_shape){.grid = {(unsigned)(hn_cuda_tiles_count(p, t) * a->split), 1, 1},
                             .threads = (unsigned)threads_of(query, p, t),
                             .shared_bytes = (unsigned)shared,
                             .cluster = (unsigned)a->split,
                             .dependent = true};
  a->scales_at = hn_cuda_of_bytes(p) ? hn_cuda_pieces_of(a->n * p->groups, BYTE_ROWS) * BYTE_ROWS : 0;
  const int64_t vectors =
      hn_cuda_of_bytes(p) ? hn_cuda_tensor_byte_words(p) : hn_cuda_pieces_of(a->n * p->groups, 8) * (int64_t)8;
  needs->packed = (size_t)(hn_cuda_tensor_rows_bytes(p) + vectors * (int64_t)sizeof(float));
  needs->efficiency = 0.5;
  return NULL;
}

static bool map_image(const hn_cuda_tensor_plan *p, const hn_cuda_driver_api *api, const void *x, CUtensorMap *out) {
  const hn_cuda_tensor *a = &p->args;
  hn_cuda_boxes boxes = {.type = p->type, .columns = p->row, .pixels = p->box_pixels, .channels = (int)p->channels};
  boxes.pixel_step = p->pixel_step, boxes.row_step = p->row_step, boxes.image_step = p->image_step;
  boxes.images = a->m / (a->out_h * a->out_w), boxes.out_h = a->out_h, boxes.out_w = a->out_w;
  boxes.in_h = a->in_h, boxes.in_w = a->in_w, boxes.stride_h = a->stride_h, boxes.stride_w = a->stride_w;
  boxes.pad_h = a->pad_h, boxes.pad_w = a->pad_w;
  return hn_cuda_map_images(api, &boxes, x, out);
}

static bool map_weights(const hn_cuda_tensor_plan *p, const hn_cuda_driver_api *api, const void *w, CUtensorMap *out) {
  const hn_cuda_row_boxes boxes = {.type = p->type,
                                   .columns = p->args.blocks * p->row,
                                   .count = weight_rows(p),
                                   .box_columns = p->row,
                                   .box_rows = p->box_rows};
  return hn_cuda_map_rows(api, &boxes, w, out);
}

typedef struct operands {
  const void *x, *w, *bias, *residual;
  void *y;
} operands;

static hone_status launch_lasting(const hn_cuda_tensor_plan *p, hone_stream *stream, const operands *o) {
  const hn_cuda_tensor *a = &p->args;
  const hn_cuda_driver_api *api = &stream->unit->driver->api;
  hn_cuda_shape shape = p->shape;
  const unsigned most = (unsigned)(stream->unit->facts.threads * p->blocks_each);
  if (most > 0 && shape.grid.x > most) shape.grid.x = most;
  const hn_cuda_row_boxes rows = {.type = p->type,
                                  .columns = a->out_pitch,
                                  .count = a->m,
                                  .box_columns = p->box_columns,
                                  .box_rows = STORED_ROWS,
                                  .stored = true};
  hn_cuda_row_boxes added = rows;
  added.box_rows = p->residual_rows;
  hn_cuda_lasting_maps maps = {.to = o->y};
  int adds = p->residual != 0;
  if (!map_image(p, api, o->x, &maps.x) || !map_weights(p, api, o->w, &maps.w) ||
      !hn_cuda_map_rows(api, &rows, o->y, &maps.y) ||
      !hn_cuda_map_rows(api, &added, adds ? o->residual : o->y, &maps.residual))
    return HONE_DEVICE;
  void *arguments[] = {&maps, (void *)(uintptr_t)&o->bias, &adds, (void *)(uintptr_t)a};
  return hn_cuda_launch_shaped(stream, p->kernel, &shape, arguments);
}

static hone_status launch_bulk(const hn_cuda_tensor_plan *p, hone_stream *stream, operands *o) {
  const hn_cuda_tensor *a = &p->args;
  const hn_cuda_driver_api *api = &stream->unit->driver->api;
  hn_cuda_tensor_maps maps;
  if (!map_image(p, api, o->x, &maps.x) || !map_weights(p, api, o->w, &maps.w)) return HONE_DEVICE;
  void *arguments[] = {&o->y, &maps, (void *)&o->bias, (void *)&o->residual, (void *)(uintptr_t)a};
  return hn_cuda_launch_shaped(stream, p->kernel, &p->shape, arguments);
}

hone_status hn_cuda_tensor_launch(void *state, hone_stream *stream, const hone_launch *launch) {
  const hn_cuda_tensor_plan *p = state;
  const hn_cuda_tensor *a = &p->args;
  operands o = {.x = launch->in[0].data, .w = launch->packed, .y = launch->out[0].data};
  o.bias = (const char *)o.w + hn_cuda_tensor_rows_bytes(p);
  o.residual = p->residual ? launch->in[p->residual].data : NULL;
  if (p->blocks_each) return launch_lasting(p, stream, &o);
  if (p->box_pixels) return launch_bulk(p, stream, &o);
  void *arguments[] = {&o.y, (void *)&o.x, (void *)&o.w, (void *)&o.bias, (void *)&o.residual, (void *)(uintptr_t)a};
  return hn_cuda_launch_shaped(stream, p->kernel, &p->shape, arguments);
}

/* ---- constants ---- */

hn_cuda_tensor_rows hn_cuda_tensor_packed(const hone_query *query, const hn_cuda_tensor_plan *p, void *to) {
  const hn_cuda_tensor *a = &p->args;
  const int64_t rows_bytes = hn_cuda_tensor_rows_bytes(p), rows = weight_rows(p);
  const hn_cuda_tensor_rows packed = {to, (float *)((char *)to + rows_bytes), (int64_t)a->blocks * p->row};
  memset(to, 0, (size_t)rows_bytes + (size_t)hn_cuda_pieces_of((int)rows, 8) * 8 * sizeof(float));
  if (hn_cuda_given(query, BIAS))
    for (int64_t i = 0; i < rows; ++i) packed.bias[i] = hn_cuda_weight(query->in[BIAS].constant, i);
  return packed;
}

void hn_cuda_tensor_put(const hn_cuda_tensor_plan *p, const hn_cuda_tensor_rows *to, int64_t at, float value) {
  if (hn_cuda_of_floats(p))
    ((float *)to->rows)[at] = hn_cuda_tf32_of(value);
  else
    ((uint16_t *)to->rows)[at] = hn_cuda_half_of(p->type == HN_CUDA_TENSOR_BF16 ? HONE_BF16 : HONE_F16, value);
}
