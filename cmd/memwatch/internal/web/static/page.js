// The page draws what each event says and keeps nothing but which process is chosen.
// Text that programs chose goes into the document as text nodes only.
"use strict";

const $ = id => document.getElementById(id);
let chosen = null, chart = null, latest = null;

function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0, v = Math.abs(n);
  while (v >= 1024 && i < units.length - 1) { v /= 1024; i++; }
  return (n < 0 ? "-" : "") + (i === 0 || v >= 100 ? Math.round(v) : v.toFixed(1)) + " " + units[i];
}

const count = (n, one, many) => n + " " + (n === 1 ? one : many);

function age(ns) {
  if (ns <= 0) return "–";
  const s = ns / 1e9;
  if (s < 1) return Math.round(s * 1000) + " ms";
  if (s < 120) return Math.round(s) + " s";
  if (s < 7200) return Math.round(s / 60) + " min";
  return (s / 3600).toFixed(1) + " h";
}

function element(name, text, cls) {
  const e = document.createElement(name);
  if (text !== undefined) e.textContent = text;
  if (cls) e.className = cls;
  return e;
}

const key = p => p.pid + "-" + p.start;
const about = (p, s) => (p.inexact ? "≈" : "") + s;
const liveOf = p => p.exited ? p.atExit : p.live;

function drawProcesses(s) {
  const body = $("processes").tBodies[0];
  body.replaceChildren(...s.processes.map(p => {
    const row = element("tr", undefined, (p.exited ? "exited " : "") + (key(p) === chosen ? "chosen" : ""));
    const state = p.exited ? "exited" : p.joined && !p.byTable ? "joined" : "running";
    row.append(element("td", p.pid), element("td", p.name),
      element("td", about(p, bytes(liveOf(p))) + (p.exited ? " at exit" : ""), "n"), element("td", about(p, bytes(p.peak)), "n"),
      element("td", p.exited ? p.atExitObjects : p.objects, "n"), element("td", bytes(p.rate) + "/s", "n"), element("td", state));
    row.tabIndex = 0;
    row.onclick = () => { chosen = key(p); draw(latest); };
    row.onkeydown = e => { if (e.key === "Enter") row.onclick(); };
    return row;
  }));
}

function drawChart(p) {
  const n = p.history.length;
  const data = [Array.from({ length: n }, (_, i) => i - n + 1), p.history];
  const width = $("chart").clientWidth;
  if (chart && chart.width !== width) { chart.destroy(); chart = null; }
  if (!chart) {
    const ink = getComputedStyle(document.body).color;
    chart = new uPlot({
      width, height: 220, legend: { show: true },
      scales: { x: { time: false }, y: { range: (u, lo, hi) => [0, Math.max(hi, 1) * 1.05] } },
      axes: [
        { stroke: ink, grid: { stroke: "#8883" }, values: (u, v) => v.map(x => x + " s") },
        { stroke: ink, grid: { stroke: "#8883" }, size: width < 600 ? 68 : 80, incrs: Array.from({ length: 50 }, (_, i) => 2 ** i), values: (u, v) => v.map(bytes) },
      ],
      series: [
        { label: "seconds", value: (u, v) => v === null ? "" : v + " s" },
        { label: "live", stroke: "#2a78d0", width: 2, fill: "#2a78d033", value: (u, v) => v === null ? "" : bytes(v) },
      ],
    }, data, $("chart"));
  } else {
    chart.setData(data);
  }
}

// tree adds up live bytes by stack, the outermost function first.
function tree(p) {
  const root = { name: p.name, value: 0, children: new Map() };
  for (const s of p.sites) {
    const live = p.exited ? s.atExitBytes : s.live;
    if (!s.own || live <= 0) continue;
    root.value += live;
    let at = root;
    const names = s.frames.length ? s.frames.map(f => f.func || "0x" + (f.pc || 0).toString(16)).reverse() : ["(unresolved)"];
    for (const name of [...names, "[" + s.class + "]"]) {
      let next = at.children.get(name);
      if (!next) { next = { name, value: 0, children: new Map() }; at.children.set(name, next); }
      next.value += live;
      at = next;
    }
  }
  return root;
}

function hue(name) {
  let h = 0;
  for (const c of name) h = (h * 31 + c.codePointAt(0)) % 360;
  return 20 + h % 50;
}

