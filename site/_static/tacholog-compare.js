// The page that compares: the reader chooses metric, machine, systems, transports, sizes and a baseline; all of it stands in the page's address.
"use strict";

(() => {
  const block = document.querySelector("script.tl-compare");
  const root = document.querySelector(".tl-choose");
  if (!block || !root) return;

  const { metrics, series, marks, hosts } = JSON.parse(block.textContent);
  const targets = [...document.querySelectorAll(".tl-targets a")].map((link) => link.href);
  const BASES = { rtt: "round trip", "rtt/2": "RTT/2", "one-way": "one way" };
  const STEPS = {
    ns: [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]],
    bit_per_s: [["Tbit/s", 1e12], ["Gbit/s", 1e9], ["Mbit/s", 1e6], ["kbit/s", 1e3], ["bit/s", 1]],
    messages_per_s: [["M msg/s", 1e6], ["k msg/s", 1e3], ["msg/s", 1]],
    ratio: [["%", 0.01]],
  };
  const BOUNDS = { "=": "", "~": "~", "<": "< ", ">": "> ", "range-low": "from ", "range-high": "to " };
  const [SIZE, VALUE, LOW, HIGH, RUNS, BOUND, PLACE, MARKS] = [0, 1, 2, 3, 4, 5, 6, 7];
  const ANY = "any";
  const MOST_SIZES = 8; // chosen at first

  function make(name, properties = {}, ...content) {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...content);
    return element;
  }

  const unique = (values) => [...new Set(values)];
  const digits = (number) => number.toLocaleString("en", { maximumSignificantDigits: 3 }).replace(/,/g, "\u202f");

  function quantity(value, unit) {
    const steps = STEPS[unit] ?? [["", 1]];
    const [sign, step] = steps.find(([, least]) => Math.abs(value) >= least) ?? steps.at(-1);
    return `${digits(value / step)}\u00a0${sign}`;
  }

  function size(bytes) {
    for (const [sign, step] of [["MiB", 2 ** 20], ["KiB", 2 ** 10]]) {
      if (bytes >= step && bytes % step === 0) return `${digits(bytes / step)}\u00a0${sign}`;
    }
    return `${bytes.toLocaleString("en").replace(/,/g, "\u202f")}\u00a0B`;
  }

  // -- What is chosen -----------------------------------------------------------------------------------------------------

  // A metric with its basis: a round trip and half of one are two things to ask for.
  const asked = metrics.flatMap((metric) => {
    const bases = unique(series.filter((one) => one.cells[metric.id]).map((one) => (metric.metric === "latency" ? one.basis : ANY)));
    const offered = bases.map((basis) => ({ ...metric, basis, key: basis === ANY ? metric.id : `${metric.id}@${basis ?? "not stated"}` }));
    return bases.length > 1 ? [...offered, { ...metric, basis: ANY, key: metric.id }] : offered;
  });

  function metricWords(one) {
    if (one.metric !== "latency") return one.words;
    return `${one.words}, ${one.basis === ANY ? "any basis" : one.basis ? BASES[one.basis] : "basis not stated"}`;
  }

  // What is asked at first: the number that most transports of one machine share, because it says most.
  function first() {
    const shared = (one) => {
      const found = series.filter((each) => each.host !== null && each.cells[one.id] && each.basis === (one.basis === ANY ? each.basis : one.basis));
      const transports = (name) => unique(found.filter((each) => each.host === name).map((each) => `${each.system}\n${each.transport}`)).length;
      return Math.max(0, ...unique(found.map((each) => each.host)).map(transports));
    };
    return asked.reduce((best, one) => (one.basis !== ANY && shared(one) > shared(best) ? one : best)).key;
  }

  const given = new URLSearchParams(location.search);
  const list = (name) => (given.has(name) ? given.get(name).split("|").filter(Boolean) : null);
  const chosen = {
    metric: given.get("metric") ?? first(),
    host: given.get("host"),
    system: list("system"), transport: list("transport"), // null: all of them
    version: list("version"), size: list("size"), // null: the newest; those that most series have
    base: given.get("base"),
  };

  function remember() {
    const address = new URL(location.href);
    for (const [name, value] of Object.entries(chosen)) {
      if (value === null) address.searchParams.delete(name);
      else address.searchParams.set(name, Array.isArray(value) ? value.join("|") : value);
    }
    try {
      history.replaceState(null, "", address);
    } catch (refused) { /* some browsers keep the address of a local file as it is */ }
  }

  // What follows from the choice is worked out once a drawing: each needs the others for every series, and there may be hundreds.
  const known = new Map();
  const once = (make) => () => { if (!known.has(make)) known.set(make, make()); return known.get(make); };

  const metric = once(() => asked.find((one) => one.key === chosen.metric) ?? asked[0]);
  const measured = once(() => series.filter((one) => one.cells[metric().id] && (metric().basis === ANY || one.basis === metric().basis)));

  // At first the machine that most can be compared on: a site's own runs, as a rule.
  const host = once(() => {
    const found = measured();
    const names = unique(found.map((one) => one.host)).filter((name) => name !== null);
    if (chosen.host === ANY || names.includes(chosen.host)) return chosen.host;
    const count = (name) => found.filter((one) => one.host === name).length;
    return names.sort((a, b) => count(b) - count(a))[0] ?? ANY;
  });

  const onHost = once(() => measured().filter((one) => host() === ANY || one.host === host()));
  const isIn = (choice, value) => choice === null || choice.includes(value);
  // A baseline that an address names is shown whatever its version.
  const isOfVersion = (one) => (chosen.version === null ? one.newest || one.id === chosen.base : chosen.version.includes(one.version));
  const shown = once(() => onHost().filter((one) => isIn(chosen.system, one.system) && isIn(chosen.transport, one.transport) && isOfVersion(one)));
  const allSizes = once(() => unique(onHost().flatMap((one) => one.cells[metric().id].map((cell) => cell[SIZE]))).sort((a, b) => a - b));

  const sizes = once(() => {
    if (chosen.size !== null) return allSizes().filter((bytes) => chosen.size.includes(String(bytes)));
    const count = (bytes) => shown().filter((one) => cellAt(one, bytes)).length;
    const most = Math.max(0, ...allSizes().map(count));
    const all = allSizes().filter((bytes) => count(bytes) === most); // at first those that most series have
    if (all.length <= MOST_SIZES) return all;
    return unique(Array.from({ length: MOST_SIZES }, (_, index) => all[Math.round(index * (all.length - 1) / (MOST_SIZES - 1))]));
  });

  // -- What may be compared -----------------------------------------------------------------------------------------------

  // Why no ratio of two series means anything. What is unknown equals nothing.
  function reasons(one, base) {
    const found = [];
    if (one.host === null || base.host === null) found.push("its machine or the baseline's is not stated");
    else if (one.host !== base.host) found.push(`another machine (${one.host}, the baseline's is ${base.host})`);
    if (metric().metric === "latency") {
      if (one.basis === null || base.basis === null) found.push("a basis (one way, round trip or half of one) is not stated");
      else if (one.basis !== base.basis) found.push(`another basis (${BASES[one.basis]}, the baseline's is ${BASES[base.basis]})`);
    }
    if (one.definition === null || base.definition === null) found.push("a definition of the metric is not stated");
    else if (one.definition !== base.definition) found.push(`another definition (${one.definition}, the baseline's is ${base.definition})`);
    if (one.test !== base.test) found.push(`another test (${one.test}, the baseline's is ${base.test})`);
    if (one.load_mode && base.load_mode && one.load_mode !== base.load_mode) found.push(`another load (${one.load_mode}, the baseline's is ${base.load_mode})`);
    if (metric().metric === "goodput" && one.logical !== base.logical) found.push("one of the two moved no bytes");
    if (metric().metric === "latency" && one.reference !== base.reference) found.push("one of the two handed over a reference, not the bytes");
    return found;
  }

  const cellAt = (one, bytes) => one.cells[metric().id].find((cell) => cell[SIZE] === bytes);
  const exact = (cell) => cell && cell[BOUND] === "=" && cell[VALUE] > 0;

  function ratio(one, base, bytes) {
    const [mine, theirs] = [cellAt(one, bytes), cellAt(base, bytes)];
    return exact(mine) && exact(theirs) ? mine[VALUE] / theirs[VALUE] : null;
  }

  function meanRatio(one, base) {
    const found = sizes().map((bytes) => ratio(one, base, bytes)).filter((value) => value !== null);
    return found.length ? { mean: Math.exp(found.reduce((sum, value) => sum + Math.log(value), 0) / found.length), count: found.length } : null;
  }

  // Whether the ranges of repeated runs meet: only where they do not is a difference tinted.
  function apart(mine, theirs) {
    return mine[LOW] !== null && theirs[LOW] !== null && (mine[LOW] > theirs[HIGH] || mine[HIGH] < theirs[LOW]);
  }

  // -- The form -----------------------------------------------------------------------------------------------------------

  function select(name, words, options, value, change) {
    const control = make("select", { name, id: `tl-${name}` }, ...options.map(([key, text]) => make("option", { value: key, textContent: text, selected: key === value })));
    control.addEventListener("change", () => change(control.value));
    return make("div", { className: "tl-field" }, make("label", { htmlFor: control.id, textContent: words }), control);
  }

  function boxes(name, words, values, say, checked) {
    const inputs = values.map((value) => make("input", { type: "checkbox", name, value, checked: checked(value) }));
    const changed = () => {
      const on = inputs.filter((input) => input.checked).map((input) => input.value);
      chosen[name] = on.length === values.length && name !== "size" && name !== "version" ? null : on;
      draw();
    };
    inputs.forEach((input) => input.addEventListener("change", changed));
    const all = (on) => make("button", { type: "button", textContent: on ? "all" : "none", ariaLabel: `${words}: ${on ? "all" : "none"}`, onclick: () => { inputs.forEach((input) => { input.checked = on; }); changed(); } });
    const labels = inputs.map((input, index) => make("label", {}, input, ` ${say(values[index])}`));
    return make("fieldset", { className: "tl-boxes" }, make("legend", { textContent: words }), ...labels, make("span", { className: "tl-tools" }, all(true), all(false)));
  }

  function hostOptions() {
    const names = unique(measured().map((one) => one.host)).filter((name) => name !== null).sort();
    return [...names.map((name) => [name, hosts[name] ? `${name}: ${hosts[name]}` : name]), [ANY, "any machine (no ratios between machines)"]];
  }

  function form() {
    const found = onHost();
    const bases = shown().map((one) => [one.id, nameOf(one)]);
    const clear = (changes) => { Object.assign(chosen, changes); draw(true); };
    return make("div", { className: "tl-form" },
      select("metric", "Metric", asked.map((one) => [one.key, metricWords(one)]), metric().key, (value) => clear({ metric: value, size: null })),
      select("host", "Machine", hostOptions(), host(), (value) => clear({ host: value, size: null })),
      select("base", "Baseline", bases, baseline()?.id, (value) => clear({ base: value })),
      boxes("system", "Systems", unique(found.map((one) => one.system)), String, (value) => isIn(chosen.system, value)),
      boxes("transport", "Transports", unique(found.map((one) => one.transport)), String, (value) => isIn(chosen.transport, value)),
      boxes("version", "Versions", unique(found.map((one) => one.version)), String, (value) => found.some((one) => one.version === value && isOfVersion(one))),
      boxes("size", "Sizes", allSizes(), size, (value) => sizes().includes(value)));
  }

  const nameOf = (one) => `${one.system}, ${one.transport}: ${one.label}`;
  const baseline = once(() => shown().find((one) => one.id === chosen.base) ?? shown()[0]);

  // -- The table ----------------------------------------------------------------------------------------------------------

  function numberCell(one, base, bytes, ranked) {
    const cell = cellAt(one, bytes);
    const place = make("td");
    if (!cell) {
      place.className = "tl-null";
      place.textContent = "not measured";
      return place;
    }
    const text = BOUNDS[cell[BOUND]] + quantity(cell[VALUE], metric().unit);
    const [target, line] = cell[PLACE];
    place.dataset.v = cell[VALUE];
    place.title = cell[LOW] === null ? "one run" : `median of ${cell[RUNS]} runs, ${quantity(cell[LOW], metric().unit)} to ${quantity(cell[HIGH], metric().unit)}`;
    place.append(target === null ? text : make("a", { href: `${targets[target]}#L${line}`, textContent: text }));
    const signs = cell[MARKS].map((name) => make("span", { className: "tl-mark", textContent: marks[name][0], title: marks[name][1] }));
    if (signs.length) place.append(make("sup", {}, ...signs));
    const by = ranked && one !== base ? ratio(one, base, bytes) : null;
    if (by !== null) {
      const better = (by < 1) === (metric().better === "lower");
      const tint = apart(cell, cellAt(base, bytes)) ? (better ? " tl-better" : " tl-worse") : "";
      place.append(make("span", { className: `tl-ratio${tint}`, textContent: `${digits(by)}\u00d7` }));
    }
    return place;
  }

  function row(one, base, why) {
    const name = make("th", { scope: "row", className: "tl-text" });
    name.append(one.page === null ? nameOf(one) : make("a", { href: targets[one.page], textContent: nameOf(one) }), " ",
      make("span", { className: `tl-badge ${one.published ? "tl-published" : "tl-own"}`, textContent: one.published ? "published" : "own run" }));
    if (why.length) name.append(make("span", { className: "tl-why", textContent: `No ratio: ${why.join("; ")}.` }));
    const others = Object.entries(one.conditions).filter(([title, value]) => base.conditions[title] !== value).map(([title, value]) => `${title}: ${value}`);
    if (one !== base && others.length && !why.length) name.append(make("span", { className: "tl-differs", textContent: `Differs in ${others.join(", ")}` }));
    const mean = why.length || one === base ? null : meanRatio(one, base);
    const total = make("td", one === base ? { textContent: "baseline" } : mean ? { textContent: `${digits(mean.mean)}\u00d7`, title: `geometric mean over the ${mean.count} sizes that both have` } : { textContent: "no ratio", className: "tl-null" });
    if (mean) total.dataset.v = mean.mean;
    if (mean && mean.count < sizes().length) total.append(make("span", { className: "tl-ratio", textContent: `${mean.count} of ${sizes().length} sizes` }));
    return make("tr", one === base ? { className: "tl-base" } : {}, name, total, ...sizes().map((bytes) => numberCell(one, base, bytes, !why.length)));
  }

  function table() {
    const base = baseline();
    if (!base || !sizes().length) return [make("p", { className: "tl-null", textContent: "Nothing is chosen: tick a system, a transport and a size." })];
    const all = shown().map((one) => [one, reasons(one, base)]);
    const worth = ([one]) => { const mean = meanRatio(one, base)?.mean ?? Infinity; return metric().better === "lower" ? mean : -mean; };
    const ranked = all.filter(([, why]) => !why.length).sort((a, b) => worth(a) - worth(b));
    const refused = all.filter(([, why]) => why.length);
    const heads = ["series", `mean ratio, ${sizes().length} size${sizes().length === 1 ? "" : "s"}`, ...sizes().map(size)].map((text, index) => make("th", { scope: "col", textContent: text, className: index ? "" : "tl-text" }));
    const body = make("tbody", {}, ...[...ranked, ...refused].map(([one, why]) => row(one, base, why)));
    const label = `${metricWords(metric())}, compared`;
    const scroller = make("div", { className: "tl-scroll", tabIndex: 0, role: "region", ariaLabel: label }, make("table", { className: "tl-table tl-rows" }, make("thead", {}, make("tr", {}, ...heads)), body));
    const better = metric().better === "lower" ? "lower is better" : "higher is better";
    const note = `${metricWords(metric())}: ${better}. Ratios are to the baseline, their mean is the geometric one over the ticked sizes; a ratio is tinted where both were repeated and their ranges do not meet. `
      + `${ranked.length} of ${all.length} series may be ranked against it.`;
    return [make("p", { className: "tl-note", textContent: note }), make("div", { className: "tl-tools" }), scroller, ...legend()];
  }

  function legend() {
    const cells = shown().flatMap((one) => sizes().map((bytes) => cellAt(one, bytes))).filter(Boolean);
    const items = unique(cells.flatMap((cell) => cell[MARKS])).map((name) => make("li", {}, make("span", { className: "tl-sign", textContent: marks[name][0] }), make("strong", { textContent: marks[name][1] })));
    return items.length ? [make("ul", { className: "tl-notes", ariaLabel: "What the marks mean" }, ...items)] : [];
  }

  function draw(keepFocus) {
    const active = document.activeElement;
    const again = active?.id || null;
    const at = active?.name ? [active.name, active.value] : null;
    known.clear();
    remember();
    root.replaceChildren(form(), make("div", { className: "tl-result", ariaLive: "polite" }, ...table()));
    window.tachologTables?.start(root);
    if (again && keepFocus) document.getElementById(again)?.focus();
    else if (at) root.querySelector(`[name="${CSS.escape(at[0])}"][value="${CSS.escape(at[1])}"]`)?.focus();
  }

  document.querySelector(".tl-static")?.setAttribute("hidden", "");
  draw();
})();
