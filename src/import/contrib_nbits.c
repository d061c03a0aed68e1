/* SPDX-License-Identifier: Apache-2.0 */
/* contrib_nbits.c - ONNX Runtime's MatMulNBits: weights that are packed into bytes become a matrix of 2, 4 or 8 bits.
 * Source: the operator schema of com.microsoft, version 1. */
#include "import/importer.h"
#include "tensor/element.h"
#include "tensor/shape.h"

enum { A, B, SCALES, ZEROS, GROUPS, BIAS };

typedef struct blocks {
  int64_t k, n, bits, size, count; /* of a row */
} blocks;

static hone_status take_blocks(hn_import_call *call, blocks *out) {
  hone_diagnostics *diag = call->importer->diag;
  const int64_t most = INT64_C(1) << 31;
  *out = (blocks){.k = hn_contrib_take_int(call, "K", 0),
                  .n = hn_contrib_take_int(call, "N", 0),
                  .bits = hn_contrib_take_int(call, "bits", 4),
                  .size = hn_contrib_take_int(call, "block_size", 0)};
  (void)hn_contrib_take_int(call, "accuracy_level", 0); /* a leave to be less exact, which is not taken */
  (void)hn_contrib_take_int(call, "weight_prepacked", 0);
  if (out->k < 1 || out->k > most || out->n < 1 || out->n > most)
    return HN_FAIL(diag, HONE_MALFORMED, "K is %lld and N is %lld; allowed are 1 to 2^31", (long long)out->k,
                   (long long)out->n);
  if (out->bits != 2 && out->bits != 4 && out->bits != 8)
    return HN_FAIL(diag, HONE_UNSUPPORTED, "bits is %lld; allowed are 2, 4 and 8", (long long)out->bits);
  if (out->size < 16 || out->size > most || (out->size & (out->size - 1)))
    return HN_FAIL(diag, HONE_MALFORMED, "block_size is %lld; allowed are powers of two from 16 on",
                   (long long)out->size);
  out->count = (out->k + out->size - 1) / out->size;
  return HONE_OK;
}

/* The bytes of a constant input as n rows of `columns` numbers; each row of the bytes ends with a whole byte. */
static hone_status unpack(hn_import_call *call, const blocks *b, int port, int64_t columns, hn_value **out) {
  static const hone_dtype dtypes[] = {[2] = HONE_U2, [4] = HONE_U4, [8] = HONE_U8};
  hone_diagnostics *diag = call->importer->diag;
  const hone_tensor *bytes = hn_contrib_input(call, port)->fact.constant;
  const char *what = port == B ? "B" : "zero_points";
  const int64_t row_bytes = (columns * b->bits + 7) / 8, dims[2] = {b->n, columns};
  if (!bytes) return HN_FAIL(diag, HONE_UNSUPPORTED, "%s is not constant", what);
  if (bytes->type.dtype != HONE_U8)
    return HN_FAIL(diag, HONE_UNSUPPORTED, "%s is %s; only u8 is supported", what, hone_dtype_name(bytes->type.dtype));
  if (hn_elems(&bytes->type.shape) != b->n * row_bytes)
    return HN_FAIL(diag, HONE_MALFORMED, "%s has %lld bytes, expected %lld", what,
                   (long long)hn_elems(&bytes->type.shape), (long long)(b->n * row_bytes));
  hone_tensor tensor = {.type = hn_tensor_type(dtypes[b->bits], 2, dims)};
  tensor.bytes = hn_bytes(&tensor.type);
  tensor.data = hn_arena_alloc(&call->importer->arena, tensor.bytes + 1, 64);
  if (!tensor.data) return HN_FAIL_MEMORY(diag);
  const uint8_t *from = bytes->data;
  for (int64_t n = 0; n < b->n; ++n, from += row_bytes)
    for (int64_t i = 0; i < columns; ++i) {
      const int64_t bit = i * b->bits;
      hn_store_int(&tensor, n * columns + i, from[bit / 8] >> (bit % 8) & ((1 << b->bits) - 1));
    }
  *out = hn_constant_create(call->importer->graph, NULL, &tensor, false);
  return *out ? HONE_OK : HONE_NO_MEMORY;
}

hone_status hn_import_matmul_nbits(hn_import_call *call) {
  hone_diagnostics *diag = call->importer->diag;
  blocks b;
  HN_TRY(take_blocks(call, &b));
  for (int i = A; i <= SCALES; ++i)
    if (!hn_contrib_input(call, i)) return HN_FAIL(diag, HONE_MALFORMED, "input %d is missing", i);
  if (hn_contrib_input(call, GROUPS))
    return HN_FAIL(diag, HONE_UNSUPPORTED, "g_idx is not supported: blocks in another order");
  hn_value *in[5] = {call->in[A], NULL, call->in[SCALES], NULL, hn_contrib_input(call, BIAS)}, *shape;
  HN_TRY(unpack(call, &b, B, b.count * b.size, &in[B]));
  if (hn_contrib_input(call, ZEROS))
    HN_TRY(unpack(call, &b, ZEROS, b.count, &in[ZEROS]));
  else {
    in[ZEROS] = hn_constant_scalar(call->importer->graph, in[B]->fact.type.dtype, (double)(INT64_C(1) << (b.bits - 1)));
    if (!in[ZEROS]) return HONE_NO_MEMORY;
  }
  shape = hn_constant_int(call->importer->graph, NULL, 1, 2, (const int64_t[]){b.n, b.count});
  if (!shape) return HONE_NO_MEMORY;
  hn_value *flat[2] = {in[SCALES], shape};
  HN_TRY(hn_import_make(call, "reshape", 2, flat, 0, NULL, &in[SCALES]));
  const hone_attr size = {.name = "block_size", .kind = HONE_ATTR_INT, .i = b.size};
  HN_TRY(hn_import_make(call, "matmul_nbits", in[4] ? 5 : 4, in, 1, &size, &call->out[0]));
  call->done = true;
  return HONE_OK;
}
