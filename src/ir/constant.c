/* SPDX-License-Identifier: Apache-2.0 */
/* constant.c - constants: where their bytes live, what is known of small ones, and their hash.
 * Bytes up to SMALL_BYTES lie in the graph's arena and are copied by clones; more lie in mappings, which clones share.
 * Strings always lie in the arena, as they hold pointers. */
#include "ir/graph.h"
#include "ir/build.h"
#include <string.h>

enum { SMALL_BYTES = 1024 };

static bool is_whole(hone_dtype dtype) { return dtype == HONE_BOOL || hn_dtype_is_int(dtype); }

/* A number that looks like the code of a symbolic dim, or is beyond int64_t, cannot be carried by a fact. */
static bool fits_fact(hone_dtype dtype, int64_t value) {
  return !HONE_SYMBOLIC(value) && !(dtype == HONE_U64 && value < 0);
}

/* Fills fact.value of a small integer constant. */
static void value_know(hone_graph *graph, hn_value *value) {
  const hone_tensor *tensor = value->fact.constant;
  int64_t count;
  if (!is_whole(tensor->type.dtype) || !hn_elems_checked(&tensor->type.shape, &count)) return;
  if (count > HONE_MAX_FACT_VALUES) return;
  int64_t *known = HN_NEW(&graph->arena, int64_t, count);
  if (!known) return; /* it stays unknown */
  for (int64_t i = 0; i < count; ++i) {
    known[i] = hn_int(tensor, i);
    if (!fits_fact(tensor->type.dtype, known[i])) return;
  }
  value->fact.value = known;
  value->fact.value_count = count;
}

static void *copy_strings(hn_arena *arena, const hone_string *from, int64_t count) {
  hone_string *to = HN_NEW(arena, hone_string, count);
  for (int64_t i = 0; to && i < count; ++i) {
    char *data = hn_arena_alloc(arena, from[i].length + 1, 1);
    if (!data) return NULL;
    if (from[i].length > 0) memcpy(data, from[i].data, from[i].length);
    data[from[i].length] = 0;
    to[i] = (hone_string){data, from[i].length};
  }
  return to;
}

/* The bytes where the graph keeps them, or NULL. *out_in_arena: clones must copy them. */
static const void *keep(hone_graph *graph, const hone_tensor *tensor, bool *out_in_arena) {
  *out_in_arena = true;
  if (tensor->type.dtype == HONE_STRING)
    return copy_strings(&graph->arena, tensor->data, hn_elems(&tensor->type.shape));
  if (tensor->bytes <= SMALL_BYTES) {
    void *copy = hn_arena_alloc(&graph->arena, tensor->bytes, 64);
    if (copy && tensor->bytes > 0) memcpy(copy, tensor->data, tensor->bytes);
    return copy;
  }
  *out_in_arena = false;
  return hn_graph_keep_bytes(graph, tensor->data, tensor->bytes);
}

hone_tensor *hn_tensor_keep(hone_graph *graph, const hone_tensor *tensor, bool borrow, bool *out_in_arena) {
  hone_tensor *kept = hn_arena_copy(&graph->arena, tensor, sizeof *tensor);
  *out_in_arena = false;
  /* A view's data is not const, but nobody writes a constant's. */
  if (kept && !borrow) kept->data = (void *)keep(graph, tensor, out_in_arena);
  if (kept && (kept->data || borrow)) return kept;
  (void)HN_FAIL_MEMORY(&graph->context->diag);
  return NULL;
}

