// A chart of bytes over the time before now, drawn by uPlot, which the page loads beside its modules.

import { age, bytes, element, keyed } from "./format.js";
import * as state from "./state.js";

const spans = [["1 min", 60], ["10 min", 600], ["1 h", 3600], ["all", 0]];

// span returns the seconds that are chosen in the address, 0 for all.
export const span = () => (spans.find(([name]) => name === state.get("span", "1 min")) || spans[0])[1];

// choices fills box with a button for each span.
export function choices(box) {
  keyed(box, spans, s => s[0], ([name]) => {
    const b = element("button", name);
    b.onclick = () => state.set("span", name, "1 min");
    return b;
  }, (b, s) => { b.ariaPressed = String(s[1] === span()); });
}

// A Chart draws lines into box, each {label, stroke, fill}. draw takes times in seconds before now and the values of
// each line.
export class Chart {
  constructor(box, lines) {
    Object.assign(this, { box, lines, plot: null });
    // What is drawn with colours of the page is drawn anew when they change.
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.again());
  }

  // again makes the next draw begin with an empty box.
  again() {
    if (this.plot) this.plot.destroy();
    this.plot = null;
  }

  draw(data) {
    const width = this.box.clientWidth;
    if (this.plot && this.plot.width !== width) this.again();
    if (this.plot) { this.plot.setData(data); return; }
    const ink = getComputedStyle(document.body).color;
    this.plot = new uPlot({
      width, height: 220, legend: { show: true },
      scales: { x: { time: false }, y: { range: (u, lo, hi) => [0, Math.max(hi, 1) * 1.05] } },
      axes: [
        { stroke: ink, grid: { stroke: "#8883" }, values: (u, v) => v.map(x => x === 0 ? "now" : "-" + age(-x * 1e9)) },
        { stroke: ink, grid: { stroke: "#8883" }, size: width < 600 ? 68 : 80, incrs: Array.from({ length: 50 }, (_, i) => 2 ** i), values: (u, v) => v.map(bytes) },
      ],
      series: [
        { label: "before now", value: (u, v) => v === null ? "" : age(-v * 1e9) },
        ...this.lines.map(l => ({ width: 2, points: { show: false }, value: (u, v) => v === null ? "" : bytes(v), ...l })),
      ],
    }, data, this.box);
  }
}
