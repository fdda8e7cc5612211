// A timeline: each allocation from when it was made until it ended, on top of the older ones or where its address is.

import { age, bytes } from "/shared/format.js";

// times returns from when to when each allocation is shown, of the span that ends now.
const times = (d, from) => d.begin.map((b, i) => [Math.max(b, from), d.end[i] || d.time]);

// stacked puts each allocation on those that were there: when one ends, what is above it comes down. It returns
// boxes {i, t0, t1, y0, y1}, several for an allocation that came down, and how high they are.
export function stacked(d, from) {
  const when = times(d, from), events = [];
  when.forEach(([t0, t1], i) => { if (t1 > from) events.push([t0, 1, i], [t1, 0, i]); });
  events.sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]);
  const boxes = [], pile = [];
  let height = 0, most = 0;
  const close = (e, t) => { if (t > e.t0) boxes.push({ i: e.i, t0: e.t0, t1: t, y0: e.y, y1: e.y + d.size[e.i] }); };
  for (const [t, begins, i] of events) {
    if (begins) {
      pile.push({ i, t0: t, y: height });
      most = Math.max(most, height += d.size[i]);
      continue;
    }
    const at = pile.findIndex(e => e.i === i);
    if (at < 0) continue;
    close(pile[at], t);
    for (const e of pile.slice(at + 1)) {
      close(e, t);
      Object.assign(e, { t0: t, y: e.y - d.size[i] });
    }
    height -= d.size[i];
    pile.splice(at, 1);
  }
  return { boxes, most };
}

// addressed puts each allocation where its address is. Addresses that nothing had are left out but for a gap.
export function addressed(d, from) {
  const when = times(d, from), all = [...d.addr.keys()].filter(i => d.addr[i] > 0 && when[i][1] > from);
  all.sort((a, b) => d.addr[a] - d.addr[b]);
  const runs = [];
  for (const i of all) {
    const last = runs.at(-1), end = d.addr[i] + d.size[i];
    if (last && d.addr[i] <= last.end) last.end = Math.max(last.end, end);
    else runs.push({ at: d.addr[i], end });
  }
  const used = runs.reduce((t, r) => t + r.end - r.at, 0), gap = used / 50 / Math.max(runs.length, 1);
  let y = 0;
  for (const r of runs) { r.y = y; y += r.end - r.at + gap; }
  let run = 0;
  const boxes = all.map(i => {
    while (d.addr[i] >= runs[run].end) run++;
    const y0 = runs[run].y + d.addr[i] - runs[run].at;
    return { i, t0: when[i][0], t1: when[i][1], y0, y1: y0 + d.size[i] };
  });
  return { boxes, most: Math.max(y - gap, 0), gaps: runs.length - 1 };
}

const hueOf = site => (site * 137.5 + 210) % 360;
const tall = 260, foot = 20;

// A Timeline draws into a canvas, and says in hover what is under the pointer; a click on it chooses its site.
export class Timeline {
  constructor(canvas, hover, choose) {
    Object.assign(this, { canvas, hover, data: null, under: -1, last: null });
    canvas.onpointermove = e => this.point(e);
    canvas.onpointerleave = () => this.point(null);
    canvas.onclick = () => { if (this.under >= 0) choose(this.data.titles[this.data.site[this.under]]); };
  }

  // draw draws d, with allocations by address or stacked, over the time from a moment until now.
  draw(d, byAddress, from) {
    const c = this.canvas, width = c.parentElement.clientWidth, ratio = devicePixelRatio || 1;
    const { boxes, most, gaps } = byAddress ? addressed(d, from) : stacked(d, from);
    const left = width < 600 ? 68 : 80, g = c.getContext("2d"), ink = getComputedStyle(document.body).color;
    c.width = width * ratio;
    c.height = (tall + foot) * ratio;
    c.style.height = tall + foot + "px";
    g.scale(ratio, ratio);
    const x = t => left + (width - left - 4) * (t - from) / Math.max(d.time - from, 1), y = v => tall - (tall - 8) * v / Math.max(most, 1);
    if (d !== this.data) this.under = -1; // what was there has another number
    Object.assign(this, { data: d, boxes, unx: px => from + (px - left) * (d.time - from) / (width - left - 4), uny: py => (tall - py) * Math.max(most, 1) / (tall - 8) });
    g.font = "12px system-ui, sans-serif";
    g.fillStyle = ink;
    g.strokeStyle = "#8883";
    g.textAlign = "right";
    if (byAddress) g.fillText("addresses", left - 8, 14);
    const step = 2 ** Math.max(Math.ceil(Math.log2(most / 5)), 0);
    for (let v = 0; v <= most && !byAddress; v += step) {
      g.fillText(bytes(v), left - 8, Math.min(y(v) + 4, tall));
      g.strokeRect(left, y(v), width - left - 4, 0);
    }
    const ticks = width < 600 ? 3 : 6;
    for (let i = 0; i <= ticks; i++) {
      const ago = (d.time - from) * (1 - i / ticks);
      g.textAlign = i === ticks ? "right" : "center";
      g.fillText(i === ticks ? "now" : "-" + age(ago), x(d.time - ago), tall + 15);
    }
    const lit = this.under >= 0 ? d.site[this.under] : -1;
    for (const b of boxes) {
      const site = d.site[b.i], w = Math.max(x(b.t1) - x(b.t0), .7), h = Math.max(y(b.y0) - y(b.y1), .4);
      g.globalAlpha = lit >= 0 && site !== lit ? .25 : 1;
      g.fillStyle = `hsl(${hueOf(site)} 55% ${b.i === this.under ? 45 : 60}%)`;
      g.fillRect(x(b.t0), y(b.y1), w, h > 3 ? h - .6 : h);
    }
    g.globalAlpha = 1;
    this.again = () => this.draw(d, byAddress, from);
    if (this.under < 0) this.point(this.last);
    return { shown: new Set(boxes.map(b => b.i)).size, gaps };
  }

  // point shows what is under the pointer.
  point(e) {
    this.last = e;
    if (!this.boxes) return;
    const t = e && this.unx(e.offsetX), v = e && this.uny(e.offsetY), d = this.data;
    const box = e && this.boxes.findLast(b => t >= b.t0 && t < b.t1 && v >= b.y0 && v < b.y1), i = box ? box.i : -1;
    this.canvas.style.cursor = i < 0 ? "" : "pointer";
    if (i === this.under) return;
    this.under = i;
    this.hover.textContent = i < 0 ? "" : `${bytes(d.size[i])}  ${d.titles[d.site[i]]}   ` +
      (d.addr[i] ? `at 0x${d.addr[i].toString(16)}, ` : "") + `made ${age(d.time - d.begin[i])} ago, ` +
      (d.end[i] ? `ended after ${age(d.end[i] - d.begin[i])}` : "live");
    this.again();
  }
}
