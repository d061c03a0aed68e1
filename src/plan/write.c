/* SPDX-License-Identifier: Apache-2.0 */
/* write.c - schedules -> engine bytes. No time, date or host name: the same plans give the same bytes. */
#include "plan/schedules.h"
#include "base/checked.h"
#include "base/hash.h"
#include "base/json.h"
#include "plan/format.h"
#include "plan/plan.h"
#include "tensor/element.h"
#include "tensor/shape.h"
#include <stdio.h>
#include <string.h>

static void put_dim(hn_json_writer *w, const hn_plan *plan, int64_t dim, hn_text *scratch) {
  if (!HONE_SYMBOLIC(dim)) {
    hn_json_put_int(w, NULL, dim);
    return;
  }
  hn_text_clear(scratch);
  hn_text_dim(scratch, dim, &plan->dims);
  hn_json_put_text(w, NULL, hn_text_string(scratch));
  if (scratch->failed) w->text->failed = true;
}

static void put_shape(hn_json_writer *w, const char *key, const hn_plan *plan, const hone_shape *shape,
                      hn_text *scratch) {
  if (shape->rank < 0) {
    hn_json_put_text(w, key, NULL);
    return;
  }
  hn_json_open_flat(w, key, '[');
  for (int i = 0; i < shape->rank; ++i) put_dim(w, plan, shape->dim[i], scratch);
  hn_json_close(w, ']');
}

static void put_hash(hn_json_writer *w, const char *key, uint64_t hash) {
  char hex[24];
  snprintf(hex, sizeof hex, "%016llx", (unsigned long long)hash);
  hn_json_put_text(w, key, hex);
}

static void put_ints(hn_json_writer *w, const char *key, const int *items, int count) {
  hn_json_open_flat(w, key, '[');
  for (int i = 0; i < count; ++i) hn_json_put_int(w, NULL, items[i]);
  hn_json_close(w, ']');
}

static void put_names(hn_json_writer *w, const char *key, const char *const *items, int count) {
  hn_json_open_flat(w, key, '[');
  for (int i = 0; i < count; ++i) hn_json_put_text(w, NULL, items[i]);
  hn_json_close(w, ']');
}

static void put_symbols(hn_json_writer *w, const hn_plan *plan) {
  hn_json_open(w, "symbols", '[');
  for (int i = 0; i < plan->dims.symbol_count; ++i) {
    const hn_dim_symbol *symbol = &plan->dims.symbols[i];
    hn_json_open_flat(w, NULL, '{');
    hn_json_put_text(w, "name", symbol->name);
    hn_json_put_int(w, "low", symbol->low);
    hn_json_put_int(w, "high", symbol->high);
    hn_json_put_bool(w, "after_run", symbol->after_run);
    hn_json_close(w, '}');
  }
  hn_json_close(w, ']');
}

static void put_tensor(hn_json_writer *w, const hn_plan *plan, const hn_plan_tensor *tensor, hn_text *scratch) {
  hn_json_open_flat(w, NULL, '{');
  hn_json_put_text(w, "name", tensor->name);
  if (tensor->type.kind != HONE_TENSOR) hn_json_put_int(w, "kind", (int)tensor->type.kind);
  hn_json_put_text(w, "dtype", hone_dtype_name(tensor->type.dtype));
  if (tensor->dtype != tensor->type.dtype) hn_json_put_text(w, "holds", hone_dtype_name(tensor->dtype));
  put_shape(w, "shape", plan, &tensor->type.shape, scratch);
  if (tensor->type.format != HONE_PLAIN) hn_json_put_text(w, "format", hone_format_name(tensor->type.format));
  hn_json_put_text(w, "place", hn_place_name(tensor->place));
  if (tensor->place == HN_PLACE_INPUT || tensor->place == HN_PLACE_OUTPUT) hn_json_put_int(w, "index", tensor->index);
  if (tensor->alias_of >= 0) hn_json_put_int(w, "alias_of", tensor->alias_of);
  if (tensor->part_of >= 0) hn_json_put_int(w, "part_of", tensor->part_of);
  if (tensor->offset) hn_json_put_int(w, "offset", (int64_t)tensor->offset);
  if (tensor->device) hn_json_put_int(w, "device", tensor->device);
  hn_json_close(w, '}');
}

