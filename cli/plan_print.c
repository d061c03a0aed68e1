/* SPDX-License-Identifier: Apache-2.0 */
/* plan_print.c - the frontier of hone plan as a table, as values separated by commas, or as JSON. */
#include "plan.h"
#include <stdlib.h>
#include <string.h>

void cli_plan_take_point(void *user, const hone_plan_point *point) {
  cli_plan *plan = user;
  if (plan->point_count < (int)CLI_COUNT(plan->points)) plan->points[plan->point_count++] = *point;
}

void cli_plan_take_layer(void *user, const hone_plan_layer *layer) {
  cli_plan *plan = user;
  if (plan->layer_count == plan->layer_room) {
    const int64_t room = plan->layer_room ? 2 * plan->layer_room : 128;
    cli_plan_row *larger = realloc(plan->layers, (size_t)room * sizeof *larger);
    if (!larger) return;
    plan->layers = larger;
    plan->layer_room = room;
  }
  cli_plan_row *row = &plan->layers[plan->layer_count++];
  row->layer = *layer;
  (void)snprintf(row->name, sizeof row->name, "%s", layer->layer);
  (void)snprintf(row->op, sizeof row->op, "%s", layer->op);
  (void)snprintf(row->why, sizeof row->why, "%s", layer->why ? layer->why : "");
}

void cli_plan_forget(cli_plan *plan) { free(plan->layers); }

/* f32's, or the slowest one's. */
static double reference_ms(const cli_plan *plan) {
  for (int i = 0; i < plan->point_count; ++i)
    if (strcmp(plan->points[i].what, "f32") == 0) return plan->points[i].ms;
  return plan->point_count > 0 ? plan->points[plan->point_count - 1].ms : 1;
}

static bool any_of(const cli_plan *plan, int type) {
  for (int i = 0; i < plan->point_count; ++i)
    if (plan->points[i].layers[type] > 0) return true;
  return false;
}

static void print_table(const cli_plan *plan) {
  const double f32 = reference_ms(plan);
  printf("  %8s %6s %7s %9s %8s %9s %8s %6s ", "ms", "x f32", "class", "rel. L2", "told ms", "told L2",
         "drop <=", "MB");
  for (int t = 0; t < HONE_PLAN_TYPES; ++t)
    if (any_of(plan, t)) printf(" %5s", hone_plan_type_name((hone_plan_type)t));
  printf("\n");
  for (int i = 0; i < plan->point_count; ++i) {
    const hone_plan_point *p = &plan->points[i];
    printf("%s %8.3f %6.2f %6.1f%% %9.5f %8.3f %9.5f %7.2f%% %6.1f ", p->chosen ? "*" : " ", p->ms, p->ms / f32,
           100 * p->same_class, p->rel_l2, p->predicted_ms, p->predicted_error, 100 * p->drop_bound,
           (double)p->weights_bytes * 1e-6);
    for (int t = 0; t < HONE_PLAN_TYPES; ++t)
      if (any_of(plan, t)) printf(" %5d", p->layers[t]);
    printf("  %s%s%s\n", p->what, p->beaten ? ", beaten" : "", p->fits ? "" : ", does not fit");
  }
}

/* Which was taken by which rule, and what the judging can say at all. */
static void print_rule(const cli_plan *plan) {
  const hone_planner_options *o = &plan->options;
  const hone_plan_point *chosen = NULL;
  for (int i = 0; i < plan->point_count; ++i)
    if (plan->points[i].chosen) chosen = &plan->points[i];
  const int64_t n = plan->points[0].samples;
  printf(
      "class: share of the first class that f32 gives, on %lld samples; told: by the search; drop <=: with 95 %%, by "
      "drop + 1.65 sqrt(d/n)\n",
      (long long)n);
  if (!chosen) return;
  if (o->max_drop > 0)
    printf("chosen (*): the fastest that loses at most %.3g %%", 100 * o->max_drop);
  else if (o->max_error > 0)
    printf("chosen (*): the fastest within a relative L2 of %.3g", o->max_error);
  else if (o->target_ms > 0)
    printf("chosen (*): the nearest to f32 within %.4g ms", o->target_ms);
  else
    printf("chosen (*): the knee, the least sum of time and error, each from 0 for the best to 1 for the worst");
  printf("; its drop is %.2f %%%s\n", 100 * chosen->drop,
         o->label ? "" : " at most (no --labels: every change counts)");
}

