/* SPDX-License-Identifier: Apache-2.0 */
/* shifted_relu.c - a plug-in with one operator, y = max(x - offset, 0). Its expression lets every backend make a kernel
 * of it; its eval is the slow truth that those are compared with. Build it as a shared object; load it with
 * hone_plugin_load() or `hone build --plugins FILE`. ONNX models call it com.example.ShiftedRelu. */
#include <hone/plugin.h>

static hone_status infer(hone_infer *infer) {
  infer->out[0].type = infer->in[0].type;
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  double offset = 0;
  for (int i = 0; i < eval->attrs->count; ++i) offset = eval->attrs->items[i].f; /* its only attribute */
  if (!eval->out[0].data) {
    const hone_shape *shape = &eval->in[0].type.shape;
    const hone_status status = eval->resize(eval, 0, shape->rank, shape->dim);
    if (status != HONE_OK) return status;
  }
  const float *x = eval->in[0].data;
  float *y = eval->out[0].data;
  const int64_t count = (int64_t)(eval->out[0].bytes / sizeof *y);
  const int64_t first = window ? window->first : 0, last = window ? window->last : count;
  for (int64_t i = first; i < last; ++i) {
    const double shifted = (double)x[i] - offset;
    y[i] = (float)(shifted > 0 ? shifted : 0);
  }
  return HONE_OK;
}

static hone_cost cost(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  (void)attrs, (void)in, (void)in_count, (void)out_count;
  double elements = 1;
  for (int i = 0; i < out[0].type.shape.rank; ++i) elements *= (double)out[0].type.shape.dim[i];
  return (hone_cost){.flops = 2 * elements, .bytes_read = 4 * elements, .bytes_written = 4 * elements};
}

static const hone_op shifted_relu = {
    .struct_size = sizeof(hone_op),
    .name = "shifted_relu",
    .doc = "max(x - offset, 0)",
    .in = {{.name = "x", .letter = 'T', .types = HONE_BIT(HONE_F32)}},
    .out = {{.name = "y", .letter = 'T'}},
    .attr = {HONE_FLOAT_ATTR("offset", 0)},
    .traits = HONE_ELEMENTWISE,
    .expr = "max(sub(x, $offset), 0)",
    .infer = infer,
    .eval = eval,
    .cost = cost,
    .onnx = {{.name = "ShiftedRelu", .first = 1, .last = HONE_LATEST, .domain = "com.example"}},
};

static const hone_op *const ops[] = {&shifted_relu, NULL};
static const hone_plugin_table table = {
    .struct_size = sizeof(hone_plugin_table), .name = "shifted_relu", .version = "1", .ops = ops};

HONE_API const hone_plugin_table *hone_plugin(const hone_host *host);
const hone_plugin_table *hone_plugin(const hone_host *host) {
  (void)host;
  return &table;
}
