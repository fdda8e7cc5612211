// The page of a program's foreign heap: what each report says, and what grew since a baseline that was marked. It
// keeps what was live and reserved as it comes.

import { Chart, choices, span } from "./chart.js";
import { age, bytes, change, count, element, keyed, trend } from "./format.js";
import { Past } from "./past.js";
import * as state from "./state.js";
import { Table, text } from "./table.js";

const $ = id => document.getElementById(id);
const live = new Past(), reserved = new Past();
const chart = new Chart($("chart"), [
  { label: "reserved by pools", stroke: "#888", fill: "#8883" },
  { label: "live", stroke: "#2a78d0", fill: "#2a78d033" },
]);
const mostSegments = 64;
let latest = null, base = null;

const siteKey = s => s.account + " " + s.id;
const functionOf = f => f.function.split("/").pop();
const titleOf = s => s.frames?.length ? s.frames[0].file.split("/").slice(-2).join("/") + ":" + s.frames[0].line + " " + functionOf(s.frames[0]) : "(other sites)";
const place = f => f.function + "  " + f.file + ":" + f.line;
const idle = a => Math.max(0, a.reserved - a.live - a.pending);
const ofPool = of => a => a.foreign ? "–" : bytes(of(a));

// grew returns by how much a site grew since the baseline.
function grew(s) {
  const was = base && base.sites.find(t => siteKey(t) === siteKey(s));
  return s.live_bytes - (was ? was.live_bytes : 0);
}

const accounts = new Table($("accounts"), {
  name: "accounts", key: a => a.name, by: () => "live", text: a => a.name,
  columns: [
    { title: "account", order: a => a.name, cell: text(a => a.name + (a.closed ? " (closed)" : "")) },
    { title: "live", cls: "n", order: a => a.live, cell: text(a => bytes(a.live)) },
    { title: "pending", cls: "n", order: a => a.pending, cell: text(a => bytes(a.pending)) },
    { title: "idle", cls: "n wide", order: idle, cell: text(ofPool(idle)) },
    { title: "reserved", cls: "n", order: a => a.reserved, cell: text(ofPool(a => a.reserved)) },
    { title: "peak", cls: "n wide", order: a => a.peak, cell: text(a => bytes(a.peak)) },
    { title: "objects", cls: "n wide", order: a => a.live_objects, cell: text(a => a.live_objects) },
    { title: "made", cls: "n wide", order: a => a.made, cell: text(a => a.made) },
    { title: "freed", cls: "n wide", order: a => a.freed, cell: text(a => a.freed) },
    { title: "late", cls: "n", order: a => a.late, cell: text(a => a.late, a => a.late ? "danger" : "") },
  ],
  row: () => {},
});

const sites = new Table($("sites"), {
  name: "sites", key: siteKey, by: () => base ? "grew" : "live",
  text: s => `${titleOf(s)} ${s.account} ${(s.frames || []).map(place).join(" ")}`,
  columns: [
    { title: "live", cls: "n", order: s => s.live_bytes, cell: text(s => bytes(s.live_bytes)) },
    { title: "grew", cls: "n", shown: () => base, order: grew, cell: text(s => change(grew(s)), s => trend(grew(s))) },
    { title: "objects", cls: "n wide", order: s => s.live_objects, cell: text(s => s.live_objects) },
    { title: "made", cls: "n wide", order: s => s.alloc_objects, cell: text(s => s.alloc_objects) },
    { title: "late", cls: "n", order: s => s.late_objects, cell: text(s => s.late_objects, s => s.late_objects ? "danger" : "") },
    { title: "account", cls: "wide", order: s => s.account, cell: text(s => s.account) },
    { title: "site", order: titleOf, cell: siteCell },
  ],
  row: () => {},
});

