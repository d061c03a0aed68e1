/* SPDX-License-Identifier: Apache-2.0 */
/* weights.c - weights of few bits as standard ONNX says them: DequantizeLinear of opset 21, with block_size for
 * matrices, with a scale for each output channel for convolutions. */
#include "calib/weights.h"
#include "calib/layers.h"
#include "tensor/element.h"
#include "tensor/shape.h"
#include <float.h>
#include <math.h>
#include <string.h>

typedef struct inserter {
  hone_graph *graph;
  hone_diagnostics *diag;
  hn_arena *arena; /* for what is needed while working */
  const hone_op *dequantize;
  const hn_weights_how *how;
} inserter;

/* A constant that was written, and how it was read. */
typedef struct written {
  const hn_value *from;
  int axis;
  hn_value *back; /* dequantised; NULL: not written */
} written;

static int greatest(hone_dtype dtype) {
  return (1 << (hone_dtype_bits(dtype) - (hn_dtype_is_unsigned(dtype) ? 0 : 1))) - 1;
}

hn_block_scale hn_block_scale_of(hone_dtype dtype, const float *weights, int64_t count, int64_t step) {
  const bool zeros = hn_dtype_is_unsigned(dtype);
  double low = 0, high = 0;
  for (int64_t i = 0; i < count; ++i) {
    low = fmin(low, (double)weights[i * step]);
    high = fmax(high, (double)weights[i * step]);
  }
  const float scale = (float)((zeros ? high - low : fmax(-low, high)) / greatest(dtype));
  if (!(scale >= FLT_MIN)) return (hn_block_scale){1, 0};
  return (hn_block_scale){scale, zeros ? (int)nearbyint(-low / (double)scale) : 0};
}

static int64_t number_of(hone_dtype dtype, float weight, const hn_block_scale *scale) {
  const double most = greatest(dtype), least = hn_dtype_is_unsigned(dtype) ? 0 : -most;
  return (int64_t)fmin(fmax(nearbyint((double)weight / (double)scale->scale) + scale->zero, least), most);
}

/* ---- tensors of a layer ---- */

enum { NUMBERS, SCALES, ZEROS, PARTS };
static const char *const part_names[PARTS] = {"quantized", "scale", "zero_point"};

static hone_status new_tensor(const inserter *n, hone_dtype dtype, int rank, const int64_t *dims, hone_tensor *out) {
  *out = (hone_tensor){.type = hn_tensor_type(dtype, rank, dims)};
  out->bytes = hn_bytes(&out->type);
  out->data = hn_arena_alloc(n->arena, out->bytes + 1, 64);
  if (!out->data) return HN_FAIL_MEMORY(n->diag);
  memset(out->data, 0, out->bytes);
  return HONE_OK;
}

/* A matrix, in blocks along its inner axis. */
static hone_status round_matrix(const inserter *n, const hone_tensor *weights, int inner, hone_tensor *parts) {
  const hone_dtype dtype = n->how->dtype;
  const int64_t *dims = weights->type.shape.dim, block = n->how->block, depth = dims[inner];
  const int64_t outputs = dims[1 - inner], in_step = inner ? 1 : outputs, out_step = inner ? depth : 1;
  const int64_t blocks = (depth + block - 1) / block,
                scale_dims[2] = {inner ? outputs : blocks, inner ? blocks : outputs};
  HN_TRY(new_tensor(n, dtype, 2, dims, &parts[NUMBERS]));
  HN_TRY(new_tensor(n, HONE_F32, 2, scale_dims, &parts[SCALES]));
  if (hn_dtype_is_unsigned(dtype)) HN_TRY(new_tensor(n, dtype, 2, scale_dims, &parts[ZEROS]));
  for (int64_t o = 0; o < outputs; ++o)
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t from = o * out_step + b * block * in_step, at = inner ? o * blocks + b : b * outputs + o;
      const int64_t count = depth - b * block < block ? depth - b * block : block;
      const float *w = (const float *)weights->data + from;
      const hn_block_scale scale = hn_block_scale_of(dtype, w, count, in_step);
      ((float *)parts[SCALES].data)[at] = scale.scale;
      if (parts[ZEROS].data) hn_store_int(&parts[ZEROS], at, scale.zero);
      for (int64_t i = 0; i < count; ++i)
        hn_store_int(&parts[NUMBERS], from + i * in_step, number_of(dtype, w[i * in_step], &scale));
    }
  return HONE_OK;
}