static void put_tensor_attr(hn_json_writer *w, const char *key, const hone_tensor *tensor) {
  hn_json_open_flat(w, key, '{');
  hn_json_put_text(w, "dtype", hone_dtype_name(tensor->type.dtype));
  hn_json_open_flat(w, "shape", '[');
  for (int i = 0; i < tensor->type.shape.rank; ++i) hn_json_put_int(w, NULL, tensor->type.shape.dim[i]);
  hn_json_close(w, ']');
  hn_json_open_flat(w, "values", '[');
  const bool real = hn_dtype_is_float(tensor->type.dtype);
  for (int64_t i = 0; i < hn_elems(&tensor->type.shape); ++i) {
    if (real)
      hn_json_put_real(w, NULL, hn_real(tensor, i));
    else
      hn_json_put_int(w, NULL, hn_int(tensor, i));
  }
  hn_json_close(w, ']');
  hn_json_close(w, '}');
}

static void put_attr(hn_json_writer *w, const hone_attr *attr) {
  switch (attr->kind) {
  case HONE_ATTR_INT: hn_json_put_int(w, attr->name, attr->i); break;
  case HONE_ATTR_FLOAT: hn_json_put_real(w, attr->name, attr->f); break;
  case HONE_ATTR_STRING: hn_json_put_bytes(w, attr->name, attr->s, (size_t)attr->count); break;
  case HONE_ATTR_TENSOR: put_tensor_attr(w, attr->name, attr->tensor); break;
  case HONE_ATTR_INTS:
    hn_json_open_flat(w, attr->name, '[');
    for (int64_t i = 0; i < attr->count; ++i) hn_json_put_int(w, NULL, attr->ints[i]);
    hn_json_close(w, ']');
    break;
  case HONE_ATTR_FLOATS:
    hn_json_open_flat(w, attr->name, '[');
    for (int64_t i = 0; i < attr->count; ++i) hn_json_put_real(w, NULL, attr->floats[i]);
    hn_json_close(w, ']');
    break;
  case HONE_ATTR_STRINGS: put_names(w, attr->name, attr->strings, (int)attr->count); break;
  case HONE_ATTR_NONE: break;
  }
}

static void put_call(hn_json_writer *w, const hn_plan_step *step) {
  hn_json_put_text(w, "provider", step->provider);
  hn_json_put_text(w, "tactic", step->tactic->name);
  hn_json_put_int(w, "version", step->tactic->version);
  if (step->params.count) {
    hn_json_open_flat(w, "params", '{');
    for (int p = 0; p < step->params.count; ++p)
      hn_json_put_int(w, step->params.items[p].name, step->params.items[p].value);
    hn_json_close(w, '}');
  }
  if (step->packed_bytes) {
    hn_json_put_int(w, "packed_offset", (int64_t)step->packed_offset);
    hn_json_put_int(w, "packed_bytes", (int64_t)step->packed_bytes);
  }
  if (step->scratch_bytes) hn_json_put_int(w, "scratch_bytes", (int64_t)step->scratch_bytes);
}

static void put_step(hn_json_writer *w, const hn_plan_step *step) {
  hn_json_open_flat(w, NULL, '{');
  hn_json_put_text(w, "name", step->name);
  hn_json_put_text(w, "kind", hn_step_kind_name(step->kind));
  if (step->op) hn_json_put_text(w, "op", step->op->name);
  if (step->kind == HN_STEP_CALL) put_call(w, step);
  if (step->attrs.count) {
    hn_json_open_flat(w, "attrs", '{');
    for (int i = 0; i < step->attrs.count; ++i) put_attr(w, &step->attrs.items[i]);
    hn_json_close(w, '}');
  }
  put_ints(w, "in", step->in, step->in_count);
  put_ints(w, "out", step->out, step->out_count);
  if (step->constant_mask) hn_json_put_int(w, "constants", step->constant_mask);
  if (step->device) hn_json_put_int(w, "device", step->device);
  if (step->block_count) put_ints(w, "blocks", step->blocks, step->block_count);
  if (step->caused_by) hn_json_put_text(w, "caused_by", step->caused_by);
  if (step->origin_count) put_names(w, "origins", step->origins, step->origin_count);
  hn_json_put_real(w, "error", step->error_rel_l2);
  hn_json_put_real(w, "bound", step->error_bound);
  hn_json_put_real(w, "flops", step->cost.flops);
  hn_json_put_real(w, "bytes_read", step->cost.bytes_read);
  hn_json_put_real(w, "bytes_written", step->cost.bytes_written);
  hn_json_close(w, '}');
}

