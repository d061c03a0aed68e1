/* SPDX-License-Identifier: Apache-2.0 */
/* leftovers_write.c - the layers that are no products, for people and for programs. */
#include "report/leftovers.h"

enum { MOST_REGIONS = 3 };

static void write_one(const hn_profile *p, const hn_leftover *left, hn_text *out) {
  hn_text_printf(out, "            %s (%s), %.4f ms: ", left->row->step->name, hn_step_type(left->row->step),
                 left->row->median_ns * 1e-6);
  if (!left->fusion)
    hn_text_add(out, "no fusion is known\n");
  else if (left->saving_ns > 0)
    hn_text_printf(out, "%s would save %.4f ms, %.1f %%; %s\n", left->fusion, left->saving_ns * 1e-6,
                   hn_percent(left->saving_ns, p->sum_ns), left->unmet);
  else
    hn_text_printf(out, "%s would save nothing; %s\n", left->fusion, left->unmet);
}

void hn_leftovers_write_text(const hn_profile *p, hn_text *out) {
  const hn_leftovers *all = &p->leftovers;
  if (all->count > 0)
    hn_text_printf(out, "leftovers   %.4f ms in %d %s that are no products; fusions would remove %.4f ms of it\n",
                   all->sum_ns * 1e-6, all->count, all->count == 1 ? "layer" : "layers", all->saving_ns * 1e-6);
  for (int i = 0; i < all->count && i < hn_profile_top(p); ++i) write_one(p, &all->items[i], out);
  for (int i = 0; i < all->region_count && i < MOST_REGIONS; ++i) {
    const hn_refused_region *r = &all->regions[i];
    hn_text_printf(out, "%s%s (%s): %s", i ? "            " : "as parts    ", r->name, r->op, r->why);
    if (r->fused_ns > 0 && r->parts_ns > 0)
      hn_text_printf(out, ": %.4f ms as one, %.4f ms as parts", r->fused_ns * 1e-6, r->parts_ns * 1e-6);
    hn_text_add(out, "\n");
  }
  if (all->region_count > MOST_REGIONS)
    hn_text_printf(out, "            and %d more: hone explain\n", all->region_count - MOST_REGIONS);
}

void hn_leftovers_put(hn_json_writer *w, const hn_profile *p) {
  const hn_leftovers *all = &p->leftovers;
  hn_json_put_real(w, "leftover_ms", all->sum_ns * 1e-6);
  hn_json_put_real(w, "leftover_saving_ms", all->saving_ns * 1e-6);
  hn_json_open(w, "leftovers", '[');
  for (int i = 0; i < all->count; ++i) {
    const hn_leftover *left = &all->items[i];
    hn_json_open_flat(w, NULL, '{');
    hn_json_put_text(w, "name", left->row->step->name);
    hn_json_put_text(w, "type", hn_step_type(left->row->step));
    hn_json_put_real(w, "median_ms", left->row->median_ns * 1e-6);
    hn_json_put_text(w, "fusion", left->fusion);
    hn_json_put_text(w, "rule", left->rule);
    hn_json_put_text(w, "unmet", left->unmet);
    hn_json_put_real(w, "saving_ms", left->saving_ns * 1e-6);
    hn_json_close(w, '}');
  }
  hn_json_close(w, ']');
  hn_json_open(w, "refused_regions", '[');
  for (int i = 0; i < all->region_count; ++i) {
    const hn_refused_region *r = &all->regions[i];
    hn_json_open_flat(w, NULL, '{');
    hn_json_put_text(w, "name", r->name);
    hn_json_put_text(w, "type", r->op);
    hn_json_put_text(w, "why", r->why);
    if (r->fused_ns > 0) hn_json_put_real(w, "fused_ms", r->fused_ns * 1e-6);
    if (r->parts_ns > 0) hn_json_put_real(w, "parts_ms", r->parts_ns * 1e-6);
    hn_json_close(w, '}');
  }
  hn_json_close(w, ']');
}
