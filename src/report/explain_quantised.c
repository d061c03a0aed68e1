/* SPDX-License-Identifier: Apache-2.0 */
/* explain_quantised.c - of an engine whose build quantised the model (--int8): what each layer got, and why. */
#include "report/explain.h"
#include <string.h>

const hn_json *hn_explain_quantised_layers(const hn_explanation *e) {
  const hn_json *all = hn_json_get(e->ledger, "quantised");
  return all ? hn_json_get(all, "layers") : NULL;
}

void hn_explain_quantised_head(const hn_explanation *e) {
  const hn_json *layers = hn_explain_quantised_layers(e);
  int bytes = 0;
  if (!layers) return;
  for (size_t i = 0; i < hn_ledger_count(layers); ++i)
    bytes += strcmp(hn_ledger_text(&layers->items[i], "type"), "f32") != 0;
  hn_text_printf(e->out, "--int8: %d of %d layers got 8 bits\n", bytes, (int)hn_ledger_count(layers));
  for (size_t i = 0; i < hn_ledger_count(layers); ++i)
    if (*hn_ledger_text(&layers->items[i], "why"))
      hn_text_printf(e->out, "  %s is in f32: %s\n", hn_ledger_text(&layers->items[i], "layer"),
                     hn_ledger_text(&layers->items[i], "why"));
  hn_text_add(e->out, "\n");
}

void hn_explain_quantised(const hn_explanation *e, const hn_json *node) {
  const hn_json *layers = hn_explain_quantised_layers(e);
  for (size_t i = 0; i < hn_ledger_count(layers); ++i) {
    const hn_json *layer = &layers->items[i];
    const char *name = hn_ledger_text(layer, "layer"), *why = hn_ledger_text(layer, "why");
    const char *type = hn_ledger_text(layer, "type");
    if (!hn_explain_stands_for(node, layer)) continue;
    if (*why) {
      hn_text_printf(e->out, "  %s: asked int8, got f32: %s\n", name, why);
      continue;
    }
    hn_text_printf(e->out, "  %s: asked %s, got %s: %s from %.4g to %.4g, scale %.4g, zero point %d", name, type, type,
                   hn_ledger_text(layer, "tensor"), hn_ledger_real(layer, "from", 0), hn_ledger_real(layer, "to", 0),
                   hn_ledger_real(layer, "scale", 0), (int)hn_ledger_real(layer, "zero_point", 0));
    if (hn_json_get(layer, "sqnr_db"))
      hn_text_printf(e->out, "; seen %.4g to %.4g, %.3g %% cut, signal to noise %.1f dB",
                     hn_ledger_real(layer, "low", 0), hn_ledger_real(layer, "high", 0),
                     100 * hn_ledger_real(layer, "clipped", 0), hn_ledger_real(layer, "sqnr_db", 0));
    hn_text_add(e->out, "\n");
  }
}