static void put_ports(hn_json_writer *w, const char *key, const hn_plan *plan, const hn_plan_port *ports, int count,
                      bool with_profile, hn_text *scratch) {
  hn_json_open(w, key, '[');
  for (int i = 0; i < count; ++i) {
    hn_json_open_flat(w, NULL, '{');
    hn_json_put_text(w, "name", ports[i].name);
    hn_json_put_int(w, "tensor", ports[i].tensor);
    if (with_profile) {
      put_shape(w, "min", plan, &ports[i].min, scratch);
      put_shape(w, "opt", plan, &ports[i].opt, scratch);
      put_shape(w, "max", plan, &ports[i].max, scratch);
    } else if (ports[i].error_rel_l2 >= 0)
      hn_json_put_real(w, "error", ports[i].error_rel_l2);
    hn_json_close(w, '}');
  }
  hn_json_close(w, ']');
}

static void put_weights(hn_json_writer *w, const hn_schedules *schedules) {
  hn_json_open(w, "weights", '[');
  for (int i = 0; i < schedules->weight_count; ++i) {
    const hn_weight_blob *blob = &schedules->weights_table[i];
    hn_json_open_flat(w, NULL, '{');
    hn_json_put_int(w, "offset", (int64_t)blob->offset);
    hn_json_put_int(w, "bytes", (int64_t)blob->bytes);
    hn_json_put_text(w, "how", blob->how);
    put_names(w, "from", blob->from, blob->from_count);
    hn_json_close(w, '}');
  }
  hn_json_close(w, ']');
  hn_json_open(w, "weight_hashes", '[');
  for (int i = 0; schedules->stripped && i < schedules->weight_hash_count; ++i)
    put_hash(w, NULL, schedules->weight_hashes[i]);
  for (uint64_t at = 0; !schedules->stripped && at < schedules->weights_bytes; at += HN_WEIGHT_PAGE_BYTES) {
    const uint64_t left = schedules->weights_bytes - at;
    put_hash(w, NULL,
             hn_hash(schedules->weights + at, (size_t)(left < HN_WEIGHT_PAGE_BYTES ? left : HN_WEIGHT_PAGE_BYTES)));
  }
  hn_json_close(w, ']');
}

static void put_blocks(hn_json_writer *w, const hn_plan *plan) {
  hn_json_open(w, "blocks", '[');
  for (int b = 0; b < plan->block_count; ++b) {
    const hn_plan_block *block = &plan->blocks[b];
    hn_json_open_flat(w, NULL, '{');
    hn_json_put_int(w, "first_step", block->first_step);
    hn_json_put_int(w, "step_count", block->step_count);
    put_ints(w, "params", block->params, block->param_count);
    put_ints(w, "results", block->results, block->result_count);
    hn_json_close(w, '}');
  }
  hn_json_close(w, ']');
}

static bool has_spaces(const hn_plan *plan) {
  bool own = plan->host != 0;
  for (int d = 0; d < plan->device_count; ++d) own = own || plan->spaces[d] != 0;
  return own;
}

