/* SPDX-License-Identifier: Apache-2.0 */
/* test_backend.c - the Triton backend in a server of our own, that counts what it is given: each request one final
 * response and one release, rows to whom they belong, errors in words, nothing left. `make test-triton` has the real
 * one. */
#include "triton_api.h"
#include <hone/hone.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COLUMNS = 4, MOST = 8, FP32 = 11, INT64 = 9 };

/* ---- the server ---- */

struct TRITONSERVER_Error {
  int code;
  char text[512];
};
struct TRITONSERVER_Message {
  char json[4096];
};
struct TRITONBACKEND_Model {
  const char *config;
  char completed[4096], folder[256];
  void *state;
};
struct TRITONBACKEND_ModelInstance {
  TRITONBACKEND_Model *model;
  int kind;
  void *state;
  int statistics, failures, runs;
  uint64_t rows;
};
struct TRITONBACKEND_Input {
  int datatype;
  int64_t shape[2];
  uint32_t buffers; /* pieces that the data comes in */
  uint64_t missing; /* bytes */
  float data[MOST * COLUMNS];
};
struct TRITONBACKEND_Output {
  float data[MOST * COLUMNS];
  int64_t shape[2];
};
struct TRITONBACKEND_Response {
  TRITONBACKEND_Output output;
  int outputs, sent;
  char error[512];
};
struct TRITONBACKEND_Request {
  TRITONBACKEND_Input input;
  TRITONBACKEND_Response response;
  int released;
};
static uint32_t api_minor = 19;
static int live_errors;

