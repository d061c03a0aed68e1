/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - engine bytes -> schedules. Nothing in the file is trusted: structure is checked here, meaning in check.c. */
#include "base/hash.h"
#include "base/looks.h"
#include "plan/format.h"
#include "plan/reader.h"
#include "plan/plan.h"
#include <stdlib.h>
#include <string.h>

/* Behind the weights the file ends, or the model begins. */
static bool weights_fit(const hn_engine_fixed *fixed, uint64_t left) {
  const uint64_t stored = fixed->features & HN_ENGINE_STRIPPED ? 0 : fixed->weights_bytes;
  if (fixed->weights_bytes > INT64_MAX / 2) return false; /* also where they are only told of */
  return fixed->features & HN_ENGINE_WITH_MODEL ? stored < left : stored == left;
}

static hone_status read_fixed(const hn_blob *blob, hn_engine_fixed *fixed, hone_diagnostics *diag) {
  const bool named =
      blob->bytes >= sizeof fixed->magic && memcmp(blob->data, HN_ENGINE_MAGIC, sizeof fixed->magic) == 0;
  if (named && blob->bytes < HN_ENGINE_FIXED_BYTES)
    return HN_FAIL(diag, HONE_MALFORMED, "%zu bytes are too few for an engine: the file was cut short", blob->bytes);
  if (!named) {
    const int from = diag ? diag->count : 0;
    const hone_status status =
        HN_FAIL(diag, HONE_MALFORMED, "this is not a hone engine (it does not begin with HONEENG)");
    (void)hn_say_looks(diag, from, status, HN_WANTED_ENGINE, NULL, blob->data, blob->bytes);
    return status;
  }
  memcpy(fixed, blob->data, sizeof *fixed);
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
      !weights_fit(fixed, fixed->file_bytes - fixed->weights_offset))
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
  const char *dtype, *holds = NULL, *place, *format = NULL;
  int64_t number;
  HN_TRY(hn_read_text(reader, object, "name", &tensor->name));
  HN_TRY(hn_read_int(reader, object, "kind", HONE_TENSOR, HONE_OPTIONAL_SEQUENCE, HONE_TENSOR, &number));
  tensor->type.kind = (hone_kind)number;
  HN_TRY(hn_read_text(reader, object, "dtype", &dtype));
  tensor->type.dtype = hone_dtype_find(dtype);
  if (tensor->type.dtype == HONE_NONE) return HN_FAIL(reader->diag, HONE_MALFORMED, "there is no dtype %s", dtype);
  tensor->dtype = tensor->type.dtype;
  if (hn_json_get(object, "holds")) {
    HN_TRY(hn_read_text(reader, object, "holds", &holds));
    tensor->dtype = hone_dtype_find(holds);
    if (tensor->dtype != HONE_F32 || (tensor->type.dtype != HONE_F16 && tensor->type.dtype != HONE_BF16))
      return HN_FAIL(reader->diag, HONE_MALFORMED, "%s cannot hold %s", dtype, holds);
  }
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
    if (!with_profile) {
      ports[i].error_rel_l2 = -1;
      if (hn_json_get(&items[i], "error"))
        HN_TRY(hn_json_real(&items[i], "error", &ports[i].error_rel_l2, reader->diag));
      continue;
    }
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
  hn_schedules *schedules = reader->schedules;
  const hn_json *items;
  void *room;
  HN_TRY(hn_read_list(reader, header, "weights", sizeof *schedules->weights_table, &items, &schedules->weight_count,
                      &room));
  schedules->weights_table = room;
  for (int i = 0; i < schedules->weight_count; ++i) {
    hn_weight_blob *blob = &schedules->weights_table[i];
    int64_t offset, bytes;
    HN_TRY(hn_json_int(&items[i], "offset", 0, (int64_t)schedules->weights_bytes, &offset, reader->diag));
    HN_TRY(hn_json_int(&items[i], "bytes", 0, (int64_t)schedules->weights_bytes - offset, &bytes, reader->diag));
    blob->offset = (uint64_t)offset;
    blob->bytes = (uint64_t)bytes;
    HN_TRY(hn_read_text(reader, &items[i], "how", &blob->how));
    HN_TRY(hn_read_names(reader, &items[i], "from", &blob->from_count, &blob->from));
  }
  HN_TRY(hn_read_list(reader, header, "weight_hashes", sizeof *schedules->weight_hashes, &items,
                      &schedules->weight_hash_count, &room));
  schedules->weight_hashes = room;
  for (int i = 0; i < schedules->weight_hash_count; ++i)
    HN_TRY(read_hash(reader, &items[i], "weight_hashes", &schedules->weight_hashes[i]));
  const uint64_t pages = (schedules->weights_bytes + HN_WEIGHT_PAGE_BYTES - 1) / HN_WEIGHT_PAGE_BYTES;
  if ((uint64_t)schedules->weight_hash_count != pages)
    return HN_FAIL(reader->diag, HONE_MALFORMED, "the weights have %llu pages and %d hashes", (unsigned long long)pages,
                   schedules->weight_hash_count);
  return HONE_OK;
}

