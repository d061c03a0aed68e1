/* SPDX-License-Identifier: Apache-2.0 */
/* built_session.h - a graph in text, built and with a session: one side of a comparison of tactics with the reference.
 */
#ifndef TESTS_SUPPORT_BUILT_SESSION_H
#define TESTS_SUPPORT_BUILT_SESSION_H

#include <hone/hone.h>

typedef struct built_session {
  hone_engine *engine;
  hone_session *session;
} built_session;

/* Built at level 1. all_tuned: it is a failure when a step runs on the reference. */
built_session built_session_make(hone_context *context, hone_device *device, const char *text, bool reference,
                                 bool all_tuned);
void built_session_free(built_session *s);

#endif
