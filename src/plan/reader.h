/* SPDX-License-Identifier: Apache-2.0 */
/* reader.h - inside of plan/: an engine file's header on its way into a plan. Everything read is untrusted. */
#ifndef HN_PLAN_READER_H
#define HN_PLAN_READER_H

#include "base/json.h"
#include "ops/registry.h"
#include "plan/schedules.h"

enum { HN_PLAN_MAX_ITEMS = 1 << 22 }; /* tensors, steps, ...: a bound on what a header can make us allocate */

typedef struct hn_plan_reader {
  hn_schedules *schedules;
  hn_plan *plan;   /* the schedule that is read now */
  hn_arena *arena; /* what is read goes there: the plan's, or what the schedules share */
  const hn_op_list *ops;
  hone_device *const *devices;
  int device_count;
  hone_diagnostics *diag;
  hn_arena scratch; /* of the parsed JSON */
} hn_plan_reader;

/* A list under a key, and room in the arena for one record an item. */
hone_status hn_read_list(hn_plan_reader *reader, const hn_json *object, const char *key, size_t item_bytes,
                         const hn_json **out_items, int *out_count, void **out_room);
hone_status hn_read_text(hn_plan_reader *reader, const hn_json *object, const char *key, const char **out);
hone_status hn_read_int(hn_plan_reader *reader, const hn_json *object, const char *key, int64_t low, int64_t high,
                        int64_t otherwise, int64_t *out); /* otherwise is taken when the key is absent */
hone_status hn_read_names(hn_plan_reader *reader, const hn_json *object, const char *key, int *out_count,
                          const char *const **out);
hone_status hn_read_ints(hn_plan_reader *reader, const hn_json *object, const char *key, int64_t low, int64_t high,
                         int *out_count, int **out);
hone_status hn_read_shape(hn_plan_reader *reader, const hn_json *object, const char *key, hone_shape *out);
hone_status hn_read_steps(hn_plan_reader *reader, const hn_json *header); /* read_steps.c */

#endif
