// Adds sorting, filtering and copying to every table, and one filter to all rows of a comparison of releases. The address of the page keeps sort and filter. Without this script, the tables have the same content.
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

  // Whether a part of the address is one of these: other scripts keep theirs there too.
  const isOurs = (key) => /\.(sort|filter)$/.test(key);

  // The main content of a cell: without mark signs, ranges and invisible digits.
  function words(cell) {
    const copy = cell.cloneNode(true);
    copy.querySelectorAll(".tl-pad, .tl-range, .tl-runs, .tl-unit, sup, svg").forEach((part) => part.remove());
    return clean(copy.textContent);
  }

  // A heading that is short on the page has its full words as a title.
  function heading(cell) {
    const unit = cell.querySelector(".tl-unit");
    const full = cell.title || words(cell);
    return unit ? `${full} (${clean(unit.textContent)})` : full;
  }

  // Digits are grouped on the page, but not in a file.
  const ungrouped = (text) => (/^-?[\d ]*\d(\.\d+)?$/.test(text) ? text.replace(/ /g, "") : text);

  const line = (cells, read) => [...cells].map((cell) => window.tachologCsv.field(ungrouped(read(cell)))).join(",");

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

  // Words to look for. A number and its unit are one; a number is found only where it begins, so that 64 does not find 1.64 or 164.
  const WANTED = /\d[\d.]* (?:[kmg]ib|b|[nµm]?s|%)(?= |$)|\S+/g;

  function finds(wanted, content) {
    for (let at = content.indexOf(wanted); at >= 0; at = content.indexOf(wanted, at + 1)) {
      if (!/^\d/.test(wanted) || !/[\d.]/.test(content[at - 1] ?? "")) return true;
    }
    return false;
  }

  // Adds a filter to `tools`. `groups` gives lists of rows that belong together, each with words of its own; `changed` hears whether there is a filter.
  // `rowsWord` is what the rows are called where the page has more of them than it lists.
  function addFilter(tools, key, groups, changed, title = "Filter", rowsWord = "rows") {
    const label = document.createElement("label");
    const input = document.createElement("input");
    input.type = "search";
    input.value = remembered(key);
    label.append(`${title} `, input);
    const count = document.createElement("span");
    count.setAttribute("role", "status");
    tools.append(label, count);
    const filter = () => {
      const wanted = clean(input.value).toLowerCase().match(WANTED) ?? [];
      const all = groups(wanted.length > 0);
      let shown = 0;
      for (const { rows, words: own } of all) {
        const content = clean([...rows.map((row) => row.textContent), own].join(" ")).toLowerCase();
        const isShown = wanted.every((word) => finds(word, content));
        for (const row of rows) row.hidden = !isShown;
        shown += isShown;
      }
      count.textContent = wanted.length ? `${shown} of ${all.length} ${rowsWord}` : "";
      changed(wanted.length > 0);
    };
    input.addEventListener("input", () => { filter(); remember(key, input.value.trim()); });
    filter();
  }

  class Table {
    constructor(scroller, tools, key) {
      this.key = key;
      this.scroller = scroller;
      this.table = scroller.querySelector("table");
      this.bodies = [...this.table.tBodies].map((body) => ({ body, rows: [...body.rows].filter((row) => !row.matches(".tl-heading")) })); // in this order
      this.heads = [...this.table.tHead.rows[0].cells];
      this.heads.forEach((head, column) => this.makeSortable(head, column));
      this.makeTools(tools);
      this.sort(parseInt(remembered(`${key}.sort`), 10) || 0);
      this.hint();
      scroller.addEventListener("scroll", () => this.hint(), { passive: true });
      new ResizeObserver(() => this.hint()).observe(scroller);
    }

    get given() { return this.bodies.flatMap(({ rows }) => rows); }

    // A long table may begin with its first rows only, and then has the others at hand. Who sorts, filters or copies means all of them.
    complete() {
      const make = this.table.allRows;
      if (!make) return;
      delete this.table.allRows;
      this.bodies[0].rows = make();
      this.bodies[0].body.replaceChildren(...this.given);
      window.tachologKeys?.refresh(this.table);
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
      if (by) this.complete();
      this.heads.forEach((head, index) => { head.ariaSort = index !== column ? "none" : by < 0 ? "descending" : "ascending"; });
      for (const { body, rows: given } of this.bodies) { // rows below one heading stay there
        const rows = [...given];
        if (by) {
          const values = new Map(rows.map((row) => [row, valueOf(row, column)]));
          rows.sort((a, b) => {
            const [x, y] = [values.get(a), values.get(b)];
            if (x === null || y === null) return (x === null) - (y === null); // "not stated" is last in both directions
            return Math.sign(by) * order(x, y);
          });
        }
        body.append(...rows);
      }
    }

    makeTools(tools) {
      const isOfSizes = words(this.heads[0]) === "size" && !this.heads[1]?.matches(".tl-text"); // nobody searches for a size
      if (this.given.length >= FILTERED_FROM && !isOfSizes) {
        const groups = (isFiltered) => {
          if (isFiltered) this.complete();
          return this.given.map((row) => ({ rows: [row], words: "" }));
        };
        addFilter(tools, `${this.key}.filter`, groups, () => window.tachologKeys?.refresh(this.table));
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

    csv() {
      this.complete();
      const rows = [...this.table.tBodies].flatMap((body) => [...body.rows]).filter((row) => !row.matches("[hidden], .tl-off, .tl-heading"));
      return [line(this.heads, heading), ...rows.map((row) => line(row.cells, words))].join("\n") + "\n";
    }

    // Fades an edge if the table continues beyond it. A table that fits needs no scroller, so its head stays visible in every browser.
    hint() {
      const { scrollLeft, scrollWidth, clientWidth } = this.scroller;
      this.scroller.classList.toggle("tl-fits", scrollWidth <= clientWidth);
      this.scroller.classList.toggle("tl-more", scrollLeft + clientWidth < scrollWidth - 1);
    }
  }

  // A comparison has a table for each verdict. Its one filter looks through the rows of all, and knows their verdicts. A row and what is said of it
  // below it are shown or hidden together. What is folded opens where a row is found, and is as it was when the filter is empty again.
  function filterReport(report) {
    const tables = [...report.querySelectorAll("table.rows")];
    const groups = tables.flatMap((table) => {
      const verdict = table.closest(".apart, section").querySelector(".h").textContent;
      const rows = [...table.tBodies[0].rows];
      return rows.filter((row) => !row.matches(".why")).map((row) => ({
        rows: row.nextElementSibling?.matches(".why") ? [row, row.nextElementSibling] : [row],
        words: verdict,
      }));
    });
    if (groups.length < FILTERED_FROM) return;
    const folds = [...report.querySelectorAll("details:has(table.rows)")];
    const heads = [...report.querySelectorAll("section:has(table.rows) .h")].map((head) => ({
      head, given: head.textContent, rows: groups.filter((group) => group.rows[0].closest(".apart, section").querySelector(".h") === head),
    }));
    let before; // which of them were open
    addFilter(report.querySelector(":scope > .tl-of-report"), `${report.id}.filter`, () => groups, (isFiltered) => {
      if (isFiltered) before ??= folds.map((fold) => fold.open);
      folds.forEach((fold, place) => { fold.open = isFiltered ? fold.querySelector(".rows > tbody > tr:not([hidden])") !== null : before?.[place] ?? fold.open; });
      if (!isFiltered) before = undefined;
      for (const { head, given, rows } of heads) {
        const found = rows.filter((group) => !group.rows[0].hidden).length;
        head.textContent = isFiltered && rows.length ? given.replace(/\((\d+)\)$/, `(${found} of $1)`) : given;
      }
    }, "Filter the rows below", "listed rows");
  }

  // Adds a choice for each column of words that says how a row was measured, such as how it waits. It holds for all tables of the page, and for
  // the pages of other sizes and statistics, to which the links above the tables lead.
  function addChoices(links) {
    const heads = [...document.querySelectorAll("th.tl-choice")];
    const choices = document.createElement("form");
    choices.className = "tl-tools";
    const columns = new Map(); // heading -> [cell of each row]
    for (const head of heads) {
      const cells = [...head.closest("table").tBodies].flatMap((body) => [...body.rows]).map((row) => row.cells[head.cellIndex]).filter(Boolean);
      columns.set(words(head), [...(columns.get(words(head)) ?? []), ...cells]);
    }
    const choose = () => {
      const chosen = [...choices.querySelectorAll("select")].filter((select) => select.value);
      for (const [heading, cells] of columns) {
        for (const cell of cells) cell.parentElement.classList.remove("tl-off");
        remember(heading, chosen.find((select) => select.name === heading)?.value ?? "");
      }
      for (const select of chosen) {
        for (const row of document.querySelectorAll("table:has(th.tl-choice) tbody tr:not(.tl-heading)")) {
          const cell = columns.get(select.name).find((each) => each.parentElement === row);
          if (words(cell ?? row) !== select.value) row.classList.add("tl-off");
        }
      }
      for (const link of links.querySelectorAll("a")) link.search = new URLSearchParams(chosen.map((select) => [select.name, select.value]));
      document.querySelectorAll("table:has(th.tl-choice)").forEach((table) => window.tachologKeys?.refresh(table));
    };
    for (const [heading, cells] of columns) {
      const values = [...new Set(cells.map(words))].filter(Boolean).sort(order);
      if (values.length < 2) continue;
      const select = document.createElement("select");
      select.name = heading;
      select.append(...["", ...values].map((value) => new Option(value || "all", value)));
      select.value = values.includes(remembered(heading)) ? remembered(heading) : "";
      const label = document.createElement("label");
      label.append(`${heading} `, select);
      choices.append(label);
    }
    choices.addEventListener("change", choose);
    links.after(choices);
    choose();
  }

  function start(root) {
    root.querySelectorAll(".tl-diff:has(> .tl-of-report)").forEach(filterReport);
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

  document.querySelectorAll(".tl-switches").forEach(addChoices); // before headings become buttons
  window.tachologTables = { start, isOurs };
  start(document); // the script is deferred, so the document is complete
})();
