// Changes to the search page: it finds sizes, percentiles and versions as people write them, puts pages of raw logs last, and shows whole sentences of
// the pages that it found, but nothing of them on a local disk.
"use strict";

(() => {
  const UNITS = { "": 1, b: 1, byte: 1, bytes: 1, k: 2 ** 10, kb: 2 ** 10, kib: 2 ** 10, m: 2 ** 20, mb: 2 ** 20, mib: 2 ** 20 };
  const PERCENTILE = /(?<![\w.])(?:p(\d\d(?:\.\d{1,4})?)|(\d\d\.\d{1,4})(?:\s?%|th)?|(\d\d)(?:\s?%|th))(?!\w)/gi;
  const VERSION = /(?<![\w.])v?(\d{1,9}(?:\.\d{1,9}){1,3})(?!\.?\w)/gi;
  const SIZE = /(?<![\w.])(\d{1,12})\s*(bytes?|[km]i?b|[bkm])?(?![\w.])/gi;

  // The keyword for a size in the pages, such as 64kib or 100000b.
  function word(bytes) {
    for (const [sign, step] of [["mib", 2 ** 20], ["kib", 2 ** 10]]) {
      if (bytes >= step && bytes % step === 0) return `${bytes / step}${sign}`;
    }
    return `${bytes}b`;
  }

  const split = window.splitQuery;
  // A number without unit can be part of a name. It is treated as a size only if a page has this size.
  function found(text, number, unit) {
    const size = word(Number(number) * UNITS[(unit ?? "").toLowerCase()]);
    return unit || Object.hasOwn(Search._index?.terms ?? {}, size) ? size : text;
  }
  // The keyword for a percentile: p999 for p99.9, 99.9 %, 99.9th and 99.9.
  const percentile = (_text, ...numbers) => `p${numbers.slice(0, 3).find(Boolean).replace(".", "")}`;
  // The keyword for a version: v0_4_0 for 0.4.0. Numbers with a dot are versions only if a page has one that begins so.
  function version(text, number) {
    const word = `v${number.replace(/\./g, "_")}`;
    const { terms, titleterms } = Search._index ?? {};
    return [terms, titleterms].some((known) => Object.keys(known ?? {}).some((one) => one === word || one.startsWith(`${word}_`))) ? word : text;
  }
  if (split) window.splitQuery = (query) => split(query.replace(VERSION, version).replace(PERCENTILE, percentile).replace(SIZE, found));
  if (window.Scorer) window.Scorer.score = ([name, , , , score]) => (name.startsWith("logs/") ? score - 1000 : score);

  const MOST_LETTERS = 240;
  const MOST_OF_ANSWER = 20_000; // characters of HTML
  const text = (element) => element.textContent.replace(/\s+/g, " ").trim();

  // The text of a part of a page, without figures, tools and remarks that many pages have.
  function cleaned(part) {
    const leftOut = ".headerlink, script, style, svg, figure, sup, nav, .tl-tools, .tl-remarks, .tl-note, .tl-range, .tl-sign, .tl-mark";
    part.querySelectorAll(leftOut).forEach((inner) => inner.remove());
    part.querySelectorAll(".tl-label").forEach((label) => label.append(".")); // as the style sheet does
    part.querySelectorAll("br, div, p, dd, li").forEach((block) => block.before(" "));
    return part;
  }

  // The texts of a page that can stand alone: the first sentences on its results, else its paragraphs, items and rows.
  function blocks(page, anchor) {
    const place = anchor ? page.querySelector(`[role="main"] ${anchor}`) : null;
    const main = (place?.textContent.trim() ? place : place?.closest("section")) || page.querySelector('[role="main"]') || page.body;
    const answer = [...main.querySelectorAll(".tl-answer, .tl-answers > li")].find((item) => text(cleaned(item)));
    if (answer) return [text(answer)];
    cleaned(main);
    const sentences = [...main.querySelectorAll("p, li:not(:has(li)), dd")].map(text);
    const rows = [...main.querySelectorAll("tr, .tl-log code")].map((row) => (row.cells ? [...row.cells].map(text).filter(Boolean).join(", ") : text(row)));
    return [...sentences, ...rows].filter(Boolean);
  }

  // Cuts a long text between words, so that the first of the words searched for is in what is left.
  function cut(found, keywords) {
    if (found.length <= MOST_LETTERS) return found;
    const places = keywords.map((word) => found.toLowerCase().indexOf(word)).filter((place) => place >= 0);
    const near = Math.max(Math.min(...places, found.length) - MOST_LETTERS / 2, 0);
    const start = places.length && near ? found.indexOf(" ", near) + 1 : 0;
    const rest = found.slice(start);
    return `${start ? "\u2026" : ""}${rest.length > MOST_LETTERS ? `${rest.slice(0, MOST_LETTERS).replace(/\s+\S*$/, "")}\u2026` : rest}`;
  }

  if (typeof Search !== "undefined") Search.makeSearchSummary = (html, words, anchor) => {
    // Less HTML to parse: the first sentences on the results if nothing else is asked for, and no plots.
    const start = anchor ? -1 : html.indexOf('class="tl-answer');
    const wanted = start < 0 ? html : html.slice(html.lastIndexOf("<", start), start + MOST_OF_ANSWER);
    const texts = blocks(new DOMParser().parseFromString(wanted.replace(/<(svg|script)\b[^]*?<\/\1>/g, ""), "text/html"), anchor);
    const keywords = [...words].map((word) => word.toLowerCase());
    const worth = (block) => keywords.filter((word) => block.toLowerCase().includes(word)).length;
    const best = texts.reduce((before, block) => (worth(block) > worth(before) ? block : before), texts[0] ?? "");
    if (!best) return null;
    return Object.assign(document.createElement("p"), { className: "context", textContent: cut(best, keywords) });
  };

  document.addEventListener("DOMContentLoaded", () => document.querySelector(".bd-search-container input")?.select());

  // The sentences of a result come from its page. Sphinx loads the pages of all results at once; here, a page is loaded when its result is in view. On
  // a local disk, browsers do not let a page read other pages. So only titles can be shown.
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

  async function summarise(item, words, highlighted) {
    const link = item.querySelector("a");
    const answer = await fetch(link.href);
    const summary = answer.ok && Search.makeSearchSummary(await answer.text(), words, link.hash);
    if (summary) item.append(summary);
    highlighted.forEach((word) => _highlightText(item, word, "highlighted"));
  }

  if (typeof Search !== "undefined" && location.protocol !== "file:") {
    const query = Search.query;
    Search.query = (text) => {
      const [, words, , highlighted] = Search._parseQuery(text);
      const view = new IntersectionObserver((items) => items.filter((item) => item.isIntersecting).forEach(({ target }) => {
        view.unobserve(target);
        summarise(target, words, highlighted);
      }));
      new MutationObserver((changes) => changes.forEach(({ addedNodes }) => addedNodes.forEach((item) => view.observe(item)))).observe(Search.output, { childList: true });
      query(text);
    };
  }
})();
