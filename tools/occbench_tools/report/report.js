// SPDX-License-Identifier: Apache-2.0
// The page: what it says at the top, a section for each experiment (or lesson), the row under the pointer.
// Words from the data go in as text only, never as HTML.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const experiments = new Map(data.experiments.map((e) => [e.name, { ...e, rows: new Rows(e.columns, e.count) }]));
const names = data.runs.map((run) => run.label);
const models = new Set([...names.keys()].filter((run) => data.runs[run].model));
const runsOn = new Set(names.keys());
const sections = [];

/** An element with properties, attributes under `attr`, and children; strings become text. */
function el(tag, { attr = {}, ...properties } = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  for (const [name, value] of Object.entries(attr)) made.setAttribute(name, value);
  made.append(...children.filter((child) => child !== null));
  return made;
}

const UNIT = /(?<=\d) (?=(?:%|x|B|KiB|KB|GB\/s|TFLOP\/s|us|ms|s|GHz|W)(?!\w))/g; // after its number

/** Words in which `so` is code; a number and its unit stay on one line. */
function prose(words) {
  return words.replace(/->/g, "\u2192").replace(UNIT, "\u00a0").split("`").map((part, i) => (i % 2 ? el("code", {}, part) : part));
}

/** head: words; body: rows of cells: words, elements, lists of these, or {text, bold}. */
function table(head, body, className = "") {
  const inside = (cell) => (cell.text === undefined ? cell : cell.bold ? el("b", {}, cell.text) : cell.text);
  return el("div", { className: `scroll ${className}` }, el("table", {},
    el("thead", {}, el("tr", {}, ...head.map((h) => el("th", { attr: { scope: "col" } }, h)))),
    el("tbody", {}, ...body.map((cells) => el("tr", {}, ...cells.map((c) => el("td", {}, ...(Array.isArray(c) ? c : [inside(c)]))))))));
}

