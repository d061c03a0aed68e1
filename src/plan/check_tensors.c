/* SPDX-License-Identifier: Apache-2.0 */
/* check_tensors.c - every tensor's place and bytes, and the inputs' profiles. */
#include "base/checked.h"
#include "plan/check.h"
#include "tensor/shape.h"

enum { ALIGNMENT = 64 };

#define BAD(checker, ...) HN_FAIL((checker)->diag, HONE_MALFORMED, __VA_ARGS__)

static bool has_after_run_dims(const hn_plan *plan, const hone_shape *shape) {
  for (int i = 0; i < shape->rank; ++i)
    if (hn_dim_is_after_run(&plan->dims, shape->dim[i])) return true;
  return shape->rank < 0;
}

static hone_status check_place(hn_plan_checker *checker, int t) {
  const hn_plan *plan = checker->plan;
  const hn_plan_tensor *tensor = &plan->tensors[t];
  size_t bytes = 0, end;
  const bool known = hn_type_bytes(&tensor->type, &bytes);
  if (tensor->place == HN_PLACE_HEAP) return HONE_OK;
  if ((tensor->type.kind != HONE_TENSOR || tensor->type.dtype == HONE_STRING) && tensor->place != HN_PLACE_INPUT)
    return BAD(checker, "only inputs and the heap can hold strings, sequences and optionals");
  if (tensor->type.kind == HONE_TENSOR && has_after_run_dims(plan, &tensor->type.shape))
    return BAD(checker, "its shape is data-dependent, but its place is fixed");
  switch (tensor->place) {
  case HN_PLACE_INPUT:
    return tensor->index < plan->input_count && plan->inputs[tensor->index].tensor == hn_plan_root(plan, t)
               ? HONE_OK
               : BAD(checker, "it is not input number %d", tensor->index);
  case HN_PLACE_OUTPUT:
    return tensor->index < plan->output_count && plan->outputs[tensor->index].tensor == hn_plan_root(plan, t)
               ? HONE_OK
               : BAD(checker, "it is not output number %d", tensor->index);
  case HN_PLACE_CONSTANT:
    if (!known || tensor->offset % ALIGNMENT || !hn_add_size((size_t)tensor->offset, bytes, &end) ||
        end > plan->weights_bytes)
      return BAD(checker, "its bytes do not lie in the weights");
    return HONE_OK;
  case HN_PLACE_ARENA:
    if (known && (tensor->offset % ALIGNMENT || !hn_add_size((size_t)tensor->offset, bytes, &end) ||
                  (!plan->dynamic && end > plan->space_arena_bytes[tensor->device])))
      return BAD(checker, "its bytes do not lie in the arena");
    return HONE_OK;
  default: return HONE_OK;
  }
}

static hone_status check_alias(hn_plan_checker *checker, int t) {
  const hn_plan *plan = checker->plan;
  const hn_plan_tensor *tensor = &plan->tensors[t];
  if (tensor->alias_of < 0) return HONE_OK;
  const hn_plan_tensor *root = &plan->tensors[hn_plan_root(plan, t)];
  if (root->place != tensor->place || root->place == HN_PLACE_PACKED || root->device != tensor->device)
    return BAD(checker, "it shares the storage of %s, which lies elsewhere", root->name);
  size_t bytes, root_bytes;
  if (hn_type_bytes(&tensor->type, &bytes) && hn_type_bytes(&root->type, &root_bytes) && bytes > root_bytes)
    return BAD(checker, "it is larger than %s, whose storage it shares", root->name);
  return HONE_OK;
}

/* The other one is larger, so parts of parts end somewhere. */
static hone_status check_part(hn_plan_checker *checker, int t) {
  const hn_plan *plan = checker->plan;
  const hn_plan_tensor *tensor = &plan->tensors[t];
  if (tensor->part_of < 0) return HONE_OK;
  const hn_plan_tensor *whole = &plan->tensors[tensor->part_of];
  size_t bytes, whole_bytes;
  if (plan->dynamic || tensor->alias_of >= 0 || tensor->place != HN_PLACE_ARENA || whole->place != HN_PLACE_ARENA ||
      tensor->device != whole->device)
    return BAD(checker, "it may not lie in %s", whole->name);
  if (!hn_type_bytes(&tensor->type, &bytes) || !hn_type_bytes(&whole->type, &whole_bytes) || bytes >= whole_bytes ||
      tensor->offset < whole->offset || tensor->offset - whole->offset > whole_bytes - bytes)
    return BAD(checker, "it does not lie in %s", whole->name);
  return HONE_OK;
}

