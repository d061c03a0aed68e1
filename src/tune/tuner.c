/* SPDX-License-Identifier: Apache-2.0 */
/* tuner.c - one build: what the tunings of its schedules share, read before the first and written after the last. */
#include "base/clock.h"
#include "tune/tuning.h"
#include <unistd.h>

static hone_status open_tuner(hn_tuner *tuner, const hn_lock *lock) {
  const hone_build_options *options = tuner->options;
  HN_TRY(hn_timing_cache_open(tuner->context, &tuner->arena, options->timing_cache_path, &tuner->cache));
  if (lock) {
    tuner->lock = *lock;
    return HONE_OK;
  }
  if (options->lock_path) hn_file_drop_leftovers(options->lock_path);
  if (!options->lock_path || access(options->lock_path, F_OK) != 0) return HONE_OK;
  HN_TRY(hn_file_read(&tuner->context->diag, tuner->context->allocator, options->lock_path, &tuner->lock_file));
  tuner->lock = (hn_lock){.path = options->lock_path,
                          .text = tuner->lock_file.data ? (const char *)tuner->lock_file.data : "",
                          .length = tuner->lock_file.bytes};
  return HONE_OK;
}

hone_status hn_tuner_open(hone_context *context, const hone_build_options *options, int schedule_count,
                          const hn_lock *lock, hn_tuner **out) {
  *out = NULL;
  hn_tuner *tuner = hn_alloc_zero(&context->allocator, sizeof *tuner);
  if (!tuner) return HN_FAIL_MEMORY(&context->diag);
  tuner->context = context;
  tuner->options = options;
  tuner->schedule_count = schedule_count;
  if (options->time_budget_ms > 0) tuner->stop_ns = hn_clock_ns() + options->time_budget_ms * 1000000;
  hn_arena_init(&tuner->arena, context->allocator);
  hn_text_init(&tuner->new_lock, context->allocator);
  const hone_status status = open_tuner(tuner, lock);
  if (status != HONE_OK) {
    (void)hn_tuner_close(tuner, status);
    return hone_note(&context->diag, status, "while choosing tactics");
  }
  *out = tuner;
  return HONE_OK;
}

void hn_tuner_sample(hn_tuner *tuner, hn_sampling *sampling) { tuner->sampling = sampling; }

hone_status hn_tuner_note(hn_tuner *tuner, const hn_choices *choices) {
  const int schedule = tuner->tuned_count++;
  const bool is_file = tuner->options->lock_path && !tuner->lock.text;
  if (!is_file && !tuner->options->refittable) return HONE_OK;
  if (schedule == 0)
    hn_text_add(&tuner->new_lock,
                "# hone lock 1: what runs each node. Edit a line to force another tactic; delete it to tune again.\n");
  if (tuner->schedule_count > 1) hn_text_printf(&tuner->new_lock, "[schedule %d]\n", schedule);
  return hn_lock_write(choices, &tuner->new_lock);
}

const char *hn_tuner_lock(const hn_tuner *tuner, size_t *out_length) {
  *out_length = tuner->new_lock.length;
  return hn_text_string(&tuner->new_lock);
}

hone_status hn_tuner_close(hn_tuner *tuner, hone_status status) {
  if (!tuner) return status;
  hone_context *context = tuner->context;
  const hn_allocator allocator = context->allocator;
  const hone_status saved = tuner->cache ? hn_timing_cache_save(context, tuner->cache) : HONE_OK;
  if (status == HONE_OK) status = saved;
  if (status == HONE_OK && tuner->options->lock_path && !tuner->lock.text)
    status = hn_file_replace(&context->diag, tuner->options->lock_path, tuner->new_lock.data, tuner->new_lock.length);
  hn_text_deinit(&tuner->new_lock);
  hn_blob_close(&tuner->lock_file);
  hn_arena_deinit(&tuner->arena);
  hn_free(&allocator, tuner, sizeof *tuner);
  return status;
}
