/* SPDX-License-Identifier: Apache-2.0 */
/* advice_data.c - advice for programs, as JSON. */
#include "report/advice.h"

static void put_layers(hn_json_writer *w, const hn_advice_item *item) {
  hn_json_open_flat(w, "layers", '[');
  for (int i = 0; i < item->layer_count; ++i) hn_json_put_text(w, NULL, item->layers[i]);
  hn_json_close(w, ']');
}

static void put_item(hn_json_writer *w, const hn_advising *a, const hn_advice_item *item) {
  hn_json_open(w, NULL, '{');
  hn_json_put_text(w, "name", item->row->name);
  hn_json_put_text(w, "kind", item->row->kind);
  put_layers(w, item);
  hn_json_put_text(w, "finding", item->finding);
  hn_json_put_text(w, "remedy", item->row->remedy);
  hn_json_put_text(w, "flags", item->flags);
  hn_json_put_text(w, "model_change", item->row->model_change);
  hn_json_put_real(w, "saving_ms", item->saving_ns * 1e-6);
  hn_json_put_real(w, "saving_low_ms", item->low_ns * 1e-6);
  hn_json_put_real(w, "saving_high_ms", item->high_ns * 1e-6);
  hn_json_put_real(w, "saving_percent", hn_percent(item->saving_ns, a->run_ns));
  hn_json_put_text(w, "confidence", item->row->confidence);
  hn_json_put_bool(w, "timed", item->timed_share > 0);
  hn_json_put_bool(w, "applies_itself", item->row->applies_itself);
  hn_json_put_int(w, "timed_layers", item->timed_layers);
  hn_json_put_int(w, "unknown_layers", item->unknown_layers);
  hn_json_put_real(w, "timed_share", item->timed_share);
  hn_json_close(w, '}');
}

void hn_advice_put(hn_json_writer *w, const hn_advising *a, int most) {
  hn_json_open_flat(w, "pattern", '{');
  hn_json_put_text(w, "name", hn_pattern_name(a->pattern));
  hn_json_put_text(w, "text", a->pattern_text);
  hn_json_close(w, '}');
  hn_json_open(w, "advice", '[');
  for (int i = 0, put = 0; i < a->count && (most == 0 || put < most); ++i)
    if (!a->items[i].removed) {
      put_item(w, a, &a->items[i]);
      ++put;
    }
  hn_json_close(w, ']');
}

static void put_removed(hn_json_writer *w, const hn_advising *a) {
  hn_json_open(w, "removed", '[');
  for (int i = 0; i < a->count; ++i) {
    if (!a->items[i].removed) continue;
    hn_json_open(w, NULL, '{');
    hn_json_put_text(w, "name", a->items[i].row->name);
    hn_json_put_text(w, "finding", a->items[i].finding);
    put_layers(w, &a->items[i]);
    hn_json_close(w, '}');
  }
  hn_json_close(w, ']');
}

static void put_step(hn_json_writer *w, const hone_advice_step *s) {
  hn_json_open_flat(w, NULL, '{');
  hn_json_put_text(w, "step", s->name);
  if (s->kind) hn_json_put_text(w, "kind", s->kind);
  hn_json_put_text(w, "flags", s->flags);
  hn_json_put_real(w, "predicted_ms", s->predicted_ns * 1e-6);
  hn_json_put_real(w, "measured_ms", s->measured_ns * 1e-6);
  hn_json_put_real(w, "low_ms", s->low_ns * 1e-6);
  hn_json_put_real(w, "high_ms", s->high_ns * 1e-6);
  hn_json_put_real(w, "change_percent", s->change_percent);
  if (s->before_ns > 0 && s->measured_ns > 0) {
    hn_json_put_real(w, "before_ms", s->before_ns * 1e-6);
    hn_json_put_real(w, "predicted_saving_ms", (s->before_ns - s->predicted_ns) * 1e-6);
    hn_json_put_real(w, "predicted_low_ms", s->predicted_low_ns * 1e-6);
    hn_json_put_real(w, "predicted_high_ms", s->predicted_high_ns * 1e-6);
    hn_json_put_real(w, "saving_ms", (s->before_ns - s->measured_ns) * 1e-6);
    hn_json_put_bool(w, "as_predicted", hn_advice_step_fits(s));
    hn_json_put_int(w, "timed_nodes", s->timed_nodes);
    hn_json_put_int(w, "known_nodes", s->known_nodes);
    hn_json_put_real(w, "timed_share", s->timed_share);
  }
  if (s->error >= 0) hn_json_put_real(w, "error", s->error);
  hn_json_put_bool(w, "kept", s->kept);
  hn_json_put_text(w, "why", s->why);
  hn_json_close(w, '}');
}

void hn_advice_write_json(const hn_advising *a, const hone_advice_step *steps, int step_count, hn_text *out) {
  hn_json_writer writer, *w = &writer;
  hn_json_begin(w, out);
  hn_json_open(w, NULL, '{');
  hn_json_put_int(w, "schema", HONE_JSON_SCHEMA);
  hn_json_put_text(w, "network", a->p->in->name);
  hn_json_put_text(w, "device", a->p->in->facts->name);
  hn_json_put_int(w, "threads", a->p->in->facts->threads);
  hn_json_put_real(w, "median_ms", a->run_ns * 1e-6);
  hn_advice_put(w, a, 0);
  put_removed(w, a);
  hn_json_open(w, "staircase", '[');
  for (int i = 0; i < step_count; ++i) put_step(w, &steps[i]);
  hn_json_close(w, ']');
  hn_json_close(w, '}');
  hn_text_add(out, "\n");
}
