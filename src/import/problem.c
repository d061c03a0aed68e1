/* SPDX-License-Identifier: Apache-2.0 */
/* problem.c - keeps the importer going after a problem, so that all of them are reported at once. */
#include "import/importer.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Graver ones have higher numbers; 0: not the model's fault, the import ends there. */
static int gravity(hone_status status) {
  switch (status) {
  case HONE_UNSUPPORTED: return 1;
  case HONE_LIMIT: return 2;
  case HONE_IO: return 3;
  case HONE_MALFORMED: return 4;
  default: return 0;
  }
}

int hn_import_mark(const hn_importer *importer) { return importer->diag->count; }

static void put_in_front(hn_diag_entry *entry, const char *where) {
  char text[HN_DIAG_TEXT_BYTES];
  char *note = strstr(entry->text, "\nin node "); /* the graph's own words for the place */
  if (note) *note = 0;
  const int length = snprintf(text, sizeof text, "%s%s", where, entry->text);
  if (length >= (int)sizeof text) memcpy(text + sizeof text - 4, "...", 4);
  memcpy(entry->text, text, sizeof text);
}

hone_status hn_import_problem(hn_importer *importer, hone_status status, int from, const char *where, ...) {
  if (status == HONE_OK) return HONE_OK;
  if (status == HONE_INVALID) { /* our own call of the graph's builder, with what the model says */
    status = HONE_MALFORMED;
    for (int i = from; i < importer->diag->count; ++i) importer->diag->entries[i].status = status;
  }
  if (from < importer->diag->count) {
    char text[256];
    va_list arguments;
    va_start(arguments, where);
    vsnprintf(text, sizeof text, where, arguments);
    va_end(arguments);
    put_in_front(&importer->diag->entries[from], text);
  }
  if (gravity(status) == 0 || importer->stopped) return status;
  ++importer->problems;
  if (gravity(status) > gravity(importer->worst)) importer->worst = status;
  return HONE_OK;
}

hone_status hn_import_count_work(hn_importer *importer) {
  const hone_status status = importer->work++ % 256 == 0 ? hn_check_stop(importer->context) : HONE_OK;
  importer->stopped |= status != HONE_OK;
  if (status != HONE_OK || importer->work <= importer->context->limits.max_nodes) return status;
  importer->stopped = true;
  return HN_FAIL(importer->diag, HONE_LIMIT, "more than %" PRId64 " nodes once its functions are in place",
                 importer->context->limits.max_nodes);
}