function svg(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** The piece of a line that stands for it in a legend. */
function swatch(color, mark = "", dash = []) {
  const parts = [svg("line", { x1: 0, x2: 30, y1: 7, y2: 7, stroke: color, "stroke-width": 2, "stroke-dasharray": dash.join(" ") })];
  if (mark) parts.push(svg("path", { d: mark, transform: "translate(15 7)", fill: color }));
  return svg("svg", { width: 30, height: 14, viewBox: "0 0 30 14", "aria-hidden": "true", class: "swatch" }, ...parts);
}

/** The runs that are on, in order. */
const visibleRuns = () => [...runsOn].sort((a, b) => a - b);

/** All columns of a row that are not empty, in the card; `pinned` keeps it when the pointer leaves. */
const card = document.getElementById("row");
let pinned = false;
function showRow(experiment, r) {
  const { rows } = experiment;
  const place = names[rows.get(r, "run")];
  const cells = Object.keys(rows.packed).filter((n) => !["run", "case_id", "kernel"].includes(n) && rows.get(r, n) !== null);
  card.replaceChildren(
    el("p", { className: "where" }, place),
    el("h3", {}, rows.get(r, "case_id")),
    el("dl", {}, ...cells.flatMap((name) => {
      const [unit, doc] = data.docs[name] || ["", "Computed: bytes that an SM's warps have under way."];
      const value = rows.get(r, name);
      const words = typeof value === "number" ? Number(value.toPrecision(7)).toLocaleString("en-US", { maximumSignificantDigits: 7 }) : value;
      const tiny = typeof value === "number" && value !== 0 && Math.abs(value) < 1e-4 ? value.toExponential(4) : words;
      return [el("dt", { title: doc }, name), el("dd", {}, tiny, unit && unit !== "throughput_unit" ? el("span", { className: "unit" }, ` ${unit}`) : "")];
    })),
    el("p", { className: "hint" }, pinned ? "Kept. Esc lets it go." : "Click or Enter keeps it."));
  card.hidden = false;
}
function hideRow(force = false) {
  if (pinned && !force) return;
  pinned = false;
  card.hidden = true;
}
addEventListener("keydown", (event) => event.key === "Escape" && hideRow(true));

/** One section: an experiment, or a lesson on one. Draws itself when it comes near the window. */
class Section {
  constructor(plan) {
    this.plan = plan;
    this.experiment = experiments.get(plan.experiment);
    this.plots = []; // of uPlot; none before the section comes near the window
    const { experiment } = this;
    this.element = el("section", { id: plan.id, attr: { "aria-labelledby": `${plan.id}-title` } });
    this.element.append(
      el("h2", { id: `${plan.id}-title` }, plan.title),
      ...(plan.lead ? [el("p", { className: "lead" }, ...prose(plan.lead))] : []),
      ...(plan.before || []).map(block));
    if (experiment) this.attempt(() => this.buildChart());
    this.element.append(...(plan.after || []).map(block));
  }

  /** Does it; what goes wrong with one chart is said in its place and on the console, and takes no other down. */
  attempt(act) {
    if (this.failed) return;
    try {
      act();
    } catch (error) {
      this.failed = true;
      console.error(`${this.plan.id}: ${error.stack}`);
      this.element.querySelector(".tools")?.remove();
      const words = el("p", { className: "failed", attr: { role: "alert" } }, `This chart could not be drawn: ${error.message}`);
      (this.element.querySelector(".figure") || this.element.appendChild(el("div"))).replaceWith(words);
    }
  }

  buildChart() {
    const { plan, experiment } = this;
    this.axes = axes(experiment, data.axes);
    this.scales = scales(experiment, data.units);
    const wanted = (list, id) => list.find((a) => a.id === id) || list[0];
    // A model has no clock within the kernel: there the iteration's time tells the latency.
    const y = [plan.y || experiment.y, "iteration"].find((id) => this.scales.some((s) => s.id === id) || id !== "own");
    this.view = { x: wanted(this.axes, plan.x || experiment.dial), y: wanted(this.scales, y), slots: new Map() };
    // A rate that not all lines have would hide some without a word.
    const chooser = (word, list, key) => el("label", {}, `${word} `, el("select", {
      attr: { "data-axis": key, "aria-label": `${plan.title}: ${word}` },
      onchange: (event) => { this.view[key] = wanted(list, event.target.value); this.regroup(); this.draw(); },
    }, ...list.map((a) => el("option", { value: a.id, selected: a === this.view[key] }, a.short || a.label))));
    this.legend = el("div", { className: "legend" });
    this.chart = el("div", { className: "chart", tabIndex: 0, attr: { role: "application", "aria-label": `${plan.title}: chart. Arrow keys go from case to case.` } });
    this.table = el("div", { className: "least" });
    this.cliffs = el("div", {});
    this.lost = el("div", {});
    this.element.append(
      el("div", { className: "tools" }, chooser("X axis", this.axes, "x"), chooser("Y axis", this.scales, "y"),
        el("button", { type: "button", className: "quiet", onclick: () => this.plots.length && save(this.plots, plan.id) }, "PNG")),
      el("div", { className: "figure" }, this.chart, this.legend), this.table, this.cliffs, this.lost);
    this.chart.addEventListener("keydown", (event) => this.step(event));
    this.chart.addEventListener("blur", () => this.leave());
    this.regroup();
  }

  /** Lines anew, as axes decide them; those that were chosen stay where their names do. */
  regroup() {
    const { experiment, view, plan } = this;
    view.lines = lines(experiment, view.x, view.y);
    const kept = view.lines.map((l) => l.label).filter((label) => view.slots.has(label));
    const chosen = kept.length ? kept : firstLines(view.lines, plan.show || experiment.show);
    view.slots = new Map(chosen.map((label, i) => [label, kept.length ? view.slots.get(label) : i]));
    this.fillLegend();
  }

  toggle(label, on) {
    const { slots } = this.view;
    const taken = new Set(slots.values());
    if (on) slots.set(label, [...Array(slots.size + 1).keys()].find((i) => !taken.has(i)));
    else slots.delete(label);
    this.fillLegend();
    this.draw();
  }

  fillLegend() {
    this.attempt(() => this.listLines());
  }

  listLines() {
    const { experiment, view, legend } = this;
    const runs = visibleRuns();
    const search = legend.querySelector("input[type=search]");
    const filter = search ? search.value : "";
    const entries = view.lines.map(({ label, runs: having }) => {
      const slot = view.slots.get(label);
      const on = slot !== undefined;
      const here = runs.filter((run) => having.has(run));
      const tell = runs.length > 1 || here.some((run) => models.has(run));
      const color = on ? COLOURS[slot % COLOURS.length] : "var(--hair)";
      return el("label", { className: on ? "on" : "", hidden: !label.toLowerCase().includes(filter.toLowerCase()), attr: { "data-line": label } },
        el("input", { type: "checkbox", checked: on, onchange: (event) => this.toggle(label, event.target.checked) }),
        swatch(color, on ? MARKS[slot % MARKS.length] : ""),
        el("span", {}, label, ...(on && tell ? here.map((run) => el("small", {}, swatch(color, "", DASHES[run % DASHES.length]), names[run])) : [])));
    });
    const extra = view.lines.length > 12 ? [el("div", { className: "sift" },
      el("input", { type: "search", placeholder: `Among ${view.lines.length} lines`, value: filter, attr: { "aria-label": "Find lines" }, oninput: (event) => {
        for (const entry of legend.querySelectorAll("label")) entry.hidden = !entry.dataset.line.toLowerCase().includes(event.target.value.toLowerCase());
      } }),
      el("button", { type: "button", className: "quiet", onclick: () => { view.slots.clear(); this.fillLegend(); this.draw(); } }, "None"))] : [];
    // Those that are on come first in a long list.
    if (view.lines.length > 12) entries.sort((a, b) => b.classList.contains("on") - a.classList.contains("on"));
    const here = (line) => runs.filter((run) => line.runs.has(run)).map((run) => line.runs.get(run));
    const focused = document.activeElement?.closest?.("[data-line]")?.dataset.line;
    const key = experiment.rows.some("throughput_predicted") && view.y.kind !== "own" && runs.some((run) => !models.has(run))
      ? [el("p", { className: "key" }, swatch("var(--ink-3)"), "predicted by the model")] : [];
    const distinct = (list) => new Set(list.map((r) => experiment.rows.get(r, view.x.id))).size;
    const bare = shownOf(view).some((line) => here(line).some((list) => distinct(list) > 1 && distinct(list) < experiment.curve_points))
      ? [el("p", { className: "key" }, experiment.bare)] : [];
    legend.replaceChildren(...extra, el("div", { className: "entries" }, ...entries), ...key, ...bare);
    if (focused) [...legend.querySelectorAll("label")].find((l) => l.dataset.line === focused)?.querySelector("input").focus();
  }

  /** Anew, as wide as there is room or as is asked. */
  draw(width = this.chart?.clientWidth, height = this.chart?.clientHeight) {
    if (this.experiment) this.attempt(() => this.drawFigure(width, height));
  }

  drawFigure(width, height) {
    this.fillTables();
    for (const plot of this.plots) plot.destroy();
    [this.plots, this.at, this.width] = [[], null, width];
    this.figure = figure(this.experiment, this.view, visibleRuns(), data.cliff_columns);
    this.tip = el("div", { className: "tip", hidden: true });
    this.chart.replaceChildren(this.tip);
    if (!this.figure.traces.length) return this.chart.append(el("p", { className: "empty" }, "Choose a line and a device"));
    this.plots = draw(this.chart, this.figure, width, height);
    const [plot] = this.plots;
    const under = () => nearest(plot, this.figure.traces, plot.cursor.left, plot.cursor.top);
    plot.over.addEventListener("mousemove", () => { const found = under(); found ? this.show(found) : this.leave(); });
    plot.over.addEventListener("mouseleave", () => this.leave());
    plot.over.addEventListener("click", () => { const found = under(); if (found) { pinned = true; this.show(found, true); } });
  }

  /** What stands at a point: in words beside it, and its row in the card, unless another is kept there. */
  show({ trace, point }, force = false) {
    const { x, y } = this.figure;
    const range = point.high > point.low ? `  [${number(point.low)}, ${number(point.high)}]` : "";
    const words = [`${x.short}: ${x.bytes ? bytesName(point.at) : number(point.at)}`, `${y.label}: ${number(point.value)}${range}`];
    if (visibleRuns().length > 1 || models.has(trace.run)) words.unshift(names[trace.run]);
    const { over } = this.plots[0];
    const [left, top] = [this.plots[0].valToPos(point.at, "x") + over.offsetLeft, this.plots[0].valToPos(point.value, "y") + over.offsetTop];
    this.tip.replaceChildren(el("b", {}, trace.label), ...words.map((each) => el("span", {}, each)));
    this.tip.hidden = false;
    this.tip.style.left = `${Math.max(0, left + 14 + this.tip.offsetWidth > this.width ? left - 14 - this.tip.offsetWidth : left + 14)}px`;
    this.tip.style.top = `${Math.max(0, top - this.tip.offsetHeight / 2)}px`;
    if (!pinned || force) showRow(this.experiment, point.row);
  }

  leave() {
    if (this.tip) this.tip.hidden = true;
    hideRow();
  }

  /** The fewest warps for shares of the best, the cliffs, and the cases that no chart shows. */
  fillTables() {
    this.attempt(() => this.listFigures());
  }

  listFigures() {
    const { experiment: { rows }, view } = this;
    const [shown, runs] = [shownOf(view), visibleRuns()];
    const cliffs = cliffsOn(this.experiment, view.x, shown, runs, data.cliff_columns);
    const place = (r) => `${number(rows.get(r, "warps_per_sm"))} (${number(100 * rows.get(r, "occupancy_theoretical"))} %)`;
    const rate = (r) => {
      const { scale, name } = data.units[rows.get(r, "throughput_unit")];
      return `${number(rows.get(r, "throughput") / scale)} ${name}`;
    };
    const body = shown.flatMap((line) => runs.filter((run) => line.runs.has(run)).flatMap((run) => {
      const list = line.runs.get(run);
      if (new Set(list.map((r) => rows.get(r, "warps_per_sm"))).size < this.experiment.curve_points) return [];
      const { best, least } = fewestWarps(rows, list);
      const who = runs.length > 1 || models.has(run) ? [line.label, el("small", {}, names[run])] : line.label;
      return [[who, `${rate(best)} with ${place(best)}`, ...least.map(place)]];
    }));
    const isOpen = (place) => Boolean(place.querySelector("details")?.open);
    this.table.replaceChildren(...(body.length && !this.plan.before ? [el("h3", {}, "Fewest warps per SM (and occupancy) for a share of the best"),
      table(["line", "best", ...SHARES.map((s) => `${100 * s} % of it`)], body)] : []));
    const steps = cliffs.map((c) => [c.line.label, `${number(c.from_value)} \u2192 ${number(c.to_value)}`,
      c.blocks_from === null ? "" : `${number(c.blocks_from)} \u2192 ${number(c.blocks_to)}`, (c.cause || "").replace(/_/g, " "),
      `${number(100 * c.drop)} %` + (c.drop_low === null ? "" : ` [${number(100 * c.drop_low)}, ${number(100 * c.drop_high)}]`), c.verdict, prose(c.note || "")]);
    this.cliffs.replaceChildren(...(steps.length ? [folded(`Cliffs on these lines: ${steps.length}`, () =>
      table(["line", "dial", "blocks per SM", "cause", "lost, 95 % interval", "verdict", "note"], steps), isOpen(this.cliffs))] : []));
    const lost = this.experiment.lost.filter(([run]) => runs.includes(run));
    this.lost.replaceChildren(...(lost.length && !this.plan.before ? [folded(`Cases without a time: ${lost.length}`, () =>
      table(["case", ...(names.length > 1 ? ["device"] : []), "status", "why"], lost.map(([run, id, status, why]) =>
        [el("code", {}, id), ...(names.length > 1 ? [names[run]] : []), status, why || ""])), isOpen(this.lost))] : []));
  }

  /** Arrow keys: left and right along a line, up and down to the next one; Enter keeps the row. */
  step(event) {
    const traces = (this.figure?.traces || []).filter(({ kind }) => kind === "line");
    const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (event.key === "Enter" && this.at) { pinned = true; this.show(this.at, true); }
    if (!move || !this.plots.length) return;
    event.preventDefault();
    const { trace, point } = this.at || { trace: traces[0] };
    const next = traces[(traces.indexOf(trace) + move[1] + traces.length) % traces.length];
    const place = this.at ? trace.points.indexOf(point) + move[0] : 0;
    this.at = { trace: next, point: next.points[Math.min(Math.max(place, 0), next.points.length - 1)] };
    this.show(this.at);
  }
}

/** A fold whose inside is made when it is first opened. */
function folded(words, make, open = false) {
  const made = el("details", { open }, el("summary", {}, words));
  const fill = () => made.children.length < 2 && made.append(make());
  if (open) fill();
  else made.addEventListener("toggle", fill, { once: true });
  return made;
}

/** A block of a section: {kind: heading, text, code, table, panels, sortable, source or fold}. */
function block(part) {
  if (part.kind === "panels") return panels(part);
  if (part.kind === "sortable") return sortable(part);
  if (part.kind === "source") return sourceView(part);
  if (part.kind === "table") return table(part.head, part.body, "figures");
  if (part.kind === "code") return el("pre", {}, el("code", {}, part.text));
  if (part.kind === "heading") return el("h3", {}, part.text);
  if (part.kind === "fold") return el("details", { className: "answer" }, el("summary", {}, part.title), ...part.parts.map(block));
  return el("p", { className: part.className || "words" }, ...prose(part.text));
}

const MAIN = 3; // sentences that stand open, as in occbench explain

/** The sections of a report: one for each experiment, headed by what was found in it. */
function planOf(experiment) {
  const found = experiment.findings.flatMap((words, run) => (words.length ? [[words, run]] : []));
  const who = (run) => (data.runs.length > 1 ? `${names[run]}. ` : models.has(run) ? "Predicted. " : "");
  // At the side a device's words come first; a model's are marked, where not all of the page is.
  const [[first] = [experiment.question || `Cases: ${experiment.count}`], of] = found.find(([, run]) => !models.has(run)) || found[0] || [];
  return {
    // A name that we do not know may be that of an element of the page's own, or of what scripts define.
    id: `experiment-${experiment.name}`, title: experiment.name.replace(/_/g, " "), experiment: experiment.name, lead: experiment.question,
    before: undefined, first: models.has(of) && models.size < data.runs.length ? `Predicted: ${first}` : first,
    words: found.flatMap(([words, run]) => [
      el("p", { className: "words" }, el("b", {}, who(run)), ...prose(words.slice(0, MAIN).join(" "))),
      ...(words.length > MAIN ? [folded(`${words.length - MAIN} more`, () => el("p", { className: "words" }, ...prose(words.slice(MAIN).join(" "))))] : []),
    ]),
  };
}

function buildHead() {
  if (models.size) {
    const banner = document.getElementById("banner");
    banner.hidden = false;
    banner.textContent = models.size === data.runs.length ? "MODEL: nothing on this page was measured. These are predictions."
      : `MODEL: nothing was measured of ${[...models].map((run) => `\u201c${names[run]}\u201d`).join(", ")}, shown here beside measured devices.`;
  }
  const facts = data.runs.map((run) => [run.label, run.date.slice(0, 10), run.commit && `commit ${run.commit.slice(0, 7)}`,
    run.driver && `driver ${run.driver}`, run.toolkit && `CUDA ${run.toolkit}`, run.said || `${number(run.valid)} of ${number(run.total)} cases ${run.model ? "predicted" : "valid"}`,
    ...run.notes].filter(Boolean).join(" \u00b7 "));
  document.getElementById("facts").append(...facts.map((words) => el("span", {}, words)));
  if (data.lead) document.getElementById("facts").before(el("p", { className: "answer" }, ...prose(data.lead)));
  const runs = document.getElementById("runs");
  runs.hidden = data.runs.length < 2;
  runs.append(...data.runs.map((run, i) => el("label", {},
    el("input", { type: "checkbox", checked: true, attr: { "data-run": i }, onchange: (event) => {
      event.target.checked ? runsOn.add(i) : runsOn.delete(i);
      for (const section of sections) if (section.experiment) { section.fillLegend(); if (section.figure) section.draw(); }
    } }), swatch("currentColor", "", DASHES[i % DASHES.length]), run.label)));
}

function buildFoot() {
  const keys = [...new Set(data.runs.flatMap((run) => Object.keys(run.env)))];
  const differs = (key) => new Set(data.runs.map((run) => run.env[key])).size > 1;
  document.getElementById("footer").append(
    folded("Environment of each run", () => table(["", ...names], keys.map((key) => [
      differs(key) ? el("b", {}, key) : key, ...data.runs.map((run) => run.env[key] || "")]), "env")),
    el("p", {}, data.foot || "Throughput is the algorithm's own count of work over the median time of a launch; bars are its 95 % interval. Thin grey lines: the model's prediction. Every number is computed from cases.csv and env.json."));
}

function buildTheme() {
  const words = ["auto", "light", "dark"];
  const button = document.getElementById("theme");
  const apply = (word) => {
    document.documentElement.dataset.theme = word;
    button.textContent = `Theme: ${word}`;
    for (const section of sections) if (section.figure) section.draw();
  };
  button.onclick = () => apply(words[(words.indexOf(document.documentElement.dataset.theme) + 1) % 3]);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => apply(document.documentElement.dataset.theme));
  apply("auto");
  // On paper all charts, in ink on white.
  let before = "auto";
  addEventListener("beforeprint", () => {
    before = document.documentElement.dataset.theme;
    document.documentElement.dataset.theme = "light";
    for (const section of sections) section.draw(680, 360);
    for (const fold of document.querySelectorAll("details.answer")) fold.open = true;
  });
  addEventListener("afterprint", () => apply(before));
}