/* The devices that all schedules run on, and where they work; nothing is said of that when all work in the host's
 * memory. */
typedef struct device_list {
  int count, host;
  const char *const *kinds;
  int *spaces;
  bool apart; /* some device has memory of its own */
} device_list;

static hone_status read_devices(hn_plan_reader *reader, const hn_json *header, device_list *out) {
  *out = (device_list){0};
  HN_TRY(hn_read_names(reader, header, "devices", &out->count, &out->kinds));
  if (out->count < 1 || out->count > 16)
    return HN_FAIL(reader->diag, HONE_MALFORMED, "the engine names %d devices; 1 to 16 are possible", out->count);
  out->apart = hn_json_get(header, "spaces");
  if (!out->apart) {
    out->spaces = HN_NEW(reader->arena, int, out->count);
    return out->spaces ? HONE_OK : HN_FAIL_MEMORY(reader->diag);
  }
  int spaces;
  int64_t host;
  HN_TRY(hn_read_ints(reader, header, "spaces", 0, out->count - 1, &spaces, &out->spaces));
  HN_TRY(hn_json_int(header, "host", 0, out->count - 1, &host, reader->diag));
  out->host = (int)host;
  return spaces == out->count ? HONE_OK
                              : HN_FAIL(reader->diag, HONE_MALFORMED,
                                        "spaces does not have one entry for each of %d devices", out->count);
}

static hone_status read_arenas(hn_plan_reader *reader, const hn_json *object, bool apart) {
  hn_plan *plan = reader->plan;
  int64_t number;
  HN_TRY(hn_json_int(object, "arena_bytes", 0, INT64_MAX, &number, reader->diag));
  plan->arena_bytes = (uint64_t)number;
  plan->space_arena_bytes = HN_NEW(&plan->arena, uint64_t, plan->device_count);
  if (!plan->space_arena_bytes) return HN_FAIL_MEMORY(reader->diag);
  plan->space_arena_bytes[0] = plan->arena_bytes;
  if (!apart) return HONE_OK;
  const hn_json *arenas;
  HN_TRY(hn_json_array(object, "arenas", &arenas, reader->diag));
  if (arenas->length != (size_t)plan->device_count)
    return HN_FAIL(reader->diag, HONE_MALFORMED, "arenas does not have one entry for each of %d devices",
                   plan->device_count);
  for (int d = 0; d < plan->device_count; ++d) {
    if (arenas->items[d].kind != HN_JSON_INT || arenas->items[d].i < 0)
      return HN_FAIL(reader->diag, HONE_MALFORMED, "the bytes of arena %d are not a number", d);
    plan->space_arena_bytes[d] = (uint64_t)arenas->items[d].i;
  }
  return HONE_OK;
}

/* What follows from the tensors. */
static void derive(hn_plan *plan) {
  for (int t = 0; t < plan->tensor_count; ++t) {
    if (plan->tensors[t].place == HN_PLACE_HEAP) plan->after_run = true;
    for (int i = 0; i < plan->tensors[t].type.shape.rank; ++i)
      if (HONE_SYMBOLIC(plan->tensors[t].type.shape.dim[i])) plan->dynamic = true;
  }
}

