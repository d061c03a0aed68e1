/* SPDX-License-Identifier: Apache-2.0 */
/* layout.js - places of a directed graph without cycles, from left to right: ranks by the longest path, order within a
 * rank by the mean of the neighbours' places, heights kept apart. An edge over several ranks goes through places of its own;
 * one over too many is cut and named at both ends, since lines across a whole network tell nothing. */

const LAYOUT = { column: 236, gap: 16, through: 14, longest: 10, sweeps: 8 };

function ranksOf(nodes, edges) {
  const rank = new Array(nodes.length).fill(0);
  for (const edge of edges) rank[edge.to] = Math.max(rank[edge.to], rank[edge.from] + 1); /* edges are in the order of steps */
  /* What has no inputs of its own stands right before its first reader. */
  const readers = nodes.map(() => Infinity), fed = nodes.map(() => false);
  for (const edge of edges) (readers[edge.from] = Math.min(readers[edge.from], rank[edge.to])), (fed[edge.to] = true);
  nodes.forEach((_, i) => { if (!fed[i] && readers[i] !== Infinity) rank[i] = Math.max(rank[i], readers[i] - 1); });
  return rank;
}

/* Keeps the wanted centers as far as nothing overlaps: the list is in order from top to bottom. */
function spread(cells) {
  const sorted = cells;
  let at = -Infinity;
  for (const cell of sorted) {
    cell.y = Math.max(cell.wanted - cell.high / 2, at);
    at = cell.y + cell.high + LAYOUT.gap;
  }
  const shift = sum(sorted, (c) => c.wanted - (c.y + c.high / 2)) / sorted.length;
  for (const cell of sorted) cell.y += shift;
}

/* nodes: {high}; edges: {from, to}. Gives nodes x, y, rank; edges their cells in between, or `cut`. */
function layOut(nodes, edges) {
  const rank = ranksOf(nodes, edges), ranks = [];
  const put = (cell, at) => {
    while (ranks.length <= at) ranks.push([]);
    ranks[at].push(cell);
    return Object.assign(cell, { rank: at, before: [], after: [] });
  };
  nodes.forEach((node, i) => put(node, rank[i]));
  for (const edge of edges) {
    const a = nodes[edge.from], b = nodes[edge.to], far = b.rank - a.rank;
    edge.cut = far > LAYOUT.longest;
    edge.cells = [a];
    if (edge.cut) continue;
    for (let r = a.rank + 1; r < b.rank; ++r) edge.cells.push(put({ high: LAYOUT.through, through: true }, r));
    edge.cells.push(b);
    for (let i = 1; i < edge.cells.length; ++i) (edge.cells[i].before.push(edge.cells[i - 1]), edge.cells[i - 1].after.push(edge.cells[i]));
  }
  const center = (cell) => cell.y + cell.high / 2;
  for (const cells of ranks) cells.forEach((cell, i) => (cell.wanted = i * 60)), spread(cells);
  for (let sweep = 0; sweep < LAYOUT.sweeps; ++sweep) {
    const order = sweep % 2 ? [...ranks].reverse() : ranks;
    for (const cells of order) {
      for (const cell of cells) {
        const near = sweep >= LAYOUT.sweeps - 2 ? [...cell.before, ...cell.after] : sweep % 2 ? cell.after : cell.before;
        cell.wanted = near.length ? sum(near, center) / near.length : center(cell);
      }
      if (sweep < LAYOUT.sweeps - 2) cells.sort((a, b) => a.wanted - b.wanted);
      spread(cells);
    }
  }
  const top = Math.min(...ranks.flat().map((cell) => cell.y)), low = Math.max(...ranks.flat().map((cell) => cell.y + cell.high));
  for (const cell of ranks.flat()) (cell.y -= top), (cell.x = cell.rank * LAYOUT.column);
  return { width: ranks.length * LAYOUT.column, height: low - top };
}