function build() {
  buildHead();
  const plans = data.sections || [...data.opening, ...data.experiments.map(planOf)];
  const watch = new IntersectionObserver((seen) => {
    for (const { isIntersecting, target } of seen) {
      const section = sections.find((s) => s.element === target);
      if (isIntersecting && !section.figure) section.draw();
    }
  }, { rootMargin: "300px" });
  for (const plan of plans) {
    const section = new Section(plan);
    if (plan.words) section.element.querySelector(".lead")?.after(...plan.words);
    sections.push(section);
    document.getElementById("main").append(section.element);
  }
  document.getElementById("findings").append(
    el("h2", {}, data.side ? data.side : data.sections ? "Lessons" : models.size === data.runs.length ? "Predictions" : "Findings"),
    el("table", {}, el("tbody", {}, ...plans.map((plan) => el("tr", {}, el("td", {},
      el("a", { href: `#${plan.id}` }, plan.title), el("p", {}, ...prose(plan.first || ""))))))));
  const current = new IntersectionObserver((seen) => {
    for (const { isIntersecting, target } of seen) {
      document.querySelector(`#findings a[href="#${CSS.escape(target.id)}"]`)?.classList.toggle("here", isIntersecting);
    }
  }, { rootMargin: "-20% 0px -70% 0px" });
  buildFoot();
  buildTheme();
  // Tables now, or the page would grow under whoever follows a link; charts when they come near.
  for (const section of sections) if (section.experiment) section.fillTables();
  const fit = new ResizeObserver((seen) => {
    for (const section of sections) {
      if (section.figure && section.width !== section.chart.clientWidth && seen.some(({ target }) => target === section.chart)) section.draw();
    }
  });
  for (const { element, experiment, chart } of sections) {
    if (experiment) watch.observe(element);
    if (chart) fit.observe(chart);
    current.observe(element);
  }
}

build();
// The first chart before all others; when it was painted, ms after the page was asked for.
sections.find(({ experiment }) => experiment)?.draw();
requestAnimationFrame(() => setTimeout(() => { window.firstPainted = performance.now(); }));
