/* SPDX-License-Identifier: Apache-2.0 */
/* contrib_tables.c - tables and matrices that ONNX Runtime keeps in few bits: rows of an embedding that are gathered
 * before they become reals, embeddings of bytes, weights in the two types of bitsandbytes. Source: the operator schemas
 * of com.microsoft, version 1; Dettmers et al., arXiv:2305.14314 (NF4). */
#include "import/ml.h"
#include "tensor/element.h"
#include "tensor/shape.h"

/* A tensor in the importer's arena, of zeros. */
static hone_status new_tensor(hn_import_call *call, hone_dtype dtype, const hone_shape *shape, hone_tensor *out) {
  *out = (hone_tensor){.type = hn_tensor_type(dtype, shape->rank, shape->dim)};
  out->bytes = hn_bytes(&out->type);
  out->data = hn_arena_alloc(&call->importer->arena, out->bytes + 1, 64);
  return out->data ? HONE_OK : HN_FAIL_MEMORY(call->importer->diag);
}

static hone_status keep(hn_import_call *call, const hone_tensor *tensor, hn_value **out) {
  *out = hn_constant_create(call->importer->graph, NULL, tensor, false);
  return *out ? HONE_OK : HONE_NO_MEMORY;
}

/* ---- GatherBlockQuantized ---- */

enum { DATA, INDICES, SCALES, ZEROS };

typedef struct blocks {
  int64_t bits, size;
  int axis, gather_axis; /* that blocks lie along, that is gathered along */
} blocks;

static hone_status take_axis(hn_import_call *call, const char *name, int64_t otherwise, int rank, int *out) {
  const int64_t axis = hn_contrib_take_int(call, name, otherwise);
  if (axis < -rank || axis >= rank)
    return HN_FAIL(call->importer->diag, HONE_MALFORMED, "%s is %lld, expected -%d to %d", name, (long long)axis, rank,
                   rank - 1);
  *out = (int)(axis < 0 ? axis + rank : axis);
  return HONE_OK;
}

static hone_status take_blocks(hn_import_call *call, blocks *out) {
  const int rank = call->in[DATA]->fact.type.shape.rank;
  if (rank < 2) return hn_contrib_refuse(call, "its table is not of rank 2 or more");
  *out = (blocks){.bits = hn_contrib_take_int(call, "bits", 4), .size = hn_contrib_take_int(call, "block_size", 128)};
  HN_TRY(take_axis(call, "quantize_axis", 1, rank, &out->axis));
  HN_TRY(take_axis(call, "gather_axis", 0, rank, &out->gather_axis));
  if (out->axis == out->gather_axis) return hn_contrib_refuse(call, "it gathers along the axis of its blocks");
  if (out->size < 16 || out->size & (out->size - 1))
    return HN_FAIL(call->importer->diag, HONE_MALFORMED, "block_size is %lld; allowed are powers of two from 16 on",
                   (long long)out->size);
  if (out->bits != 2 && out->bits != 4 && out->bits != 8)
    return HN_FAIL(call->importer->diag, HONE_MALFORMED, "bits is %lld; allowed are 2, 4 and 8", (long long)out->bits);
  return HONE_OK;
}

/* Bytes that hold several numbers along the last axis, as numbers; `columns` of them a row. */
static hone_status unpack(hn_import_call *call, const blocks *b, int port, int64_t columns) {
  static const hone_dtype dtypes[] = {[2] = HONE_U2, [4] = HONE_U4, [8] = HONE_U8};
  const hone_tensor *bytes = call->in[port]->fact.constant;
  if (!bytes) return hn_contrib_refuse(call, "a table that is packed into bytes is not constant");
  hone_shape shape = bytes->type.shape;
  const int64_t row_bytes = shape.dim[shape.rank - 1], row_count = row_bytes ? hn_elems(&shape) / row_bytes : 0;
  hone_tensor made;
  hn_value *value;
  if (row_bytes != (columns * b->bits + 7) / 8)
    return HN_FAIL(call->importer->diag, HONE_MALFORMED, "input %d has %lld bytes a row, expected %lld", port,
                   (long long)row_bytes, (long long)(columns * b->bits + 7) / 8);
  shape.dim[shape.rank - 1] = columns;
  HN_TRY(new_tensor(call, dtypes[b->bits], &shape, &made));
  const uint8_t *from = bytes->data;
  for (int64_t row = 0; row < row_count; ++row, from += row_bytes)
    for (int64_t i = 0; i < columns; ++i)
      hn_store_int(&made, row * columns + i, from[i * b->bits / 8] >> (i * b->bits % 8) & ((1 << b->bits) - 1));
  HN_TRY(keep(call, &made, &value));
  return hn_import_set_input(call, port, value);
}

