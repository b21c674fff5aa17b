// Adds sorting, filtering and copying to every table. The address of the page keeps sort and filter. Without this script, the tables have the same content.
"use strict";

(() => {
  const FILTERED_FROM = 8; // rows; a shorter table needs no filter
  const clean = (text) => text.replace(/[\u202f\u00a0\s]+/g, " ").trim();

  // The address has the form `?<table>.sort=-2&<table>.filter=words`. Columns are counted from 1; a minus means descending.
  function remember(key, value) {
    const address = new URL(location.href);
    if (value) address.searchParams.set(key, value); else address.searchParams.delete(key);
    try {
      history.replaceState(null, "", address);
    } catch (refused) { /* some browsers do not change the address of a local file */ }
  }

  const remembered = (key) => new URLSearchParams(location.search).get(key) ?? "";

  // The main content of a cell: without mark signs, ranges and invisible digits.
  function words(cell) {
    const copy = cell.cloneNode(true);
    copy.querySelectorAll(".tl-pad, .tl-range, .tl-runs, .tl-unit, sup, svg").forEach((part) => part.remove());
    return clean(copy.textContent);
  }

  function heading(cell) {
    const unit = cell.querySelector(".tl-unit");
    return unit ? `${words(cell)} (${clean(unit.textContent)})` : words(cell);
  }

  // Digits are grouped on the page, but not in a file. The apostrophe keeps a spreadsheet from reading text as a formula.
  function field(text) {
    const number = /^-?[\d ]*\d(\.\d+)?$/.test(text);
    const plain = number ? text.replace(/ /g, "") : text.replace(/^(?=[=+\-@])/, "'");
    return /[",\n]/.test(plain) ? `"${plain.replace(/"/g, '""')}"` : plain;
  }

  const line = (cells, read) => [...cells].map((cell) => field(read(cell))).join(",");

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
    } catch (refused) { // no permission, or not available
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  }

  function valueOf(row, column) {
    const cell = row.cells[column];
    const given = cell.dataset.v ?? cell.querySelector("[data-v]")?.dataset.v;
    if (given !== undefined) return Number(given);
    return cell.querySelector(".tl-null") || cell.classList.contains("tl-null") ? null : words(cell);
  }

  function order(a, b) {
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a).localeCompare(String(b), "en", { numeric: true });
  }

  class Table {
    constructor(scroller, tools, key) {
      this.key = key;
      this.scroller = scroller;
      this.table = scroller.querySelector("table");
      this.body = this.table.tBodies[0];
      this.given = [...this.body.rows];
      this.heads = [...this.table.tHead.rows[0].cells];
      this.heads.forEach((head, column) => this.makeSortable(head, column));
      this.makeTools(tools);
      this.sort(Number(remembered(`${key}.sort`)) || 0);
      this.hint();
      scroller.addEventListener("scroll", () => this.hint(), { passive: true });
      new ResizeObserver(() => this.hint()).observe(scroller);
    }

    makeSortable(head, column) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "tl-sort";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const now = { none: column + 1, ascending: -(column + 1), descending: 0 }[head.ariaSort ?? "none"];
        this.sort(now);
        remember(`${this.key}.sort`, now ? String(now) : "");
      });
    }

    sort(by) {
      const column = Math.abs(by) - 1;
      if (column >= this.heads.length) return;
      this.heads.forEach((head, index) => { head.ariaSort = index !== column ? "none" : by < 0 ? "descending" : "ascending"; });
      const rows = [...this.given];
      if (by) {
        const values = new Map(rows.map((row) => [row, valueOf(row, column)]));
        rows.sort((a, b) => {
          const [x, y] = [values.get(a), values.get(b)];
          if (x === null || y === null) return (x === null) - (y === null); // "not stated" is last in both directions
          return Math.sign(by) * order(x, y);
        });
      }
      this.body.append(...rows);
    }

    makeTools(tools) {
      if (this.given.length >= FILTERED_FROM && !this.table.matches(".tl-beside")) { // nobody searches for a size
        const label = document.createElement("label");
        const input = document.createElement("input");
        input.type = "search";
        input.value = remembered(`${this.key}.filter`);
        label.append("Filter ", input);
        this.count = document.createElement("span");
        this.count.setAttribute("role", "status");
        tools.append(label, this.count);
        const filter = () => this.filter(input.value);
        input.addEventListener("input", () => { filter(); remember(`${this.key}.filter`, input.value.trim()); });
        filter();
      }
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = "Copy as CSV";
      button.addEventListener("click", async () => {
        await copy(this.csv());
        button.textContent = "Copied";
        setTimeout(() => { button.textContent = "Copy as CSV"; }, 1500);
      });
      tools.append(button);
    }

    filter(text) {
      const wanted = clean(text).toLowerCase().split(" ").filter(Boolean);
      let shown = 0;
      for (const row of this.given) {
        const content = clean(row.textContent).toLowerCase();
        row.hidden = !wanted.every((word) => content.includes(word));
        shown += !row.hidden;
      }
      this.count.textContent = wanted.length ? `${shown} of ${this.given.length} rows` : "";
      window.tachologKeys?.refresh(this.table);
    }

    csv() {
      const rows = [...this.body.rows].filter((row) => !row.hidden);
      return [line(this.heads, heading), ...rows.map((row) => line(row.cells, words))].join("\n") + "\n";
    }

    // Fades an edge if the table continues beyond it. A table that fits needs no scroller, so its head stays visible in every browser.
    hint() {
      const { scrollLeft, scrollWidth, clientWidth } = this.scroller;
      this.scroller.classList.toggle("tl-fits", scrollWidth <= clientWidth);
      this.scroller.classList.toggle("tl-more", scrollLeft + clientWidth < scrollWidth - 1);
    }
  }

  function start(root) {
    const count = new Map();
    for (const scroller of root.querySelectorAll(".tl-scroll")) {
      const tools = scroller.previousElementSibling;
      if (!tools?.matches(".tl-tools") || !scroller.querySelector("table")?.tHead) continue;
      const place = scroller.closest("[id]")?.id ?? "table";
      const number = (count.get(place) ?? 0) + 1;
      count.set(place, number);
      const { table } = new Table(scroller, tools, number > 1 ? `${place}.${number}` : place);
      if (root !== document) window.tachologKeys?.refresh(table);
    }
  }

  window.tachologTables = { start };
  start(document); // the script is deferred, so the document is complete
})();
