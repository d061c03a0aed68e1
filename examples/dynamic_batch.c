/* SPDX-License-Identifier: Apache-2.0 */
/* dynamic_batch.c - one engine for any batch from 1 to 16: a free dim, two profiles, shapes set before each run.
 * usage: dynamic_batch */
#include <hone/hone.h>
#include <stdio.h>

enum { WIDTH = 32, MOST = 16 };

static int fail(hone_context *context, hone_status status) {
  for (int i = 0; i < hone_context_message_count(context); ++i)
    fprintf(stderr, "%s\n", hone_context_message(context, i, NULL));
  return (int)status;
}

/* y = sigmoid(x) * x over [N, 32], where N is free. */
static hone_status build_graph(hone_context *context, hone_graph **out_graph) {
  hone_value *x, *s, *y;
  const char *const names[2] = {"N", NULL};
  hone_status status = hone_graph_create(context, "swish", out_graph);
  if (status == HONE_OK)
    status = hone_graph_add_input(*out_graph, "x", HONE_F32, 2, (const int64_t[]){-1, WIDTH}, names, &x);
  if (status == HONE_OK) status = hone_graph_add_node(*out_graph, "sigmoid", NULL, &x, 1, NULL, 0, &s, 1);
  if (status == HONE_OK)
    status = hone_graph_add_node(*out_graph, "mul", NULL, (hone_value *[]){x, s}, 2, NULL, 0, &y, 1);
  if (status == HONE_OK) status = hone_graph_add_output(*out_graph, "y", y);
  return status;
}

static hone_status build_engine(hone_context *context, hone_graph *graph, hone_device *device, hone_engine **out) {
  /* Each profile is a schedule of its own, tuned for its opt shape; runs take the one that is tuned nearest. */
  const hone_profile_shape profiles[2] = {{.input = "x",
                                           .min = {.rank = 2, .dim = {1, WIDTH}},
                                           .opt = {.rank = 2, .dim = {1, WIDTH}},
                                           .max = {.rank = 2, .dim = {1, WIDTH}},
                                           .profile = 0},
                                          {.input = "x",
                                           .min = {.rank = 2, .dim = {2, WIDTH}},
                                           .opt = {.rank = 2, .dim = {8, WIDTH}},
                                           .max = {.rank = 2, .dim = {MOST, WIDTH}},
                                           .profile = 1}};
  const hone_build_options options = {.struct_size = sizeof options, .shapes = profiles, .shape_count = 2};
  return hone_engine_build(context, graph, &device, 1, &options, out);
}

/* The session keeps what it prepared for the latest few shapes: a shape that comes again costs nothing. */
static hone_status run_batch(hone_session *session, int64_t batch) {
  static float data[MOST * WIDTH];
  for (int64_t i = 0; i < batch * WIDTH; ++i) data[i] = (float)(i % 9 - 4);
  const hone_tensor input = {
      .type = {.kind = HONE_TENSOR, .dtype = HONE_F32, .shape = {.rank = 2, .dim = {batch, WIDTH}}},
      .data = data,
      .bytes = (size_t)batch * WIDTH * sizeof(float)};
  hone_tensor output;
  hone_status status = hone_session_copy_in(session, "x", &input); /* sets the shape, too */
  if (status == HONE_OK) status = hone_session_run(session);
  if (status == HONE_OK) status = hone_session_tensor(session, "y", &output);
  if (status == HONE_OK)
    printf("batch %lld: y is [%lld, %lld], its last element %.4f\n", (long long)batch,
           (long long)output.type.shape.dim[0], (long long)output.type.shape.dim[1],
           hone_tensor_real(&output, hone_tensor_count(&output) - 1));
  return status;
}

static hone_status run(hone_context *context, hone_engine *engine) {
  hone_session *session;
  hone_status status = hone_session_create(engine, NULL, &session, hone_context_diagnostics(context));
  if (status != HONE_OK) return status;
  static const int64_t batches[] = {1, 8, MOST, 3, 8};
  for (int i = 0; status == HONE_OK && i < 5; ++i) status = run_batch(session, batches[i]);
  const int64_t too_many[2] = {MOST + 1, WIDTH};
  if (status == HONE_OK && hone_session_set_shape(session, "x", 2, too_many) == HONE_INVALID)
    printf("batch %d is refused: %s\n", MOST + 1, hone_session_message(session, 0, NULL));
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
  if (status == HONE_OK) status = build_engine(context, graph, device, &engine);
  if (status == HONE_OK) status = run(context, engine);
  const int code = status == HONE_OK ? 0 : fail(context, status);
  hone_engine_release(engine);
  hone_device_close(device);
  hone_graph_destroy(graph);
  hone_context_destroy(context);
  return code;
}
