// A flame graph: who called whom, outermost first, as wide as what is live below. A click goes into a function, and
// what is searched for is marked.

import { bytes, change, element, functionOf, keyed } from "/shared/format.js";
import * as state from "/shared/state.js";

// tree adds up the sites of a process by stack. sizeOf says how much a site counts; what counts nothing is left out.
export function tree(name, sites, sizeOf) {
  const root = { name, path: "", value: 0, children: new Map() };
  for (const s of sites) {
    const size = sizeOf(s);
    if (!s.counts || size <= 0) continue;
    root.value += size;
    let at = root;
    const names = s.frames.length ? s.frames.map(functionOf).reverse() : ["(unresolved)"];
    for (const n of [...names, "[" + s.class + "]"]) {
      let next = at.children.get(n);
      if (!next) { next = { name: n, path: at.path + "\n" + n, value: 0, children: new Map() }; at.children.set(n, next); }
      next.value += size;
      at = next;
    }
  }
  return root;
}

// wayTo returns the nodes from the root to the one at a path, or to the last of them that there is.
function wayTo(root, path) {
  const way = [root];
  for (const name of path.split("\n").slice(1)) {
    const next = way.at(-1).children.get(name);
    if (!next) break;
    way.push(next);
  }
  return way;
}

function hue(name) {
  let h = 0;
  for (const c of name) h = (h * 31 + c.codePointAt(0)) % 360;
  return 20 + h % 50;
}

const tall = 20, deepest = 60, least = 1 / 1000;

// draw draws what is below the function that was gone into, with the way there above it. grown says that sizes are
// what grew. It returns in words what is found.
export function draw(box, hover, root, zoom, search, grown, goInto) {
  const way = wayTo(root, zoom), top = way.at(-1), cells = [];
  const write = grown ? change : bytes;
  let depth = 0;
  const found = n => search !== "" && n.name.toLowerCase().includes(search.toLowerCase());
  way.slice(0, -1).forEach((n, i) => cells.push({ n, left: 0, width: 1, level: i, above: true }));
  (function put(n, left, level) {
    if (n.value < top.value * least || level > deepest) return;
    depth = Math.max(depth, level);
    cells.push({ n, left, width: n.value / top.value, level });
    for (const c of [...n.children.values()].sort((a, b) => b.value - a.value)) {
      put(c, left, level + 1);
      left += c.value / top.value;
    }
  })(top, 0, way.length - 1);
  box.style.height = top.value > 0 ? (depth + 1) * tall + "px" : "0";
  keyed(box, top.value > 0 ? cells : [], c => c.n.path, () => {
    const d = element("button");
    d.onclick = () => goInto(d.dataset.path);
    d.onmouseenter = d.onfocus = () => { hover.textContent = d.title; };
    return d;
  }, (d, c) => {
    d.dataset.path = c.n.path;
    if (d.textContent !== c.n.name) d.textContent = c.n.name;
    d.className = (c.above ? "above" : "") + (search === "" ? "" : found(c.n) ? " found" : " faint");
    d.style.left = 100 * c.left + "%";
    d.style.width = 100 * c.width + "%";
    d.style.top = c.level * tall + "px";
    d.style.background = grown ? `hsl(${hue(c.n.name) - 20} 80% 70%)` : `hsl(${hue(c.n.name)} 80% 68%)`;
    d.title = `${c.n.name}   ${write(c.n.value)}, ${(100 * c.n.value / root.value).toFixed(1)} %`;
  });
  if (search === "") return "";
  const sum = n => found(n) ? n.value : [...n.children.values()].reduce((t, c) => t + sum(c), 0);
  const all = sum(top);
  return all > 0 ? `${write(all)} found, ${(100 * all / top.value).toFixed(1)} %` : "nothing is called so";
}
