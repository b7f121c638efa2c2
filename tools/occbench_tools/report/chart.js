// SPDX-License-Identifier: Apache-2.0
// From the rows of one experiment to a figure: lines, intervals, what the model said, theory's steps, cliffs.
"use strict";

// Okabe and Ito's colours; lines differ in their marks as well, and devices in their dashes.
const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"];
const MARKS = ["circle", "square", "diamond", "triangle-up", "x", "triangle-down", "star"];
const DASHES = ["solid", "dash", "dot", "dashdot", "longdash"];
const SHARES = [0.9, 0.95, 0.99];

const RESIDENCY = ["occupancy_theoretical", "warps_per_sm", "in_flight_bytes"];
/** A number as people write it: 4,412, 65.8, 0.0123. */
function number(value) {
  if (value === null || value === undefined) return "";
  const size = Math.abs(value);
  if (size >= 100) return Math.round(value).toLocaleString("en-US");
  return size && size < 1e-3 ? value.toExponential(2) : String(Number(value.toPrecision(3)));
}

/** 65536 as '64 KiB'. */
function bytesName(value) {
  const power = [3, 2, 1].find((p) => value >= 1024 ** p) || 0;
  return `${number(value / 1024 ** power)} ${["B", "KiB", "MiB", "GiB"][power]}`;
}

