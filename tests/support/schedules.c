/* SPDX-License-Identifier: Apache-2.0 */
/* schedules.c - nets with a free batch, built for several ranges of it. */
#include "support/schedules.h"
#include "support/small_net.h"
#include <string.h>

enum { MOST_ELEMENTS = SCHEDULES_MAX_BATCH * 3 * 16 * 16 };

const schedules_net schedules_conv = {"conv net", NULL, 4, {3, 16, 16}};
const schedules_net schedules_mlp = {"mlp",
                                     "graph \"mlp\" opset 17 { dim n in %x: f32[n,48]\n"
                                     "const %w1: f32[48,64] = random 1 const %b1: f32[64] = random 2\n"
                                     "const %w2: f32[64,64] = random 3 const %b2: f32[64] = random 4\n"
                                     "const %w3: f32[64,10] = random 5 const %b3: f32[10] = random 6\n"
                                     "%a = gemm(%x, %w1, %b1) @\"first\" %c = relu(%a) @\"act1\"\n"
                                     "%d = gemm(%c, %w2, %b2) @\"second\" %e = tanh(%d) @\"act2\"\n"
                                     "%y = gemm(%e, %w3, %b3) @\"last\" out %y as \"y\" }",
                                     2,
                                     {48}};

hone_status schedules_graph(hone_context *context, const schedules_net *net, hone_graph **out) {
  return net->text ? hone_graph_parse(context, net->text, strlen(net->text), out) : small_net_graph(context, true, out);
}

static hone_shape shape_of(const schedules_net *net, int64_t batch) {
  hone_shape shape = {.rank = net->rank, .dim = {batch}};
  for (int i = 1; i < net->rank; ++i) shape.dim[i] = net->item[i - 1];
  return shape;
}

hone_status schedules_build(hone_context *context, hone_device *device, const schedules_net *net,
                            const batch_range *ranges, int count, const hone_build_options *options,
                            hone_engine **out) {
  hone_profile_shape shapes[HONE_MAX_SCHEDULES];
  hone_build_options build = {.struct_size = sizeof build, .level = -1};
  if (options) build = *options;
  build.shapes = shapes;
  build.shape_count = count;
  for (int k = 0; k < count; ++k)
    shapes[k] = (hone_profile_shape){.input = "x",
                                     .min = shape_of(net, ranges[k].min),
                                     .opt = shape_of(net, ranges[k].opt),
                                     .max = shape_of(net, ranges[k].max),
                                     .profile = k};
  hone_graph *graph;
  *out = NULL;
  hone_status status = schedules_graph(context, net, &graph);
  if (status == HONE_OK) status = hone_engine_build(context, graph, &device, 1, &build, out);
  hone_graph_destroy(graph);
  return status;
}

hone_status schedules_run(const schedules_net *net, hone_session *session, int64_t batch, float *out) {
  static _Thread_local float data[MOST_ELEMENTS];
  hone_tensor x = {.type = {.kind = HONE_TENSOR, .dtype = HONE_F32, .shape = shape_of(net, SCHEDULES_MAX_BATCH)},
                   .data = data,
                   .bytes = sizeof data};
  hone_tensor y;
  small_net_fill(&x, 11);
  x.type.shape.dim[0] = batch;
  hone_status status = hone_session_copy_in(session, "x", &x);
  if (status == HONE_OK) status = hone_session_run(session);
  if (status == HONE_OK) status = hone_session_tensor(session, "y", &y);
  if (status != HONE_OK) return status;
  if (y.type.shape.dim[0] != batch || y.bytes != (size_t)batch * SCHEDULES_CLASSES * sizeof *out) return HONE_INTERNAL;
  memcpy(out, y.data, y.bytes);
  return HONE_OK;
}
