// What the page computes, apart from what it draws. Run by TestPageScripts.
import test from "node:test";
import assert from "node:assert/strict";
import { register } from "node:module";

// The page's modules name one another by their places on the server, and look at the address of the page.
register("data:text/javascript," + encodeURIComponent(`
  export const resolve = (s, c, next) => next(s[0] === "/" && s.endsWith(".js") && !s.includes("static") ? ${JSON.stringify(process.env.STATIC)} + s : s, c);`));
const kept = [];
globalThis.location = { hash: "#process=7-1" };
globalThis.addEventListener = () => {};
globalThis.history = { replaceState: (a, b, to) => kept.push(to) };

const format = await import("/shared/format.js");
const state = await import("/shared/state.js");
const { Past } = await import("/shared/past.js");
const flame = await import("/flame.js");
const { addressed, stacked } = await import("/timeline.js");

test("numbers", () => {
  assert.equal(format.bytes(0), "0 B");
  assert.equal(format.bytes(1536), "1.5 KiB");
  assert.equal(format.bytes(-3 << 20), "-3.0 MiB");
  assert.equal(format.bytes(200 * 2 ** 40), "200 TiB");
  assert.equal(format.growth(0), "·");
  assert.equal(format.growth(2048), "+2.0 KiB/s");
  assert.equal(format.growth(-2048), "-2.0 KiB/s");
  assert.equal(format.age(90e9), "90 s");
});

test("filter", () => {
  assert.ok(format.passes("Main.Cache put", "cache PUT"));
  assert.ok(!format.passes("main.cache", "cache other"));
  assert.ok(!format.passes("main.cache", "!cache"));
  assert.ok(format.passes("main.cache", "!other !"));
  assert.ok(format.passes("anything", " "));
});

test("address", () => {
  let calls = 0;
  state.changed(() => calls++);
  assert.equal(state.get("process"), "7-1");
  state.set("search", "a&b");
  assert.equal(kept.at(-1), "#process=7-1&search=a%26b");
  state.set("search", "a&b");
  assert.equal(calls, 1);
  state.set("search", "");
  assert.equal(kept.at(-1), "#process=7-1");
  state.set("span", "1 min", "1 min");
  assert.equal(calls, 2);
});

test("past", () => {
  const p = new Past();
  p.add(10, 1);
  p.add(10, 2); // the same event
  p.add(11, 3);
  p.before([0, 5, 10, 20], [7, 8, 9, 9]);
  assert.deepEqual(p.of(0), [[-11, -6, -1, 0], [7, 8, 1, 3]]);
  assert.deepEqual(p.of(2), [[-1, 0], [1, 3]]);
  assert.deepEqual(new Past().of(60), [[], []]);
  const long = new Past();
  for (let i = 0; i < 20000; i++) long.add(i, i === 1234 ? 1e9 : i);
  assert.ok(long.t.length <= 8000);
  assert.equal(Math.max(...long.v), 1e9, "a peak stays");
  assert.equal(long.t.at(-1), 19999);
  assert.ok(long.t.every((t, i) => i === 0 || t > long.t[i - 1]));
});

test("tree", () => {
  const f = (...names) => names.map(func => ({ func })).reverse();
  const sites = [
    { counts: true, class: "device", n: 5, frames: f("main", "a") },
    { counts: true, class: "device", n: 2, frames: f("main", "b") },
    { counts: true, class: "pool", n: 1, frames: f("main", "b") },
    { own: false, class: "range", n: 100, frames: f("main") },
    { counts: true, class: "device", n: -3, frames: f("main", "shrank") },
    { counts: true, class: "device", n: 4, frames: [] },
  ];
  const t = flame.tree("prog", sites, s => s.n);
  assert.equal(t.value, 12);
  assert.deepEqual([...t.children.keys()], ["main", "(unresolved)"]);
  const b = t.children.get("main").children.get("b");
  assert.equal(b.value, 3);
  assert.deepEqual([...b.children.keys()], ["[device]", "[pool]"]);
  assert.equal(b.path, "\nmain\nb");
  const sum = n => [...n.children.values()].reduce((v, c) => v + c.value, 0);
  (function check(n) { if (n.children.size) assert.equal(sum(n), n.value); n.children.forEach(check); })(t);
});

// Three allocations: the second ends first, and the third comes down.
const lives = { time: 100, begin: [0, 10, 20], end: [0, 50, 80], size: [5, 3, 2], addr: [1000, 9000, 1005], site: [0, 1, 0] };

test("stacked", () => {
  const { boxes, most } = stacked(lives, 0);
  assert.equal(most, 10);
  assert.deepEqual(boxes.map(b => [b.i, b.t0, b.t1, b.y0, b.y1]).sort((a, b) => a[0] - b[0] || a[1] - b[1]), [
    [0, 0, 100, 0, 5], [1, 10, 50, 5, 8], [2, 20, 50, 8, 10], [2, 50, 80, 5, 7]]);
  const late = stacked(lives, 60);
  assert.equal(late.most, 7);
  assert.deepEqual(late.boxes.map(b => [b.i, b.t0, b.t1]), [[2, 60, 80], [0, 60, 100]]);
  // At one time: what ends makes room before what begins.
  assert.equal(stacked({ time: 9, begin: [0, 4], end: [4, 0], size: [7, 7], addr: [1, 1], site: [0, 0] }, 0).most, 7);
  assert.deepEqual(stacked({ time: 9, begin: [], end: [], size: [], addr: [], site: [] }, 0), { boxes: [], most: 0 });
});

test("addressed", () => {
  const { boxes, most, gaps } = addressed(lives, 0);
  assert.equal(gaps, 1);
  assert.deepEqual(boxes.map(b => b.i), [0, 2, 1]);
  assert.deepEqual([boxes[0].y0, boxes[0].y1, boxes[1].y0, boxes[1].y1], [0, 5, 5, 7]);
  assert.ok(boxes[2].y0 > 7 && boxes[2].y0 < 8, "a small gap");
  assert.ok(Math.abs(most - boxes[2].y1) < 1e-9);
  assert.equal(addressed({ ...lives, addr: [0, 0, 7] }, 0).boxes.length, 1, "what has no address has no place");
});