static void print_layers(const cli_plan *plan) {
  printf("\n%-40s %-7s %-5s", "layer", "op", "type");
  for (int t = 0; t < HONE_PLAN_TYPES; ++t)
    if (any_of(plan, t)) printf(" %4s ms", hone_plan_type_name((hone_plan_type)t));
  for (int t = 1; t < HONE_PLAN_TYPES; ++t)
    if (any_of(plan, t)) printf("  N %5s", hone_plan_type_name((hone_plan_type)t));
  printf(" %8s\n", "saves ms");
  for (int64_t i = 0; i < plan->layer_count; ++i) {
    const cli_plan_row *row = &plan->layers[i];
    const hone_plan_layer *l = &row->layer;
    printf("%-40s %-7s %-5s", row->name, row->op, hone_plan_type_name(l->got));
    for (int t = 0; t < HONE_PLAN_TYPES; ++t) {
      if (!any_of(plan, t)) continue;
      if (l->possible[t])
        printf(" %7.4f", l->ms[t]);
      else
        printf(" %7s", "-");
    }
    for (int t = 1; t < HONE_PLAN_TYPES; ++t) {
      if (!any_of(plan, t)) continue;
      if (l->possible[t])
        printf(" %8.1e", l->noise[t]);
      else
        printf(" %8s", "-");
    }
    printf(" %8.4f  %s\n", l->saved_ms, row->why);
  }
}

static void print_csv(const cli_plan *plan) {
  printf("what,ms,least_ms,predicted_ms,same_class,rel_l2,predicted_error,drop,drop_bound,samples,weights_bytes");
  for (int t = 0; t < HONE_PLAN_TYPES; ++t) printf(",%s", hone_plan_type_name((hone_plan_type)t));
  printf(",beaten,fits,chosen\n");
  for (int i = 0; i < plan->point_count; ++i) {
    const hone_plan_point *p = &plan->points[i];
    printf("%s,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%lld,%llu", p->what, p->ms, p->least_ms, p->predicted_ms,
           p->same_class, p->rel_l2, p->predicted_error, p->drop, p->drop_bound, (long long)p->samples,
           (unsigned long long)p->weights_bytes);
    for (int t = 0; t < HONE_PLAN_TYPES; ++t) printf(",%d", p->layers[t]);
    printf(",%d,%d,%d\n", p->beaten, p->fits, p->chosen);
  }
}

static const char *truth(bool value) { return value ? "true" : "false"; }

static void print_json_layer(const cli_plan_row *row) {
  const hone_plan_layer *l = &row->layer;
  printf("\n    {\"layer\": ");
  cli_json_text(stdout, row->name);
  printf(", \"op\": \"%s\", \"type\": \"%s\", \"saved_ms\": %.6g", row->op, hone_plan_type_name(l->got), l->saved_ms);
  for (int t = 0; t < HONE_PLAN_TYPES; ++t)
    if (l->possible[t])
      printf(", \"%s\": {\"ms\": %.6g, \"noise\": %.6g}", hone_plan_type_name((hone_plan_type)t), l->ms[t],
             l->noise[t]);
  if (row->why[0]) {
    printf(", \"why\": ");
    cli_json_text(stdout, row->why);
  }
  printf("}");
}

static void print_json(const cli_plan *plan) {
  printf(CLI_JSON_BEGIN "\"points\": [");
  for (int i = 0; i < plan->point_count; ++i) {
    const hone_plan_point *p = &plan->points[i];
    printf("%s\n    {\"what\": \"%s\", \"ms\": %.6g, \"least_ms\": %.6g, \"predicted_ms\": %.6g, \"same_class\": %.6g, "
           "\"rel_l2\": %.6g, \"predicted_error\": %.6g, \"drop\": %.6g, \"drop_bound\": %.6g, \"samples\": %lld, "
           "\"weights_bytes\": %llu, \"layers\": {",
           i ? "," : "", p->what, p->ms, p->least_ms, p->predicted_ms, p->same_class, p->rel_l2, p->predicted_error,
           p->drop, p->drop_bound, (long long)p->samples, (unsigned long long)p->weights_bytes);
    for (int t = 0; t < HONE_PLAN_TYPES; ++t)
      printf("%s\"%s\": %d", t ? ", " : "", hone_plan_type_name((hone_plan_type)t), p->layers[t]);
    printf("}, \"beaten\": %s, \"fits\": %s, \"chosen\": %s}", truth(p->beaten), truth(p->fits), truth(p->chosen));
  }
  printf("\n  ],\n  \"layers\": [");
  for (int64_t i = 0; i < plan->layer_count; ++i) {
    if (i) printf(",");
    print_json_layer(&plan->layers[i]);
  }
  printf("\n  ],\n  \"file\": ");
  if (plan->output && plan->engine)
    cli_json_text(stdout, plan->output);
  else
    printf("null");
  printf("\n}\n");
}

void cli_plan_print(const cli_plan *plan) {
  if (plan->point_count == 0) return;
  if (cli_has(plan->cli, "json")) {
    print_json(plan);
  } else if (cli_has(plan->cli, "csv")) {
    print_csv(plan);
  } else {
    print_table(plan);
    print_rule(plan);
    if (cli_has(plan->cli, "layers") && plan->layer_count > 0) print_layers(plan);
  }
}
