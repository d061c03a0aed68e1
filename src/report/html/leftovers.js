/* SPDX-License-Identifier: Apache-2.0 */
/* leftovers.js - layers that are no products: which fusion would remove each, what stands in its way and what it would
 * save; and fused forms that gave way to their parts. */

function showLeftovers() {
  const section = byId("leftovers"), left = PROFILE.leftovers || [], regions = PROFILE.refused_regions || [];
  if (left.length) {
    section.append(el("p", { class: "lead", text: `Products take ${percent(PROFILE.gemm_percent)} of the time; ${count(left.length, "layer")} beside them ${ms(PROFILE.leftover_ms)} ms, of which fusions would remove ${ms(PROFILE.leftover_saving_ms)} ms.` }),
      plainTable("Layers that are no products, by what their fusion would save", [{ text: "Layer" }, { text: "Type" }, { text: "ms", number: true }, { text: "would save ms", number: true }, { text: "Fusion" }, { text: "What it lacks" }],
        left.map((l) => [el("button", { type: "button", class: "link", text: l.name, onclick: () => select(LAYER_OF.get(l.name), "leftovers") }), l.type, fixed(l.median_ms, 4), l.fusion ? fixed(l.saving_ms, 4) : "–",
          l.fusion || "none is known", l.unmet || "–"])));
  }
  if (regions.length)
    section.append(plainTable("Fused forms whose parts run instead", [{ text: "Layer" }, { text: "Form" }, { text: "as one ms", number: true }, { text: "parts ms", number: true }, { text: "Why" }],
      regions.map((r) => [r.name, r.type, fixed(r.fused_ms, 4), fixed(r.parts_ms, 4), r.why])));
}