/* The host's ports are as the model has them. */
static bool is_plain_port(const hn_plan_checker *checker, const hn_plan_tensor *tensor) {
  return tensor->device != checker->plan->host ||
         (tensor->type.format == HONE_PLAIN && tensor->type.dtype == tensor->dtype);
}

static hone_status check_profile(hn_plan_checker *checker, int i) {
  const hn_plan_port *port = &checker->plan->inputs[i];
  const hn_plan_tensor *tensor = &checker->plan->tensors[port->tensor];
  if (tensor->place != HN_PLACE_INPUT || tensor->index != i || tensor->alias_of >= 0 || !is_plain_port(checker, tensor))
    return BAD(checker, "its tensor is not a plain input");
  const hone_shape *shape = &tensor->type.shape;
  if (tensor->type.kind != HONE_TENSOR) return HONE_OK;
  if (!hn_shape_known(&port->min) || !hn_shape_known(&port->opt) || !hn_shape_known(&port->max) ||
      port->min.rank != shape->rank || port->opt.rank != shape->rank || port->max.rank != shape->rank)
    return BAD(checker, "its profile has other ranks than its tensor");
  for (int d = 0; d < shape->rank; ++d) {
    if (port->min.dim[d] > port->opt.dim[d] || port->opt.dim[d] > port->max.dim[d])
      return BAD(checker, "its profile is not min <= opt <= max in dim %d", d);
    if (!HONE_SYMBOLIC(shape->dim[d]) && (port->min.dim[d] != shape->dim[d] || port->max.dim[d] != shape->dim[d]))
      return BAD(checker, "its profile changes dim %d, which is fixed", d);
    if (HONE_SYMBOLIC(shape->dim[d]) && !hn_dim_symbol_at(&checker->plan->dims, shape->dim[d], NULL))
      return BAD(checker, "its dim %d is an expression; inputs have symbols", d);
  }
  return HONE_OK;
}

static hone_status check_output(hn_plan_checker *checker, int i) {
  const hn_plan_port *port = &checker->plan->outputs[i];
  const hn_plan_tensor *tensor = &checker->plan->tensors[port->tensor];
  if (!(tensor->place == HN_PLACE_OUTPUT && tensor->index == i) && tensor->place != HN_PLACE_HEAP)
    return BAD(checker, "its tensor is not an output");
  return is_plain_port(checker, tensor) ? HONE_OK : BAD(checker, "it is not stored plain, in its own type");
}

hone_status hn_check_tensors(hn_plan_checker *checker) {
  const hn_plan *plan = checker->plan;
  for (int t = 0; t < plan->tensor_count; ++t) {
    const hn_plan_tensor *tensor = &plan->tensors[t];
    if (!hn_takes_format(&tensor->type, tensor->type.format))
      return BAD(checker, "tensor %d (%s) cannot have format %s", t, tensor->name,
                 hone_format_name(tensor->type.format));
    if (tensor->dtype != tensor->type.dtype && tensor->dtype != HONE_F32)
      return BAD(checker, "tensor %d (%s) cannot hold %s as %s", t, tensor->name, hone_dtype_name(tensor->dtype),
                 hone_dtype_name(tensor->type.dtype));
    HN_TRY_NOTE(checker->diag, check_alias(checker, t), "in tensor %d (%s)", t, tensor->name);
    HN_TRY_NOTE(checker->diag, check_place(checker, t), "in tensor %d (%s)", t, tensor->name);
    HN_TRY_NOTE(checker->diag, check_part(checker, t), "in tensor %d (%s)", t, tensor->name);
  }
  for (int i = 0; i < plan->input_count; ++i)
    HN_TRY_NOTE(checker->diag, check_profile(checker, i), "in input %s", plan->inputs[i].name);
  for (int i = 0; i < plan->output_count; ++i)
    HN_TRY_NOTE(checker->diag, check_output(checker, i), "in output %s", plan->outputs[i].name);
  return HONE_OK;
}
