// Draws a figure with Plotly as soon as somebody points at it or asks for exact values. Until then, and without this script, it is a static drawing with the same content.
"use strict";

(() => {
  const root = document.currentScript.src.replace(/[^/]*$/, "");
  const probe = document.createElement("span");
  // Reading a custom property returns it as written, for example with light-dark(). Only the colour of an element is resolved.
  function colour(name) {
    if (!probe.isConnected) document.body.append(Object.assign(probe, { hidden: true }));
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  }
  const live = new Map(); // stage element -> {spec, target, hidden series}
  let plotly;

  function load() {
    plotly ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = root + "plotly.min.js";
      script.onload = () => resolve(window.Plotly);
      script.onerror = reject;
      document.head.append(script);
    });
    return plotly;
  }

  // Colours come from the style sheet, so they fit light, dark and other themes.
  function themed(state) {
    const narrow = state.target.clientWidth < 520;
    const ink = colour("--tl-ink"), muted = colour("--tl-muted"), rule = colour("--tl-rule"), paper = colour("--tl-paper");
    const fitting = (text) => (narrow && text?.length > 40 ? text.replace(", ", ",<br>") : text); // Plotly cuts what is wider than a phone
    const axis = (given) => ({
      ...given,
      title: given.title && { ...given.title, text: fitting(given.title.text), font: { size: 13, color: ink }, standoff: narrow ? 8 : 14 },
      gridcolor: rule, linecolor: rule, tickfont: { size: 12, color: muted }, automargin: true, fixedrange: narrow,
    });
    const layout = {
      ...state.spec.layout,
      xaxis: { ...axis(state.spec.layout.xaxis), tickangle: narrow ? -45 : 0 },
      yaxis: axis(state.spec.layout.yaxis),
      paper_bgcolor: paper, plot_bgcolor: "rgba(0,0,0,0)", // an image without background, saved in the dark theme, would be light ink on a white page
      font: { family: getComputedStyle(document.body).fontFamily, color: ink },
      hoverlabel: { bgcolor: paper, bordercolor: muted, font: { color: ink, size: 13 }, align: "left" },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: muted, activecolor: ink },
      margin: { l: 60, r: 28, t: 32, b: 46 }, dragmode: "zoom", autosize: true,
    };
    const shown = (trace) => !state.hidden.has(trace.meta.series);
    const shades = state.spec.data.filter((trace) => trace.meta.shade && shown(trace)).length; // more than a few shades would cover each other
    const data = state.spec.data.map((trace) => {
      const ours = colour("--tl-c" + trace.meta.slot);
      return {
        ...trace,
        text: trace.text?.map((text) => (narrow ? text.split("<br>").slice(0, 3).join("<br>") : `${text}<br>${trace.meta.details}`)), // a phone has no room for all conditions
        visible: shown(trace) && (!trace.meta.shade || shades <= state.spec.shades),
        line: { ...trace.line, color: ours },
        fillcolor: trace.fill && ours.replace("rgb(", "rgba(").replace(")", ", 0.14)"),
        marker: { ...trace.marker, color: ours, line: { color: ours, width: 1.5 } },
      };
    });
    return { data, layout };
  }

  const config = {
    displaylogo: false, showSendToCloud: false, plotlyServerURL: "", responsive: true,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
  };

  async function draw(state) {
    const Plotly = await load();
    const { data, layout } = themed(state);
    await Plotly.react(state.target, data, layout, { ...config, toImageButtonOptions: { format: "png", filename: state.name, scale: 2 } });
    state.target.parentElement.classList.add("tl-is-live");
  }

  function legend(figure, state) {
    for (const item of figure.querySelectorAll(".tl-legend li[data-series]")) {
      const button = document.createElement("button");
      button.type = "button";
      button.setAttribute("aria-pressed", "true");
      button.append(...item.childNodes);
      item.append(button);
      const series = Number(item.dataset.series);
      button.addEventListener("click", () => {
        const hide = !state.hidden.has(series);
        if (hide) state.hidden.add(series); else state.hidden.delete(series);
        button.setAttribute("aria-pressed", String(!hide));
        draw(state);
      });
    }
    window.tachologKeys?.start(figure);
  }

  // A text as a field of CSV. An apostrophe stands before what a spreadsheet would take for a formula: the same rule as `no_formula` in Python.
  function field(text) {
    const safe = /^[=+\-@\t\r]./s.test(text) && !/^-[\d.]+$/.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
  }
  window.tachologCsv = { field };

  // The numbers of a figure as CSV, in the units of the schema.
  function csv(spec) {
    const plain = (html) => new DOMParser().parseFromString(html, "text/html").documentElement.textContent;
    const first = (x) => spec.names ? field(spec.names[Math.round(x) - 1]) : x;
    const rows = spec.data.filter((trace) => !trace.meta.shade).flatMap((trace) => trace.x.map((x, index) => [field(plain(trace.name)), first(x), trace.y[index]]));
    return [["series", ...spec.columns.map(field)], ...rows].map((row) => `${row.join(",")}\n`).join("");
  }

  // A click on a point opens its log line, like a click on its number in the table.
  function leadToLines(figure, target) {
    const pages = [...figure.querySelectorAll(".tl-targets a")].map((link) => link.href);
    if (!pages.length) return;
    target.on("plotly_click", (event) => {
      const point = event.points.find((candidate) => candidate.customdata);
      if (!point) return;
      const [page, line, ordinal = ""] = point.customdata; // the ordinal tells a number from others of its line
      const { number } = point.data.meta;
      location.assign(`${pages[page]}#L${line}${number ? number + ordinal : ""}`);
    });
    figure.querySelector(".tl-points")?.append(" Click a point to see its log line. With the keyboard, use the numbers in the table.");
  }

  function offerCsv(figure, spec) {
    const link = document.createElement("a");
    link.textContent = "CSV";
    link.download = `${figure.id}.csv`;
    link.href = URL.createObjectURL(new Blob([csv(spec)], { type: "text/csv" }));
    figure.querySelector(".tl-points")?.replaceChildren("The points of this figure: ", link);
  }

  // A page that is a part of another one has its data in the script of that part.
  async function specOf(figure) {
    const file = figure.dataset.part;
    if (!file) return figure.querySelector(".tl-spec").textContent;
    const box = document.createElement("template");
    box.innerHTML = (await part(file))[""];
    return box.content.querySelector(`#${CSS.escape(figure.id)} .tl-spec`).textContent;
  }

  async function start(figure) {
    const stage = figure.querySelector(".tl-stage");
    const target = document.createElement("div");
    target.className = "tl-live";
    const state = { target, hidden: new Set(), name: figure.id };
    stage.append(target);
    try {
      state.spec = JSON.parse(await specOf(figure));
      await draw(state);
    } catch (problem) {
      target.remove(); // keep the static drawing
      return;
    }
    live.set(stage, state);
    const hadFocus = figure.querySelector(".tl-points")?.contains(document.activeElement);
    offerCsv(figure, state.spec);
    leadToLines(figure, target);
    legend(figure, state);
    if (hadFocus) figure.querySelector(".tl-points a").focus();
  }

  // The library has a megabyte, and drawing keeps a slow machine busy for seconds, so a page begins without it. A finger only scrolls over a figure.
  function offer(figure) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Show exact values, zoom, save";
    figure.querySelector(".tl-points")?.replaceChildren(button);
    const once = new AbortController();
    const begin = () => { once.abort(); start(figure); };
    button.addEventListener("click", begin, { signal: once.signal });
    // Only over the drawing: a mouse on its way to the button must not take the button away.
    figure.querySelector(".tl-stage").addEventListener("pointerenter", (event) => { if (event.pointerType === "mouse") begin(); }, { signal: once.signal });
  }

  const redraw = () => live.forEach((state) => draw(state));

  // What a page does not hold at once, such as older releases, is in scripts beside it: a page on a local disk may load nothing else.
  const parts = new Map(); // file -> promise of its pieces
  const packed = new Map();
  window.tachologPart = (file, content) => packed.set(file, content);

  async function unpacked(content) {
    const bytes = Uint8Array.from(atob(content), (sign) => sign.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  }

  function part(file) {
    if (!parts.has(file)) {
      const loaded = new Promise((resolve, reject) => {
        const script = document.createElement("script");
        script.src = file;
        script.onload = () => resolve(packed.get(file));
        script.onerror = reject;
        document.head.append(script);
      });
      parts.set(file, loaded.then(unpacked));
    }
    return parts.get(file);
  }

  // Fills a folded element with its piece. If that fails, its text still says where else the numbers are.
  async function fill(details) {
    const file = details.dataset.part;
    if (!file) return;
    delete details.dataset.part;
    details.setAttribute("aria-busy", "true");
    try {
      const pieces = await part(file);
      const box = document.createElement("div");
      box.innerHTML = pieces[details.id] ?? pieces[""];
      details.querySelectorAll(".tl-place").forEach((place) => place.remove()); // their ids are in the piece
      if (details.matches(".tl-each")) details.lastElementChild.replaceWith(box); else details.append(box);
      window.tachologTables?.start(box);
      window.tachologKeys?.start(box);
      box.querySelectorAll(".tl-figure").forEach(offer);
    } catch (problem) {
      details.dataset.part = file;
    } finally {
      details.removeAttribute("aria-busy");
    }
  }

  async function openAround(element) {
    for (let outer = element.closest("details"); outer; outer = outer.parentElement.closest("details")) {
      outer.open = true;
      await fill(outer);
    }
  }

  // A link to a number in a folded table opens the table, and loads it if need be.
  async function unfold() {
    const id = location.hash.length > 1 && decodeURIComponent(location.hash.slice(1));
    const target = id && document.getElementById(id);
    if (!target) return;
    await openAround(target.querySelector(":scope > details") ?? target); // what a section folds is all that it has
    const found = document.getElementById(id);
    if (found && found !== target) await openAround(found); // what was loaded has folded parts of its own
    if (found && (found !== target || found.matches(".tl-each"))) found.scrollIntoView();
  }

  document.addEventListener("toggle", (event) => { if (event.target.open) fill(event.target); }, true); // this event does not bubble

  // What a phone folds is open in the page, so that it is there without this script.
  if (matchMedia("(max-width: 600px)").matches) document.querySelectorAll("details.tl-folds-on-phone").forEach((fold) => { fold.open = false; });

  // A published version stays as it was, so only a script can say that it is old. An address that the newest version does not have ends in #kept.
  async function nameVersion() {
    const top = new URL(document.documentElement.dataset.content_root, location.href);
    const label = decodeURIComponent(/\/versions\/([^/]+)\/$/.exec(top.pathname)?.[1] ?? "");
    if (!label) return;
    const isInNewest = location.hash !== "#kept";
    const page = isInNewest ? location.pathname.slice(top.pathname.length) : "index.html";
    const newest = new URL(`../../${page}`, top);
    if (isInNewest && !document.querySelector("link[rel=canonical]")) document.head.append(Object.assign(document.createElement("link"), { rel: "canonical", href: newest }));
    const link = (href, textContent) => Object.assign(document.createElement("a"), { href, textContent });
    const note = Object.assign(document.createElement("p"), { className: "tl-version" });
    const where = isInNewest ? "This page in the newest version" : "The newest version, which has no such page";
    const age = document.createTextNode("as it was published. ");
    note.append(`This is version ${label}, `, age, link(newest, where), ". ", link(new URL("../index.html", top), "All versions"), ".");
    document.querySelector(".bd-article")?.prepend(note);
    if (!location.protocol.startsWith("http")) return; // a local file must not read others
    const dates = await (await fetch(new URL("../versions.json", top))).json();
    if (!dates[label]) return;
    const dated = (name) => `${dates[name]} ${name}`;
    const newer = Object.keys(dates).filter((name) => dated(name).localeCompare(dated(label), "en", { numeric: true }) > 0).length;
    age.data = `published on ${dates[label]}. ${newer ? `It is old: there ${newer > 1 ? `are ${newer} newer versions` : "is a newer version"}. ` : ""}`;
  }

  addEventListener("DOMContentLoaded", () => {
    nameVersion();
    document.querySelectorAll(".tl-figure").forEach(offer);
    new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    addEventListener("hashchange", unfold);
    unfold();
  });
})();
