/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - engine bytes -> plan. Nothing in the file is trusted: structure is checked here, meaning in check.c. */
#include "base/hash.h"
#include "plan/format.h"
#include "plan/reader.h"
#include "plan/words.h"
#include <stdlib.h>
#include <string.h>

static hone_status read_fixed(const hn_blob *blob, hn_engine_fixed *fixed, hone_diagnostics *diag) {
  if (blob->bytes < HN_ENGINE_FIXED_BYTES)
    return HN_FAIL(diag, HONE_MALFORMED, "%zu bytes are too few for an engine", blob->bytes);
  memcpy(fixed, blob->data, sizeof *fixed);
  if (memcmp(fixed->magic, HN_ENGINE_MAGIC, sizeof fixed->magic) != 0)
    return HN_FAIL(diag, HONE_MALFORMED, "this is not a hone engine (it does not begin with HONEENG)");
  if (fixed->fixed_hash != hn_hash(fixed, HN_ENGINE_FIXED_BYTES - sizeof fixed->fixed_hash))
    return HN_FAIL(diag, HONE_MALFORMED, "the first 64 bytes are damaged (their hash is wrong)");
  if (fixed->version != HN_ENGINE_VERSION)
    return HN_FAIL(diag, HONE_INCOMPATIBLE, "the engine has format version %u; this library reads %d", fixed->version,
                   HN_ENGINE_VERSION);
  if (fixed->features & ~(uint32_t)HN_ENGINE_FEATURES)
    return HN_FAIL(diag, HONE_INCOMPATIBLE, "the engine needs features 0x%x that this library does not have",
                   fixed->features & ~(uint32_t)HN_ENGINE_FEATURES);
  if (fixed->file_bytes != blob->bytes)
    return HN_FAIL(diag, HONE_MALFORMED,
                   "the engine says it has %llu bytes, and the file has %zu: it was cut short or changed",
                   (unsigned long long)fixed->file_bytes, blob->bytes);
  const uint64_t room = fixed->file_bytes - HN_ENGINE_FIXED_BYTES;
  if (fixed->header_bytes > room || fixed->weights_offset < HN_ENGINE_FIXED_BYTES + fixed->header_bytes ||
      fixed->weights_offset % HN_ENGINE_ALIGNMENT || fixed->weights_offset > fixed->file_bytes ||
      fixed->weights_bytes != fixed->file_bytes - fixed->weights_offset)
    return HN_FAIL(diag, HONE_MALFORMED, "the engine's header and weights do not lie inside the file");
  if (fixed->header_hash != hn_hash(blob->data + HN_ENGINE_FIXED_BYTES, (size_t)fixed->header_bytes))
    return HN_FAIL(diag, HONE_MALFORMED, "the engine's header is damaged (its hash is wrong)");
  return HONE_OK;
}

static hone_status read_symbols(hn_plan_reader *reader, const hn_json *header) {
  const hn_json *list;
  HN_TRY(hn_json_array(header, "symbols", &list, reader->diag));
  hone_dims *dims = &reader->plan->dims;
  for (size_t i = 0; i < list->length; ++i) {
    const char *name;
    int64_t low, high;
    HN_TRY(hn_read_text(reader, &list->items[i], "name", &name));
    HN_TRY(hn_json_int(&list->items[i], "low", INT64_MIN, INT64_MAX, &low, reader->diag));
    HN_TRY(hn_json_int(&list->items[i], "high", low, INT64_MAX, &high, reader->diag));
    const hn_json *after_run = hn_json_get(&list->items[i], "after_run");
    (void)hn_dim_named(dims, name);
    if (dims->failed) return HN_FAIL_MEMORY(reader->diag);
    if (dims->symbol_count != (int)i + 1)
      return HN_FAIL(reader->diag, HONE_MALFORMED, "symbol %s is listed twice", name);
    hn_dim_symbol *symbol = &dims->symbols[i];
    symbol->low = low;
    symbol->high = high;
    symbol->after_run = after_run && after_run->kind == HN_JSON_BOOL && after_run->i;
  }
  return HONE_OK;
}

static hone_format format_find(const char *name) {
  for (int f = 0; f < HONE_FORMAT_COUNT; ++f)
    if (strcmp(hone_format_name((hone_format)f), name) == 0) return (hone_format)f;
  return HONE_FORMAT_COUNT;
}

