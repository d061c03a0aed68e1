/* SPDX-License-Identifier: Apache-2.0 */
/* read_steps.c - the steps of an engine file: operators and tactics by name, attributes by the operator's row. */
#include "plan/reader.h"
#include "plan/plan.h"
#include "tensor/element.h"
#include "tensor/shape.h"
#include <math.h>
#include <string.h>

static hone_status bad_attr(const hn_plan_reader *reader, const char *name) {
  return HN_FAIL(reader->diag, HONE_MALFORMED, "attribute %s has a value of another kind than its operator says", name);
}

static bool real_of(const hn_json *value, double *out) {
  if (value->kind == HN_JSON_INT || value->kind == HN_JSON_REAL) {
    *out = value->real;
    return true;
  }
  if (value->kind != HN_JSON_STRING) return false;
  if (strcmp(value->string, "inf") == 0)
    *out = (double)INFINITY;
  else if (strcmp(value->string, "-inf") == 0)
    *out = -(double)INFINITY;
  else if (strcmp(value->string, "nan") == 0)
    *out = (double)NAN;
  else
    return false;
  return true;
}

static hone_status read_tensor_attr(hn_plan_reader *reader, const hn_json *value, hone_attr *out) {
  hn_arena *arena = &reader->plan->arena;
  const char *dtype_name;
  hone_tensor *tensor = HN_NEW(arena, hone_tensor, 1);
  const hn_json *values;
  if (!tensor) return HN_FAIL_MEMORY(reader->diag);
  if (value->kind != HN_JSON_OBJECT) return bad_attr(reader, out->name);
  HN_TRY(hn_read_text(reader, value, "dtype", &dtype_name));
  HN_TRY(hn_read_shape(reader, value, "shape", &tensor->type.shape));
  HN_TRY(hn_json_array(value, "values", &values, reader->diag));
  tensor->type.kind = HONE_TENSOR;
  tensor->type.dtype = hone_dtype_find(dtype_name);
  int64_t count;
  if (tensor->type.dtype == HONE_NONE || tensor->type.dtype == HONE_STRING ||
      hone_dtype_bits(tensor->type.dtype) > 64 || !hn_elems_checked(&tensor->type.shape, &count) ||
      count != (int64_t)values->length || !hn_type_bytes(&tensor->type, &tensor->bytes))
    return bad_attr(reader, out->name);
  tensor->data = hn_arena_zero(arena, tensor->bytes ? tensor->bytes : 1, 1);
  if (!tensor->data) return HN_FAIL_MEMORY(reader->diag);
  for (int64_t i = 0; i < count; ++i) {
    double real;
    if (!real_of(&values->items[i], &real)) return bad_attr(reader, out->name);
    if (hn_dtype_is_float(tensor->type.dtype))
      hn_store_real(tensor, i, real);
    else if (values->items[i].kind == HN_JSON_INT)
      hn_store_int(tensor, i, values->items[i].i);
    else
      return bad_attr(reader, out->name);
  }
  out->tensor = tensor;
  return HONE_OK;
}

static hone_status read_list_attr(hn_plan_reader *reader, const hn_json *value, hone_attr *out) {
  hn_arena *arena = &reader->plan->arena;
  if (value->kind != HN_JSON_ARRAY || value->length > HN_PLAN_MAX_ITEMS) return bad_attr(reader, out->name);
  out->count = (int64_t)value->length;
  int64_t *ints = HN_NEW(arena, int64_t, value->length + 1); /* 8 bytes an item, whichever kind */
  if (!ints) return HN_FAIL_MEMORY(reader->diag);
  double *floats = (double *)(void *)ints;
  const char **strings = (const char **)(void *)ints;
  for (size_t i = 0; i < value->length; ++i) {
    const hn_json *item = &value->items[i];
    bool good = true;
    if (out->kind == HONE_ATTR_INTS && (good = item->kind == HN_JSON_INT)) ints[i] = item->i;
    if (out->kind == HONE_ATTR_FLOATS) good = real_of(item, &floats[i]);
    if (out->kind == HONE_ATTR_STRINGS && (good = item->kind == HN_JSON_STRING))
      if (!(strings[i] = hn_arena_text(arena, item->string))) return HN_FAIL_MEMORY(reader->diag);
    if (!good) return bad_attr(reader, out->name);
  }
  if (out->kind == HONE_ATTR_INTS)
    out->ints = ints;
  else if (out->kind == HONE_ATTR_FLOATS)
    out->floats = floats;
  else
    out->strings = strings;
  return HONE_OK;
}