TRITONSERVER_Error *TRITONSERVER_ErrorNew(int code, const char *message) {
  TRITONSERVER_Error *error = calloc(1, sizeof *error);
  if (!error) abort();
  error->code = code;
  (void)snprintf(error->text, sizeof error->text, "%s", message);
  ++live_errors;
  return error;
}
void TRITONSERVER_ErrorDelete(TRITONSERVER_Error *error) {
  free(error);
  --live_errors;
}
const char *TRITONSERVER_ErrorMessage(TRITONSERVER_Error *error) { return error->text; }
TRITONSERVER_Error *TRITONSERVER_LogMessage(int level, const char *file, int line, const char *message) {
  (void)level, (void)file, (void)line, (void)message;
  return NULL;
}
static TRITONSERVER_Message *new_message(const char *json, size_t bytes) {
  TRITONSERVER_Message *message = calloc(1, sizeof *message);
  if (!message || bytes >= sizeof message->json) abort();
  memcpy(message->json, json, bytes);
  return message;
}
TRITONSERVER_Error *TRITONSERVER_MessageNewFromSerializedJson(TRITONSERVER_Message **message, const char *json,
                                                              size_t bytes) {
  *message = new_message(json, bytes);
  return NULL;
}
TRITONSERVER_Error *TRITONSERVER_MessageSerializeToJson(TRITONSERVER_Message *message, const char **json,
                                                        size_t *bytes) {
  *json = message->json;
  *bytes = strlen(message->json);
  return NULL;
}
TRITONSERVER_Error *TRITONSERVER_MessageDelete(TRITONSERVER_Message *message) {
  free(message);
  return NULL;
}
TRITONSERVER_Error *TRITONBACKEND_ApiVersion(uint32_t *major, uint32_t *minor) {
  *major = 1;
  *minor = api_minor;
  return NULL;
}
TRITONSERVER_Error *TRITONBACKEND_ModelName(TRITONBACKEND_Model *model, const char **name) {
  (void)model;
  *name = "net";
  return NULL;
}
TRITONSERVER_Error *TRITONBACKEND_ModelVersion(TRITONBACKEND_Model *model, uint64_t *version) {
  (void)model;
  *version = 1;
  return NULL;
}
TRITONSERVER_Error *TRITONBACKEND_ModelRepository(TRITONBACKEND_Model *model, int *artifact, const char **location) {
  *artifact = 0;
  *location = model->folder;
  return NULL;
}
TRITONSERVER_Error *TRITONBACKEND_ModelConfig(TRITONBACKEND_Model *model, uint32_t version,
                                              TRITONSERVER_Message **config) {
  assert_int_equal(version, 1);
  *config = new_message(model->config, strlen(model->config));
  return NULL;
}
TRITONSERVER_Error *TRITONBACKEND_ModelAutoCompleteConfig(TRITONBACKEND_Model *model, bool *wanted) {
  (void)model;
  *wanted = true;
  return NULL;
}
TRITONSERVER_Error *TRITONBACKEND_ModelSetConfig(TRITONBACKEND_Model *model, uint32_t version,
                                                 TRITONSERVER_Message *config) {
  assert_int_equal(version, 1);
  memcpy(model->completed, config->json, sizeof model->completed);
  return NULL;
}
TRITONSERVER_Error *TRITONBACKEND_ModelState(TRITONBACKEND_Model *model, void **state) {
  *state = model->state;
  return NULL;
}
TRITONSERVER_Error *TRITONBACKEND_ModelSetState(TRITONBACKEND_Model *model, void *state) {
  model->state = state;
  return NULL;
}
TRITONSERVER_Error *TRITONBACKEND_ModelInstanceKind(TRITONBACKEND_ModelInstance *instance, int *kind) {
  *kind = instance->kind;
  return NULL;
}
TRITONSERVER_Error *TRITONBACKEND_ModelInstanceModel(TRITONBACKEND_ModelInstance *instance,
                                                     TRITONBACKEND_Model **model) {
  *model = instance->model;
  return NULL;
}
TRITONSERVER_Error *TRITONBACKEND_ModelInstanceState(TRITONBACKEND_ModelInstance *instance, void **state) {
  *state = instance->state;
  return NULL;
}
TRITONSERVER_Error *TRITONBACKEND_ModelInstanceSetState(TRITONBACKEND_ModelInstance *instance, void *state) {
  instance->state = state;
  return NULL;
}
TRITONSERVER_Error *TRITONBACKEND_ModelInstanceReportStatistics(TRITONBACKEND_ModelInstance *instance,
                                                                TRITONBACKEND_Request *request, bool success,
                                                                uint64_t begin, uint64_t compute, uint64_t computed,
                                                                uint64_t end) {
  assert_int_equal(request->released, 0);
  assert_true(begin <= compute && compute <= computed && computed <= end);
  instance->statistics += success;
  instance->failures += !success;
  return NULL;
}
TRITONSERVER_Error *TRITONBACKEND_ModelInstanceReportBatchStatistics(TRITONBACKEND_ModelInstance *instance,
                                                                     uint64_t rows, uint64_t begin, uint64_t compute,
                                                                     uint64_t computed, uint64_t end) {
  assert_true(begin <= compute && compute <= computed && computed <= end);
  ++instance->runs;
  instance->rows += rows;
  return NULL;
}
TRITONSERVER_Error *TRITONBACKEND_RequestInput(TRITONBACKEND_Request *request, const char *name,
                                               TRITONBACKEND_Input **input) {
  assert_string_equal(name, "x");
  *input = &request->input;
  return NULL;
}
TRITONSERVER_Error *TRITONBACKEND_RequestOutputCount(TRITONBACKEND_Request *request, uint32_t *count) {
  (void)request;
  *count = 1;
  return NULL;
}
TRITONSERVER_Error *TRITONBACKEND_RequestOutputName(TRITONBACKEND_Request *request, uint32_t index, const char **name) {
  (void)request, (void)index;
  *name = "y";
  return NULL;
}
TRITONSERVER_Error *TRITONBACKEND_RequestRelease(TRITONBACKEND_Request *request, uint32_t flags) {
  assert_int_equal(flags, TRITON_RELEASE_ALL);
  ++request->released;
  return NULL;
}
static uint64_t input_bytes(const TRITONBACKEND_Input *input) {
  return (uint64_t)(input->shape[0] * input->shape[1]) * sizeof(float) - input->missing;
}
TRITONSERVER_Error *TRITONBACKEND_InputProperties(TRITONBACKEND_Input *input, const char **name, int *datatype,
                                                  const int64_t **shape, uint32_t *rank, uint64_t *bytes,
                                                  uint32_t *buffers) {
  if (name) *name = "x";
  if (datatype) *datatype = input->datatype;
  if (shape) *shape = input->shape;
  if (rank) *rank = 2;
  if (bytes) *bytes = input_bytes(input);
  if (buffers) *buffers = input->buffers;
  return NULL;
}
TRITONSERVER_Error *TRITONBACKEND_InputBuffer(TRITONBACKEND_Input *input, uint32_t index, const void **buffer,
                                              uint64_t *bytes, int *memory_type, int64_t *memory_id) {
  const uint64_t all = input_bytes(input), piece = all / input->buffers, at = piece * index;
  *buffer = (const char *)input->data + at;
  *bytes = index + 1 == input->buffers ? all - at : piece;
  *memory_type = TRITON_CPU;
  *memory_id = 0;
  return NULL;
}
TRITONSERVER_Error *TRITONBACKEND_ResponseNew(TRITONBACKEND_Response **response, TRITONBACKEND_Request *request) {
  *response = &request->response;
  return NULL;
}
TRITONSERVER_Error *TRITONBACKEND_ResponseOutput(TRITONBACKEND_Response *response, TRITONBACKEND_Output **output,
                                                 const char *name, int datatype, const int64_t *shape, uint32_t rank) {
  assert_string_equal(name, "y");
  assert_int_equal(datatype, FP32);
  assert_int_equal(rank, 2);
  memcpy(response->output.shape, shape, sizeof response->output.shape);
  ++response->outputs;
  *output = &response->output;
  return NULL;
}
TRITONSERVER_Error *TRITONBACKEND_OutputBuffer(TRITONBACKEND_Output *output, void **buffer, uint64_t bytes,
                                               int *memory_type, int64_t *memory_id) {
  assert_int_equal(bytes, (uint64_t)(output->shape[0] * output->shape[1]) * sizeof(float));
  assert_true(bytes <= sizeof output->data);
  *buffer = output->data;
  *memory_type = TRITON_CPU;
  *memory_id = 0;
  return NULL;
}
TRITONSERVER_Error *TRITONBACKEND_ResponseSend(TRITONBACKEND_Response *response, uint32_t flags,
                                               TRITONSERVER_Error *error) {
  assert_int_equal(flags, TRITON_COMPLETE_FINAL);
  ++response->sent;
  if (error) (void)snprintf(response->error, sizeof response->error, "%s", error->text);
  return NULL;
}

