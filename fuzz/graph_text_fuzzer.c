/* SPDX-License-Identifier: Apache-2.0 */
/* graph_text_fuzzer.c - any bytes given as graph text are a graph or an error in words; a graph prints as text that
 * reads back as the same text. */
#include <hone/hone.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

typedef struct page {
  char *text;
  size_t length, room;
} page;

static bool append(void *user, const char *text, size_t length) {
  page *p = user;
  if (p->length + length > p->room) {
    p->room = 2 * (p->length + length);
    p->text = realloc(p->text, p->room);
    if (!p->text) abort();
  }
  memcpy(p->text + p->length, text, length);
  p->length += length;
  return true;
}

static void print(const hone_graph *graph, page *out) {
  const hone_print_options options = {
      .struct_size = sizeof options, .with_types = true, .with_origins = true, .constant_elements = -1};
  *out = (page){0};
  if (hone_graph_print(graph, &options, append, out) != HONE_OK) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  const hone_context_options options = {
      .struct_size = sizeof options, .max_nodes = 4096, .max_tensors = 4096, .max_fold_bytes = 1 << 20};
  hone_context *context;
  if (hone_context_create(&options, &context) != HONE_OK) return 0;
  hone_graph *graph, *again = NULL;
  const hone_status status = hone_graph_parse(context, (const char *)bytes, count, &graph);
  if ((status == HONE_OK) != (graph != NULL) || status == HONE_INTERNAL) abort();
  if (status != HONE_OK && hone_context_message_count(context) == 0) abort();
  if (graph) {
    page first, second;
    print(graph, &first);
    if (hone_graph_parse(context, first.text, first.length, &again) != HONE_OK) abort();
    print(again, &second);
    if (first.length != second.length || memcmp(first.text, second.text, first.length) != 0) abort();
    free(first.text);
    free(second.text);
  }
  hone_graph_destroy(again);
  hone_graph_destroy(graph);
  hone_context_destroy(context);
  return 0;
}
