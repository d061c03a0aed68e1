/* SPDX-License-Identifier: Apache-2.0 */
/* trial.c - an engine's runs at all corners, with an allocator that counts. */
#include "trial.h"
#include "base/hash.h"
#include <hone/report.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEAP_SHARE = 4, FILLED_ELEMENTS = 1 << 14, FILLED_BYTES = 1 << 20, SHAPES = 3, FENCE = 0xa5 };

/* Bytes behind a block stay as they were set, or something wrote past its end. A sanitizer sees that itself, at the
 * first byte behind what was asked for. */
#ifdef CAMPAIGN_SANITIZED
enum { FENCE_BYTES = 0 };
#else
enum { FENCE_BYTES = 32 };
#endif

static bool fence_stands(const uint8_t *fence) {
  bool stands = true;
  for (int i = 0; i < FENCE_BYTES; ++i) stands &= fence[i] == FENCE;
  return stands;
}

static void free_block(trial *t, void *block, size_t bytes) {
  if (!block) return;
  if (!fence_stands((uint8_t *)block + bytes)) atomic_store(&t->broken, bytes);
  free(block);
  atomic_fetch_sub(&t->live, bytes);
}

/* Fresh bytes are others each time, so that a result that depends on them is another one. */
static void *resize(void *user, void *old, size_t old_bytes, size_t new_bytes) {
  trial *t = user;
  if (new_bytes == 0) {
    free_block(t, old, old_bytes);
    return NULL;
  }
  if (new_bytes > t->limit || atomic_load(&t->live) - (old ? old_bytes : 0) > t->limit - new_bytes) return NULL;
  void *fresh;
  if (posix_memalign(&fresh, 64, new_bytes + FENCE_BYTES)) return NULL;
  const uint64_t turn = atomic_fetch_add(&t->turns, 1);
  memset(fresh, (int)(turn * 37 + 1) & 255, new_bytes < FILLED_BYTES ? new_bytes : FILLED_BYTES);
  memset((uint8_t *)fresh + new_bytes, FENCE, FENCE_BYTES);
  if (old) memcpy(fresh, old, old_bytes < new_bytes ? old_bytes : new_bytes);
  free_block(t, old, old_bytes);
  atomic_fetch_add(&t->live, new_bytes);
  return fresh;
}

bool trial_begin(trial *t, const campaign_options *options, bool with_far, int threads) {
  *t = (trial){.limit = options->memory_bytes};
  const hone_context_options own = {
      .struct_size = sizeof own, .resize = resize, .resize_user = t, .deadline_ms = options->deadline_ms};
  const hone_device_options one = {.struct_size = sizeof one, .threads = threads};
  if (hone_context_create(&own, &t->context) != HONE_OK) return false;
  if (with_far && (hone_plugin_load(t->context, options->far_path) != HONE_OK ||
                   hone_device_open(t->context, "far", 0, &one, &t->devices[t->device_count]) != HONE_OK))
    return false;
  t->device_count += with_far;
  if (hone_device_open(t->context, "cpu", 0, &one, &t->devices[t->device_count]) != HONE_OK) return false;
  ++t->device_count;
  return true;
}

const char *trial_end(trial *t) {
  for (int i = 0; i < t->device_count; ++i) hone_device_close(t->devices[i]);
  hone_context_destroy(t->context);
  const uint64_t live = atomic_load(&t->live), broken = atomic_load(&t->broken);
  if (broken) {
    snprintf(t->complaint, sizeof t->complaint, "a write past the end of %llu bytes", (unsigned long long)broken);
    return t->complaint;
  }
  if (!live) return NULL;
  snprintf(t->complaint, sizeof t->complaint, "%llu bytes are never freed", (unsigned long long)live);
  return t->complaint;
}

void trial_print_messages(const trial *t) {
  for (int i = 0; i < hone_context_message_count(t->context); ++i)
    fprintf(stderr, "%s\n", hone_context_message(t->context, i, NULL));
}

static const char *complain(trial *t, const char *call, hone_status status, int count, const char *first) {
  if (status == HONE_OK || (status != HONE_INTERNAL && count > 0)) return NULL;
  snprintf(t->complaint, sizeof t->complaint, "%s: %s: %s", call, hone_status_name(status),
           count ? first : "no message");
  return t->complaint;
}