/** Words for Plotly, which reads some HTML in its texts. */
function plain(words) {
  return String(words).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

/** The rows of one experiment, by column and number; columns are unpacked when first asked for. */
class Rows {
  constructor(packed, count) {
    this.packed = packed;
    this.count = count;
    this.columns = {};
  }
  column(name) {
    if (!(name in this.columns)) {
      const packed = this.packed[name];
      if (packed === undefined) this.columns[name] = new Array(this.count).fill(null);
      else if (Array.isArray(packed)) this.columns[name] = packed;
      else if (packed.d) this.columns[name] = packed.i.map((i) => packed.d[i]);
      else this.columns[name] = new Array(this.count).fill(packed.c);
    }
    return this.columns[name];
  }
  get(row, name) {
    return this.column(name)[row];
  }
  some(name) {
    return name in this.packed;
  }
}

/** What y may be: id, label, value of a row, and whether it is a rate or a time (its interval and prediction are then inverted). */
function scales(experiment, units) {
  const { rows } = experiment;
  const found = [];
  const present = new Set(rows.column("throughput_unit"));
  for (const [unit, { scale, name }] of Object.entries(units)) {
    if (!present.has(unit)) continue;
    const value = (r) => (rows.get(r, "throughput_unit") === unit ? rows.get(r, "throughput") / scale : null);
    found.push({ id: name, label: name, kind: "rate", value });
  }
  const has = (name) => rows.some(name);
  const column = (id, label, kind, name) => has(name) &&
    found.push({ id, label, kind, value: (r) => rows.get(r, name) });
  column("ceiling", "% of the ceiling", "rate", "percent_of_ceiling");
  found.push({ id: "best", label: "% of the line's best", kind: "best", value: (r) => rows.get(r, "throughput") });
  column("cycle", "Per cycle and SM", "rate", "per_cycle_per_sm");
  column("iteration", "SM cycles per loop iteration", "time", "cycles_per_iteration");
  column("own", "SM cycles by the kernel's own clock", "own", "own_cycles_per_iteration");
  if (has("energy_per_launch_j")) {
    const value = (r) => {
      const [work, energy] = [rows.get(r, units[rows.get(r, "throughput_unit")].work), rows.get(r, "energy_per_launch_j")];
      return work && energy ? work / energy / 1e9 : null;
    };
    found.push({ id: "joule", label: "G operations, FLOP or bytes per joule", kind: "own", value });
  }
  return found;
}

/** What x may be, the experiment's own dial first; where nothing varies, as with one case, one place for all. */
function axes(experiment, known) {
  const { rows } = experiment;
  const dial = experiment.dial === "bytes_in_flight" ? "in_flight_bytes" : experiment.dial;
  const there = [...new Set([dial, ...RESIDENCY])].filter((id) => rows.some(id));
  const vary = there.filter((id) => new Set(rows.column(id)).size > 1);
  return (vary.length ? vary : there.slice(0, 1)).map((id) => ({ id, scale: 1, ...(known[id] || { label: id, short: id }) }));
}

/** Lines by label: {label, runs: Map of run -> row numbers in x's order}. */
function lines(experiment, x, y) {
  const { rows } = experiment;
  // What x decides parts no lines.
  const parts = Object.keys(experiment.groups).filter(
    (g) => g !== x.id && !(["occupancy_theoretical", "warps_per_sm"].includes(x.id) && ["warps_per_sm", "blocks_per_sm"].includes(g)) &&
      new Set(rows.column(g)).size > 1);
  const found = new Map();
  for (let r = 0; r < rows.count; r++) {
    const at = rows.get(r, x.id);
    if (at === null || (x.log && at <= 0) || y.value(r) === null) continue;
    const label = [rows.get(r, "kernel"), ...parts.map((g) => experiment.groups[g][rows.get(r, g)] || "")].join(", ");
    if (!found.has(label)) found.set(label, { label, runs: new Map() });
    const { runs } = found.get(label);
    const run = rows.get(r, "run");
    if (!runs.has(run)) runs.set(run, []);
    runs.get(run).push(r);
  }
  for (const { runs } of found.values()) {
    for (const list of runs.values()) list.sort((a, b) => rows.get(a, x.id) - rows.get(b, x.id));
  }
  const natural = new Intl.Collator("en", { numeric: true });
  return [...found.values()].sort((a, b) => natural.compare(a.label, b.label));
}

/** The lines seen first: those that the layout names, in its order, at most eight; else the longest six. */
function firstLines(all, patterns) {
  const named = patterns.flatMap((p) => all.filter(({ label }) => new RegExp(p).test(label)).map((l) => l.label));
  if (named.length) return [...new Set(named)].slice(0, 8);
  const length = ({ runs }) => Math.max(...[...runs.values()].map((list) => list.length));
  return [...all].sort((a, b) => length(b) - length(a)).slice(0, 6).map((l) => l.label);
}

/** Of one line and run: for 90, 95 and 99 % of its best the row with the fewest warps that reaches it. */
function fewestWarps(rows, list) {
  const rate = (r) => rows.get(r, "throughput");
  const best = list.reduce((a, b) => (rate(b) > rate(a) ? b : a));
  const byWarps = [...list].sort((a, b) => rows.get(a, "warps_per_sm") - rows.get(b, "warps_per_sm"));
  return { best, least: SHARES.map((share) => byWarps.find((r) => rate(r) >= share * rate(best))) };
}

/** y of a row with its 95 % interval and what the model said with its band, scaled alike:
    [y, low, high, predicted, its low, its high]. */
function heights(rows, y, r, top) {
  const value = y.kind === "best" ? (100 * y.value(r)) / top : y.value(r);
  const [middle, low, high] = ["median", "ci95_low", "ci95_high"].map((n) => rows.get(r, `time_${n}_s`));
  if (y.kind === "own") return [value, value, value, null];
  const isTime = y.kind === "time";
  const scaled = (rate) => (rate ? value * (rate / rows.get(r, "throughput")) ** (isTime ? -1 : 1) : null);
  const [model, ...band] = ["", "_low", "_high"].map((end) => scaled(rows.get(r, `throughput_predicted${end}`)));
  if (isTime) band.reverse();
  if (low === null || high === null) return [value, value, value, model, ...band];
  return isTime ? [value, (value * low) / middle, (value * high) / middle, model, ...band]
    : [value, (value * middle) / high, (value * middle) / low, model, ...band];
}

/** Steps of theory: for each device, block size and the like one flight of [x, occupancy, textbook's]. */
function flights(experiment, x, shown, runs) {
  const { rows } = experiment;
  if (RESIDENCY.includes(x.id)) return [];
  const found = new Map();
  for (const line of shown) {
    for (const run of runs) {
      const steps = new Map();
      for (const r of line.runs.get(run) || []) {
        const at = rows.get(r, x.id) * x.scale;
        const [exact, text] = ["theoretical", "textbook"].map((n) => 100 * rows.get(r, `occupancy_${n}`));
        if (!steps.has(at) || steps.get(at)[0] < exact) steps.set(at, [exact, text]);
      }
      const flight = [...steps].map(([at, [exact, text]]) => [at, exact, text]);
      if (flight.length >= experiment.curve_points) found.set(JSON.stringify(flight), { run, flight });
    }
  }
  const rises = ({ flight }) => new Set(flight.map((f) => f[1])).size > 1;
  return [...found.values()].some(rises) ? [...found.values()] : [];
}

/** The experiment's cliffs that lie on the shown lines: where on x, and what is known of each. */
function cliffsOn(experiment, x, shown, runs, columns) {
  const { rows } = experiment;
  const lineOf = new Map();
  for (const line of shown) {
    for (const run of runs) for (const r of line.runs.get(run) || []) lineOf.set(`${run} ${rows.get(r, "case_id")}`, [r, line]);
  }
  return experiment.cliffs.flatMap((cells) => {
    const cliff = Object.fromEntries(columns.map((name, i) => [name, cells[i]]));
    const [from, to] = ["from", "to"].map((end) => lineOf.get(`${cliff.run} ${cliff[`${end}_case_id`]}`));
    if (!from || !to) return [];
    const [a, b] = [from, to].map(([r]) => rows.get(r, x.id) * x.scale);
    return [{ ...cliff, line: to[1], at: x.log ? Math.sqrt(a * b) : (a + b) / 2 }];
  });
}

/** Ticks at 1, 2 and 5 of each decade. */
function thirds(low, high) {
  const tickvals = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) tickvals.push(...[1, 2, 5].map((d) => d * 10 ** power));
  return { tickvals, ticktext: tickvals.map(number) };
}

