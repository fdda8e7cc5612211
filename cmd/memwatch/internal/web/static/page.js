// The page: what each event says, and what grew since a baseline that was marked. It keeps what was live as it comes.

import { age, bytes, change, count, element, growth, keyed, place, trend } from "/shared/format.js";
import { Chart, choices, span } from "/shared/chart.js";
import * as flame from "/flame.js";
import { Past } from "/shared/past.js";
import * as state from "/shared/state.js";
import { Table, text } from "/shared/table.js";
import { Timeline } from "/timeline.js";

const $ = id => document.getElementById(id);
const pasts = new Map(); // of processes
const chart = new Chart($("chart"), [{ label: "live", stroke: "#2a78d0", fill: "#2a78d033" }]);
const search = title => { state.set("search", title.split(" ")[0]); $("search").value = state.get("search"); };
const timeline = new Timeline($("timeline"), $("life"), search);
let latest = null, base = null, drawn = "";

const key = p => p.pid + "-" + p.start;
const siteKey = s => s.stack + s.class;
const about = (p, s) => (p.inexact ? "≈" : "") + s;
const liveOf = p => p.exited ? p.atExit : p.live;
const heldBy = (p, s) => p.exited ? s.atExitBytes : s.live;
const suspects = p => p.sites.filter(s => s.suspect.length);
const process = () => latest.processes.find(p => key(p) === state.get("process")) || latest.processes[0];

// grew returns by how much a process, or a site of it, grew since the baseline.
const baseOf = p => base && base.processes.find(q => key(q) === key(p));
const grew = p => { const q = baseOf(p); return liveOf(p) - (q ? liveOf(q) : 0); };
function siteGrew(p, s) {
  const q = baseOf(p), was = q && q.sites.find(t => siteKey(t) === siteKey(s));
  return heldBy(p, s) - (was ? heldBy(q, was) : 0);
}

const processes = new Table($("processes"), {
  name: "processes", key, by: () => base ? "grew" : "live",
  text: p => `${p.name} ${p.pid} ${stateOf(p)} ${Object.values(p.place).join(" ")}`,
  columns: [
    { title: "", cls: "mark", cell: text(p => p.outOfMemory ? "‼" : suspects(p).length ? "!" : "", p => p.outOfMemory ? "danger" : "warn") },
    { title: "PID", cls: "wide", order: p => -p.pid, cell: text(p => p.pid) },
    { title: "process", order: p => p.name, cell: text(p => p.name) },
    { title: "live", cls: "n", order: p => p.exited ? -1 : p.live, cell: text(p => about(p, bytes(liveOf(p))) + (p.exited ? " at exit" : "")) },
    { title: "grew", cls: "n", shown: () => base, order: grew, cell: text(p => change(grew(p)), p => trend(grew(p))) },
    { title: "growth", cls: "n", order: p => p.growth, cell: text(p => growth(p.growth), p => trend(p.growth)) },
    { title: "full in", cls: "n wide", shown: () => latest.devices, order: p => p.full ? -p.full : -Infinity, cell: text(p => age(p.full)) },
    { title: "rate", cls: "n wide", order: p => p.rate, cell: text(p => bytes(p.rate) + "/s") },
    { title: "peak", cls: "n wide", order: p => p.peak, cell: text(p => about(p, bytes(p.peak))) },
    { title: "objects", cls: "n wide", order: p => p.exited ? p.atExitObjects : p.objects, cell: text(p => p.exited ? p.atExitObjects : p.objects) },
    { title: "state", cls: "wide", order: p => stateOf(p), cell: text(p => stateOf(p)) },
  ],
  row: (tr, p) => {
    tr.classList.toggle("exited", p.exited);
    tr.classList.toggle("chosen", p === process());
    tr.tabIndex = 0;
    tr.onclick = () => choose(p);
    tr.onkeydown = e => { if (e.key === "Enter") choose(p); };
  },
});

const sites = new Table($("sites"), {
  name: "sites", key: siteKey, by: () => base ? "grew" : "live",
  text: s => `${s.title} ${s.class} ${s.suspect.join(" ")} ${s.frames.map(place).join(" ")}`,
  columns: [
    { title: "", cls: "mark", cell: text(s => s.suspect.length ? "!" : "", () => "warn") },
    { title: "live", cls: "n", order: s => (s.counts ? 1e18 : 0) + heldBy(process(), s), cell: text(s => (s.estimate ? "~" : "") + about(process(), bytes(heldBy(process(), s)))) },
    { title: "grew", cls: "n", shown: () => base, order: s => siteGrew(process(), s), cell: text(s => change(siteGrew(process(), s)), s => trend(siteGrew(process(), s))) },
    { title: "growth", cls: "n", order: s => s.growth, cell: text(s => growth(s.growth), s => trend(s.growth)) },
    { title: "objects", cls: "n wide", order: s => s.objects, cell: text(s => process().exited ? s.atExitObjects : s.objects) },
    { title: "allocated", cls: "n wide", order: s => s.allocBytes, cell: text(s => bytes(s.allocBytes)) },
    { title: "class", cls: "wide", order: s => s.class, cell: text(s => s.own ? s.class : `(${s.class})`) },
    { title: "oldest", cls: "n wide", order: s => s.oldest, cell: text(s => age(s.oldest)) },
    { title: "freed", cls: "n wide", order: s => s.freedExplicit.objects, cell: text(s => s.freedExplicit.objects) },
    { title: "late", cls: "n wide", order: s => s.freedLate.objects, cell: text(s => s.freedLate.objects) },
    { title: "site", order: s => s.title, cell: siteCell },
  ],
  row: (tr, s) => tr.classList.toggle("other", !s.counts),
});