function drawFlame(p) {
  const root = tree(p), box = $("flame"), cells = [];
  let depth = 0;
  (function place(node, left, level) {
    if (node.value <= root.value / 1000 || level > 60) return;
    depth = Math.max(depth, level);
    const d = element("div", node.name);
    d.style.left = 100 * left / root.value + "%";
    d.style.width = 100 * node.value / root.value + "%";
    d.style.top = level * 20 + "px";
    d.style.background = `hsl(${hue(node.name)} 80% 68%)`;
    d.title = node.name + "  " + bytes(node.value);
    d.onmouseenter = () => { $("hover").textContent = `${node.name}   ${bytes(node.value)}, ${(100 * node.value / root.value).toFixed(1)} %`; };
    cells.push(d);
    for (const c of [...node.children.values()].sort((a, b) => b.value - a.value)) {
      place(c, left, level + 1);
      left += c.value;
    }
  })(root, 0, 0);
  box.style.height = root.value > 0 ? (depth + 1) * 20 + "px" : "0";
  box.replaceChildren(...cells);
}

function place(f) {
  const name = f.func || "0x" + (f.pc || 0).toString(16);
  if (f.file) return `${name}  ${f.file}:${f.line}`;
  return f.module ? `${name}  [${f.module}]` : name;
}

function drawSites(p) {
  const body = $("sites").tBodies[0];
  const open = new Set([...body.querySelectorAll("details[open]")].map(d => d.dataset.key));
  body.replaceChildren(...p.sites.map(s => {
    const row = element("tr", undefined, s.own ? "" : "other");
    const cell = element("td"), details = element("details"), id = s.stack + s.class;
    details.dataset.key = id;
    details.open = open.has(id);
    details.append(element("summary", s.title));
    details.append(element("p", s.frames.map(place).join("\n"), "stack"));
    cell.append(details, ...s.suspect.map(w => element("span", w, "why")));
    row.append(element("td", (s.estimate ? "~" : "") + about(p, bytes(p.exited ? s.atExitBytes : s.live)), "n"), element("td", p.exited ? s.atExitObjects : s.objects, "n"),
      element("td", bytes(s.allocBytes), "n"), element("td", s.own ? s.class : `(${s.class})`), element("td", age(s.oldest), "n"),
      element("td", s.freedExplicit.objects, "n"), element("td", s.freedLate.objects, "n"), cell);
    return row;
  }));
}

function notes(p) {
  const n = [];
  if (p.joined && !p.byTable) n.push(`It ran before it was watched: older memory is unknown (${p.unknown.frees} frees of it seen).`);
  if (p.inexact) n.push("Events were lost: numbers may be too low or too high.");
  if (p.outOfMemory) n.push(`Out of memory: ${p.outOfMemory.function} asked for ${bytes(p.outOfMemory.asked)} with ${bytes(p.outOfMemory.live)} live.`);
  return n.join(" ");
}

function draw(s) {
  if (!s) return;
  latest = s;
  const all = s.processes;
  if (!all.some(p => key(p) === chosen)) chosen = all.length ? key(all[0]) : null;
  drawProcesses(s);
  $("total").textContent = bytes(all.reduce((t, p) => t + p.live, 0)) + " live in " + count(all.filter(p => !p.exited).length, "process", "processes");
  const p = all.find(p => key(p) === chosen);
  $("detail").hidden = !p;
  if (!p) return;
  $("name").textContent = `${p.name} (${p.pid})   ${about(p, bytes(liveOf(p)))} ${p.exited ? "at exit" : "live"}`;
  $("notes").textContent = notes(p);
  drawChart(p);
  drawFlame(p);
  drawSites(p);
}

// What is drawn with colours of the page is drawn anew when they change.
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  if (chart) chart.destroy();
  chart = null;
  draw(latest);
});

const source = new EventSource("/events");
source.onmessage = e => {
  const s = JSON.parse(e.data);
  if (s.schema !== "memwatch/1") { $("state").textContent = "reload the page: memwatch has changed"; return; }
  $("state").className = s.lost ? "bad" : "";
  $("state").textContent = `${s.events} events, ${s.lost} lost`;
  $("limits").textContent = s.limits || "";
  draw(s);
};
source.onerror = () => { $("state").className = "bad"; $("state").textContent = "no connection; trying again"; };
addEventListener("resize", () => draw(latest));