/** The lines that are on. */
const shownOf = (view) => view.lines.filter(({ label }) => view.slots.has(label));

/** Ticks of an axis: whole steps of a dial, or powers of two on a logarithmic one. */
function ticks(x, values, width) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (!x.log) {
    let { step } = x;
    while (step > 1 && (high - low) / step < 4) step /= 2;
    return step && (high - low) / step < 18 ? { dtick: step, tick0: 0 } : {};
  }
  const [first, last] = [Math.ceil(Math.log2(low)), Math.floor(Math.log2(high))];
  const every = Math.max(1, Math.ceil((last - first) / (width < 500 ? 4 : 8)));
  const tickvals = first > last ? [low] : []; // no power of two among them: the first value
  for (let power = first; power <= last; power += every) tickvals.push(2 ** power);
  return { type: "log", tickvals, ticktext: tickvals.map(x.bytes ? bytesName : String) };
}

/** The cliffs that are marked: the `most` deepest losses, one for each place, in order; and how many there are.

    Where residency is x, every step of it is a predicted cliff: there the table alone has these. */
function deepest(cliffs, x, most) {
  const found = new Map();
  for (const cliff of cliffs) {
    if (cliff.drop < 0.01 || (RESIDENCY.includes(x.id) && cliff.verdict === "confirmed")) continue;
    const old = found.get(cliff.at);
    if (!old || cliff.drop > old.drop) found.set(cliff.at, cliff);
  }
  const marked = [...found.values()].sort((a, b) => b.drop - a.drop).slice(0, most);
  return { marked: marked.sort((a, b) => a.at - b.at), all: found.size };
}

/** Words over the plot at each cliff, in as many rows as keep them apart; the cause said once if there is one.

    unit: the words that stand above y's axis, over these rows and one higher where both do not fit side by side. */
function cliffLabels(cliffs, all, x, values, width, color, unit) {
  const cause = (c) => (c.cause || c.verdict).replace(/_/g, " ");
  const causes = new Set(cliffs.map(cause));
  const place = x.log ? Math.log : Number;
  const [low, high] = [Math.min(...values), Math.max(...values)].map(place);
  const ends = []; // of each row, in pixels
  let isCrowded = false;
  const annotations = cliffs.map((c) => {
    const drop = `\u2212${Math.round(100 * c.drop)} %`;
    const text = causes.size > 1 ? `${cause(c)} ${drop}` : drop;
    const half = 3.1 * text.length + 3;
    const middle = width * (0.05 + (0.9 * (place(c.at) - low)) / (high - low || 1));
    let row = ends.findIndex((end) => end < middle - half);
    if (row < 0) row = ends.length;
    ends[row] = middle + half;
    return {
      x: x.log ? Math.log10(c.at) : c.at, xref: "x", y: 1, yref: "paper", yanchor: "bottom", yshift: 4 + 14 * row,
      showarrow: false, font: { size: 11, color: c.verdict === "unpredicted" ? COLOURS[1] : color }, text: plain(text),
    };
  });
  if (cliffs.length) {
    const only = causes.size === 1 ? `, by ${[...causes][0]}` : "";
    const words = `Cliffs${only}${all > cliffs.length ? `: the ${cliffs.length} deepest of ${all}` : ""}`;
    isCrowded = 6.8 * unit.length + 6.4 * words.length > width + 30;
    annotations.push({
      xref: "paper", yref: "paper", x: 1, y: 1, xanchor: "right", yanchor: "bottom", yshift: 8 + 14 * ends.length,
      showarrow: false, font: { size: 11.5, color }, text: plain(words),
    });
  }
  return { annotations, rows: ends.length + isCrowded };
}