/* A convolution's kernels, their outputs along the first axis. */
static hone_status round_kernels(const inserter *n, const hone_tensor *weights, hone_tensor *parts) {
  const hone_shape *shape = &weights->type.shape;
  const int64_t outputs = shape->dim[0], each = hn_elems(shape) / outputs;
  HN_TRY(new_tensor(n, n->how->dtype, shape->rank, shape->dim, &parts[NUMBERS]));
  HN_TRY(new_tensor(n, HONE_F32, 1, &outputs, &parts[SCALES]));
  float *scales = parts[SCALES].data;
  hn_layer_scales(weights, 0, false, scales);
  for (int64_t at = 0; at < outputs * each; ++at) {
    const hn_block_scale scale = {scales[at / each], 0};
    hn_store_int(&parts[NUMBERS], at, number_of(n->how->dtype, ((const float *)weights->data)[at], &scale));
  }
  return HONE_OK;
}

static hone_status put(const inserter *n, const hn_value *from, const hone_tensor *parts, int axis, int64_t block,
                       hn_node *before, hn_value **out) {
  hn_value *in[PARTS] = {NULL};
  for (int i = 0; i < PARTS; ++i) {
    if (!parts[i].data) continue;
    const char *name = hn_arena_printf(n->arena, "%s_%s", from->name, part_names[i]);
    if (!name) return HN_FAIL_MEMORY(n->diag);
    if (!(in[i] = hn_constant_create(n->graph, name, &parts[i], false))) return HONE_NO_MEMORY;
  }
  const char *value_name = hn_arena_printf(n->arena, "%s_dequantized", from->name);
  const hone_attr attrs[] = {{.name = "axis", .kind = HONE_ATTR_INT, .i = axis},
                             {.name = "block_size", .kind = HONE_ATTR_INT, .i = block}};
  const hn_node_spec spec = {.op = n->dequantize,
                             .name = hn_arena_printf(n->arena, "%s_dequantize", from->name),
                             .attrs = {.count = 2, .items = attrs},
                             .in_count = in[ZEROS] ? 3 : 2,
                             .in = in,
                             .out_count = 1,
                             .out_names = &value_name,
                             .before = before};
  hn_node *made;
  if (!value_name || !spec.name) return HN_FAIL_MEMORY(n->diag);
  HN_TRY(hn_node_create(n->graph->main, &spec, &made));
  *out = made->out[0];
  return HONE_OK;
}

_Static_assert(HN_LEAST_WEIGHTS == 4096, "the reason below says it");
/* NULL: its weights are written in few bits. */
static const char *why_not(const hn_quant_node *layer, hone_dtype dtype) {
  if (layer->why) return layer->why;
  if (layer->layer->closed && dtype != HONE_I8) return "convolutions' weights are written as int8 alone";
  const hn_value *weights = layer->node->in[layer->layer->weights];
  return hn_elems(&weights->fact.type.shape) < HN_LEAST_WEIGHTS ? "it has fewer than 4096 weights" : NULL;
}

static hone_status round_layer(const inserter *n, const hn_quant_node *layer, hn_value **out) {
  hn_node *node = layer->node;
  const hn_value *weights = node->in[layer->layer->weights];
  const bool kernels = layer->layer->closed;
  const int axis = kernels ? 0 : 1 - hn_quant_axis(node);
  hone_tensor parts[PARTS] = {0};
  HN_TRY(hn_layer_check_finite(n->diag, node, weights));
  HN_TRY(kernels ? round_kernels(n, weights->fact.constant, parts)
                 : round_matrix(n, weights->fact.constant, axis, parts));
  return put(n, weights, parts, axis, kernels ? 0 : n->how->block, node, out);
}

hone_status hn_weights_insert(hn_sites *sites, const hn_weights_how *how) {
  hone_context *context = sites->graph->context;
  hn_arena work;
  hn_arena_init(&work, context->allocator);
  const inserter n = {.graph = sites->graph,
                      .diag = &context->diag,
                      .arena = &work,
                      .dequantize = hn_op_find(context->ops, "dequantize_linear"),
                      .how = how};
  written *done = HN_NEW(sites->arena, written, sites->node_count + 1);
  hone_status status = done ? HONE_OK : HN_FAIL_MEMORY(n.diag);
  for (int i = 0; i < sites->node_count && status == HONE_OK; ++i) {
    hn_quant_node *layer = &sites->nodes[i];
    layer->why = why_not(layer, how->dtype);
    if (!layer->why) {
      const int port = layer->layer->weights;
      done[i] = (written){.from = layer->node->in[port], .axis = hn_quant_axis(layer->node)};
      for (int k = 0; k < i && !done[i].back; ++k)
        if (done[k].from == done[i].from && done[k].axis == done[i].axis) done[i].back = done[k].back;
      if (!done[i].back) status = round_layer(&n, layer, &done[i].back);
      if (status == HONE_OK) hn_node_set_input(layer->node, port, done[i].back);
    }
    if (status == HONE_OK) status = hn_check_stop(context);
    if (how->progress) how->progress(how->progress_user, "rounding weights", i + 1, sites->node_count);
  }
  hn_arena_deinit(&work);
  return status;
}