hn_value *hn_constant_create(hone_graph *graph, const char *name, const hone_tensor *tensor, bool borrow) {
  size_t bytes;
  if (tensor->type.kind != HONE_TENSOR || tensor->type.format != HONE_PLAIN || !hn_type_bytes(&tensor->type, &bytes) ||
      tensor->bytes < bytes || (bytes > 0 && !tensor->data)) {
    (void)HN_FAIL(&graph->context->diag, HONE_INVALID, "constant %s: its %zu bytes are not those of its type",
                  name ? name : "", tensor->bytes);
    return NULL;
  }
  hone_tensor exact = *tensor;
  exact.bytes = bytes;
  bool in_arena;
  const hone_tensor *kept = hn_tensor_keep(graph, &exact, borrow, &in_arena);
  if (!kept) return NULL;
  const hone_fact fact = {.type = kept->type, .constant = kept};
  hn_value *value = hn_value_create(graph, name && *name ? name : "c", &fact);
  if (!value) return NULL;
  value->in_arena = in_arena;
  value_know(graph, value);
  return value;
}

hn_value *hn_constant_int(hone_graph *graph, const char *name, int rank, int64_t count, const int64_t *values) {
  const hone_tensor tensor = hn_tensor_over(HONE_I64, rank, &count, (void *)values); /* only read */
  return hn_constant_create(graph, name, &tensor, false);
}

hn_value *hn_constant_scalar(hone_graph *graph, hone_dtype dtype, double value) {
  uint64_t storage[2] = {0, 0};
  hone_tensor tensor = hn_tensor_over(dtype, 0, NULL, storage);
  hn_store_real(&tensor, 0, value);
  return hn_constant_create(graph, NULL, &tensor, false);
}

static uint64_t hash_strings(const hone_string *strings, int64_t count) {
  uint64_t hash = 0;
  for (int64_t i = 0; i < count; ++i) hash = hn_hash_join(hash, hn_hash(strings[i].data, strings[i].length));
  return hash;
}

uint64_t hn_constant_hash(hn_value *value) {
  if (value->content_hash != 0) return value->content_hash;
  const hone_tensor *tensor = value->fact.constant;
  const hone_shape *shape = &tensor->type.shape;
  uint64_t hash = tensor->type.dtype == HONE_STRING ? hash_strings(tensor->data, hn_elems(shape))
                                                    : hn_hash(tensor->data, tensor->bytes);
  hash = hn_hash_join(hash, (uint64_t)tensor->type.dtype);
  hash = hn_hash_join(hash, hn_hash(shape->dim, (size_t)shape->rank * sizeof shape->dim[0]));
  value->content_hash = hash == 0 ? 1 : hash;
  return value->content_hash;
}

/* Neither zero nor of an exponent, in one comparison: all weights are asked. */
static bool is_subnormal(uint32_t bits) { return (bits << 1) - 1 < UINT32_C(0x00ffffff); }

static bool has_subnormal(const uint32_t *bits, int64_t count) {
  int64_t found = 0;
  for (int64_t i = 0; i < count; ++i) found += is_subnormal(bits[i]);
  return found > 0;
}

/* The tensor lies in the graph's arena, its bytes perhaps in a file: they are copied. */
static hone_status flush_constant(hone_graph *graph, hn_value *value) {
  hone_tensor *tensor = (hone_tensor *)(uintptr_t)value->fact.constant;
  const int64_t count = (int64_t)(tensor->bytes / sizeof(uint32_t));
  if (tensor->type.dtype != HONE_F32 || !has_subnormal(tensor->data, count)) return HONE_OK;
  uint32_t *copy = (uint32_t *)(uintptr_t)keep(graph, tensor, &value->in_arena);
  if (!copy) return HN_FAIL_MEMORY(&graph->context->diag);
  for (int64_t i = 0; i < count; ++i)
    if (is_subnormal(copy[i])) copy[i] &= UINT32_C(0x80000000);
  tensor->data = copy;
  value->content_hash = 0;
  return HONE_OK;
}

hone_status hn_graph_flush_subnormals(hone_graph *graph) {
  for (int i = 0; i < graph->value_count; ++i)
    if (hn_value_is_constant(graph->values[i])) HN_TRY(flush_constant(graph, graph->values[i]));
  return HONE_OK;
}