/* ---- the model: y = max(x, 0), one to eight rows ---- */

static char folder[256];

static void build_engine(hone_context *context, hone_device *device, const char *path) {
  static const int64_t dims[] = {-1, COLUMNS};
  static const char *const names[] = {"n", NULL};
  hone_graph *graph;
  hone_value *x, *y;
  hone_engine *engine;
  assert_int_equal(hone_graph_create(context, "net", &graph), HONE_OK);
  assert_int_equal(hone_graph_add_input(graph, "x", HONE_F32, 2, dims, names, &x), HONE_OK);
  assert_int_equal(hone_graph_add_node(graph, "relu", NULL, &x, 1, NULL, 0, &y, 1), HONE_OK);
  assert_int_equal(hone_graph_add_output(graph, "y", y), HONE_OK);
  const hone_profile_shape shape = {"x", {2, {1, COLUMNS}}, {2, {MOST, COLUMNS}}, {2, {MOST, COLUMNS}}, 0};
  const hone_build_options options = {.struct_size = sizeof options, .shapes = &shape, .shape_count = 1, .level = -1};
  assert_int_equal(hone_engine_build(context, graph, &device, 1, &options, &engine), HONE_OK);
  assert_int_equal(hone_engine_save(engine, path, hone_context_diagnostics(context)), HONE_OK);
  hone_engine_release(engine);
  hone_graph_destroy(graph);
}

