// A table whose columns sort, with a filter.

import { element, keyed, passes } from "./format.js";
import * as state from "./state.js";

// A Table draws lists into a <table>. A column is {title, cls, order, cell, shown}: order is the number or text that
// it is sorted by, numbers from the largest; cell fills a <td>; shown says whether it is there now. name is that of
// the table in the address, text what of an item the filter sees.
export class Table {
  constructor(table, { name, columns, key, text, row, by }) {
    Object.assign(this, { table, name, columns, key, text, row, by });
    this.head = table.createTHead().insertRow();
    this.body = table.createTBody();
    for (const c of columns) {
      const th = element("th", undefined, c.cls);
      if (c.order) {
        const b = element("button", c.title);
        b.onclick = () => this.sort(c);
        th.append(b);
      } else {
        th.textContent = c.title;
      }
      this.head.append(th);
    }
    this.input = document.getElementById(name + "-filter");
    if (this.input) {
      this.input.value = state.get(name + "-filter");
      this.input.oninput = () => state.set(name + "-filter", this.input.value);
    }
  }

  // order returns the column that the table is sorted by, and whether it is upside down.
  order() {
    const [title, down] = state.get(this.name + "-by", this.by()).split("~");
    const c = this.columns.find(c => c.title === title && (!c.shown || c.shown())) || this.columns.find(c => c.title === this.by());
    return [c, down !== undefined];
  }

  sort(c) {
    const [by, down] = this.order();
    state.set(this.name + "-by", by === c && !down ? c.title + "~" : c.title, this.by());
  }

  draw(list) {
    const [by, down] = this.order();
    const filter = state.get(this.name + "-filter");
    const shown = this.columns.map(c => !c.shown || c.shown());
    this.columns.forEach((c, i) => {
      const th = this.head.cells[i];
      th.hidden = !shown[i];
      th.ariaSort = c !== by ? null : down ? "ascending" : "descending";
    });
    list = list.filter(x => passes(this.text(x), filter));
    const sorted = list.map((x, i) => [by.order(x), i, x]).sort((a, b) =>
      (typeof a[0] === "number" ? b[0] - a[0] : a[0].localeCompare(b[0])) || a[1] - b[1]).map(x => x[2]);
    if (down) sorted.reverse();
    keyed(this.body, sorted, this.key, () => {
      const tr = element("tr");
      for (const c of this.columns) tr.append(element("td", undefined, c.cls));
      return tr;
    }, (tr, x) => {
      tr.className = "";
      this.row(tr, x);
      this.columns.forEach((c, i) => {
        const td = tr.cells[i];
        td.hidden = !shown[i];
        if (shown[i]) c.cell(td, x);
      });
    });
    return sorted.length;
  }
}

// text fills a cell with text, and gives it a class besides the column's.
export const text = (of, cls) => (td, x) => {
  const t = String(of(x));
  if (td.textContent !== t) td.textContent = t;
  if (cls) td.dataset.is = cls(x);
};
