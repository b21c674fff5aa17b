// The page of search results: sizes are found as people write them, pages of raw logs come last, and a site on a disk has no summaries to fetch.
"use strict";

(() => {
  const UNITS = { "": 1, b: 1, byte: 1, bytes: 1, k: 2 ** 10, kb: 2 ** 10, kib: 2 ** 10, m: 2 ** 20, mb: 2 ** 20, mib: 2 ** 20 };
  const SIZE = /(?<![\w.])(\d{1,12})\s*(bytes?|[km]i?b|[bkm])?(?![\w.])/gi;

  // The word by which pages name a size among their keywords: 64kib, 100000b.
  function word(bytes) {
    for (const [sign, step] of [["mib", 2 ** 20], ["kib", 2 ** 10]]) {
      if (bytes >= step && bytes % step === 0) return `${bytes / step}${sign}`;
    }
    return `${bytes}b`;
  }

  const split = window.splitQuery;
  // A bare number may be part of a name: it is a size only if some page has it.
  function found(text, number, unit) {
    const size = word(Number(number) * UNITS[(unit ?? "").toLowerCase()]);
    return unit || Object.hasOwn(Search._index?.terms ?? {}, size) ? size : text;
  }
  if (split) window.splitQuery = (query) => split(query.replace(SIZE, found));
  if (window.Scorer) window.Scorer.score = ([name, , , , score]) => (name.startsWith("logs/") ? score - 1000 : score);
  // Browsers do not let a page of a disk read another: titles are all that there is to show.
  if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
})();
