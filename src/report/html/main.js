/* SPDX-License-Identifier: Apache-2.0 */
/* main.js - shows what there is, in the page's order; a section without data is taken out. */

(function () {
  showHead();
  showChange();
  showAdvice();
  showLayers();
  followLayer();
  showClasses();
  showLeftovers();
  showRoofline();
  showTimeline();
  showMemory();
  showGraph();
  showErrors();
  showMachine();
  byId("main").hidden = false;
  for (const section of document.querySelectorAll("main > section")) {
    if (section.children.length < 2) {
      section.remove();
      continue;
    }
    byId("contents").append(el("li", {}, el("a", { href: `#${section.id}`, text: section.querySelector("h2").textContent })));
  }
  byId("layer").style.setProperty("--rows", document.querySelectorAll("main > section").length);
  /* The layer that costs most is where one begins to read. */
  select([...LAYERS].sort((a, b) => (b.above_roof_ms || 0) - (a.above_roof_ms || 0) || b.median_ms - a.median_ms)[0], "start");
})();