static hone_status read_plan(hn_plan_reader *reader, const hn_json *object, const device_list *devices) {
  hn_plan *plan = reader->plan;
  int64_t number;
  plan->weights = reader->schedules->weights;
  plan->weights_bytes = reader->schedules->weights_bytes;
  plan->stripped = reader->schedules->stripped;
  plan->device_count = devices->count;
  plan->device_kinds = devices->kinds;
  plan->spaces = devices->spaces;
  plan->host = devices->host;
  HN_TRY(read_arenas(reader, object, devices->apart));
  HN_TRY(hn_json_int(object, "scratch_bytes", 0, INT64_MAX, &number, reader->diag));
  plan->scratch_bytes = (uint64_t)number;
  if (hn_json_get(object, "lanes")) {
    HN_TRY(hn_json_int(object, "lanes", 2, HONE_MAX_LANES, &number, reader->diag));
    plan->lanes = (int)number;
  }
  HN_TRY(hn_json_real(object, "max_error", &plan->max_error_rel_l2, reader->diag));
  HN_TRY(read_symbols(reader, object));
  HN_TRY(read_tensors(reader, object));
  HN_TRY(read_ports(reader, object, "inputs", true, &plan->inputs, &plan->input_count));
  HN_TRY(read_ports(reader, object, "outputs", false, &plan->outputs, &plan->output_count));
  HN_TRY(hn_read_steps(reader, object));
  HN_TRY(read_blocks(reader, object));
  derive(plan);
  return hn_plan_check(plan, reader->diag);
}

static hone_status read_schedule(hn_plan_reader *reader, const hn_json *object, const device_list *devices) {
  hn_schedules *schedules = reader->schedules;
  HN_TRY(hn_plan_create(schedules->allocator, &reader->plan, reader->diag));
  reader->arena = &reader->plan->arena;
  const hone_status status = read_plan(reader, object, devices);
  reader->arena = &schedules->arena;
  if (status == HONE_OK) return hn_schedules_add(schedules, reader->plan, reader->diag);
  hn_plan_destroy(reader->plan);
  return status;
}

/* It reaches from the first border behind the weights to the end of the file. */
static hone_status read_model(hn_plan_reader *reader, const hn_json *header, const hn_engine_fixed *fixed) {
  hn_schedules *schedules = reader->schedules;
  const hn_json *model = hn_json_get(header, "onnx");
  if (!(fixed->features & HN_ENGINE_WITH_MODEL)) return HONE_OK;
  const uint64_t end = fixed->weights_offset + (schedules->stripped ? 0 : fixed->weights_bytes),
                 begin = (end + HN_ENGINE_ALIGNMENT - 1) / HN_ENGINE_ALIGNMENT * HN_ENGINE_ALIGNMENT;
  int64_t bytes;
  if (!model || begin >= fixed->file_bytes)
    return HN_FAIL(reader->diag, HONE_MALFORMED, "the engine's model does not lie inside the file");
  HN_TRY(hn_json_int(model, "bytes", 1, INT64_MAX, &bytes, reader->diag));
  HN_TRY(read_hash(reader, hn_json_get(model, "hash"), "the model's hash", &schedules->onnx_hash));
  if ((uint64_t)bytes != fixed->file_bytes - begin)
    return HN_FAIL(reader->diag, HONE_MALFORMED, "the engine's model has %lld bytes, and the file has %llu for it",
                   (long long)bytes, (unsigned long long)(fixed->file_bytes - begin));
  schedules->onnx = schedules->file.data + begin;
  schedules->onnx_bytes = (uint64_t)bytes;
  return HONE_OK;
}