/* The zero points of bytes that have none: the middle of what their bits hold. */
static hone_status give_middle(hn_import_call *call, const blocks *b) {
  hone_tensor made;
  hn_value *value;
  HN_TRY(new_tensor(call, call->in[DATA]->fact.type.dtype, &call->in[SCALES]->fact.type.shape, &made));
  for (int64_t i = 0; i < hn_elems(&made.type.shape); ++i) hn_store_int(&made, i, INT64_C(1) << (b->bits - 1));
  HN_TRY(keep(call, &made, &value));
  return hn_import_set_input(call, ZEROS, value);
}

static hone_status unpack_bytes(hn_import_call *call, const blocks *b) {
  const hone_shape *scales = &call->in[SCALES]->fact.type.shape, *data = &call->in[DATA]->fact.type.shape;
  if (!hn_shape_known(scales) || !hn_shape_known(data) || scales->rank != data->rank)
    return hn_contrib_refuse(call, "the shapes of its table and its scales are not known, or of different ranks");
  if (b->axis != data->rank - 1) return hn_contrib_refuse(call, "its blocks do not lie along the last axis");
  const int64_t columns = data->dim[data->rank - 1] * 8 / b->bits, count = scales->dim[scales->rank - 1];
  HN_TRY(unpack(call, b, DATA, columns));
  return hn_contrib_input(call, ZEROS) ? unpack(call, b, ZEROS, count) : give_middle(call, b);
}

/* Rows of numbers, of scales and of zero points are gathered, and then become reals: the table stays as small as it is.
 */
static hone_status gather_blocks(hn_import_call *call) {
  blocks b;
  HN_TRY(hn_contrib_want(call, ZEROS));
  HN_TRY(take_blocks(call, &b));
  const int rank = call->in[INDICES]->fact.type.shape.rank;
  if (rank < 0) return hn_contrib_refuse(call, "the rank of its indices is not known");
  if (call->in[DATA]->fact.type.dtype == HONE_U8) HN_TRY(unpack_bytes(call, &b));
  const hone_attr along = {.name = "axis", .kind = HONE_ATTR_INT, .i = b.gather_axis};
  const hone_attr attrs[2] = {
      {.name = "axis", .kind = HONE_ATTR_INT, .i = b.axis < b.gather_axis ? b.axis : b.axis - 1 + rank},
      {.name = "block_size", .kind = HONE_ATTR_INT, .i = b.size}};
  hn_value *rows[3] = {call->in[DATA], call->in[SCALES], hn_contrib_input(call, ZEROS)}, *y;
  for (int i = 0; i < 3; ++i) {
    hn_value *in[2] = {rows[i], call->in[INDICES]};
    if (rows[i]) HN_TRY(hn_import_make(call, "gather", 2, in, 1, &along, &rows[i]));
  }
  HN_TRY(hn_import_make(call, "dequantize_linear", rows[2] ? 3 : 2, rows, 2, attrs, &y));
  return hn_import_finish(call, y);
}

/* ---- MatMulBnb4 ---- */

/* What the four bits stand for, of the largest of their block: 4-bit floats, and quantiles of a normal distribution. */
static const double bnb4[2][16] = {{0, 1.0 / 192, 2.0 / 3, 1, 1.0 / 3, 0.5, 1.0 / 6, 0.25, -0.0, -1.0 / 192, -2.0 / 3,
                                    -1, -1.0 / 3, -0.5, -1.0 / 6, -0.25},
                                   {-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453,
                                    -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0,
                                    0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
                                    0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0}};

