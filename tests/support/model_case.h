/* SPDX-License-Identifier: Apache-2.0 */
/* model_case.h - an ONNX model with the inputs and outputs that belong to it, through the public API only. */
#ifndef TESTS_MODEL_CASE_H
#define TESTS_MODEL_CASE_H

#include <hone/hone.h>

enum { MODEL_CASE_PORTS = 64 };

typedef struct model_case {
  hone_context *context; /* borrowed */
  hone_graph *graph;
  int in_count, want_count;
  hone_tensor in[MODEL_CASE_PORTS], want[MODEL_CASE_PORTS];
} model_case;

/* What one output was: its error, or why it could not be compared. */
typedef struct model_case_error {
  hone_comparison comparison;
  bool comparable, same_top; /* same_top: the largest element is at the same place */
  char why[200];
} model_case_error;

/* Loads the model, and PREFIXinput_i.pb and PREFIXoutput_j.pb. `ramp`: there are no input files; inputs are arange(n) /
 * n. Messages are the context's. */
hone_status model_case_open(hone_context *context, const char *model_path, const char *prefix, bool ramp,
                            model_case *out);
void model_case_close(model_case *c);
/* Builds with the shapes of the inputs as profile, and the inputs as what max_error is held on. `options` is copied;
 * its shapes and inputs are replaced. */
hone_status model_case_build(const model_case *c, hone_device *device, const hone_build_options *options,
                             hone_engine **out_engine);
/* Gives the inputs to a session. */
hone_status model_case_feed(const model_case *c, hone_session *session);
/* Compares the session's output j after a run. */
void model_case_compare(const model_case *c, hone_session *session, int j, double atol, double rtol,
                        model_case_error *out);

#endif