static void put_schedule(hn_json_writer *w, const hn_plan *plan, hn_text *scratch) {
  hn_json_open(w, NULL, '{');
  put_ports(w, "inputs", plan, plan->inputs, plan->input_count, true, scratch);
  put_ports(w, "outputs", plan, plan->outputs, plan->output_count, false, scratch);
  hn_json_put_int(w, "arena_bytes", (int64_t)plan->arena_bytes);
  if (has_spaces(plan)) {
    hn_json_open_flat(w, "arenas", '[');
    for (int d = 0; d < plan->device_count; ++d) hn_json_put_int(w, NULL, (int64_t)plan->space_arena_bytes[d]);
    hn_json_close(w, ']');
  }
  hn_json_put_int(w, "scratch_bytes", (int64_t)plan->scratch_bytes);
  if (plan->lanes > 1) hn_json_put_int(w, "lanes", plan->lanes);
  hn_json_put_real(w, "max_error", plan->max_error_rel_l2);
  put_symbols(w, plan);
  hn_json_open(w, "tensors", '[');
  for (int t = 0; t < plan->tensor_count; ++t) put_tensor(w, plan, &plan->tensors[t], scratch);
  hn_json_close(w, ']');
  hn_json_open(w, "steps", '[');
  for (int s = 0; s < plan->step_count; ++s) put_step(w, &plan->steps[s]);
  hn_json_close(w, ']');
  put_blocks(w, plan);
  hn_json_close(w, '}');
}

static void put_model(hn_json_writer *w, const hn_engine_parts *parts) {
  if (parts->onnx_bytes == 0) return;
  hn_json_open_flat(w, "onnx", '{');
  hn_json_put_int(w, "bytes", (int64_t)parts->onnx_bytes);
  put_hash(w, "hash", hn_hash(parts->onnx, (size_t)parts->onnx_bytes));
  hn_json_close(w, '}');
}

static void put_header(hn_text *text, const hn_schedules *schedules, const hn_engine_parts *parts, hn_text *scratch) {
  const hn_plan *first = schedules->plans[0];
  hn_json_writer writer, *w = &writer;
  hn_json_begin(w, text);
  hn_json_open(w, NULL, '{');
  hn_json_put_text(w, "name", schedules->name);
  hn_json_put_text(w, "built_by", schedules->built_by);
  hn_json_put_text(w, "built_for", schedules->device_name);
  put_names(w, "devices", first->device_kinds, first->device_count);
  if (has_spaces(first)) {
    put_ints(w, "spaces", first->spaces, first->device_count);
    hn_json_put_int(w, "host", first->host);
  }
  hn_json_put_int(w, "isa", schedules->device_isa);
  put_hash(w, "model_hash", schedules->model_hash);
  if (schedules->keep_subnormals) hn_json_put_bool(w, "keep_subnormals", true);
  if (schedules->refit) hn_json_put_text(w, "refit", schedules->refit);
  if (schedules->recipe) hn_json_put_text(w, "recipe", schedules->recipe);
  put_model(w, parts);
  if (schedules->plugin_name_count) put_names(w, "plugins", schedules->plugin_names, schedules->plugin_name_count);
  hn_json_open(w, "schedules", '[');
  for (int k = 0; k < schedules->count; ++k) put_schedule(w, schedules->plans[k], scratch);
  hn_json_close(w, ']');
  put_weights(w, schedules);
  hn_json_close(w, '}');
  hn_text_add(text, "\n");
}

