// Makes each table, each legend, each list of links and the lines of a log one stop of the Tab key: arrow keys move inside. Without this script, every link is a stop.
"use strict";

(() => {
  const LISTS = ".tl-panels, .tl-links"; // links under headings: left and right go on in the next row
  const BLOCKS = `.tl-table, .tl-diff table, .tl-legend, ol.tl-log, .modebar, ${LISTS}`;
  const ITEMS = "a[href], button, a.modebar-btn";
  const KEYS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"];
  const current = new WeakMap(); // block -> the item that the Tab key reaches

  const itemsIn = (element) => [...element.querySelectorAll(ITEMS)];
  const shown = (items) => items.filter((item) => item.getClientRects().length); // not in a filtered row, not folded
  const rowOf = (item) => item.closest("tr") ?? item.closest("ol.tl-log > li, .tl-links li, .tl-panel") ?? item.closest(BLOCKS);
  const columnOf = (item) => item.closest("td, th")?.cellIndex ?? 0;

  function reach(block, item) {
    const before = current.get(block);
    if (before) before.tabIndex = -1;
    item.tabIndex = 0;
    current.set(block, item);
  }

  // Call this again when the links or rows of a block have changed.
  function refresh(block) {
    const items = itemsIn(block);
    if (!items.length) return;
    items.forEach((item) => { item.tabIndex = -1; });
    const kept = current.get(block);
    const free = (item) => item && !item.closest("[hidden]");
    reach(block, items.includes(kept) && free(kept) ? kept : items.find(free) ?? items[0]);
    block.closest(".tl-scroll, .scroll")?.removeAttribute("tabindex"); // what scrolls is reached through its links
  }

  function rowBeside(block, row, step) {
    const rows = block.matches("table") ? [...block.rows] : block.matches(LISTS) ? [...block.querySelectorAll("li, .tl-panel")] : [...block.children];
    for (let at = rows.indexOf(row) + step; at >= 0 && at < rows.length; at += step) {
      const items = shown(itemsIn(rows[at]));
      if (items.length) return items;
    }
    return [];
  }

  // The link in the same column, or the nearest one before it.
  function inColumn(items, column) {
    return items.find((item) => columnOf(item) === column) ?? items.findLast((item) => columnOf(item) < column) ?? items[0];
  }

  function target(block, item, event) {
    const row = rowOf(item);
    const isSideways = block.matches(LISTS) && event.key.startsWith("Arrow");
    const inRow = shown(itemsIn(event.ctrlKey || isSideways ? block : row));
    switch (event.key) {
      case "Home": return inRow[0];
      case "End": return inRow.at(-1);
      case "ArrowLeft": return inRow[inRow.indexOf(item) - 1];
      case "ArrowRight": return inRow[inRow.indexOf(item) + 1];
      default: return row === block ? undefined : inColumn(rowBeside(block, row, event.key === "ArrowUp" ? -1 : 1), columnOf(item));
    }
  }

  document.addEventListener("keydown", (event) => {
    if (!KEYS.includes(event.key) || event.altKey || event.metaKey || event.shiftKey) return;
    const item = event.target.closest?.(ITEMS);
    const block = item?.closest(BLOCKS);
    if (!block || !current.has(block)) return;
    const next = target(block, item, event);
    if (next === item || (!next && block.matches(".tl-log"))) return; // at the end of a log, the page scrolls on
    event.preventDefault();
    next?.focus();
  });

  // One line at the edge of the window says how to move, as long as the focus is inside a block.
  const hint = Object.assign(document.createElement("p"), { className: "tl-keys", role: "status", hidden: true });
  const WORDS = [
    [".tl-legend", "Arrow keys: move in the legend. Enter: show or hide a line. Tab: leave."],
    [".tl-log", "Arrow keys: move through the lines. Enter: link to a line. Tab: leave."],
    [LISTS, "Arrow keys: move between the links. Enter: follow a link. Tab: leave."],
    [".modebar", "Arrow keys: move between the tools of the figure. Tab: leave."],
    ["table", "Arrow keys: move in the table. Enter: sort, or open a number's log line. Tab: leave the table."],
  ];

  document.addEventListener("focusin", (event) => {
    const item = event.target.closest(ITEMS);
    const block = item?.closest(BLOCKS);
    const inside = block && current.has(block);
    if (inside) reach(block, item);
    const words = inside && item.matches(":focus-visible") ? WORDS.find(([kind]) => block.matches(kind))?.[1] ?? "" : "";
    if (hint.textContent !== words) hint.textContent = words; // a text that does not change is read out once
    hint.hidden = !words;
  });
  document.addEventListener("focusout", (event) => { if (!event.relatedTarget) hint.hidden = true; });

  function start(root) {
    if (!hint.isConnected) (document.querySelector("main") ?? document.body).append(hint);
    if (root.matches?.(BLOCKS)) refresh(root);
    root.querySelectorAll(BLOCKS).forEach(refresh);
  }

  window.tachologKeys = { start, refresh };
  addEventListener("DOMContentLoaded", () => start(document)); // after the scripts that add buttons to tables
})();
