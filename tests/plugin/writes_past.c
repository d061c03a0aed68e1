/* SPDX-License-Identifier: Apache-2.0 */
/* writes_past.c - a plug-in whose rows write behind what is theirs: four bytes behind the output, behind scratch,
 * behind packed weights, and in eval. Each must be found when an engine is built. */
#include "rows.inc"

static hone_status eval_past(hone_eval *eval, const hone_window *window) {
  const hone_status status = eval_copy(eval, window);
  const float one = 1;
  if (status == HONE_OK) memcpy((char *)eval->out[0].data + eval->out[0].bytes, &one, sizeof one);
  return status;
}

typedef enum place { OUTPUT, SCRATCH, PACKED, NOWHERE } place;
static const place places[] = {OUTPUT, SCRATCH, PACKED, NOWHERE};
enum { ROOM = 40 }; /* of scratch and packed */

static const char *plan(const hone_query *query, void *state, hone_needs *needs) {
  if (query->in[0].type.format != HONE_PLAIN || query->in[0].type.dtype != HONE_F32) return "plain f32 alone";
  *needs = (hone_needs){.state = sizeof(place), .scratch = ROOM, .packed = ROOM, .efficiency = 1};
  if (state) *(place *)state = *(const place *)query->tactic->kernel;
  return NULL;
}

static hone_status pack(const hone_query *query, void *to) {
  memset(to, 1, ROOM + (*(const place *)query->tactic->kernel == PACKED ? 4 : 0));
  return HONE_OK;
}

static hone_status launch(void *state, hone_stream *stream, const hone_launch *launch) {
  const place where = *(const place *)state;
  (void)stream;
  memcpy(launch->out[0].data, launch->in[0].data, launch->in[0].bytes);
  if (where == OUTPUT) memset((char *)launch->out[0].data + launch->out[0].bytes, 1, 4);
  if (where == SCRATCH) memset((char *)launch->scratch + ROOM, 1, 4);
  return HONE_OK;
}

#define OP(title, function)                                                                                            \
  { PORTS, .name = (title), .doc = "x", .infer = infer_same, .eval = (function) }
static const hone_op past_output = OP("past_output", eval_copy), past_scratch = OP("past_scratch", eval_copy),
                     past_packed = OP("past_packed", eval_copy), past_eval = OP("past_eval", eval_past);
#define TACTIC(title, at)                                                                                              \
  {                                                                                                                    \
    .struct_size = sizeof(hone_tactic), .name = "test." title, .version = 1, .op = (title),                            \
    .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .pack = pack, .launch = launch, .kernel = &places[at]               \
  }
static const hone_tactic rows[] = {TACTIC("past_output", OUTPUT), TACTIC("past_scratch", SCRATCH),
                                   TACTIC("past_packed", PACKED), TACTIC("past_eval", NOWHERE)};
static const hone_op *const ops[] = {&past_output, &past_scratch, &past_packed, &past_eval, NULL};
static const hone_plugin_tactic tactics[] = {
    {"cpu", &rows[0]}, {"cpu", &rows[1]}, {"cpu", &rows[2]}, {"cpu", &rows[3]}, {NULL, NULL}};
static const hone_plugin_table table = {
    .struct_size = sizeof(hone_plugin_table), .name = "writes_past", .version = "1", .ops = ops, .tactics = tactics};
#include "plugin_table.inc"
