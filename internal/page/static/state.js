// What is chosen stands in the address behind the "#", so that it can be kept and sent: the process, the order of a
// table, what is searched for. What programs allocate is not in it.

const listeners = [];
let now = new URLSearchParams(location.hash.slice(1));

export const get = (name, otherwise = "") => now.get(name) ?? otherwise;

export function set(name, value, otherwise = "") {
  if (get(name, otherwise) === value) return;
  if (value === otherwise) now.delete(name); else now.set(name, value);
  history.replaceState(null, "", "#" + now);
  listeners.forEach(f => f());
}

export const changed = f => listeners.push(f);

addEventListener("hashchange", () => {
  now = new URLSearchParams(location.hash.slice(1));
  listeners.forEach(f => f());
});