const char *trial_check(trial *t, hone_status status, const char *call) {
  const int count = hone_context_message_count(t->context);
  return complain(t, call, status, count, count ? hone_context_message(t->context, 0, NULL) : NULL);
}

static const char *check_session(trial *t, const hone_session *session, hone_status status, const char *call) {
  const int count = hone_session_message_count(session);
  return complain(t, call, status, count, count ? hone_session_message(session, 0, NULL) : NULL);
}

static const hone_shape *shape_of(const hone_port_info *info, int which) {
  return which == 0 ? &info->opt : which == 1 ? &info->min : &info->max;
}

/* Small numbers, so that indices and counts among the inputs mean something now and then. */
static void fill(hone_tensor *tensor, hn_random random) {
  const hone_dtype dtype = tensor->type.dtype;
  const bool real = (HONE_TYPES_FLOAT & HONE_BIT(dtype)) != 0;
  if (dtype == HONE_STRING) return;
  const int64_t count = hone_tensor_count(tensor);
  for (int64_t i = 0; i < count && i < FILLED_ELEMENTS; ++i)
    hone_tensor_set_real(tensor, i,
                         real                 ? 2 * hn_random_unit(&random) - 1
                         : dtype == HONE_BOOL ? (double)(hn_random_u64(&random) & 1)
                                              : (double)(hn_random_u64(&random) % 4));
}

static const char *give_inputs(trial *t, hone_engine *engine, hone_session *session, int schedule, int which,
                               uint64_t seed, hone_status *out_status) {
  const int count = hone_engine_input_count(engine);
  *out_status = HONE_OK;
  for (int i = 0; i < count; ++i) { /* all shapes before the first copy: some fit only together */
    hone_port_info info = HONE_SIZED(hone_port_info);
    if (hone_engine_schedule_input(engine, schedule, i, &info) != HONE_OK) return "an input is not there";
    const hone_shape *shape = shape_of(&info, which);
    *out_status = hone_session_set_shape(session, info.name, shape->rank, shape->dim);
    if (*out_status != HONE_OK) return check_session(t, session, *out_status, "set_shape");
  }
  for (int i = 0; i < count; ++i) {
    hone_port_info info = HONE_SIZED(hone_port_info);
    hone_tensor tensor;
    if (hone_engine_schedule_input(engine, schedule, i, &info) != HONE_OK) return "an input is not there";
    hone_type type = info.type;
    type.shape = *shape_of(&info, which);
    if (hone_tensor_alloc(t->context, &type, &tensor) != HONE_OK) {
      *out_status = HONE_NO_MEMORY;
      return NULL;
    }
    fill(&tensor, campaign_random(seed, 3 * i + which));
    *out_status = hone_session_copy_in(session, info.name, &tensor);
    hone_tensor_free(t->context, &tensor);
    if (*out_status != HONE_OK) return check_session(t, session, *out_status, "copy_in");
  }
  return NULL;
}

static void join_outputs(const hone_engine *engine, hone_session *session, uint64_t *hash) {
  for (int i = 0; i < hone_engine_output_count(engine); ++i) {
    hone_port_info info = HONE_SIZED(hone_port_info);
    hone_tensor tensor;
    if (hone_engine_output(engine, i, &info) != HONE_OK) continue;
    if (hone_session_tensor(session, info.name, &tensor) != HONE_OK || !tensor.data) continue;
    if (tensor.type.kind != HONE_TENSOR || tensor.type.dtype == HONE_STRING) continue;
    *hash = hn_hash_join(*hash, hn_hash(tensor.data, tensor.bytes));
  }
}

/* One run; *out_hash is of its outputs alone. */
static const char *run_once(trial *t, hone_engine *engine, hone_session *session, int schedule, int which,
                            uint64_t seed, hone_status *out_status, uint64_t *out_hash) {
  const char *complaint = give_inputs(t, engine, session, schedule, which, seed, out_status);
  if (complaint || *out_status != HONE_OK) return complaint;
  campaign_enter(t->slot, STAGE_RUN);
  *out_status = hone_session_run(session);
  complaint = check_session(t, session, *out_status, "run");
  *out_hash = 0;
  if (*out_status == HONE_OK) join_outputs(engine, session, out_hash);
  return complaint;
}