// siteCell shows a site by its first frame; the whole stack opens below.
function siteCell(td, s) {
  if (!td.firstChild) {
    const d = element("details");
    d.append(element("summary"), element("p", undefined, "stack"));
    td.append(d);
  }
  text(titleOf)(td.querySelector("summary"), s);
  text(s => (s.frames || []).map(place).join("\n"))(td.querySelector("p"), s);
}

function drawTiles(s) {
  const tiles = [["live", bytes(s.live)], ["objects", s.live_objects], ["peak", bytes(s.peak)], ["reserved", bytes(s.reserved)],
    ["pending", bytes(s.pending)], ["made", s.made], ["freed", s.freed], ["freed late", s.late], ["repeated", s.repeated]];
  keyed($("tiles"), tiles, t => t[0], ([name]) => {
    const box = element("div");
    box.append(element("b"), element("span", name));
    return box;
  }, (box, [name, value]) => text(() => value, () => name === "freed late" && value ? "danger" : "")(box.firstChild));
}

// drawSegments paints a pool's segments, each block in the colour of its state.
function drawSegments(list) {
  $("segments").hidden = list.length === 0;
  keyed($("map"), list.slice(0, mostSegments), s => s.account + s.base, () => {
    const box = element("div"), canvas = element("canvas", undefined, "segment");
    box.append(element("span"), canvas);
    return box;
  }, (box, s) => {
    text(() => `${s.account}  0x${s.base.toString(16)}  ${bytes(s.size)}`)(box.firstChild);
    const canvas = box.lastChild, ratio = devicePixelRatio || 1, at = canvas.getBoundingClientRect();
    canvas.width = Math.round(at.width * ratio);
    canvas.height = Math.round(at.height * ratio);
    const c = canvas.getContext("2d");
    for (const b of s.blocks || []) {
      c.fillStyle = { live: "#2a78d0", pending: "#c07d00" }[b.state] || "#8888";
      c.fillRect(b.offset / s.size * canvas.width, 0, Math.max(1, b.size / s.size * canvas.width - ratio / 2), canvas.height);
    }
  });
}

const kept = r => r.rate === 1 ? "exact" : r.rate < 0 ? "not kept" : "estimates: one sample for " + bytes(r.rate);

function draw() {
  if (!latest) return;
  const s = latest.stats;
  $("total").textContent = bytes(s.live) + " live in " + count(s.live_objects, "object", "objects");
  drawTiles(s);
  const [t, lines] = reserved.of(span());
  chart.draw([t, lines, live.of(span())[1]]);
  choices($("spans"));
  accounts.draw(s.accounts);
  $("clear").hidden = $("since").hidden = !base;
  if (base) {
    const then = Date.parse(base.time);
    $("since").textContent = `since ${new Date(then).toLocaleTimeString()}, ${age((Date.parse(latest.time) - then) * 1e6)} ago: ${change(s.live - base.stats.live)}`;
  }
  const n = sites.draw(base ? latest.sites.filter(s => grew(s) !== 0) : latest.sites);
  $("shown").textContent = `${count(n, "site", "sites")} (${kept(latest)})` + (s.sites_lost ? `, ${s.sites_lost} samples under other sites for want of room` : "");
  drawSegments(latest.segments);
}

$("mark").onclick = () => { base = latest; draw(); };
$("clear").onclick = () => { base = null; draw(); };
state.changed(draw);
addEventListener("resize", draw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);

async function poll() {
  try {
    const answer = await fetch("?format=json", { cache: "no-store" });
    if (!answer.ok) throw new Error(answer.status + " " + answer.statusText);
    latest = await answer.json();
    const now = Date.parse(latest.time) / 1000;
    live.add(now, latest.stats.live);
    reserved.add(now, latest.stats.reserved);
    $("state").className = "";
    $("state").textContent = "now " + new Date().toLocaleTimeString();
    draw();
  } catch (e) {
    $("state").className = "bad";
    $("state").textContent = "no answer: " + e.message;
  }
  setTimeout(poll, 1000);
}
poll();
