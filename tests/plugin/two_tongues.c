/* SPDX-License-Identifier: Apache-2.0 */
/* two_tongues.c - a plug-in whose operator's expression says something else than its eval; it must be refused. */
#include <hone/plugin.h>

static hone_status infer(hone_infer *infer) {
  infer->out[0].type = infer->in[0].type;
  return HONE_OK;
}

/* x * slope */
static hone_status eval(hone_eval *eval, const hone_window *window) {
  const float *x = eval->in[0].data;
  float *y = eval->out[0].data;
  const int64_t count = (int64_t)(eval->out[0].bytes / sizeof *y);
  const int64_t first = window ? window->first : 0, last = window ? window->last : count;
  for (int64_t i = first; i < last; ++i) y[i] = (float)((double)x[i] * eval->attrs->items[0].f);
  return HONE_OK;
}

/* Equal at the default, slope 1. */
static const hone_op sloped = {
    .struct_size = sizeof(hone_op),
    .name = "sloped",
    .doc = "x * slope",
    .in = {{.name = "x", .letter = 'T', .types = HONE_BIT(HONE_F32)}},
    .out = {{.name = "y", .letter = 'T'}},
    .attr = {HONE_FLOAT_ATTR("slope", 1)},
    .traits = HONE_ELEMENTWISE,
    .expr = "add(x, sub($slope, 1))",
    .infer = infer,
    .eval = eval,
};

static const hone_op *const ops[] = {&sloped, NULL};
static const hone_plugin_table table = {
    .struct_size = sizeof(hone_plugin_table), .name = "two_tongues", .version = "1", .ops = ops};

HONE_API const hone_plugin_table *hone_plugin(const hone_host *host);
const hone_plugin_table *hone_plugin(const hone_host *host) {
  (void)host;
  return &table;
}