/* A shape out of the schedule's range is refused. */
static const char *leave_range(trial *t, hone_engine *engine, hone_session *session, int schedule) {
  for (int i = 0; i < hone_engine_input_count(engine); ++i) {
    hone_port_info info = HONE_SIZED(hone_port_info);
    if (hone_engine_schedule_input(engine, schedule, i, &info) != HONE_OK || info.max.rank < 1) continue;
    hone_shape shape = info.max;
    if (shape.dim[shape.rank - 1] == INT64_MAX) continue;
    ++shape.dim[shape.rank - 1];
    const hone_status status = hone_session_set_shape(session, info.name, shape.rank, shape.dim);
    if (status == HONE_OK) return "a shape out of range is taken";
    return check_session(t, session, status, "set_shape out of range");
  }
  return NULL;
}

static const char *run_schedule(trial *t, hone_engine *engine, int schedule, uint64_t seed, bool *all, uint64_t *hash) {
  const hone_session_options options = {.struct_size = sizeof options,
                                        .heap_limit_bytes = t->limit / HEAP_SHARE,
                                        .one_schedule = true,
                                        .schedule = schedule};
  hone_session *session;
  hone_context_clear_messages(t->context);
  hone_status status = hone_session_create(engine, &options, &session, hone_context_diagnostics(t->context));
  const char *complaint = trial_check(t, status, "session_create");
  uint64_t hashes[SHAPES] = {0}, again;
  *all = status == HONE_OK;
  for (int which = 0; session && which < SHAPES && !complaint && status != HONE_LIMIT; ++which) {
    complaint = run_once(t, engine, session, schedule, which, seed, &status, &hashes[which]);
    *hash = hn_hash_join(*hash, hashes[which]);
    *all &= status == HONE_OK;
  }
  if (*all && !complaint) complaint = leave_range(t, engine, session, schedule);
  if (*all && !complaint) {
    complaint = run_once(t, engine, session, schedule, 0, seed, &status, &again);
    if (!complaint && status == HONE_OK && again != hashes[0]) complaint = "the same inputs, and another result";
  }
  hone_session_destroy(session);
  return complaint;
}

static bool swallow(void *user, const char *text, size_t length) {
  (void)user;
  return text || length == 0;
}

const char *trial_run(trial *t, hone_engine *engine, uint64_t seed, campaign_slot *slot, uint64_t *out_hash) {
  t->slot = slot;
  campaign_enter(slot, STAGE_SESSION);
  hone_context_clear_messages(t->context);
  const hone_report_options report = {.struct_size = sizeof report};
  const hone_status status = hone_report_engine(engine, &report, swallow, NULL, hone_context_diagnostics(t->context));
  const char *complaint = trial_check(t, status, "report_engine");
  bool every = true;
  campaign_enter(slot, STAGE_RUN);
  for (int k = 0; k < hone_engine_schedule_count(engine) && !complaint; ++k) {
    bool all;
    complaint = run_schedule(t, engine, k, seed, &all, out_hash);
    every &= all;
  }
  if (every && !complaint) slot->stage = STAGE_DONE;
  return complaint;
}

static bool read_file(const char *path, uint8_t **out_bytes, size_t *out_count) {
  FILE *in = fopen(path, "rb");
  if (!in) return false;
  bool good = fseek(in, 0, SEEK_END) == 0;
  const long size = good ? ftell(in) : -1;
  uint8_t *bytes = size > 0 ? malloc((size_t)size) : NULL;
  rewind(in);
  good = bytes && fread(bytes, 1, (size_t)size, in) == (size_t)size;
  fclose(in);
  if (!good) {
    free(bytes);
    return false;
  }
  *out_bytes = bytes;
  *out_count = (size_t)size;
  return true;
}

void trial_path(char *out, size_t room, const char *ending) {
  snprintf(out, room, "%s/campaign-%ld.%s", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (long)getpid(),
           ending);
}

const char *trial_save(trial *t, const hone_engine *engine, uint8_t **out_bytes, size_t *out_count) {
  char path[64], ledger[80];
  trial_path(path, sizeof path, "hone");
  trial_path(ledger, sizeof ledger, "hone.ledger");
  hone_context_clear_messages(t->context);
  const hone_status status = hone_engine_save(engine, path, hone_context_diagnostics(t->context));
  const char *complaint = trial_check(t, status, "save");
  if (!complaint && status != HONE_OK) complaint = "an engine that was built cannot be saved";
  if (!complaint && !read_file(path, out_bytes, out_count)) complaint = "what was saved cannot be read";
  unlink(path);
  unlink(ledger);
  return complaint;
}
