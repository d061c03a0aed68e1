/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - errors as the runtime takes them, and lines in its log. */
#include "ep.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { TEXT_BYTES = 2048 };

OrtStatus *ep_fail(const ort_calls *ort, int code, const char *format, ...) {
  char text[TEXT_BYTES];
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return ort->CreateStatus(code, length < 0 ? "hone: the message could not be written" : text);
}

OrtStatus *ep_fail_memory(const ort_calls *ort) { return ort->CreateStatus(ORT_ERROR_FAIL, "hone: out of memory"); }

static int code_of(hone_status status) {
  switch (status) {
  case HONE_INVALID: return ORT_ERROR_INVALID_ARGUMENT;
  case HONE_MALFORMED:
  case HONE_INCOMPATIBLE: return ORT_ERROR_INVALID_GRAPH;
  case HONE_UNSUPPORTED: return ORT_ERROR_NOT_IMPLEMENTED;
  case HONE_IO: return ORT_ERROR_NO_SUCHFILE;
  default: return ORT_ERROR_FAIL;
  }
}

typedef const char *(*message_fn)(const void *list, int index);

static const char *context_message(const void *list, int index) { return hone_context_message(list, index, NULL); }
static const char *session_message(const void *list, int index) { return hone_session_message(list, index, NULL); }

static OrtStatus *fail_list(const ort_calls *ort, hone_status status, const char *what, const void *list, int count,
                            message_fn message) {
  ep_bytes text = {0};
  ep_bytes_printf(&text, "hone: %s: %s", what, hone_status_name(status));
  for (int i = 0; i < count; ++i) ep_bytes_printf(&text, "; %s", message(list, i));
  ep_bytes_add(&text, "", 1);
  OrtStatus *out = text.failed ? ep_fail_memory(ort) : ort->CreateStatus(code_of(status), (const char *)text.data);
  free(text.data);
  return out;
}

OrtStatus *ep_fail_context(const ep_provider *provider, hone_status status, const char *what) {
  return fail_list(provider->ort, status, what, provider->context, hone_context_message_count(provider->context),
                   context_message);
}

OrtStatus *ep_fail_session(const ort_calls *ort, const hone_session *session, hone_status status, const char *what) {
  return fail_list(ort, status, what, session, hone_session_message_count(session), session_message);
}

bool ep_logs(const ort_calls *ort, const OrtLogger *logger, int severity) {
  int least = ORT_LOG_WARNING;
  if (!logger) return false;
  OrtStatus *status = ort->Logger_GetLoggingSeverityLevel(logger, &least);
  if (status) ort->ReleaseStatus(status);
  return severity >= least;
}

void ep_log(const ort_calls *ort, const OrtLogger *logger, int severity, const char *format, ...) {
  char text[TEXT_BYTES];
  if (!ep_logs(ort, logger, severity)) return;
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (length < 0) return;
  OrtStatus *status = ort->Logger_LogMessage(logger, severity, text, "hone", 0, EP_NAME);
  if (status) ort->ReleaseStatus(status); /* a log that does not work is no reason to stop */
}