static hone_status read_header(hn_plan_reader *reader, const hn_json *header) {
  hn_schedules *schedules = reader->schedules;
  int64_t number;
  device_list devices;
  const hn_json *list;
  HN_TRY(hn_read_text(reader, header, "name", &schedules->name));
  HN_TRY(hn_read_text(reader, header, "built_by", &schedules->built_by));
  HN_TRY(hn_read_text(reader, header, "built_for", &schedules->device_name));
  if (hn_json_get(header, "refit")) HN_TRY(hn_read_text(reader, header, "refit", &schedules->refit));
  if (hn_json_get(header, "recipe")) HN_TRY(hn_read_text(reader, header, "recipe", &schedules->recipe));
  if (hn_json_get(header, "plugins"))
    HN_TRY(hn_read_names(reader, header, "plugins", &schedules->plugin_name_count, &schedules->plugin_names));
  HN_TRY(read_devices(reader, header, &devices));
  HN_TRY(hn_json_int(header, "isa", 0, UINT32_MAX, &number, reader->diag));
  schedules->device_isa = (uint32_t)number;
  HN_TRY(read_hash(reader, hn_json_get(header, "model_hash"), "model_hash", &schedules->model_hash));
  const hn_json *keep = hn_json_get(header, "keep_subnormals");
  if (keep && keep->kind != HN_JSON_BOOL) return HN_FAIL(reader->diag, HONE_MALFORMED, "keep_subnormals is not a bool");
  schedules->keep_subnormals = keep && keep->i;
  HN_TRY(read_weights(reader, header));
  HN_TRY(hn_json_array(header, "schedules", &list, reader->diag));
  if (list->length < 1 || list->length > HONE_MAX_SCHEDULES)
    return HN_FAIL(reader->diag, HONE_MALFORMED, "the engine has %zu schedules; 1 to %d are possible", list->length,
                   HONE_MAX_SCHEDULES);
  for (size_t k = 0; k < list->length; ++k)
    HN_TRY_NOTE(reader->diag, read_schedule(reader, &list->items[k], &devices), "in schedule %zu", k);
  return HONE_OK;
}

static hone_status read_engine(hn_plan_reader *reader) {
  hn_schedules *schedules = reader->schedules;
  hn_engine_fixed fixed;
  hn_json *header;
  HN_TRY(read_fixed(&schedules->file, &fixed, reader->diag));
  schedules->content_hash = fixed.header_hash;
  schedules->stripped = fixed.features & HN_ENGINE_STRIPPED;
  schedules->weights = schedules->stripped ? NULL : schedules->file.data + fixed.weights_offset;
  schedules->weights_bytes = fixed.weights_bytes;
  HN_TRY(hn_json_read(&reader->scratch, reader->diag, "the engine's header",
                      (const char *)schedules->file.data + HN_ENGINE_FIXED_BYTES, (size_t)fixed.header_bytes, &header));
  HN_TRY(read_model(reader, header, &fixed));
  return read_header(reader, header);
}

static hone_status read_blob(hn_allocator allocator, const struct hn_op_list *ops, hone_device *const *devices,
                             int device_count, hn_blob *take_blob, const char *what, bool shown, hn_schedules **out,
                             hone_diagnostics *diag) {
  *out = NULL;
  hn_schedules *schedules;
  const hone_status made = hn_schedules_create(allocator, &schedules, diag);
  if (made != HONE_OK) {
    hn_blob_close(take_blob);
    return made;
  }
  schedules->file = *take_blob;
  schedules->shown = shown;
  *take_blob = (hn_blob){0};
  hn_plan_reader reader = {.schedules = schedules,
                           .arena = &schedules->arena,
                           .ops = ops,
                           .devices = devices,
                           .device_count = device_count,
                           .diag = diag};
  hn_arena_init(&reader.scratch, allocator);
  const hone_status status = read_engine(&reader);
  hn_arena_deinit(&reader.scratch);
  if (status != HONE_OK) {
    const bool rebuilds = schedules->onnx && (status == HONE_INCOMPATIBLE || status == HONE_DEVICE);
    const char *name = schedules->file.mapped ? what : "ENGINE";
    hn_schedules_destroy(schedules);
    if (rebuilds) (void)hone_note(diag, status, HN_ENGINE_REBUILDS, name);
    return hone_note(diag, status, "while reading engine %s", what);
  }
  *out = schedules;
  return HONE_OK;
}

hone_status hn_schedules_read(hn_allocator allocator, const struct hn_op_list *ops, hone_device *const *devices,
                              int device_count, hn_blob *take_blob, const char *what, hn_schedules **out,
                              hone_diagnostics *diag) {
  return read_blob(allocator, ops, devices, device_count, take_blob, what, false, out, diag);
}

hone_status hn_schedules_show(hn_allocator allocator, const struct hn_op_list *ops, hone_device *const *devices,
                              int device_count, hn_blob *take_blob, const char *what, hn_schedules **out,
                              hone_diagnostics *diag) {
  return read_blob(allocator, ops, devices, device_count, take_blob, what, true, out, diag);
}
