/* SPDX-License-Identifier: Apache-2.0 */
/* built_session.c - builds a graph in text and makes a session of it. */
#include "support/built_session.h"
#include "ir/graph.h"
#include "ir/text.h"
#include <hone/report.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

built_session built_session_make(hone_context *context, hone_device *device, const char *text, bool reference,
                                 bool all_tuned) {
  const hone_build_options build = {.struct_size = sizeof build, .level = 1, .reference_only = reference};
  built_session s;
  hone_graph *graph;
  hone_engine_summary summary = HONE_SIZED(hone_engine_summary);
  if (hn_graph_parse(context, text, strlen(text), NULL, 0, &graph) != HONE_OK)
    fail_msg("%s", hone_context_message(context, 0, NULL));
  assert_int_equal(hone_engine_build(context, graph, &device, 1, &build, &s.engine), HONE_OK);
  hone_graph_destroy(graph);
  hone_engine_summarize(s.engine, &summary);
  if (all_tuned && summary.reference_steps)
    fail_msg("%d steps run on the reference: %s", summary.reference_steps, text);
  assert_int_equal(hone_session_create(s.engine, NULL, &s.session, NULL), HONE_OK);
  return s;
}

void built_session_free(built_session *s) {
  hone_session_destroy(s->session);
  hone_engine_release(s->engine);
}
