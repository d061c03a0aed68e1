/* SPDX-License-Identifier: Apache-2.0 */
/* model_case.c - models with their data: `input_i.pb` belongs to the i-th graph input that is no initializer. */
#include "support/model_case.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static hone_status ramp_input(model_case *c, int i, const hone_type *type) {
  hone_status status = hone_tensor_alloc(c->context, type, &c->in[i]);
  if (status != HONE_OK) return status;
  const int64_t count = hone_tensor_count(&c->in[i]);
  for (int64_t k = 0; k < count; ++k) hone_tensor_set_real(&c->in[i], k, (double)k / (double)count);
  return HONE_OK;
}

static hone_status read_inputs(model_case *c, const char *prefix, bool ramp) {
  for (int i = 0; i < c->in_count; ++i) {
    hone_type type;
    hone_value_type(hone_graph_input(c->graph, i), &type);
    char path[4096];
    snprintf(path, sizeof path, "%sinput_%d.pb", prefix, i);
    const hone_status status = ramp ? ramp_input(c, i, &type) : hone_value_read(c->context, path, &type, &c->in[i]);
    if (status != HONE_OK) return status;
  }
  return HONE_OK;
}

static hone_status read_outputs(model_case *c, const char *prefix) {
  for (int j = 0; j < hone_graph_output_count(c->graph) && j < MODEL_CASE_PORTS; ++j) {
    hone_type type;
    hone_value_type(hone_graph_output(c->graph, j), &type);
    char path[4096];
    snprintf(path, sizeof path, "%soutput_%d.pb", prefix, j);
    if (access(path, R_OK) != 0) break;
    c->want_count = j + 1;
    const hone_status status = hone_value_read(c->context, path, &type, &c->want[j]);
    if (status != HONE_OK) return status;
  }
  return HONE_OK;
}

hone_status model_case_open(hone_context *context, const char *model_path, const char *prefix, bool ramp,
                            model_case *out) {
  *out = (model_case){.context = context};
  hone_status status = hone_graph_load_onnx(context, model_path, &out->graph);
  if (status != HONE_OK) return status;
  out->in_count = hone_graph_input_count(out->graph);
  if (out->in_count > MODEL_CASE_PORTS) {
    model_case_close(out);
    return hone_fail(hone_context_diagnostics(context), HONE_LIMIT, "more than %d inputs", MODEL_CASE_PORTS);
  }
  status = read_inputs(out, prefix, ramp);
  if (status == HONE_OK) status = read_outputs(out, prefix);
  if (status != HONE_OK) {
    hone_note(hone_context_diagnostics(context), status, "while reading test data");
    model_case_close(out);
  }
  return status;
}

void model_case_close(model_case *c) {
  for (int i = 0; i < MODEL_CASE_PORTS; ++i) {
    hone_tensor_free(c->context, &c->in[i]);
    hone_tensor_free(c->context, &c->want[i]);
  }
  hone_graph_destroy(c->graph);
  *c = (model_case){0};
}

hone_status model_case_build(const model_case *c, hone_device *device, const hone_build_options *options,
                             hone_engine **out_engine) {
  hone_profile_shape shapes[MODEL_CASE_PORTS];
  hone_named_tensor inputs[MODEL_CASE_PORTS];
  hone_build_options own = *options;
  own.shapes = shapes;
  own.inputs = inputs;
  own.input_count = 0;
  own.shape_count = 0;
  for (int i = 0; i < c->in_count; ++i) {
    if (!c->in[i].data || c->in[i].type.kind != HONE_TENSOR) continue;
    const hone_shape *shape = &c->in[i].type.shape;
    if (own.max_error > 0)
      inputs[own.input_count++] = (hone_named_tensor){hone_value_name(hone_graph_input(c->graph, i)), c->in[i]};
    shapes[own.shape_count++] = (hone_profile_shape){
        .input = hone_value_name(hone_graph_input(c->graph, i)), .min = *shape, .opt = *shape, .max = *shape};
  }
  return hone_engine_build(c->context, c->graph, &device, 1, &own, out_engine);
}