static hone_status read_attr(hn_plan_reader *reader, const hone_attr_decl *decl, const hn_json *value, hone_attr *out) {
  *out = (hone_attr){.name = decl->name, .kind = decl->kind};
  switch (decl->kind) {
  case HONE_ATTR_INT:
    if (value->kind != HN_JSON_INT) return bad_attr(reader, decl->name);
    out->i = value->i;
    return HONE_OK;
  case HONE_ATTR_FLOAT: return real_of(value, &out->f) ? HONE_OK : bad_attr(reader, decl->name);
  case HONE_ATTR_STRING:
    if (value->kind != HN_JSON_STRING || strlen(value->string) != value->length) return bad_attr(reader, decl->name);
    out->count = (int64_t)value->length;
    return (out->s = hn_arena_text(&reader->plan->arena, value->string)) ? HONE_OK : HN_FAIL_MEMORY(reader->diag);
  case HONE_ATTR_TENSOR: return read_tensor_attr(reader, value, out);
  default: return read_list_attr(reader, value, out);
  }
}

static hone_status read_attrs(hn_plan_reader *reader, const hn_json *object, hn_plan_step *step) {
  const hn_json *list = hn_json_get(object, "attrs");
  hone_attr items[HONE_MAX_ATTRS];
  hone_attrs given = {.items = items};
  for (size_t i = 0; list && i < list->length; ++i) {
    const char *key = list->items[i].key;
    const hone_attr_decl *decl = NULL;
    for (int d = 0; key && d < HONE_MAX_ATTRS && step->op->attr[d].name; ++d)
      if (strcmp(step->op->attr[d].name, key) == 0) decl = &step->op->attr[d];
    if (!decl || given.count == HONE_MAX_ATTRS)
      return HN_FAIL(reader->diag, HONE_MALFORMED, "operator %s has no attribute %s", step->op->name, key ? key : "");
    HN_TRY(read_attr(reader, decl, &list->items[i], &items[given.count++]));
  }
  const hone_status status = hn_attrs_complete(&reader->plan->arena, reader->diag, step->op, &given, &step->attrs);
  if (status == HONE_OK || status == HONE_NO_MEMORY) return status;
  return HN_FAIL(reader->diag, HONE_MALFORMED, "the attributes do not fit operator %s", step->op->name);
}

static hone_status read_params(hn_plan_reader *reader, const hn_json *object, hn_plan_step *step) {
  const hn_json *list = hn_json_get(object, "params");
  for (size_t i = 0; list && i < list->length; ++i) {
    const hn_json *item = &list->items[i];
    if (step->params.count == HONE_MAX_PARAMS || !item->key || item->kind != HN_JSON_INT ||
        strlen(item->key) >= sizeof step->params.items[0].name)
      return HN_FAIL(reader->diag, HONE_MALFORMED, "a tactic's parameter is not a named number");
    hone_param *param = &step->params.items[step->params.count++];
    hn_copy_text(param->name, sizeof param->name, item->key);
    param->value = item->i;
  }
  return HONE_OK;
}

/* A tactic of a device that is not here, or of another version of the library. */
static hone_status stand_in(hn_plan_reader *reader, hn_plan_step *step, const char *name, uint32_t version) {
  hone_tactic *tactic = HN_NEW(&reader->plan->arena, hone_tactic, 1);
  if (!tactic) return HN_FAIL_MEMORY(reader->diag);
  *tactic = (hone_tactic){.struct_size = sizeof *tactic, .name = name, .version = version, .op = step->op->name};
  step->tactic = tactic;
  reader->plan->shown = true;
  return HONE_OK;
}

static hone_status fail_missing(const hn_plan_reader *reader, const char *what, const char *name) {
  const char *file = hn_schedules_plugin(reader->schedules, name);
  if (!file) return HN_FAIL(reader->diag, HONE_INCOMPATIBLE, "%s %s is not in this library", what, name);
  if (!*file)
    return HN_FAIL(reader->diag, HONE_INCOMPATIBLE,
                   "%s %s was defined by the program that built the engine (hone_op_define, hone.op), and not here",
                   what, name);
  return HN_FAIL(reader->diag, HONE_INCOMPATIBLE,
                 "%s %s is of the plug-in %s, which is not loaded (--plugins FILE, hone_plugin_load)", what, name,
                 file);
}