static hone_status read_tensor(hn_plan_reader *reader, const hn_json *object, int t, hn_plan_tensor *tensor) {
  const char *dtype, *place, *format = NULL;
  int64_t number;
  HN_TRY(hn_read_text(reader, object, "name", &tensor->name));
  HN_TRY(hn_read_int(reader, object, "kind", HONE_TENSOR, HONE_OPTIONAL, HONE_TENSOR, &number));
  tensor->type.kind = (hone_kind)number;
  HN_TRY(hn_read_text(reader, object, "dtype", &dtype));
  tensor->type.dtype = hone_dtype_find(dtype);
  if (tensor->type.dtype == HONE_NONE) return HN_FAIL(reader->diag, HONE_MALFORMED, "there is no dtype %s", dtype);
  HN_TRY(hn_read_shape(reader, object, "shape", &tensor->type.shape));
  if (hn_json_get(object, "format")) {
    HN_TRY(hn_read_text(reader, object, "format", &format));
    tensor->type.format = format_find(format);
    if (tensor->type.format == HONE_FORMAT_COUNT)
      return HN_FAIL(reader->diag, HONE_MALFORMED, "there is no format %s", format);
  }
  HN_TRY(hn_read_text(reader, object, "place", &place));
  if (!hn_place_find(place, &tensor->place))
    return HN_FAIL(reader->diag, HONE_MALFORMED, "there is no place %s", place);
  HN_TRY(hn_read_int(reader, object, "index", 0, HN_PLAN_MAX_ITEMS, 0, &number));
  tensor->index = (int)number;
  HN_TRY(hn_read_int(reader, object, "alias_of", -1, t - 1, -1, &number)); /* earlier ones only: no cycles */
  tensor->alias_of = (int)number;
  HN_TRY(hn_read_int(reader, object, "part_of", -1, reader->plan->tensor_count - 1, -1, &number)); /* of a larger one */
  tensor->part_of = (int)number;
  HN_TRY(hn_read_int(reader, object, "offset", 0, INT64_MAX, 0, &number));
  tensor->offset = (uint64_t)number;
  HN_TRY(hn_read_int(reader, object, "device", 0, reader->plan->device_count - 1, 0, &number));
  tensor->device = (int)number;
  return HONE_OK;
}

static hone_status read_tensors(hn_plan_reader *reader, const hn_json *header) {
  hn_plan *plan = reader->plan;
  const hn_json *items;
  void *room;
  HN_TRY(hn_read_list(reader, header, "tensors", sizeof *plan->tensors, &items, &plan->tensor_count, &room));
  plan->tensors = room;
  for (int t = 0; t < plan->tensor_count; ++t)
    HN_TRY_NOTE(reader->diag, read_tensor(reader, &items[t], t, &plan->tensors[t]), "in tensor %d", t);
  return HONE_OK;
}

static hone_status read_ports(hn_plan_reader *reader, const hn_json *header, const char *key, bool with_profile,
                              hn_plan_port **out, int *out_count) {
  const hn_json *items;
  void *room;
  HN_TRY(hn_read_list(reader, header, key, sizeof **out, &items, out_count, &room));
  hn_plan_port *ports = *out = room;
  for (int i = 0; i < *out_count; ++i) {
    int64_t tensor;
    HN_TRY(hn_read_text(reader, &items[i], "name", &ports[i].name));
    HN_TRY(hn_json_int(&items[i], "tensor", 0, reader->plan->tensor_count - 1, &tensor, reader->diag));
    ports[i].tensor = (int)tensor;
    if (!with_profile) continue;
    HN_TRY(hn_read_shape(reader, &items[i], "min", &ports[i].min));
    HN_TRY(hn_read_shape(reader, &items[i], "opt", &ports[i].opt));
    HN_TRY(hn_read_shape(reader, &items[i], "max", &ports[i].max));
  }
  return HONE_OK;
}

