/* SPDX-License-Identifier: Apache-2.0 */
/* schedules.h - engines with several schedules for tests: nets with a free batch, and profiles of it. */
#ifndef TESTS_SCHEDULES_H
#define TESTS_SCHEDULES_H

#include <hone/hone.h>

/* A range of batches. */
typedef struct batch_range {
  int64_t min, opt, max;
} batch_range;

enum { SCHEDULES_MAX_BATCH = 16, SCHEDULES_CLASSES = 10 };

typedef struct schedules_net {
  const char *name;
  const char *text; /* of the graph; NULL: the net of small_net.h */
  int rank;
  int64_t item[3]; /* extents behind the batch */
} schedules_net;
extern const schedules_net schedules_conv, schedules_mlp; /* x -> y: [batch, SCHEDULES_CLASSES] */

hone_status schedules_graph(hone_context *context, const schedules_net *net, hone_graph **out);
/* One profile a range. options: what else to build with; NULL: nothing timed. */
hone_status schedules_build(hone_context *context, hone_device *device, const schedules_net *net,
                            const batch_range *ranges, int count, const hone_build_options *options, hone_engine **out);
/* The first `batch` of the same SCHEDULES_MAX_BATCH items; the rows of y are put into out. */
hone_status schedules_run(const schedules_net *net, hone_session *session, int64_t batch, float *out);

#endif