const stateOf = p => p.exited ? "exited" : p.joined && !p.byTable ? "joined" : "running";

function choose(p) {
  state.set("zoom", "");
  state.set("process", key(p));
}

// siteCell shows a site by its title; its stack and why it is suspected open below.
function siteCell(td, s) {
  if (!td.firstChild) {
    const d = element("details");
    d.append(element("summary"), element("p", undefined, "stack"));
    td.append(d, element("span", undefined, "why"));
  }
  text(s => s.title)(td.querySelector("summary"), s);
  text(s => s.frames.map(place).join("\n"))(td.querySelector("p"), s);
  text(s => s.suspect.join("; "))(td.querySelector(".why"), s);
}

function drawSuspects(all) {
  const list = all.flatMap(p => suspects(p).map(s => ({ p, s }))).sort((a, b) => b.s.growth - a.s.growth || heldBy(b.p, b.s) - heldBy(a.p, a.s)).slice(0, 5);
  $("leaks").hidden = list.length === 0;
  keyed($("suspects"), list, x => key(x.p) + siteKey(x.s), () => {
    const b = element("button");
    b.append(element("b"), element("span", undefined, "grow"), element("span"), element("span", undefined, "why"));
    return b;
  }, (b, { p, s }) => {
    const parts = [bytes(heldBy(p, s)), growth(s.growth), `${s.title}   ${p.name}`, s.suspect.join("; ")];
    parts.forEach((t, i) => text(() => t)(b.children[i]));
    b.children[1].dataset.is = trend(s.growth);
    b.onclick = () => { choose(p); search(s.frames.length ? s.title : ""); };
  });
}

function drawDevices(all) {
  keyed($("devices"), all || [], d => d.device, () => {
    const row = element("div"), meter = element("div", undefined, "meter");
    meter.append(element("i", undefined, "live"), element("i", undefined, "counted"), element("i", undefined, "others"));
    row.append(element("span"), meter, element("span"));
    return row;
  }, (row, d) => {
    text(() => `${d.device}  ${d.name}`)(row.children[0]);
    const share = n => 100 * n / Math.max(d.total, 1) + "%", [live, counted, others] = row.children[1].children;
    live.style.width = share(d.live);
    counted.style.width = share(d.counted - d.live);
    others.style.width = share(d.used - d.counted);
    row.children[1].title = `${bytes(d.live)} live, ${bytes(d.counted - d.live)} counted by the driver besides, ${bytes(d.used - d.counted)} of others`;
    text(() => `${bytes(d.used)} of ${bytes(d.total)}` + (d.busy >= 0 ? `, ${d.busy} % busy` : "") + (d.full > 0 ? `, full in ${age(d.full)}` : ""))(row.children[2]);
    row.children[2].dataset.is = d.full > 0 && d.full < 300e9 || d.used > 0.95 * d.total ? "danger" : d.used > 0.85 * d.total ? "warn" : "";
  });
}

// keep adds what an event says to what was live. Times are the events' own, in seconds.
function keep(s) {
  const now = s.time / 1e9;
  for (const p of s.processes) {
    let past = pasts.get(key(p));
    if (!past) {
      pasts.set(key(p), past = new Past());
      p.history.slice(0, -1).forEach((v, i, all) => past.add(now - (all.length - i), v));
    }
    if (!p.exited) past.add(now, p.live);
  }
}

function drawChart(p) {
  chart.draw((pasts.get(key(p)) || new Past()).of(span()));
  choices($("spans"));
}

const orders = ["stacked", "by address"];

// drawLives asks for the allocations of a process while somebody looks at them, and draws them.
let asking = false;
async function drawLives(p) {
  $("lives").hidden = p.byTable; // a table tells sums
  keyed($("order"), orders, o => o, o => {
    const b = element("button", o);
    b.onclick = () => state.set("order", o, orders[0]);
    return b;
  }, (b, o) => { b.ariaPressed = String(o === state.get("order", orders[0])); });
  $("lives").open = state.get("allocations") !== "";
  if (p.byTable || !$("lives").open || asking || document.hidden) return;
  asking = true;
  try {
    const r = await fetch(`/timeline.json?process=${key(p)}&span=${span()}`);
    const d = r.ok && await r.json();
    if (d && key(process()) === key(p)) showLives(p, d);
  } finally { asking = false; }
}