/** Traces and layout for Plotly, `width` pixels wide.

    view: {x, y, lines, slots: label -> place in the palette}; runs: numbers of those on; models: of those that are. */
function figure(experiment, view, runs, names, models, columns, width) {
  const style = getComputedStyle(document.documentElement);
  const [ink, faint, hair, paper] = ["--ink-2", "--ink-3", "--hair", "--paper"].map((n) => style.getPropertyValue(n).trim());
  const { rows } = experiment;
  const { x, y } = view;
  const shown = shownOf(view);
  const traces = [];
  const values = [];
  let top = 0;
  for (const line of shown) {
    const slot = view.slots.get(line.label);
    const color = COLOURS[slot % COLOURS.length];
    for (const run of runs) {
      const list = line.runs.get(run);
      if (!list) continue;
      const best = Math.max(...list.map((r) => y.value(r)));
      const at = list.map((r) => rows.get(r, x.id) * x.scale);
      const points = list.map((r) => heights(rows, y, r, best));
      values.push(...at);
      top = Math.max(top, ...points.map((p) => p[2]));
      // One point for each x carries the line: the best; the others stand beside it.
      const chosen = new Map();
      points.forEach(([v], i) => {
        const old = chosen.get(at[i]);
        const better = old === undefined || (y.kind === "time" || y.kind === "own" ? v < points[old][0] : v > points[old][0]);
        if (better) chosen.set(at[i], i);
      });
      const on = [...chosen.values()];
      const off = list.map((_, i) => i).filter((i) => !on.includes(i));
      const joined = on.length >= experiment.curve_points; // curves.py: fewer are no curve
      const said = on.filter((i) => points[i][3] !== null);
      if (said.length) {
        traces.push({
          x: said.map((i) => at[i]), y: said.map((i) => points[i][3]), hoverinfo: "skip",
          ...(joined ? { mode: "lines" } : { mode: "markers", marker: { symbol: "line-ew-open", color: faint, size: 11 } }),
          line: { color: faint, width: 1, dash: DASHES[run % DASHES.length] }, meta: "model", showlegend: false,
          ...(said.every((i) => points[i][4]) ? { error_y: {
            type: "data", symmetric: false, color: faint, thickness: 1, width: 3,
            array: said.map((i) => points[i][5] - points[i][3]), arrayminus: said.map((i) => points[i][3] - points[i][4]),
          } } : {}),
        });
        top = Math.max(top, ...said.map((i) => Math.min(points[i][3], 1.3 * best)));
      }
      for (const [part, mode] of [[off, "markers"], [on, joined ? "lines+markers" : "markers"]]) {
        if (!part.length) continue;
        const text = part.map((i) => {
          const [v, low, high] = points[i];
          const range = high > low ? `  [${number(low)}, ${number(high)}]` : "";
          const device = runs.length > 1 || models.has(run) ? `<br>${plain(names[run])}` : "";
          const place = x.bytes ? bytesName(at[i]) : `${number(at[i])}`;
          return `<b>${plain(line.label)}</b>${device}<br>${plain(x.short)}: ${place}<br>${plain(y.label)}: ${number(v)}${range}`;
        });
        traces.push({
          x: part.map((i) => at[i]), y: part.map((i) => points[i][0]), customdata: part.map((i) => list[i]),
          text, hoverinfo: "text", mode, name: plain(line.label), meta: "line", showlegend: false,
          opacity: part === off ? 0.35 : 1,
          line: { color, width: 2, dash: DASHES[run % DASHES.length] },
          marker: {
            color: run === runs[0] ? color : paper, symbol: MARKS[slot % MARKS.length], size: part.length > 40 ? 5 : 7,
            line: { color, width: 1.4 },
          },
          error_y: {
            type: "data", symmetric: false, array: part.map((i) => points[i][2] - points[i][0]),
            arrayminus: part.map((i) => points[i][0] - points[i][1]), color, thickness: 1.2, width: 3,
          },
        });
      }
    }
  }
  const steps = flights(experiment, x, shown, runs);
  for (const { run, flight } of steps) {
    const step = { mode: "lines", yaxis: "y2", hoverinfo: "skip", showlegend: false, meta: "theory" };
    const line = { color: ink, width: 1.3, shape: "hvh", dash: DASHES[run % DASHES.length] };
    const at = flight.map((f) => f[0]);
    traces.push({ ...step, x: at, y: flight.map((f) => f[1]), line, fill: "tozeroy", fillcolor: `${hair}66` });
    if (flight.some((f) => Math.abs(f[1] - f[2]) > 0.5)) {
      traces.push({ ...step, x: at, y: flight.map((f) => f[2]), line: { ...line, color: faint, width: 1, dash: "dot" } });
    }
  }
  const { marked, all } = deepest(cliffsOn(experiment, x, shown, runs, columns), x, width < 500 ? 4 : 8);
  const bottom = steps.length ? 0.29 : 0;
  const shapes = marked.map((c) => ({
    type: "line", xref: "x", yref: "paper", x0: c.at, x1: c.at, y0: 0, y1: 1, layer: "below",
    line: { color: c.verdict === "unpredicted" ? COLOURS[1] : faint, width: 1, dash: "dot" },
  }));
  const { annotations, rows: labelRows } = cliffLabels(marked, all, x, values, width - 68, ink, y.label);
  if (steps.length) {
    annotations.push({
      xref: "paper", yref: "paper", x: 0, y: 0.205, xanchor: "left", yanchor: "bottom", showarrow: false,
      text: "Theory: occupancy (%)" + (traces.some((t) => t.meta === "theory" && t.line.dash === "dot" && t.fill === undefined) ? "; dotted: by plain division" : ""),
      font: { size: 11.5, color: ink },
    });
  }
  const axis = {
    gridcolor: hair, zeroline: false, linecolor: hair, tickcolor: hair, ticks: "outside", ticklen: 4,
    tickfont: { size: 11.5, color: ink }, title: { font: { size: 12.5, color: ink }, standoff: 8 }, automargin: true,
  };
  // A time may span decades: from a cache to DRAM.
  const low = Math.min(...traces.filter((t) => t.meta === "line").flatMap((t) => t.y));
  const decades = (y.kind === "time" || y.kind === "own") && low > 0 && top > 20 * low;
  const place = x.log ? Math.log10 : Number;
  const ends = values.length ? [Math.min(...values), Math.max(...values)].map(place) : [0, 1];
  const margin = 0.055 * (ends[1] - ends[0] || 1);
  const [left, right] = [ends[0] - margin, ends[1] + margin];
  const layout = {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", hovermode: "closest", dragmode: "zoom",
    font: { family: style.getPropertyValue("--sans").trim(), color: ink }, margin: { l: 56, r: 12, t: 34 + 14 * labelRows, b: 44 }, separators: ".,",
    hoverlabel: { bgcolor: paper, bordercolor: faint, font: { color: ink, size: 12 }, align: "left" },
    xaxis: {
      ...axis, ...ticks(x, values, width), range: [left, right], showgrid: false, domain: [0, 1], anchor: steps.length ? "y2" : "y",
      title: { ...axis.title, text: x.label },
    },
    yaxis: {
      ...axis, domain: [bottom, 1], ...(decades ? { type: "log", ...thirds(low, top), range: [Math.log10(low / 1.3), Math.log10(1.3 * top)] } : { range: [0, 1.06 * top || 1], tickformat: top >= 1e3 ? "," : "" }), ticks: "",
      linecolor: "rgba(0,0,0,0)",
    },
    shapes, annotations, showlegend: false,
  };
  // The unit stands level above the axis, where it is read first.
  annotations.push({
    xref: "paper", yref: "paper", x: 0, xanchor: "left", xshift: -44, y: 1, yanchor: "bottom", yshift: 8 + 14 * labelRows, showarrow: false,
    text: plain(y.label), font: { size: 12.5, color: ink },
  });
  if (steps.length) {
    layout.yaxis2 = { ...axis, domain: [0, 0.2], range: [0, 104], tickvals: [0, 50, 100], ticks: "", linecolor: "rgba(0,0,0,0)" };
  }
  return { traces, layout };
}
