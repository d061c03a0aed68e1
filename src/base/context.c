/* SPDX-License-Identifier: Apache-2.0 */
/* context.c - the log, the stop check and the default limits. */
#include "base/context.h"
#include <stdarg.h>
#include <stdio.h>

/* A model of 1e5 nodes is already extreme; folding more than 64 MiB would make an engine larger than its model. */
hn_limits hn_limits_default(void) {
  return (hn_limits){
      .max_nodes = 1000000,
      .max_tensors = 1000000,
      .max_string_bytes = 64 << 10,
      .max_fold_bytes = 64 << 20,
  };
}

static void say(const hn_logger *logger, hone_log_level level, const char *format, va_list arguments) {
  char line[1024]; /* cut when longer: a log line is for a person */
  if (vsnprintf(line, sizeof line, format, arguments) >= 0) logger->log(logger->user, level, line);
}

void hn_logger_say(const hn_logger *logger, hone_log_level level, const char *format, ...) {
  if (!hn_logs(logger, level)) return;
  va_list arguments;
  va_start(arguments, format);
  say(logger, level, format, arguments);
  va_end(arguments);
}

void hn_log(hone_context *context, hone_log_level level, const char *format, ...) {
  if (!context || !hn_logs(&context->logger, level)) return;
  va_list arguments;
  va_start(arguments, format);
  say(&context->logger, level, format, arguments);
  va_end(arguments);
}

hone_status hn_check_stop(hone_context *context) { return hn_stop_check(&context->stop, &context->diag); }