static hone_status read_call(hn_plan_reader *reader, const hn_json *object, hn_plan_step *step) {
  const char *name;
  int64_t version, offset, bytes, scratch;
  HN_TRY(hn_read_text(reader, object, "provider", &step->provider));
  HN_TRY(hn_read_text(reader, object, "tactic", &name));
  HN_TRY(hn_json_int(object, "version", 1, UINT32_MAX, &version, reader->diag));
  HN_TRY(hn_read_int(reader, object, "packed_offset", 0, INT64_MAX, 0, &offset));
  HN_TRY(hn_read_int(reader, object, "packed_bytes", 0, INT64_MAX, 0, &bytes));
  HN_TRY(hn_read_int(reader, object, "scratch_bytes", 0, INT64_MAX, 0, &scratch));
  step->packed_offset = (uint64_t)offset;
  step->packed_bytes = (uint64_t)bytes;
  step->scratch_bytes = (uint64_t)scratch;
  step->tactic = hn_tactic_find(reader->devices, reader->device_count, step->provider, name, (uint32_t)version);
  bool opened = false;
  for (int d = 0; d < reader->device_count; ++d)
    opened = opened || strcmp(reader->devices[d]->backend->name, step->provider) == 0;
  const bool of_plugin = opened && hn_schedules_plugin(reader->schedules, name);
  if (!step->tactic && !of_plugin && reader->schedules->shown) HN_TRY(stand_in(reader, step, name, (uint32_t)version));
  if (!opened && !step->tactic)
    return HN_FAIL(reader->diag, HONE_DEVICE, "the engine runs on a %s device, and none was given", step->provider);
  if (!step->tactic && hn_schedules_plugin(reader->schedules, name)) return fail_missing(reader, "tactic", name);
  if (!step->tactic)
    return HN_FAIL(reader->diag, HONE_INCOMPATIBLE,
                   "tactic %s:%s version %lld is not in this library; build the engine again", step->provider, name,
                   (long long)version);
  return read_params(reader, object, step);
}

static hone_status read_step(hn_plan_reader *reader, const hn_json *object, hn_plan_step *step) {
  hn_plan *plan = reader->plan;
  const char *kind, *op;
  int64_t number;
  HN_TRY(hn_read_text(reader, object, "name", &step->name));
  HN_TRY(hn_read_text(reader, object, "kind", &kind));
  if (!hn_step_kind_find(kind, &step->kind))
    return HN_FAIL(reader->diag, HONE_MALFORMED, "there is no step kind %s", kind);
  if (step->kind != HN_STEP_COPY && step->kind != HN_STEP_WAIT) {
    HN_TRY(hn_read_text(reader, object, "op", &op));
    step->op = hn_op_find(reader->ops, op);
    if (!step->op) return fail_missing(reader, "operator", op);
    HN_TRY(read_attrs(reader, object, step));
  }
  if (step->kind == HN_STEP_CALL) HN_TRY(read_call(reader, object, step));
  HN_TRY(hn_read_ints(reader, object, "in", -1, plan->tensor_count - 1, &step->in_count, &step->in));
  HN_TRY(hn_read_ints(reader, object, "out", -1, plan->tensor_count - 1, &step->out_count, &step->out));
  HN_TRY(hn_read_int(reader, object, "constants", 0, UINT32_MAX, 0, &number));
  step->constant_mask = (uint32_t)number;
  HN_TRY(hn_read_int(reader, object, "device", 0, plan->device_count - 1, 0, &number));
  step->device = (int)number;
  HN_TRY(hn_read_ints(reader, object, "blocks", 0, INT32_MAX, &step->block_count, &step->blocks));
  if (hn_json_get(object, "caused_by")) HN_TRY(hn_read_text(reader, object, "caused_by", &step->caused_by));
  if (hn_json_get(object, "origins"))
    HN_TRY(hn_read_names(reader, object, "origins", &step->origin_count, &step->origins));
  HN_TRY(hn_json_real(object, "error", &step->error_rel_l2, reader->diag));
  HN_TRY(hn_json_real(object, "bound", &step->error_bound, reader->diag));
  HN_TRY(hn_json_real(object, "flops", &step->cost.flops, reader->diag));
  HN_TRY(hn_json_real(object, "bytes_read", &step->cost.bytes_read, reader->diag));
  return hn_json_real(object, "bytes_written", &step->cost.bytes_written, reader->diag);
}

hone_status hn_read_steps(hn_plan_reader *reader, const hn_json *header) {
  hn_plan *plan = reader->plan;
  const hn_json *items;
  void *room;
  HN_TRY(hn_read_list(reader, header, "steps", sizeof *plan->steps, &items, &plan->step_count, &room));
  plan->steps = room;
  for (int s = 0; s < plan->step_count; ++s)
    HN_TRY_NOTE(reader->diag, read_step(reader, &items[s], &plan->steps[s]), "in step %d (%s)", s,
                plan->steps[s].name ? plan->steps[s].name : "unnamed");
  return HONE_OK;
}
