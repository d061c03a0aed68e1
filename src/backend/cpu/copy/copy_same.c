/* SPDX-License-Identifier: Apache-2.0 */
/* copy_same.c - ops whose output is the input's bytes under another shape, where they cannot share memory. */
#include "backend/cpu/copy/copy.h"

static const char *reject(const hone_query *query) {
  const char *reason = hn_cpu_check(query, 1, 3, 1);
  if (!reason) reason = hn_cpu_check_moves(query, false);
  if (reason) return reason;
  const bool same = hn_elems(&query->in[0].type.shape) == hn_elems(&query->out[0].type.shape);
  return same ? NULL : "the output has another number of elements";
}

static size_t state_bytes(const hone_query *query) {
  (void)query;
  return sizeof(size_t);
}

static hone_status prepare(hone_unit *unit, const hone_query *query, void *state, hone_diagnostics *diagnostics) {
  (void)unit, (void)diagnostics;
  *(size_t *)state = hn_bytes(&query->in[0].type);
  return HONE_OK;
}

static hone_status launch(void *state, hone_stream *stream, const hone_launch *launch) {
  hn_cpu_copy_bytes(stream, launch->in[0].data, launch->out[0].data, *(const size_t *)state);
  return HONE_OK;
}

#define ROW(op_name)                                                                                                   \
  const hone_tactic hn_tactic_cpu_##op_name##_any_c = {                                                                \
      .struct_size = sizeof(hone_tactic),                                                                              \
      .name = "cpu." #op_name ".any.c",                                                                                \
      .version = 1,                                                                                                    \
      .op = #op_name,                                                                                                  \
      .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_IN_PLACE,                                                          \
      .reject = reject,                                                                                                \
      .state_bytes = state_bytes,                                                                                      \
      .prepare = prepare,                                                                                              \
      .launch = launch,                                                                                                \
  };
ROW(flatten)
ROW(identity)
ROW(reshape)
ROW(squeeze)
ROW(unsqueeze)
ROW(view)