function showLives(p, d) {
  const from = Math.max(span() ? d.time - span() * 1e9 : 0, p.first);
  const { shown, gaps } = timeline.draw(d, state.get("order", orders[0]) === orders[1], from);
  const without = [`smaller than ${bytes(d.least)}`, "shorter than 0.1 s"];
  if (d.since > from) without.push(`ended more than ${age(d.time - d.since)} ago`);
  $("lives-shown").textContent = count(shown, "allocation", "allocations") + (d.left ? `, the largest for the longest time; ${d.left} more` : "") +
    "; without what is " + without.join(", or ") + (gaps > 0 ? `; ${count(gaps, "gap", "gaps")} between addresses left out` : "");
}

function drawFlame(p) {
  const root = flame.tree(p.name, p.sites, base ? s => siteGrew(p, s) : s => heldBy(p, s));
  const zoom = state.get("zoom");
  $("flame-title").textContent = base ? "what grew since, by call stack" : "live bytes by call stack";
  $("found").textContent = flame.draw($("flame"), $("hover"), root, zoom, state.get("search"), !!base, path => state.set("zoom", path));
  $("out").hidden = zoom === "";
}

function notes(p) {
  const n = [];
  if (p.joined && !p.byTable) n.push(`It ran before it was watched: older memory is unknown (${p.unknown.frees} frees of it seen).`);
  if (p.inexact) n.push("Events were lost: numbers may be too low or too high.");
  if (p.outOfMemory) n.push(`Out of memory: ${p.outOfMemory.function} asked for ${bytes(p.outOfMemory.asked)} with ${bytes(p.outOfMemory.live)} live.`);
  for (const note of p.notes) n.push(note[0].toUpperCase() + note.slice(1) + ".");
  return n.join(" ");
}

function draw() {
  const s = latest;
  if (!s) return;
  drawDevices(s.devices);
  drawSuspects(s.processes);
  processes.draw(s.processes);
  const running = s.processes.filter(p => !p.exited), up = running.reduce((t, p) => t + p.growth, 0);
  $("total").textContent = bytes(running.reduce((t, p) => t + p.live, 0)) + " live in " + count(running.length, "process", "processes") + (up ? ", " + growth(up) : "");
  const p = process();
  $("detail").hidden = !p;
  if (!p) return;
  if (drawn !== key(p)) chart.again();
  drawn = key(p);
  $("name").textContent = `${p.name} (${p.pid})   ${about(p, bytes(liveOf(p)))} ${p.exited ? "at exit" : "live"}`;
  $("notes").textContent = notes(p);
  $("clear").hidden = $("since").hidden = !base;
  if (base) {
    $("since").textContent = `since ${base.at.toLocaleTimeString()}, ${age(s.time - base.time)} ago: ${change(grew(p))}` +
      (p.hidden || baseOf(p)?.hidden ? `; ${count(p.hidden, "small site is", "small sites are")} left out` : "");
  }
  drawChart(p);
  drawLives(p);
  drawFlame(p);
  const n = sites.draw(base ? p.sites.filter(s => siteGrew(p, s) !== 0) : p.sites);
  $("shown").textContent = count(n, "site", "sites") + (p.hidden ? `, and ${p.hidden} smaller` : "");
}

$("mark").onclick = () => { base = Object.assign({ at: new Date() }, latest); draw(); };
$("clear").onclick = () => { base = null; draw(); };
$("out").onclick = () => state.set("zoom", "");
$("lives").ontoggle = () => state.set("allocations", $("lives").open ? "shown" : "");
$("search").value = state.get("search");
$("search").oninput = () => state.set("search", $("search").value);
state.changed(draw);

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);

// What memwatch kept from before the page was opened.
async function before() {
  const r = await fetch("/history.json");
  if (!r.ok) return;
  for (const p of (await r.json()).processes) {
    const past = pasts.get(key(p));
    if (past) past.before(p.times.map(t => t / 1e9), p.live);
  }
  draw();
}

const source = new EventSource("/events");
source.onmessage = e => {
  const s = JSON.parse(e.data), first = !latest;
  if (s.schema !== "memwatch/1") { $("state").textContent = "reload the page: memwatch has changed"; return; }
  $("state").className = s.lost ? "bad" : "";
  $("state").textContent = `${s.events} events, ${s.lost} lost`;
  $("limits").textContent = s.limits || "";
  latest = s;
  keep(s);
  draw();
  if (first) before();
};
source.onerror = () => { $("state").className = "bad"; $("state").textContent = "no connection; trying again"; };
addEventListener("resize", draw);
