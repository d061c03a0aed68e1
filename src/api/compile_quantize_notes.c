/* SPDX-License-Identifier: Apache-2.0 */
/* compile_quantize_notes.c - what quantising decided, as notes of the graph that it made: a build puts them into the
 * ledger, where hone explain looks for why a layer is, or is not, in 8 bits. */
#include "api/quantize.h"
#include "base/json.h"
#include <math.h>

/* Of the rounded activation: signal to noise in decibels, by the middles of the histogram's bins. */
static double sqnr_db(const hn_histogram *seen, const hn_scale *scale, const hn_scheme *scheme) {
  double signal = 0, noise = 0;
  for (int i = 0; i < HN_BINS; ++i) {
    if (seen->bins[i] == 0) continue;
    const double x = hn_bin_centre(seen, i), apart = hn_rounded(scale, scheme, x) - x;
    signal += (double)seen->bins[i] * x * x;
    noise += (double)seen->bins[i] * apart * apart;
  }
  return noise > 0 && signal > 0 ? 10 * log10(signal / noise) : 300;
}

static void put_layer(hn_json_writer *w, const hn_quantizing *q, const hn_quant_node *node) {
  hn_json_open_flat(w, NULL, '{');
  hn_json_put_text(w, "layer", node->node->name);
  hn_json_put_text(w, "type", node->why ? "f32" : q->scheme.dtype == HONE_F8E4M3FN ? "fp8" : "int8");
  if (node->why) {
    hn_json_put_text(w, "why", node->why);
  } else {
    const hn_site *site = hn_sites_source(&q->sites, node->node->in[0]);
    hn_json_put_text(w, "tensor", node->node->in[0]->name);
    hn_json_put_real(w, "scale", (double)site->scale.scale);
    hn_json_put_int(w, "zero_point", site->scale.zero);
    hn_json_put_real(w, "from", hn_lowest(&site->scale, &q->scheme));
    hn_json_put_real(w, "to", hn_highest(&site->scale, &q->scheme));
    if (site->histogram) {
      hn_json_put_real(w, "low", site->histogram->low);
      hn_json_put_real(w, "high", site->histogram->high);
      hn_json_put_real(w, "clipped", hn_clipped_share(site->histogram, &site->scale, &q->scheme));
      hn_json_put_real(w, "sqnr_db", sqnr_db(site->histogram, &site->scale, &q->scheme));
    }
  }
  hn_json_close(w, '}');
}

hone_status hn_quantize_note(hn_quantizing *q) {
  hn_text text;
  hn_json_writer w;
  hn_text_init(&text, q->context->allocator);
  hn_json_begin(&w, &text);
  hn_json_open(&w, NULL, '{');
  hn_json_put_text(&w, "method", q->options.method);
  hn_json_put_text(&w, "activations", hone_dtype_name(q->scheme.dtype));
  if (q->distances.terms > 0) hn_json_put_real(&w, "rel_l2", q->distances.rel_l2 / q->distances.terms);
  hn_json_open(&w, "layers", '[');
  for (int i = 0; i < q->sites.node_count; ++i) put_layer(&w, q, &q->sites.nodes[i]);
  hn_json_close(&w, ']');
  hn_json_close(&w, '}');
  q->graph->notes = text.failed ? NULL : hn_arena_text(&q->graph->arena, hn_text_string(&text));
  hn_text_deinit(&text);
  return q->graph->notes ? HONE_OK : HN_FAIL_MEMORY(&q->context->diag);
}
