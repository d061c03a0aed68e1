/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - what hone plan learns, and how it is told (plan_print.c). */
#ifndef CLI_PLAN_H
#define CLI_PLAN_H

#include "calib.h"

typedef struct cli_plan_row {
  hone_plan_layer layer; /* its texts are in name and why */
  char name[128], op[64], why[256];
} cli_plan_row;

typedef struct cli_plan {
  cli_tool *cli;
  hone_planner_options options;
  cli_calib eval;
  int64_t *labels, label_count; /* by the number of a sample; -1: not known */
  const char *output;           /* NULL: no engine is written */
  hone_engine *engine;
  int code; /* of what was said already */
  hone_plan_point points[64 + HONE_PLAN_TYPES];
  int point_count;
  cli_plan_row *layers;
  int64_t layer_count, layer_room;
} cli_plan;

void cli_plan_take_point(void *plan, const hone_plan_point *point);
void cli_plan_take_layer(void *plan, const hone_plan_layer *layer);
void cli_plan_print(const cli_plan *plan); /* nothing where no point was told */
void cli_plan_forget(cli_plan *plan);

#endif