static int make_repository(void **state) {
  char path[512];
  hone_context *context;
  hone_device *device;
  const hone_device_options one = {.struct_size = sizeof one, .threads = 1};
  (void)state;
  (void)snprintf(folder, sizeof folder, "%s/hone-triton-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
  if (!mkdtemp(folder)) return -1;
  (void)snprintf(path, sizeof path, "%s/1", folder);
  if (mkdir(path, 0777) != 0) return -1;
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  assert_int_equal(hone_device_open(context, "cpu", 0, &one, &device), HONE_OK);
  (void)snprintf(path, sizeof path, "%s/1/model.hone", folder);
  build_engine(context, device, path);
  hone_device_close(device);
  hone_context_destroy(context);
  return 0;
}

static int remove_repository(void **state) {
  static const char *const names[] = {"/1/model.hone", "/1/model.hone.ledger", "/1", ""};
  (void)state;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    char path[512];
    (void)snprintf(path, sizeof path, "%s%s", folder, names[i]);
    (void)remove(path);
  }
  return 0;
}

/* ---- tests ---- */

static void expect_error(TRITONSERVER_Error *error, const char *words) {
  if (!error) fail_msg("no error, where \"%s\" was expected", words);
  if (!strstr(error->text, words)) fail_msg("\"%s\" does not say \"%s\"", error->text, words);
  TRITONSERVER_ErrorDelete(error);
}

static void test_version(void **state) {
  (void)state;
  api_minor = TRITON_API_MINOR - 1;
  expect_error(TRITONBACKEND_Initialize(NULL), "backend API is 1.5");
  api_minor = 19;
  assert_null(TRITONBACKEND_Initialize(NULL));
}

static void test_configurations(void **state) {
#define PORT(name, type, dims) "[{\"name\":\"" name "\",\"data_type\":\"" type "\",\"dims\":[" dims "]}]"
  static const struct {
    const char *config, *words; /* words: of the error; NULL: of what is completed, in `completed` */
    const char *completed;
  } rows[] = {
      {"{\"max_batch_size\":0,\"input\":[],\"output\":[]}", NULL, "\"max_batch_size\": 8"},
      {"{}", NULL, "\"preferred_batch_size\": [8]"},
      {"{\"max_batch_size\":4,\"input\":" PORT("x", "TYPE_FP32", "\"4\"") "}", NULL, "\"dims\": [4]"},
      {"{\"max_batch_size\":0,\"input\":" PORT("x", "TYPE_FP32", "-1,4") ",\"output\":" PORT("y", "TYPE_FP32",
                                                                                             "-1,4") "}",
       NULL, ""},
      {"{\"max_batch_size\":9}", "takes at most 8", NULL},
      {"{\"max_batch_size\":8,\"input\":" PORT("X", "TYPE_FP32", "4") "}", "did you mean \"x\"", NULL},
      {"{\"max_batch_size\":8,\"input\":" PORT("x", "TYPE_FP16", "4") "}", "the engine's is TYPE_FP32", NULL},
      {"{\"max_batch_size\":8,\"input\":" PORT("x", "TYPE_FP32", "5") "}", "dim 0 is 5; the engine has [4]", NULL},
      {"{\"max_batch_size\":8,\"input\":" PORT("x", "TYPE_FP32", "-1,4") "}", "2 dims", NULL},
      {"{\"parameters\":{\"threads\":{\"string_value\":\"many\"}}}", "allowed: 1 to 256", NULL},
      {"{\"parameters\":{\"thread\":{\"string_value\":\"1\"}}}", "did you mean \"threads\"", NULL},
      {"{\"default_model_filename\":\"other.hone\"}", "there is no other.hone", NULL},
      {"{", "the configuration", NULL},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    TRITONBACKEND_Model model = {.config = rows[i].config};
    memcpy(model.folder, folder, sizeof folder);
    TRITONSERVER_Error *error = TRITONBACKEND_ModelInitialize(&model);
    if (rows[i].words) {
      expect_error(error, rows[i].words);
      continue;
    }
    if (error) fail_msg("%s: %s", rows[i].config, error->text);
    if (!strstr(model.completed, rows[i].completed)) fail_msg("%s: completed: %s", rows[i].config, model.completed);
    assert_null(TRITONBACKEND_ModelFinalize(&model));
  }
  assert_int_equal(live_errors, 0);
}

