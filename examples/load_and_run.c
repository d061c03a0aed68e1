/* SPDX-License-Identifier: Apache-2.0 */
/* load_and_run.c - opens an engine and runs it on a tensor file (.npy or .pb); prints the largest output elements.
 * usage: load_and_run ENGINE [INPUT] */
#include <hone/hone.h>
#include <stdio.h>

static int fail(hone_context *context, hone_status status) {
  for (int i = 0; i < hone_context_message_count(context); ++i)
    fprintf(stderr, "%s\n", hone_context_message(context, i, NULL));
  return (int)status;
}

/* The first input from the file; without a file everything stays zero, as a new session has it. */
static hone_status fill(hone_context *context, hone_engine *engine, hone_session *session, const char *path) {
  if (!path) return HONE_OK;
  hone_port_info port = HONE_SIZED(hone_port_info);
  hone_tensor tensor;
  hone_status status = hone_engine_input(engine, 0, &port);
  if (status == HONE_OK) status = hone_tensor_read(context, path, &tensor);
  if (status != HONE_OK) return status;
  status = hone_session_copy_in(session, port.name, &tensor);
  hone_tensor_free(context, &tensor);
  return status;
}

static hone_status print_largest(hone_engine *engine, hone_session *session) {
  for (int i = 0; i < hone_engine_output_count(engine); ++i) {
    hone_port_info port = HONE_SIZED(hone_port_info);
    hone_tensor tensor;
    hone_status status = hone_engine_output(engine, i, &port);
    if (status == HONE_OK) status = hone_session_tensor(session, port.name, &tensor);
    if (status != HONE_OK) return status;
    int64_t best = 0;
    for (int64_t k = 1; k < hone_tensor_count(&tensor); ++k)
      if (hone_tensor_real(&tensor, k) > hone_tensor_real(&tensor, best)) best = k;
    printf("%s: element %lld is the largest: %.6g\n", port.name, (long long)best, hone_tensor_real(&tensor, best));
  }
  return HONE_OK;
}

int main(int count, char **arguments) {
  if (count < 2) {
    fprintf(stderr, "usage: %s ENGINE [INPUT]\n", arguments[0]);
    return 2;
  }
  hone_context *context;
  hone_device *device = NULL;
  hone_engine *engine = NULL;
  hone_session *session = NULL;
  hone_status status = hone_context_create(NULL, &context);
  if (status != HONE_OK) return (int)status;
  status = hone_device_open(context, "cpu", 0, NULL, &device);
  if (status == HONE_OK) status = hone_engine_load(context, arguments[1], &device, 1, &engine);
  if (status == HONE_OK) status = hone_session_create(engine, NULL, &session, hone_context_diagnostics(context));
  if (status == HONE_OK) status = fill(context, engine, session, count > 2 ? arguments[2] : NULL);
  if (status == HONE_OK) status = hone_session_run(session);
  if (status == HONE_OK) status = print_largest(engine, session);
  const int code = status == HONE_OK ? 0 : fail(context, status);
  for (int i = 0; session && code != 0 && i < hone_session_message_count(session); ++i)
    fprintf(stderr, "%s\n", hone_session_message(session, i, NULL));
  hone_session_destroy(session);
  hone_engine_release(engine);
  hone_device_close(device);
  hone_context_destroy(context);
  return code;
}
