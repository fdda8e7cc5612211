// Numbers and text as people read them, and the few ways in which the page makes elements. Text that programs chose
// goes into the document as text nodes only.

export function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0, v = Math.abs(n);
  while (v >= 1024 && i < units.length - 1) { v /= 1024; i++; }
  return (n < 0 ? "-" : "") + (i === 0 || v >= 100 ? Math.round(v) : v.toFixed(1)) + " " + units[i];
}

export const change = n => (n > 0 ? "+" : "") + bytes(n);
export const growth = n => n === 0 ? "·" : change(n) + "/s";
export const trend = n => n > 0 ? "up" : n < 0 ? "down" : "still";
export const count = (n, one, many) => n + " " + (n === 1 ? one : many);

export function age(ns) {
  if (ns <= 0) return "–";
  const s = ns / 1e9;
  if (s < 1) return Math.round(s * 1000) + " ms";
  if (s < 120) return Math.round(s) + " s";
  if (s < 7200) return Math.round(s / 60) + " min";
  return (s / 3600).toFixed(1) + " h";
}

export function element(name, text, cls) {
  const e = document.createElement(name);
  if (text !== undefined) e.textContent = text;
  if (cls) e.className = cls;
  return e;
}

// keyed gives box one child for each item, in order, and keeps the child of an item that it had before: what is
// open stays open, and what is being clicked on is not taken away.
export function keyed(box, items, keyOf, make, update) {
  const old = new Map([...box.children].map(c => [c.dataset.key, c]));
  const all = items.map(item => {
    const key = String(keyOf(item));
    let c = old.get(key);
    if (!c) { c = make(item); c.dataset.key = key; }
    old.delete(key);
    update(c, item);
    return c;
  });
  for (const c of old.values()) c.remove();
  all.forEach((c, i) => { if (box.children[i] !== c) box.insertBefore(c, box.children[i] || null); });
}

// passes reports whether a text has every word of a filter, and none that stands after a "!".
export function passes(text, filter) {
  text = text.toLowerCase();
  return filter.toLowerCase().split(/\s+/).every(w =>
    w === "" || w === "!" || (w[0] === "!" ? !text.includes(w.slice(1)) : text.includes(w)));
}

export const functionOf = f => f.func || "0x" + (f.pc || 0).toString(16);

export function place(f) {
  if (f.file) return `${functionOf(f)}  ${f.file}:${f.line}`;
  return f.module ? `${functionOf(f)}  [${f.module}]` : functionOf(f);
}
