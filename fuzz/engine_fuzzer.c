/* SPDX-License-Identifier: Apache-2.0 */
/* engine_fuzzer.c - any bytes given as an engine, their checksums made right, are an engine that runs or an error in
 * words. */
#include "engine_patch.h"
#include <hone/hone.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

enum { MAX_BYTES = 1 << 20 };
static const uint64_t run_limit_bytes = 1 << 24; /* larger activations are not worth the fuzzer's time */

/* Runs a schedule with inputs of zeros. A status is enough: the session says why. */
static void run(hone_engine *engine, int schedule) {
  const hone_session_options options = {
      .struct_size = sizeof options, .heap_limit_bytes = run_limit_bytes, .one_schedule = true, .schedule = schedule};
  hone_session *session;
  if (hone_session_create(engine, &options, &session, NULL) != HONE_OK) return;
  const hone_status status = hone_session_run(session);
  if (status == HONE_INTERNAL || (status != HONE_OK && hone_session_message_count(session) == 0)) abort();
  for (int i = 0; status == HONE_OK && i < hone_engine_output_count(engine); ++i) {
    hone_port_info info = HONE_SIZED(hone_port_info);
    hone_tensor tensor;
    if (hone_engine_output(engine, i, &info) != HONE_OK) abort();
    (void)!hone_session_tensor(session, info.name, &tensor);
  }
  hone_session_destroy(session);
}

/* Refuses what is larger than the fuzzer's memory; sizes stand before the memory, as the library is told them. */
static void *resize(void *user, void *old, size_t old_bytes, size_t new_bytes) {
  (void)user;
  if (new_bytes == 0 || new_bytes > run_limit_bytes) {
    if (new_bytes == 0) free(old);
    return NULL;
  }
  void *fresh = aligned_alloc(64, (new_bytes + 63) / 64 * 64);
  if (fresh && old) memcpy(fresh, old, old_bytes < new_bytes ? old_bytes : new_bytes);
  if (fresh) free(old);
  return fresh;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  if (count > MAX_BYTES) return 0;
  uint8_t *copy = malloc(count ? count : 1);
  if (!copy) return 0;
  if (count) memcpy(copy, bytes, count);
  engine_patch(copy, count, 1);
  const hone_context_options options = {.struct_size = sizeof options, .resize = resize, .deadline_ms = 5000};
  const hone_device_options one = {.struct_size = sizeof one, .threads = 1};
  hone_context *context = NULL;
  hone_device *device = NULL;
  if (hone_context_create(&options, &context) != HONE_OK || hone_device_open(context, "cpu", 0, &one, &device)) abort();
  hone_engine *engine;
  const hone_status status = hone_engine_load_memory(context, copy, count, &device, 1, &engine);
  if ((status == HONE_OK) != (engine != NULL) || status == HONE_INTERNAL) abort();
  if (status != HONE_OK && hone_context_message_count(context) == 0) abort();
  for (int k = 0; engine && k < hone_engine_schedule_count(engine); ++k) run(engine, k);
  hone_engine_release(engine);
  hone_device_close(device);
  hone_context_destroy(context);
  free(copy);
  return 0;
}
