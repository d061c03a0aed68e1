/* SPDX-License-Identifier: Apache-2.0 */
/* build_by_hand.c - a network without ONNX: two linear layers and a softmax, built layer by layer, tuned and run.
 * usage: build_by_hand */
#include <hone/hone.h>
#include <stdio.h>

enum { INPUTS = 8, HIDDEN = 16, CLASSES = 4 };

/* Any message of the library, then the reason to stop. */
static int fail(hone_context *context, hone_status status) {
  for (int i = 0; i < hone_context_message_count(context); ++i)
    fprintf(stderr, "%s\n", hone_context_message(context, i, NULL));
  return (int)status;
}

/* A constant of rows x columns; the weights here are a pattern, yours come from training. */
static hone_status add_weights(hone_graph *graph, const char *name, int rows, int columns, hone_value **out) {
  float data[HIDDEN * INPUTS];
  for (int i = 0; i < rows * columns; ++i) data[i] = (float)(i % 7 - 3) * 0.1f;
  const hone_tensor tensor = {
      .type = {.kind = HONE_TENSOR, .dtype = HONE_F32, .shape = {.rank = 2, .dim = {rows, columns}}},
      .data = data,
      .bytes = (size_t)rows * (size_t)columns * sizeof(float)};
  return hone_graph_add_constant(graph, name, &tensor, out);
}

/* x -> linear -> relu -> linear -> softmax. `linear` multiplies by a matrix of [inputs, outputs]. */
static hone_status build_graph(hone_context *context, hone_graph **out_graph) {
  hone_value *x, *w1, *w2, *h, *y;
  hone_status status = hone_graph_create(context, "mlp", out_graph);
  if (status != HONE_OK) return status;
  hone_graph *graph = *out_graph;
  status = hone_graph_add_input(graph, "x", HONE_F32, 2, (const int64_t[]){1, INPUTS}, NULL, &x);
  if (status == HONE_OK) status = add_weights(graph, "w1", INPUTS, HIDDEN, &w1);
  if (status == HONE_OK) status = add_weights(graph, "w2", HIDDEN, CLASSES, &w2);
  if (status == HONE_OK)
    status = hone_graph_add_node(graph, "linear", "hidden", (hone_value *[]){x, w1}, 2, NULL, 0, &h, 1);
  if (status == HONE_OK) status = hone_graph_add_node(graph, "relu", "active", &h, 1, NULL, 0, &h, 1);
  if (status == HONE_OK)
    status = hone_graph_add_node(graph, "linear", "scores", (hone_value *[]){h, w2}, 2, NULL, 0, &y, 1);
  const hone_attr axis = {.name = "axis", .kind = HONE_ATTR_INT, .i = -1};
  if (status == HONE_OK) status = hone_graph_add_node(graph, "softmax", "probabilities", &y, 1, &axis, 1, &y, 1);
  if (status == HONE_OK) status = hone_graph_add_output(graph, "y", y);
  return status;
}

static hone_status run(hone_context *context, hone_engine *engine) {
  hone_session *session;
  hone_status status = hone_session_create(engine, NULL, &session, hone_context_diagnostics(context));
  if (status != HONE_OK) return status;
  float input[INPUTS] = {1, -1, 0.5f, 2, 0, -0.5f, 1, 3};
  const hone_tensor tensor = {
      .type = {.kind = HONE_TENSOR, .dtype = HONE_F32, .shape = {.rank = 2, .dim = {1, INPUTS}}},
      .data = input,
      .bytes = sizeof input};
  hone_tensor output;
  status = hone_session_copy_in(session, "x", &tensor);
  if (status == HONE_OK) status = hone_session_run(session);
  if (status == HONE_OK) status = hone_session_tensor(session, "y", &output);
  for (int i = 0; status == HONE_OK && i < CLASSES; ++i) printf("class %d: %.4f\n", i, hone_tensor_real(&output, i));
  hone_session_destroy(session);
  return status;
}

int main(void) {
  hone_context *context;
  hone_graph *graph = NULL;
  hone_device *device = NULL;
  hone_engine *engine = NULL;
  hone_status status = hone_context_create(NULL, &context);
  if (status != HONE_OK) return (int)status;
  status = build_graph(context, &graph);
  if (status == HONE_OK) status = hone_device_open(context, "cpu", 0, NULL, &device);
  if (status == HONE_OK) status = hone_engine_build(context, graph, &device, 1, NULL, &engine);
  if (status == HONE_OK) status = run(context, engine);
  const int code = status == HONE_OK ? 0 : fail(context, status);
  hone_engine_release(engine);
  hone_device_close(device);
  hone_graph_destroy(graph);
  hone_context_destroy(context);
  return code;
}
