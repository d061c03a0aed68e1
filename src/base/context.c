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

void hn_log(hone_context *context, hone_log_level level, const char *format, ...) {
  if (!context || !context->log || level == HONE_LOG_OFF || level > context->log_level) return;
  char line[1024]; /* cut when longer: a log line is for a person */
  va_list arguments;
  va_start(arguments, format);
  const int needed = vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (needed >= 0) context->log(context->log_user, level, line);
}

hone_status hn_check_stop(hone_context *context) { return hn_stop_check(&context->stop, &context->diag); }
