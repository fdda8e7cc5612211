// What was live, for longer than a snapshot tells: the page keeps it as it comes, and asks once for what memwatch
// kept before. What is long ago is kept in larger steps.

const longest = 24 * 3600;

// A Past is the history of one process: pairs of seconds and bytes, the oldest first.
export class Past {
  constructor() { this.t = []; this.v = []; }

  // add takes a value at a time; times only grow.
  add(t, v) {
    if (this.t.length && t <= this.t.at(-1)) return;
    this.t.push(t);
    this.v.push(v);
    if (this.t.length > 8000) this.thin();
  }

  // before puts older values in front.
  before(t, v) {
    const n = this.t.length ? t.findIndex(x => x >= this.t[0]) : -1;
    const cut = n < 0 ? t.length : n;
    this.t = t.slice(0, cut).concat(this.t);
    this.v = v.slice(0, cut).concat(this.v);
  }

  // thin keeps every second value of the older half, and the larger of two: peaks stay.
  thin() {
    const half = this.t.length >> 1, t = [], v = [];
    for (let i = 0; i < half; i += 2) {
      const j = i + 1 < half && this.v[i + 1] > this.v[i] ? i + 1 : i;
      t.push(this.t[j]);
      v.push(this.v[j]);
    }
    this.t = t.concat(this.t.slice(half));
    this.v = v.concat(this.v.slice(half));
  }

  // of returns the values of the latest so many seconds, with times before now.
  of(seconds) {
    const now = this.t.at(-1) ?? 0, from = now - (seconds || longest);
    let i = this.t.findIndex(t => t >= from);
    if (i < 0) i = 0;
    return [this.t.slice(i).map(t => t - now), this.v.slice(i)];
  }
}
