// The page that compares: the reader chooses metric, machine, systems, transports, sizes and a baseline, and the page's address holds the choice.
// This script decides nothing. Python sends verdicts on what may be compared, with reasons; the script looks them up, filters, sorts and divides.
"use strict";

(() => {
  const block = document.querySelector("script.tl-compare");
  const root = document.querySelector(".tl-choose");
  if (!block || !root) return;

  const { metrics, series, labels, marks, hosts, bases: BASES, sizes: SIZE_WORDS, bounds: BOUNDS, tinted_from: TINTED_FROM, uses: USES, again: AGAIN } = JSON.parse(block.textContent);
  series.forEach((one, place) => { one.place = place; });
  const targets = [...document.querySelectorAll(".tl-targets a")].map((link) => link.href);
  const [SIZE, VALUE, LOW, HIGH, RUNS, BOUND, PLACE, MARKS, GROUPS, USE] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
  const [COUNTED, UNCOUNTED] = [0, 1]; // uses of a number: for a ratio that counts in the mean, for a ratio only; above: for none
  const ANY = "any";
  const [CELLS_AT_ONCE, LEAST_ROWS] = [300, 10]; // in the table, until the reader asks for all
  // The labels in which any two runs differ, such as label.plugin: each is a choice of its own, and a property of each series.
  labels.forEach((name, at) => series.forEach((one) => { one[name] = one.labels[at]; }));
  const LISTS = Object.fromEntries(["system", "transport", ...labels, "version", "campaign"].map((name) => [name, name]));

  function make(name, properties = {}, ...content) {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...content);
    return element;
  }

  const unique = (values) => [...new Set(values)];
  const { numeral } = globalThis.tachologNumerals;
  const inWords = (value) => numeral(value, metric().steps);
  const times = (ratio) => `${numeral(ratio)}\u00d7`;
  const size = (bytes) => SIZE_WORDS[bytes];

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
  const vain = {}; // what the address asks for and this page does not have
  const plain = (text) => String(text).toLowerCase().replace(/\s/g, "");

  // What stands on the page is understood in an address too: a version without its label, "64 KiB" as well as 65536.
  function list(name) {
    if (!given.has(name)) return null;
    const words = given.get(name).split("|").filter(Boolean);
    const meant = words.map((word) => [word, unique(meanings(name).filter(([shown]) => plain(shown) === plain(word)).map(([, value]) => value))]);
    vain[name] = meant.filter(([, values]) => !values.length).map(([word]) => word);
    const found = unique(meant.flatMap(([, values]) => values));
    return found.length || !words.length ? found : null;
  }

  function meanings(name) {
    if (name === "size") return unique(series.flatMap((one) => Object.values(one.cells).flat().map((cell) => cell[SIZE]))).flatMap((bytes) => [[bytes, String(bytes)], [size(bytes), String(bytes)]]);
    return series.flatMap((one) => [[one[LISTS[name]], one[LISTS[name]]], ...(name === "version" && one.system_version !== null ? [[one.system_version, one.version]] : [])]);
  }

  const chosen = {
    metric: given.get("metric") ?? first(),
    host: given.get("host"),
    system: list("system"), transport: list("transport"), // null: all of them
    ...Object.fromEntries(labels.map((name) => [name, list(name)])), // null: all of them
    version: list("version"), campaign: list("campaign"), size: list("size"), // null: the newest; its main one; those that most series have
    base: given.get("base"),
  };
  let picked = chosen.base !== null; // by the reader or the address, and not by this page

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

  const metric = once(() => asked.find((one) => one.key === chosen.metric) ?? asked.find((one) => one.key === first()));
  const mostRuns = (one) => Math.max(...one.cells[metric().id].map((cell) => cell[RUNS]));
  const measured = once(() => series.filter((one) => one.cells[metric().id] && (metric().basis === ANY || one.basis === metric().basis)));

  // At first the machine on which most transports were measured often enough for a verdict, then that with the most series.
  const host = once(() => {
    const found = measured();
    const names = unique(found.map((one) => one.host)).filter((name) => name !== null);
    if (chosen.host === ANY || names.includes(chosen.host)) return chosen.host;
    const on = (name) => found.filter((one) => one.host === name);
    const often = (name) => unique(on(name).filter((one) => one.newest && one.main && mostRuns(one) >= TINTED_FROM).map((one) => `${one.system}\n${one.transport}`)).length;
    return names.sort((a, b) => often(b) - often(a) || on(b).length - on(a).length)[0] ?? ANY;
  });

  const onHost = once(() => measured().filter((one) => host() === ANY || one.host === host()));
  const isIn = (choice, value) => choice === null || choice.includes(value);
  // A baseline that an address names is shown whatever its version.
  const isNewest = (one) => (chosen.campaign === null ? one.newest : newestVersions().includes(`${one.system}\n${one.transport}\n${one.version}`));
  const newestVersions = once(() => series.filter((one) => one.newest).map((one) => `${one.system}\n${one.transport}\n${one.version}`));
  const isOfVersion = (one) => (chosen.version === null ? isNewest(one) : chosen.version.includes(one.version));
  const isOfCampaign = (one) => (chosen.campaign === null ? one.main : chosen.campaign.includes(one.campaign));
  const isOfBoth = (one) => (isOfVersion(one) && isOfCampaign(one)) || (one.id === chosen.base && chosen.version === null && chosen.campaign === null);
  const shown = once(() => onHost().filter((one) => isIn(chosen.system, one.system) && isIn(chosen.transport, one.transport) && labels.every((name) => isIn(chosen[name], one[name])) && isOfBoth(one)));
  const allSizes = once(() => unique(onHost().flatMap((one) => one.cells[metric().id].map((cell) => cell[SIZE]))).sort((a, b) => a - b));

  const sizes = once(() => {
    if (chosen.size !== null) return allSizes().filter((bytes) => chosen.size.includes(String(bytes)));
    const count = (bytes) => shown().filter((one) => cellAt(one, bytes)).length;
    const most = Math.max(0, ...allSizes().map(count));
    return allSizes().filter((bytes) => 3 * count(bytes) >= most); // at first all that a third of the series have: measurements under load may have few sizes
  });

  // -- What may be compared -----------------------------------------------------------------------------------------------

  // Why no ratio of two series means anything: the verdict on each condition, as Python sent it.
  function reasons(one, base) {
    const found = metric().verdicts.map(([values, verdicts]) => verdicts[values[base.place]][values[one.place]]).filter((reason) => reason !== null);
    const first = one === base ? null : repeats(one, base) ? base : !one.newest && shown().find((other) => other.newest && repeats(one, other));
    if (first) found.push(`${AGAIN} (see ${first === base ? "the baseline" : labelOf(first)})`);
    return found;
  }

  const repeats = (one, other) => (metric().repeats[one.place] ?? []).includes(other.place);

  const cellAt = (one, bytes) => one.cells[metric().id].find((cell) => cell[SIZE] === bytes);
  const divides = (cell) => cell && cell[USE] <= UNCOUNTED;

  function ratio(one, base, bytes) {
    const [mine, theirs] = [cellAt(one, bytes), cellAt(base, bytes)];
    return divides(mine) && divides(theirs) ? mine[VALUE] / theirs[VALUE] : null;
  }

  function meanRatio(one, base) {
    const found = sizes().filter((bytes) => counts(one, base, bytes)).map((bytes) => ratio(one, base, bytes)).filter((value) => value !== null);
    return found.length ? { mean: Math.exp(found.reduce((sum, value) => sum + Math.log(value), 0) / found.length), count: found.length } : null;
  }

  // Why two series that may be compared have no ratio at the chosen sizes.
  function without(one, base) {
    const [mine, theirs] = [one, base].map((each) => sizes().filter((bytes) => cellAt(each, bytes)));
    if (!mine.length) return "it has no number of any chosen size";
    const common = mine.filter((bytes) => theirs.includes(bytes));
    if (!common.length) return "no chosen size is one of the baseline's too";
    const uses = common.map((bytes) => Math.max(cellAt(one, bytes)[USE], cellAt(base, bytes)[USE]));
    const least = Math.min(...uses);
    return USES[least === UNCOUNTED ? least : Math.max(...uses)];
  }

  const counts = (one, base, bytes) => [one, base].map((each) => cellAt(each, bytes)).every((cell) => cell && cell[USE] === COUNTED);

  // Whether the ranges of repeated runs meet: only where they do not, and rest on as many runs as a verdict takes, is a difference tinted.
  function apart(mine, theirs) {
    if (![mine, theirs].every((cell) => cell[RUNS] >= TINTED_FROM && cell[USE] === COUNTED)) return false;
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
      chosen.base ??= baseline()?.id ?? null; // what is ticked must not move what all is compared with
      delete vain[name];
      const first = name in byDefault ? byDefault[name]() : values.map(String);
      chosen[name] = on.length === first.length && on.every((value) => first.includes(value)) ? null : on; // ticked and unticked: as before
      draw();
    };
    inputs.forEach((input) => input.addEventListener("change", changed));
    const all = (on) => make("button", { type: "button", textContent: on ? "all" : "none", ariaLabel: `${words}: ${on ? "all" : "none"}`, onclick: () => { inputs.forEach((input) => { input.checked = on; }); changed(); } });
    const labels = inputs.map((input, index) => make("label", {}, input, ` ${say(values[index])}`));
    return make("fieldset", { className: "tl-boxes" }, make("legend", { textContent: words }), ...labels, make("span", { className: "tl-tools" }, all(true), all(false)));
  }

  // What is ticked while nothing is chosen.
  function whileNull(name, find) {
    const kept = chosen[name];
    chosen[name] = null;
    known.clear();
    const found = find();
    chosen[name] = kept;
    known.clear();
    return found;
  }
  const byDefault = {
    version: () => whileNull("version", () => unique(onHost().filter(isOfVersion).map((one) => one.version))),
    campaign: () => whileNull("campaign", () => unique(onHost().filter((one) => isOfVersion(one) && isOfCampaign(one)).map((one) => one.campaign))),
    size: () => whileNull("size", () => sizes().map(String)),
  };

  function hostOptions() {
    const names = unique(measured().map((one) => one.host)).filter((name) => name !== null).sort();
    return [...names.map((name) => [name, hosts[name] ? `${name}: ${hosts[name]}` : name]), [ANY, "any machine (no ratios between machines)"]];
  }

  function form() {
    const found = onHost();
    const bases = shown().map((one) => [one.id, nameOf(one)]);
    const clear = (changes) => { Object.assign(chosen, picked ? {} : { base: null }, changes); draw(true); };
    // The three choices that matter most stand above the table. The others are folded, so that the table is on the first screen.
    const main = make("div", { className: "tl-main" },
      select("metric", "Metric", asked.map((one) => [one.key, metricWords(one)]), metric().key, (value) => clear({ metric: value, size: null })),
      select("host", "Machine", hostOptions(), host(), (value) => clear({ host: value, size: null })),
      select("base", "Baseline", bases, baseline()?.id, (value) => { picked = true; clear({ base: value }); }));
    const unfolded = root.querySelector(".tl-more-choices")?.open ?? false; // each drawing makes the folded choices anew
    const more = make("details", { className: "tl-more-choices", open: unfolded }, make("summary", { textContent: `Choose systems, transports, versions and sizes (shown: ${inTheTable()})` }), make("div", { className: "tl-boxes-of" },
      boxes("system", "Systems", unique(found.map((one) => one.system)), String, (value) => isIn(chosen.system, value)),
      boxes("transport", "Transports", unique(found.map((one) => one.transport)), String, (value) => isIn(chosen.transport, value)),
      ...labels.map((name) => [name, unique(found.map((one) => one[name])).sort()]).filter(([, values]) => values.length > 1)
        .map(([name, values]) => boxes(name, name.slice("label.".length).replace(/^./, (first) => first.toUpperCase()), values, String, (value) => isIn(chosen[name], value))),
      boxes("version", "Versions", unique(found.map((one) => one.version)), String, (value) => found.some((one) => one.version === value && isOfVersion(one))),
      boxes("campaign", "Campaigns (time each, runs)", unique(found.map((one) => one.campaign)), String, (value) => found.some((one) => one.campaign === value && isOfBoth(one))),
      boxes("size", "Sizes", allSizes(), size, (value) => sizes().includes(value))));
    return make("div", { className: "tl-form" }, main, more);
  }

  const several = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
  const inTheTable = () => [["system", "system"], ["transport", "transport"], ["version", "version"]].map(([name, word]) => several(unique(shown().map((one) => one[name])).length, word)).concat(several(sizes().length, "size")).join(", ");

  // Labels that no series of this machine has: only others do.
  const unused = once(() => labels.filter((name) => onHost().every((one) => one[name] === onHost()[0][name])).map((name) => `${name.slice("label.".length)} not stated`));
  // The machine that is chosen stands above: it need not stand in each row.
  const labelOf = (one) => one.label.split(", ").filter((part) => part !== host() && part !== `host ${host()}` && !unused().includes(part)).join(", ") || one.label;
  const nameOf = (one) => `${one.system}, ${one.transport}: ${labelOf(one)}`;
  const baseline = once(() => shown().find((one) => one.id === chosen.base) ?? suggested());

  // Before a reader picks one: of those that most others can be set against, the best, so that a ratio says how many times the best.
  function suggested() {
    const peers = (base) => shown().filter((one) => one !== base && !reasons(one, base).length && meanRatio(one, base)).length;
    const counts = new Map(shown().map((one) => [one, peers(one)]));
    const most = shown().filter((one) => counts.get(one) === Math.max(...counts.values()));
    const worth = (one) => (metric().better === "lower" ? 1 : -1) * Math.log(meanRatio(one, most[0])?.mean ?? 1);
    return most.reduce((best, one) => (!reasons(one, most[0]).length && worth(one) < worth(best) ? one : best), most[0]);
  }

  // Notes on what an address asks for and this page does not have, because something else is shown in its place.
  function missing() {
    const found = [];
    const ask = (what, value, instead) => found.push(`There is no ${what} \u201c${value}\u201d here${instead ? `: ${instead}` : ""}.`);
    if (!asked.some((one) => one.key === chosen.metric)) ask("metric", chosen.metric, `${metricWords(metric())} is shown`);
    if (chosen.host !== null && chosen.host !== host()) ask("machine with this metric,", chosen.host, `${host()} is shown`);
    for (const name of Object.keys(LISTS)) (vain[name] ?? []).forEach((word) => ask(name, word));
    (vain.size ?? []).forEach((word) => ask("size of", /^\d+$/.test(word) ? `${word} B` : word));
    if (!vain.size?.length) (chosen.size ?? []).filter((value) => !allSizes().includes(Number(value))).forEach((value) => ask("size of", `${value} B`));
    [...given.keys()].filter((name) => !(name in chosen) && !window.tachologTables?.isOurs(name)).forEach((name) => ask("choice named", name));
    const base = series.find((one) => one.id === chosen.base);
    const now = baseline() ? `the baseline is ${nameOf(baseline())}` : "there is no baseline";
    if (chosen.base !== null && !base) ask("baseline", chosen.base, now);
    else if (base && base !== baseline()) found.push(`${nameOf(base)} is not among what is chosen: ${now}.`);
    return found.map((text) => make("p", { className: "tl-note tl-missing", textContent: text }));
  }

  // -- The table ----------------------------------------------------------------------------------------------------------

  function numberCell(one, base, bytes, ranked) {
    const cell = cellAt(one, bytes);
    const place = make("td");
    if (!cell) {
      place.className = "tl-null";
      place.textContent = one.absent[metric().id]?.[bytes] ?? "not measured";
      return place;
    }
    const linked = (value, [target, line, ordinal = ""]) => {
      const text = BOUNDS[cell[BOUND]] + inWords(value);
      return target === null ? text : make("a", { href: `${targets[target]}#L${line}:${metric().id}${ordinal}`, textContent: text });
    };
    const all = cell[LOW] === null ? "" : `${inWords(cell[LOW])} to ${inWords(cell[HIGH])}`;
    place.dataset.v = cell[VALUE];
    if (cell[GROUPS].length) {
      place.title = `two groups of runs: ${cell[GROUPS].map(([value, count]) => `${inWords(value)} in ${count}`).join(" and ")} (${all} in all)`;
      place.append(...cell[GROUPS].map(([value, count, at]) => make("span", { className: "tl-group" }, linked(value, at), make("span", { className: "tl-of", textContent: `in\u00a0${count}\u00a0runs` }))));
    } else {
      place.title = all ? `median of ${cell[RUNS]} runs, ${all}` : "one run";
      place.append(linked(cell[VALUE], cell[PLACE]));
    }
    // That there are two groups is visible.
    const signs = cell[MARKS].filter((name) => !common.includes(name) && name !== "two_groups").map((name) => make("a", { className: "tl-mark", href: `#tl-means-${name}`, textContent: marks[name][0], title: marks[name][1] }));
    if (signs.length) (place.querySelector(".tl-group") ?? place).append(make("sup", {}, ...signs));
    const runs = `${cell[RUNS]}\u00a0run${cell[RUNS] === 1 ? "" : "s"}`;
    const each = one.each !== null && one.page !== null && cell[RUNS] > 1;
    if (all && cell[LOW] !== cell[HIGH]) place.append(make("span", { className: "tl-range", textContent: range(cell) }));
    if (!one.published) place.append(make("span", { className: "tl-runs" }, each ? make("a", { href: `${targets[one.page]}#${one.each}`, title: "Each run's numbers", textContent: runs }) : runs));
    const by = ranked && one !== base ? ratio(one, base, bytes) : null;
    if (by !== null) {
      const better = (by < 1) === (metric().better === "lower");
      const tint = apart(cell, cellAt(base, bytes)) ? (better ? " tl-better" : " tl-worse") : "";
      place.append(make("span", { className: `tl-ratio${tint}`, textContent: times(by) }));
    }
    return place;
  }

  // The lowest and the highest run. A unit that both share is written once.
  function range(cell) {
    const [low, high] = [inWords(cell[LOW]), inWords(cell[HIGH])];
    const unit = (text) => text.replace(/^[^\u00a0]*/, "");
    return `${unit(low) === unit(high) ? low.replace(unit(low), "") : low}\u2013${high}`;
  }

  function row(one, base, why, refused) {
    const name = make("th", { scope: "row", className: "tl-text" });
    name.append(one.page === null ? nameOf(one) : make("a", { href: targets[one.page], textContent: nameOf(one) }));
    if (new Set(shown().map((other) => other.published)).size > 1) { // what all rows are need not stand at each
      name.append(" ", make("span", { className: `tl-badge ${one.published ? "tl-published" : "tl-own"}`, textContent: one.published ? "published" : "own run" }));
    }
    const mean = why.length || one === base ? null : meanRatio(one, base);
    const others = Object.entries(one.conditions).filter(([title, value]) => base.conditions[title] !== value).map(([title, value]) => `${title}: ${value}`);
    if (one !== base && others.length && !why.length) name.append(make("span", { className: "tl-differs", textContent: `Differs in ${others.join(", ")}` }));
    const total = make("td", one === base ? { textContent: "baseline" } : mean ? { className: "stat-mean-ratio", textContent: times(mean.mean), title: `geometric mean over ${mean.count} sizes that both have` } : { className: "tl-null", title: refused.text }, ...(mean || one === base ? [] : [make("a", { href: `#tl-why-${refused.number}`, textContent: `no ratio (${refused.number})` })]));
    if (mean) total.dataset.v = mean.mean;
    if (mean && mean.count < sizes().length) total.append(make("span", { className: "tl-ratio", textContent: `${mean.count} of ${sizes().length} sizes` }));
    return make("tr", one === base ? { className: "tl-base" } : {}, name, total, ...sizes().map((bytes) => numberCell(one, base, bytes, !why.length)));
  }

  // Each reason for a missing ratio stands once below the table, with the count of its series. The rows refer to it by its number.
  function refusals(all, base) {
    const found = new Map();
    for (const [one, why] of all) {
      if (one === base || (!why.length && meanRatio(one, base))) continue;
      const text = why.length ? why.join("; ") : without(one, base);
      if (!found.has(text)) found.set(text, { text, number: found.size + 1, series: [] });
      found.get(text).series.push(one);
    }
    return [...found.values()];
  }

  function listOfRefusals(found, count) {
    if (!found.length) return [];
    const without = found.reduce((sum, reason) => sum + reason.series.length, 0);
    const items = found.map((reason) => make("li", { className: "tl-why", id: `tl-why-${reason.number}` }, make("strong", { textContent: `${reason.series.length} series` }), `: ${reason.text}`));
    return [make("p", { className: "tl-note", textContent: `${without} of ${count} series have no ratio to the baseline. \u201cA -> B\u201d means: A at the baseline, B at these series.` }), make("ol", { className: "tl-refusals" }, ...items)];
  }

  function table() {
    const base = baseline();
    if (!base || !sizes().length) return [...missing(), make("p", { className: "tl-null", textContent: "Nothing is chosen: tick a system, a transport and a size." })];
    common = commonMarks();
    const all = shown().map((one) => [one, reasons(one, base)]);
    const worth = ([one]) => { const mean = meanRatio(one, base)?.mean ?? Infinity; return metric().better === "lower" ? mean : -mean; };
    const ranked = all.filter(([, why]) => !why.length).sort((a, b) => worth(a) - worth(b));
    const refused = refusals(all, base);
    const reasonOf = new Map(refused.flatMap((reason) => reason.series.map((one) => [one, reason])));
    const heads = ["series", `mean ratio, ${sizes().length} size${sizes().length === 1 ? "" : "s"}`, ...sizes().map(size)].map((text, index) => make("th", { scope: "col", textContent: text, className: index ? "" : "tl-text" }));
    // Of one size there is one number a row: rows without a ratio stand at their place too, so that the best value is above all others.
    const value = ([one]) => { const cell = cellAt(one, sizes()[0]); return cell ? (metric().better === "lower" ? cell[VALUE] : -cell[VALUE]) : Infinity; };
    const inOrder = sizes().length === 1 ? [...all].sort((a, b) => (value(a) === value(b) ? 0 : value(a) - value(b))) : [...ranked, ...all.filter(([, why]) => why.length)];
    const laidOut = inOrder.filter(([one], place) => everything || one === base || place < mostRows());
    const rowOf = ([one, why]) => row(one, base, why, reasonOf.get(one));
    const body = make("tbody", {}, ...laidOut.map(rowOf));
    const label = `${metricWords(metric())}, compared`;
    const laid = make("table", { className: "tl-table tl-rows" }, make("thead", {}, make("tr", {}, ...heads)), body);
    laid.style.setProperty("--tl-columns", heads.length - 1); // on a phone, numbers stand in a grid below the name of their series
    const scroller = make("div", { className: "tl-scroll", tabIndex: 0, role: "region", ariaLabel: label }, laid);
    const note = rest(all.length, laidOut.length);
    if (note.length) laid.allRows = () => { everything = true; note.forEach((part) => part.remove()); return inOrder.map(rowOf); };
    const better = metric().better === "lower" ? "lower is better" : "higher is better";
    const summary = `${metricWords(metric())}: ${better}. ${all.length - refused.reduce((sum, reason) => sum + reason.series.length, 0)} of ${all.length} series can be compared with the baseline.`;
    const how = "Mean ratio: the geometric mean over the selected sizes, without lossy or undersampled ones. "
      + `A coloured ratio: both sides have ${TINTED_FROM} runs or more, and their ranges do not overlap${tintless() ? " (none here)" : ""}.`;
    const said = common.map((name) => make("p", { className: "tl-note", textContent: `${marks[name][1]}: all, or nearly all, numbers in this table.` }));
    return [...missing(), make("p", { className: "tl-note", textContent: summary }), make("p", { className: "tl-note", textContent: how }), ...said, ...stronger(),
      make("div", { className: "tl-tools" }), scroller, ...note, ...listOfRefusals(refused, all.length), ...legend()];
  }

  // A page of thousands of cells is slow to lay out: at first it has those of the best series.
  let everything = false; // whether the reader asked for all rows
  const mostRows = () => Math.max(LEAST_ROWS, Math.floor(CELLS_AT_ONCE / (sizes().length + 2)));

  function rest(count, shownCount) {
    if (shownCount >= count) return [];
    const all = () => { everything = true; draw(); };
    return [make("p", { className: "tl-note tl-rest" }, `${shownCount} of ${count} series are in the table. `, make("button", { type: "button", textContent: `Show all ${count}`, onclick: all }))];
  }

  const tintless = () => !shown().some((one) => sizes().some((bytes) => (cellAt(one, bytes)?.[RUNS] ?? 0) >= TINTED_FROM));

  // A campaign with enough runs that is not ticked is pointed out, where those that are have too few.
  function stronger() {
    const hidden = unique(onHost().filter((one) => !shown().includes(one) && isOfVersionAtAll(one) && mostRuns(one) >= TINTED_FROM).map((one) => one.campaign));
    if (!tintless() || !hidden.length) return [];
    const choose = () => { chosen.campaign = hidden; chosen.base = null; picked = false; draw(); };
    return [make("p", { className: "tl-note tl-stronger" }, `Measured more often, at fewer sizes: campaign ${hidden.join("; ")}. `, make("button", { type: "button", textContent: "Show it", onclick: choose }))];
  }
  const isOfVersionAtAll = (one) => (chosen.version === null ? newestVersions().includes(`${one.system}\n${one.transport}\n${one.version}`) : chosen.version.includes(one.version));

  const cellsShown = () => shown().flatMap((one) => sizes().map((bytes) => cellAt(one, bytes))).filter(Boolean);

  // The marks that nine of ten numbers have, or more: they are said once for all.
  let common = [];
  function commonMarks() {
    const cells = cellsShown();
    return unique(cells.flatMap((cell) => cell[MARKS])).filter((name) => cells.filter((cell) => cell[MARKS].includes(name)).length >= 0.9 * cells.length);
  }

  function legend() {
    const cells = cellsShown();
    const items = unique(cells.flatMap((cell) => cell[MARKS])).map((name) => make("li", { id: `tl-means-${name}` }, make("span", { className: "tl-sign", textContent: marks[name][0] }), make("strong", { textContent: marks[name][1] })));
    return items.length ? [make("ul", { className: "tl-notes", ariaLabel: "What the marks mean" }, ...items)] : [];
  }

  function draw(keepFocus) {
    const active = document.activeElement;
    const again = active?.id || null;
    const at = active?.name ? [active.name, active.value] : null;
    known.clear();
    const drawn = table();
    if (chosen.base !== null && chosen.base !== baseline()?.id) { // a note says that it is gone: the address must not ask for it for ever
      chosen.base = baseline()?.id ?? null;
      known.clear();
    }
    remember();
    root.replaceChildren(form(), make("div", { className: "tl-result", ariaLive: "polite" }, ...drawn));
    window.tachologTables?.start(root);
    if (again && keepFocus) document.getElementById(again)?.focus();
    else if (at) root.querySelector(`[name="${CSS.escape(at[0])}"][value="${CSS.escape(at[1])}"]`)?.focus();
  }

  document.querySelector(".tl-static")?.remove(); // it says the same, and has more elements than the table
  draw();
})();
