// Changes to the search page: it finds sizes, percentiles and versions as people write them, puts pages of raw logs last, and shows no summaries on a local disk.
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
  // On a local disk, browsers do not let a page read other pages. So only titles can be shown.
  if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
})();