hone_status model_case_feed(const model_case *c, hone_session *session) {
  for (int i = 0; i < c->in_count; ++i) {
    const char *name = hone_value_name(hone_graph_input(c->graph, i));
    const hone_status status = hone_session_copy_in(session, name, &c->in[i]);
    if (status != HONE_OK) return status;
  }
  return HONE_OK;
}

static int64_t index_of_largest(const hone_tensor *tensor) {
  int64_t best = 0;
  for (int64_t i = 1; i < hone_tensor_count(tensor); ++i)
    if (hone_tensor_real(tensor, i) > hone_tensor_real(tensor, best)) best = i;
  return best;
}

static void describe_type(const hone_type *type, char *out, size_t room) {
  size_t used = (size_t)snprintf(out, room, "%s[", hone_dtype_name(type->dtype));
  for (int d = 0; d < type->shape.rank && used < room; ++d)
    used += (size_t)snprintf(out + used, room - used, "%s%lld", d ? "," : "", (long long)type->shape.dim[d]);
  if (used < room) snprintf(out + used, room - used, "]");
}

/* Element by element; the sum of what differs. */
static void compare_lists(const hone_tensor *got, const hone_tensor *want, const char *name, double atol, double rtol,
                          model_case_error *out) {
  const hone_tensor *have = got->data, *expected = want->data;
  const int64_t count = hone_tensor_count(want);
  out->comparable = got->type.kind == want->type.kind && hone_tensor_count(got) == count;
  if (!out->comparable)
    snprintf(out->why, sizeof out->why, "output %s has %lld elements, not %lld", name,
             (long long)hone_tensor_count(got), (long long)count);
  for (int64_t i = 0; out->comparable && i < count; ++i) {
    hone_comparison one = HONE_SIZED(hone_comparison);
    if (expected[i].type.kind != HONE_TENSOR) {
      compare_lists(&have[i], &expected[i], name, atol, rtol, out);
      continue;
    }
    out->comparable = hone_tensor_compare(&have[i], &expected[i], atol, rtol, &one) == HONE_OK;
    if (out->comparable) out->comparison.mismatches += one.mismatches;
    if (!out->comparable || one.mismatches)
      snprintf(out->why, sizeof out->why, "output %s: element %lld is another one", name, (long long)i);
  }
}

void model_case_compare(const model_case *c, hone_session *session, int j, double atol, double rtol,
                        model_case_error *out) {
  *out = (model_case_error){.comparison = HONE_SIZED(hone_comparison)};
  const char *name = hone_graph_output_name(c->graph, j);
  hone_tensor got;
  if (hone_session_tensor(session, name, &got) != HONE_OK) {
    snprintf(out->why, sizeof out->why, "output %s cannot be read: %s", name,
             hone_session_message_count(session) ? hone_session_message(session, 0, NULL) : "no message");
    return;
  }
  if (c->want[j].type.kind != HONE_TENSOR) {
    compare_lists(&got, &c->want[j], name, atol, rtol, out);
    return;
  }
  out->comparable = hone_tensor_compare(&got, &c->want[j], atol, rtol, &out->comparison) == HONE_OK;
  if (!out->comparable) {
    char have[80], want[80];
    describe_type(&got.type, have, sizeof have);
    describe_type(&c->want[j].type, want, sizeof want);
    snprintf(out->why, sizeof out->why, "output %s is %s, not %s", name, have, want);
    return;
  }
  out->same_top = index_of_largest(&got) == index_of_largest(&c->want[j]);
  const hone_comparison *by = &out->comparison;
  if (by->mismatches)
    snprintf(out->why, sizeof out->why, "output %s: %lld of %lld elements differ; at %lld got %.9g, not %.9g", name,
             (long long)by->mismatches, (long long)by->compared, (long long)by->worst,
             by->worst < 0 ? 0 : hone_tensor_real(&got, by->worst),
             by->worst < 0 ? 0 : hone_tensor_real(&c->want[j], by->worst));
}
