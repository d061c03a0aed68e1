/* SPDX-License-Identifier: Apache-2.0 */
/* copy_same.c - ops whose output is the input's bytes under another shape, where they cannot share memory. */
#include "backend/cpu/copy/copy.h"

/* The state is the number of bytes. */
static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  HN_TRY_REASON(hn_cpu_check(query, 1, 3, 1));
  HN_TRY_REASON(hn_cpu_check_moves(query, false));
  if (hn_elems(&query->in[0].type.shape) != hn_elems(&query->out[0].type.shape))
    return "the output has another number of elements";
  size_t *bytes = memory;
  needs->state = sizeof *bytes;
  if (bytes) *bytes = hn_bytes(&query->in[0].type);
  return NULL;
}

static hone_status launch(void *state, hone_stream *stream, const hone_launch *launch) {
  hn_cpu_copy_bytes(stream, launch->in[0].data, launch->out[0].data, *(const size_t *)state);
  return HONE_OK;
}

#define COMMON .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_IN_PLACE, .plan = plan, .launch = launch
const hone_tactic hn_tactics_cpu_copy_same[] = {
    {sizeof(hone_tactic), .name = "cpu.flatten.any.c", .version = 1, .op = "flatten",
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_F16_PLAIN, HONE_F16_PLAIN}},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.identity.any.c", .version = 1, .op = "identity",
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_F16_PLAIN, HONE_F16_PLAIN}},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.reshape.any.c", .version = 1, .op = "reshape",
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_F16_PLAIN, HONE_F16_PLAIN}},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.squeeze.any.c", .version = 1, .op = "squeeze",
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_F16_PLAIN, HONE_F16_PLAIN}},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.unsqueeze.any.c", .version = 1, .op = "unsqueeze",
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_F16_PLAIN, HONE_F16_PLAIN}},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.view.any.c", .version = 1, .op = "view",
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_F16_PLAIN, HONE_F16_PLAIN}},
     COMMON},
    {0}};