static hone_status decode_bnb4(hn_import_call *call, const hone_shape *shape, int64_t size, const double *values,
                               hn_value **out) {
  const hone_tensor *bytes = call->in[1]->fact.constant, *largest = call->in[2]->fact.constant;
  const int64_t count = hn_elems(shape);
  hone_tensor made;
  if (!bytes || !largest) return hn_contrib_refuse(call, "its weights are not constant");
  if (bytes->type.dtype != HONE_U8 || hn_elems(&bytes->type.shape) != (count + 1) / 2 ||
      hn_elems(&largest->type.shape) != (count + size - 1) / size)
    return HN_FAIL(call->importer->diag, HONE_MALFORMED, "B and absmax are not %lld bytes and %lld numbers",
                   (long long)(count + 1) / 2, (long long)((count + size - 1) / size));
  HN_TRY(new_tensor(call, call->in[0]->fact.type.dtype, shape, &made));
  for (int64_t i = 0; i < count; ++i) { /* the upper half of a byte comes first */
    const int code = ((const uint8_t *)bytes->data)[i / 2] >> (i % 2 ? 0 : 4) & 15;
    hn_store_real(&made, i, values[code] * hn_real(largest, i / size));
  }
  return keep(call, &made, out);
}

static hone_status matmul_bnb4(hn_import_call *call) {
  static const int64_t swapped[2] = {1, 0};
  const hone_attr perm = {.name = "perm", .kind = HONE_ATTR_INTS, .count = 2, .ints = swapped};
  const int64_t most = INT64_C(1) << 31, k = hn_contrib_take_int(call, "K", 0), n = hn_contrib_take_int(call, "N", 0),
                size = hn_contrib_take_int(call, "block_size", 0), type = hn_contrib_take_int(call, "quant_type", 0);
  const bool is_swapped = hn_contrib_take_int(call, "transB", 1) != 0;
  (void)hn_contrib_take_int(call, "training_mode", 0);
  HN_TRY(hn_contrib_want(call, 3));
  if (k < 1 || k > most || n < 1 || n > most || size < 16 || size & (size - 1) || type < 0 || type > 1)
    return HN_FAIL(call->importer->diag, HONE_MALFORMED,
                   "K is %lld, N %lld, block_size %lld, quant_type %lld; allowed are 1 to 2^31, powers of two from 16 "
                   "on, 0 and 1",
                   (long long)k, (long long)n, (long long)size, (long long)type);
  const hone_shape shape = hn_shape(2, (int64_t[]){n, k});
  hn_value *y = call->in[0], *w;
  HN_TRY(decode_bnb4(call, &shape, size, bnb4[type], &w));
  if (is_swapped) HN_TRY(hn_import_make(call, "transpose", 1, &w, 1, &perm, &w));
  HN_TRY(hn_ml_join(call, "matmul", &y, w));
  return hn_import_finish(call, y);
}

/* ---- QEmbedLayerNormalization ---- */

/* The five tables become reals; then it is EmbedLayerNormalization. */
static hone_status embed_bytes(hn_import_call *call) {
  enum { WORDS = 2, TABLES = 5, MASK = 7, FIRST_SCALE = 8, FIRST_ZERO = 13, EMBED_INPUTS = 8 };
  for (int i = 0; i < TABLES; ++i) {
    hn_value *in[3] = {hn_contrib_input(call, WORDS + i), hn_contrib_input(call, FIRST_SCALE + i),
                       hn_contrib_input(call, FIRST_ZERO + i)};
    if (!in[0] && i == TABLES / 2) continue; /* segments, which are all given or none */
    if (!in[0] || !in[1])
      return HN_FAIL(call->importer->diag, HONE_MALFORMED, "input %d or its scale is missing", WORDS + i);
    HN_TRY(hn_import_make(call, "dequantize_linear", in[2] ? 3 : 2, in, 0, NULL, &in[0]));
    HN_TRY(hn_import_set_input(call, WORDS + i, in[0]));
  }
  call->in_count = EMBED_INPUTS;
  return hn_contrib_embed_layer_norm(call);
}

const hn_adapter hn_contrib_table_adapters[] = {
    {"ort_embed_bytes", "epsilon", embed_bytes},
    {"ort_gather_blocks", "bits block_size gather_axis quantize_axis", gather_blocks},
    {"ort_matmul_bnb4", "K N block_size quant_type training_mode transB", matmul_bnb4},
    {0}};