/* The header's text and the fixed part; the caller frees the text. */
static hone_status make_header(const hn_schedules *schedules, const hn_engine_parts *parts, hn_text *header,
                               hn_engine_fixed *fixed, hone_diagnostics *diag) {
  hn_text scratch;
  hn_text_init(&scratch, schedules->allocator);
  hn_text_init(header, schedules->allocator);
  put_header(header, schedules, parts, &scratch);
  hn_text_deinit(&scratch);
  if (header->failed) return HN_FAIL_MEMORY(diag);
  size_t weights_offset, end;
  bool fits = hn_align_size(HN_ENGINE_FIXED_BYTES + header->length, HN_ENGINE_ALIGNMENT, &weights_offset) &&
              hn_add_size(weights_offset, parts->stripped ? 0 : (size_t)schedules->weights_bytes, &end);
  if (parts->onnx_bytes)
    fits = fits && hn_align_size(end, HN_ENGINE_ALIGNMENT, &end) && hn_add_size(end, (size_t)parts->onnx_bytes, &end);
  if (!fits) return HN_FAIL(diag, HONE_LIMIT, "the engine is larger than a file can be");
  *fixed = (hn_engine_fixed){.version = HN_ENGINE_VERSION,
                             .features = (parts->stripped ? HN_ENGINE_STRIPPED : 0u) |
                                         (parts->onnx_bytes ? HN_ENGINE_WITH_MODEL : 0u),
                             .header_bytes = header->length,
                             .header_hash = hn_hash(header->data, header->length),
                             .weights_offset = weights_offset,
                             .weights_bytes = schedules->weights_bytes,
                             .file_bytes = end};
  memcpy(fixed->magic, HN_ENGINE_MAGIC, sizeof fixed->magic);
  fixed->fixed_hash = hn_hash(fixed, HN_ENGINE_FIXED_BYTES - sizeof fixed->fixed_hash);
  return HONE_OK;
}

/* Where the pieces of an engine go, one behind the other. */
typedef struct sink {
  hone_write_fn write;
  void *user;
  uint64_t at;
} sink;

static bool put_piece(sink *to, const void *bytes, uint64_t count) {
  to->at += count;
  return count == 0 || to->write(to->user, bytes, (size_t)count);
}

static bool put_gap(sink *to) {
  static const char zeros[HN_ENGINE_ALIGNMENT];
  return put_piece(to, zeros, (HN_ENGINE_ALIGNMENT - to->at % HN_ENGINE_ALIGNMENT) % HN_ENGINE_ALIGNMENT);
}

/* The pieces of an engine, in the order of its bytes. false: write said so. */
static bool put_pieces(const hn_schedules *schedules, const hn_engine_parts *parts, const hn_text *header,
                       const hn_engine_fixed *fixed, hone_write_fn write, void *user) {
  sink to = {write, user, 0};
  if (!put_piece(&to, fixed, sizeof *fixed) || !put_piece(&to, header->data, header->length) || !put_gap(&to))
    return false;
  if (!parts->stripped && !put_piece(&to, schedules->weights, schedules->weights_bytes)) return false;
  return parts->onnx_bytes == 0 || (put_gap(&to) && put_piece(&to, parts->onnx, parts->onnx_bytes));
}

hone_status hn_schedules_put(const hn_schedules *schedules, const hn_engine_parts *parts, hone_write_fn write,
                             void *user, hone_diagnostics *diag) {
  hn_text header;
  hn_engine_fixed fixed;
  hone_status status = make_header(schedules, parts, &header, &fixed, diag);
  if (status == HONE_OK && !put_pieces(schedules, parts, &header, &fixed, write, user))
    status = HN_FAIL(diag, HONE_IO, "the engine's bytes could not be written");
  hn_text_deinit(&header);
  return status;
}

typedef struct to_file {
  hn_file_writer writer;
  hone_diagnostics *diag;
} to_file;

static bool put_to_file(void *user, const char *bytes, size_t count) {
  to_file *file = user;
  return hn_file_write(file->diag, &file->writer, bytes, count) == HONE_OK;
}

hone_status hn_schedules_write(const hn_schedules *schedules, const hn_engine_parts *parts, const char *path,
                               uint64_t *out_hash, hone_diagnostics *diag) {
  hn_text header;
  hn_engine_fixed fixed;
  to_file file = {.writer.fd = -1, .diag = diag};
  hone_status status = make_header(schedules, parts, &header, &fixed, diag);
  if (status == HONE_OK) status = hn_file_begin(diag, &file.writer, path);
  if (status == HONE_OK && !put_pieces(schedules, parts, &header, &fixed, put_to_file, &file)) status = HONE_IO;
  if (status == HONE_OK) status = hn_file_commit(diag, &file.writer);
  hn_file_abandon(&file.writer);
  *out_hash = status == HONE_OK ? fixed.header_hash : 0;
  hn_text_deinit(&header);
  return status;
}
