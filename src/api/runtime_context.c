/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_context.c - creating contexts, and reading their messages. */
#include "base/arguments.h"
#include "base/context.h"
#include "base/memory.h"
#include "ops/registry.h"
#include <string.h>

enum { MESSAGES = 64 };

static void *resize_default_aligned(void *user, void *old, size_t old_bytes, size_t new_bytes) {
  const hn_allocator standard = hn_allocator_default();
  (void)user;
  return standard.resize(standard.self, old, old_bytes, new_bytes);
}

static void take_limits(hn_limits *limits, const hone_context_options *options) {
  *limits = hn_limits_default();
  if (options->max_nodes > 0) limits->max_nodes = options->max_nodes;
  if (options->max_tensors > 0) limits->max_tensors = options->max_tensors;
  if (options->max_string_bytes > 0) limits->max_string_bytes = options->max_string_bytes;
  if (options->max_fold_bytes > 0) limits->max_fold_bytes = options->max_fold_bytes;
}

static size_t text_bytes(const char *text) { return text ? strlen(text) + 1 : 0; }

static bool copy_text(const hn_allocator *allocator, const char *text, char **out) {
  if (!text) return true;
  *out = hn_alloc(allocator, text_bytes(text));
  if (*out) memcpy(*out, text, text_bytes(text));
  return *out;
}

/* There is no list for messages yet: the status says it all. */
static hone_status take_options(const hone_context_options *given, hone_context_options *out) {
  HN_OPTIONS(NULL, "context", given, hone_context_options, max_fold_bytes, out);
  HN_TRY(hn_argument_range(NULL, "log_level", (int64_t)out->log_level, HONE_LOG_OFF, HONE_LOG_RUNS));
  HN_TRY(hn_argument_range(NULL, "deadline_ms", out->deadline_ms, 0, HN_MOST_MS));
  HN_TRY(hn_argument_range(NULL, "max_nodes", out->max_nodes, 0, HN_NO_MOST));
  HN_TRY(hn_argument_range(NULL, "max_tensors", out->max_tensors, 0, HN_NO_MOST));
  HN_TRY(hn_argument_range(NULL, "max_string_bytes", out->max_string_bytes, 0, HN_NO_MOST));
  return hn_argument_range(NULL, "max_fold_bytes", out->max_fold_bytes, 0, HN_NO_MOST);
}

hone_status hone_context_create(const hone_context_options *given, hone_context **out_context) {
  if (out_context) *out_context = NULL;
  HN_GIVEN(NULL, out_context);
  hone_context_options taken;
  const hone_context_options *options = &taken;
  HN_TRY(take_options(given, &taken));
  hn_allocator allocator = {.resize = options->resize ? options->resize : resize_default_aligned,
                            .self = options->resize_user};
  const hn_allocator given_allocator = allocator;
  if (options->memory_limit_bytes && !hn_memory_limit_make(&given_allocator, options->memory_limit_bytes, &allocator))
    return HONE_NO_MEMORY;
  hone_context *context = hn_alloc_zero(&allocator, sizeof *context);
  if (!context) {
    hn_memory_limit_drop(&allocator);
    return HONE_NO_MEMORY;
  }
  context->allocator = allocator;
  hn_diag_entry *entries = hn_alloc(&allocator, MESSAGES * sizeof *entries);
  const bool copied = copy_text(&allocator, options->cache_dir, &context->cache_dir) &&
                      copy_text(&allocator, options->library_path, &context->library_path);
  if (entries) hn_diag_init(&context->diag, entries, MESSAGES);
  context->diag.memory = hn_memory_limit_of(&allocator);
  if (!entries || !copied) {
    hone_context_destroy(context);
    return HONE_NO_MEMORY;
  }
  context->logger = (hn_logger){.log = options->log, .user = options->log_user, .level = options->log_level};
  context->stop.cancel = options->cancel;
  context->stop.allowed_ms = options->deadline_ms;
  context->allow_external_links = options->allow_external_links;
  context->ops = hn_builtin_ops();
  hn_arena_init(&context->plugin_arena, allocator);
  take_limits(&context->limits, options);
  *out_context = context;
  return HONE_OK;
}

void hone_context_destroy(hone_context *context) {
  if (!context) return;
  const hn_allocator allocator = context->allocator;
  if (context->ops) hn_arena_deinit(&context->plugin_arena);
  hn_users_release(context->plugin_users);
  hn_free(&allocator, context->cache_dir, text_bytes(context->cache_dir));
  hn_free(&allocator, context->library_path, text_bytes(context->library_path));
  hn_free(&allocator, context->diag.entries, MESSAGES * sizeof *context->diag.entries);
  hn_free(&allocator, context, sizeof *context);
}

int hone_context_message_count(const hone_context *context) {
  return hone_diagnostics_count(context ? &context->diag : NULL);
}

const char *hone_context_message(const hone_context *context, int index, hone_status *out_status) {
  return hone_diagnostics_message(context ? &context->diag : NULL, index, out_status);
}

void hone_context_clear_messages(hone_context *context) { hone_diagnostics_clear(context ? &context->diag : NULL); }

hone_diagnostics *hone_context_diagnostics(hone_context *context) { return context ? &context->diag : NULL; }

const char *hone_version(void) { return HONE_VERSION_STRING; }

int hone_version_number(void) {
  int parts[3] = {0}, at = 0;
  for (const char *c = HONE_VERSION_STRING; *c; ++c) {
    if (*c == '.')
      ++at;
    else if (at < 3 && *c >= '0' && *c <= '9')
      parts[at] = parts[at] * 10 + (*c - '0');
  }
  return parts[0] * 10000 + parts[1] * 100 + parts[2];
}