static hone_status read_blocks(hn_plan_reader *reader, const hn_json *header) {
  hn_plan *plan = reader->plan;
  const hn_json *items;
  void *room;
  HN_TRY(hn_read_list(reader, header, "blocks", sizeof *plan->blocks, &items, &plan->block_count, &room));
  plan->blocks = room;
  for (int b = 0; b < plan->block_count; ++b) {
    hn_plan_block *block = &plan->blocks[b];
    int64_t first, count;
    HN_TRY(hn_json_int(&items[b], "first_step", 0, plan->step_count, &first, reader->diag));
    HN_TRY(hn_json_int(&items[b], "step_count", 0, plan->step_count - first, &count, reader->diag));
    block->first_step = (int)first;
    block->step_count = (int)count;
    HN_TRY(hn_read_ints(reader, &items[b], "params", 0, plan->tensor_count - 1, &block->param_count, &block->params));
    HN_TRY(
        hn_read_ints(reader, &items[b], "results", 0, plan->tensor_count - 1, &block->result_count, &block->results));
  }
  return HONE_OK;
}

static hone_status read_hash(hn_plan_reader *reader, const hn_json *value, const char *key, uint64_t *out) {
  char *end = NULL;
  if (!value || value->kind != HN_JSON_STRING || value->length != 16)
    return HN_FAIL(reader->diag, HONE_MALFORMED, "%s is not a hash of 16 digits", key);
  *out = strtoull(value->string, &end, 16);
  return *end ? HN_FAIL(reader->diag, HONE_MALFORMED, "%s is not a hash of 16 digits", key) : HONE_OK;
}

static hone_status read_weights(hn_plan_reader *reader, const hn_json *header) {
  hn_plan *plan = reader->plan;
  const hn_json *items;
  void *room;
  HN_TRY(hn_read_list(reader, header, "weights", sizeof *plan->weights_table, &items, &plan->weight_count, &room));
  plan->weights_table = room;
  for (int i = 0; i < plan->weight_count; ++i) {
    hn_plan_weight *weight = &plan->weights_table[i];
    int64_t offset, bytes;
    HN_TRY(hn_json_int(&items[i], "offset", 0, (int64_t)plan->weights_bytes, &offset, reader->diag));
    HN_TRY(hn_json_int(&items[i], "bytes", 0, (int64_t)plan->weights_bytes - offset, &bytes, reader->diag));
    weight->offset = (uint64_t)offset;
    weight->bytes = (uint64_t)bytes;
    HN_TRY(hn_read_text(reader, &items[i], "how", &weight->how));
    HN_TRY(hn_read_names(reader, &items[i], "from", &weight->from_count, &weight->from));
  }
  HN_TRY(hn_read_list(reader, header, "weight_hashes", sizeof *plan->weight_hashes, &items, &plan->weight_hash_count,
                      &room));
  plan->weight_hashes = room;
  for (int i = 0; i < plan->weight_hash_count; ++i)
    HN_TRY(read_hash(reader, &items[i], "weight_hashes", &plan->weight_hashes[i]));
  const uint64_t pages = (plan->weights_bytes + HN_WEIGHT_PAGE_BYTES - 1) / HN_WEIGHT_PAGE_BYTES;
  if ((uint64_t)plan->weight_hash_count != pages)
    return HN_FAIL(reader->diag, HONE_MALFORMED, "the weights have %llu pages and %d hashes", (unsigned long long)pages,
                   plan->weight_hash_count);
  return HONE_OK;
}

/* Where the devices work; absent when all work in the host's memory. */
static hone_status read_homes(hn_plan_reader *reader, const hn_json *header) {
  hn_plan *plan = reader->plan;
  const int count = plan->device_count;
  plan->homes = HN_NEW(&plan->arena, int, count);
  plan->home_arena_bytes = HN_NEW(&plan->arena, uint64_t, count);
  if (!plan->homes || !plan->home_arena_bytes) return HN_FAIL_MEMORY(reader->diag);
  plan->home_arena_bytes[0] = plan->arena_bytes;
  if (!hn_json_get(header, "homes")) return HONE_OK;
  int homes;
  int64_t host;
  const hn_json *arenas;
  HN_TRY(hn_read_ints(reader, header, "homes", 0, count - 1, &homes, &plan->homes));
  HN_TRY(hn_json_int(header, "host", 0, count - 1, &host, reader->diag));
  HN_TRY(hn_json_array(header, "arenas", &arenas, reader->diag));
  plan->host = (int)host;
  if (homes != count || arenas->length != (size_t)count)
    return HN_FAIL(reader->diag, HONE_MALFORMED, "homes and arenas do not have one entry for each of %d devices",
                   count);
  for (int d = 0; d < count; ++d) {
    if (arenas->items[d].kind != HN_JSON_INT || arenas->items[d].i < 0)
      return HN_FAIL(reader->diag, HONE_MALFORMED, "the bytes of arena %d are not a number", d);
    plan->home_arena_bytes[d] = (uint64_t)arenas->items[d].i;
  }
  return HONE_OK;
}