/* x is the request's number, alternately negative. */
static void fill(TRITONBACKEND_Request *r, int number, int64_t rows, uint32_t buffers) {
  *r = (TRITONBACKEND_Request){.input = {.datatype = FP32, .shape = {rows, COLUMNS}, .buffers = buffers}};
  for (int64_t i = 0; i < rows * COLUMNS && i < MOST * COLUMNS; ++i)
    r->input.data[i] = (float)(i % 2 ? -number - 1 : number + 1);
}

static void check_answered(const TRITONBACKEND_Request *r, int number) {
  assert_int_equal(r->response.sent, 1);
  assert_int_equal(r->released, 1);
  assert_string_equal(r->response.error, "");
  assert_int_equal(r->response.outputs, 1);
  assert_int_equal(r->response.output.shape[0], r->input.shape[0]);
  for (int64_t i = 0; i < r->input.shape[0] * COLUMNS; ++i)
    assert_true(r->response.output.data[i] == (float)(i % 2 ? 0 : number + 1));
}

static void check_refused(const TRITONBACKEND_Request *r, const char *words) {
  assert_int_equal(r->response.sent, 1);
  assert_int_equal(r->released, 1);
  if (!strstr(r->response.error, words)) fail_msg("\"%s\" does not say \"%s\"", r->response.error, words);
}

static void test_requests(void **state) {
  static TRITONBACKEND_Request requests[8];
  TRITONBACKEND_Request *list[8];
  TRITONBACKEND_Model model = {.config = "{}"};
  TRITONBACKEND_ModelInstance instance = {.model = &model, .kind = 2};
  (void)state;
  memcpy(model.folder, folder, sizeof folder);
  assert_null(TRITONBACKEND_ModelInitialize(&model));
  expect_error(TRITONBACKEND_ModelInstanceInitialize(&instance), "KIND_CPU");
  instance.kind = TRITON_INSTANCE_CPU;
  assert_null(TRITONBACKEND_ModelInstanceInitialize(&instance));
  for (int i = 0; i < 8; ++i) {
    fill(&requests[i], i, 1 + i % 3, 1 + (uint32_t)i % 3);
    list[i] = &requests[i];
  }
  requests[2].input.datatype = INT64;
  requests[4].input.missing = 4;
  fill(&requests[6], 6, MOST + 1, 1);
  assert_null(TRITONBACKEND_ModelInstanceExecute(&instance, list, 8));
  for (int i = 0; i < 8; ++i)
    if (i % 2 || i == 0) check_answered(&requests[i], i);
  check_refused(&requests[2], "is not FP32 of rank 2");
  check_refused(&requests[4], "bytes, where its shape has");
  check_refused(&requests[6], "was not built for these shapes");
  assert_int_equal(instance.statistics, 5);
  assert_int_equal(instance.failures, 3);
  assert_int_equal(instance.runs, 4); /* 0 and 1 together, 3, 5, 7 */
  assert_int_equal(instance.rows, 1 + 2 + 1 + 3 + 2);
  for (int i = 0; i < 8; ++i) fill(&requests[i], i, 3, 2); /* two at a time are 6 rows, three would be 9 */
  assert_null(TRITONBACKEND_ModelInstanceExecute(&instance, list, 8));
  for (int i = 0; i < 8; ++i) check_answered(&requests[i], i);
  assert_int_equal(instance.runs, 8);
  assert_null(TRITONBACKEND_ModelInstanceFinalize(&instance));
  assert_null(TRITONBACKEND_ModelFinalize(&model));
  assert_int_equal(live_errors, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_version),
      cmocka_unit_test(test_configurations),
      cmocka_unit_test(test_requests),
  };
  return cmocka_run_group_tests(tests, make_repository, remove_repository);
}
