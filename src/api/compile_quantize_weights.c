/* SPDX-License-Identifier: Apache-2.0 */
/* compile_quantize_weights.c - weights alone in few bits: nothing runs, no sample is asked for. */
#include "api/quantize.h"
#include "base/arguments.h"
#include "calib/weights.h"
#include "pass/passes.h"

hone_status hn_quantize_check_weights(hone_diagnostics *diag, hone_quantize_options *options) {
  const hone_dtype dtype = options->weights;
  if (dtype == HONE_NONE && options->block == 0) return HONE_OK;
  if (dtype == HONE_NONE) return HN_FAIL(diag, HONE_INVALID, "quantize option block is for weights alone");
  if (dtype != HONE_I8 && dtype != HONE_U8 && dtype != HONE_I4 && dtype != HONE_U4)
    return HN_FAIL(diag, HONE_INVALID, "quantize option weights: allowed are i8, u8, i4 and u4");
  if (options->block == 0) options->block = HN_BLOCK_USUAL;
  HN_TRY(hn_argument_range(diag, "quantize option block", options->block, HN_BLOCK_LEAST, HN_BLOCK_MOST));
  if (options->block & (options->block - 1))
    return HN_FAIL(diag, HONE_INVALID, "quantize option block is %lld; it must be a power of two",
                   (long long)options->block);
  const struct {
    const char *name;
    bool given;
  } others[] = {{"sample", options->sample != NULL},
                {"method", options->method != NULL},
                {"activations", options->activations != HONE_NONE},
                {"per_tensor", options->per_tensor},
                {"cache_path", options->cache_path != NULL},
                {"corrections", options->corrections != NULL}};
  for (size_t i = 0; i < HN_COUNT(others); ++i)
    if (others[i].given)
      return HN_FAIL(diag, HONE_INVALID, "quantize option %s is not for weights alone: activations stay in f32",
                     others[i].name);
  return HONE_OK;
}

hone_status hn_quantize_weights(hn_quantizing *q) {
  const hn_weights_how how = {.dtype = q->options.weights,
                              .block = q->options.block,
                              .progress = q->options.progress,
                              .progress_user = q->options.progress_user};
  HN_TRY(hn_quantize_find_sites(q));
  HN_TRY(hn_weights_insert(&q->sites, &how));
  int written = 0;
  for (int i = 0; i < q->sites.node_count; ++i) written += !q->sites.nodes[i].why;
  if (written == 0)
    return HN_FAIL(&q->context->diag, HONE_UNSUPPORTED, "no layer of the model can be quantised: %s: %s",
                   q->sites.nodes[0].node->name, q->sites.nodes[0].why);
  hn_quantize_tell_layers(q);
  hn_pass_run run = {.context = q->context, .graph = q->graph};
  HN_TRY(hn_pass_eliminate_dead(&run));
  return hn_graph_verify(q->graph);
}