static hone_status read_header(hn_plan_reader *reader, const hn_json *header) {
  hn_plan *plan = reader->plan;
  int64_t number;
  const char *const *kinds;
  HN_TRY(hn_read_text(reader, header, "name", &plan->name));
  HN_TRY(hn_read_text(reader, header, "built_by", &plan->built_by));
  HN_TRY(hn_read_text(reader, header, "built_for", &plan->device_name));
  HN_TRY(hn_read_names(reader, header, "devices", &plan->device_count, &kinds));
  plan->device_kinds = (const char **)(uintptr_t)kinds;
  if (plan->device_count < 1 || plan->device_count > 16)
    return HN_FAIL(reader->diag, HONE_MALFORMED, "the engine names %d devices; 1 to 16 are possible",
                   plan->device_count);
  HN_TRY(hn_json_int(header, "isa", 0, UINT32_MAX, &number, reader->diag));
  plan->device_isa = (uint32_t)number;
  HN_TRY(read_hash(reader, hn_json_get(header, "model_hash"), "model_hash", &plan->model_hash));
  HN_TRY(hn_json_int(header, "arena_bytes", 0, INT64_MAX, &number, reader->diag));
  plan->arena_bytes = (uint64_t)number;
  HN_TRY(read_homes(reader, header));
  HN_TRY(hn_json_int(header, "scratch_bytes", 0, INT64_MAX, &number, reader->diag));
  plan->scratch_bytes = (uint64_t)number;
  HN_TRY(hn_json_real(header, "max_error", &plan->max_error_rel_l2, reader->diag));
  HN_TRY(read_symbols(reader, header));
  HN_TRY(read_tensors(reader, header));
  HN_TRY(read_ports(reader, header, "inputs", true, &plan->inputs, &plan->input_count));
  HN_TRY(read_ports(reader, header, "outputs", false, &plan->outputs, &plan->output_count));
  HN_TRY(hn_read_steps(reader, header));
  HN_TRY(read_blocks(reader, header));
  return read_weights(reader, header);
}

/* What follows from the tensors. */
static void derive(hn_plan *plan) {
  for (int t = 0; t < plan->tensor_count; ++t) {
    if (plan->tensors[t].place == HN_PLACE_HEAP) plan->after_run = true;
    for (int i = 0; i < plan->tensors[t].type.shape.rank; ++i)
      if (HONE_SYMBOLIC(plan->tensors[t].type.shape.dim[i])) plan->dynamic = true;
  }
}

static hone_status read_plan(hn_plan_reader *reader) {
  hn_plan *plan = reader->plan;
  hn_engine_fixed fixed;
  hn_json *header;
  HN_TRY(read_fixed(&plan->file, &fixed, reader->diag));
  plan->weights = plan->file.data + fixed.weights_offset;
  plan->weights_bytes = fixed.weights_bytes;
  HN_TRY(hn_json_read(&reader->scratch, reader->diag, "the engine's header",
                      (const char *)plan->file.data + HN_ENGINE_FIXED_BYTES, (size_t)fixed.header_bytes, &header));
  HN_TRY(read_header(reader, header));
  derive(plan);
  return hn_plan_check(plan, reader->diag);
}

hone_status hn_plan_read(hn_allocator allocator, const struct hn_op_list *ops, hone_device *const *devices,
                         int device_count, hn_blob *take_blob, const char *what, hn_plan **out,
                         hone_diagnostics *diag) {
  *out = NULL;
  hn_plan *plan;
  const hone_status made = hn_plan_create(allocator, &plan, diag);
  if (made != HONE_OK) {
    hn_blob_close(take_blob);
    return made;
  }
  plan->file = *take_blob;
  *take_blob = (hn_blob){0};
  hn_plan_reader reader = {.plan = plan, .ops = ops, .devices = devices, .device_count = device_count, .diag = diag};
  hn_arena_init(&reader.scratch, allocator);
  const hone_status status = read_plan(&reader);
  hn_arena_deinit(&reader.scratch);
  if (status != HONE_OK) {
    hn_plan_destroy(plan);
    return hone_note(diag, status, "while reading engine %s", what);
  }
  *out = plan;
  return HONE_OK;
}
