// SPDX-License-Identifier: Apache-2.0
// From the rows of one experiment to lines and what is known of each: intervals, predictions, theory, cliffs.
"use strict";

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
  // Columns that x determines do not separate lines.
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

/** Of a row {value, low, high: its 95 % interval, model: the same of its prediction, or null}, scaled as y is. */
function heights(rows, y, r, top) {
  const value = y.kind === "best" ? (100 * y.value(r)) / top : y.value(r);
  if (y.kind === "own") return { value, low: value, high: value, model: null };
  const isTime = y.kind === "time";
  const scaled = (rate) => rate && value * (rate / rows.get(r, "throughput")) ** (isTime ? -1 : 1);
  const [model, ...band] = ["", "_low", "_high"].map((end) => scaled(rows.get(r, `throughput_predicted${end}`)));
  if (isTime) band.reverse();
  const [middle, least, most] = ["median", "ci95_low", "ci95_high"].map((n) => rows.get(r, `time_${n}_s`));
  const [low, high] = least === null || most === null ? [1, 1] : isTime ? [least / middle, most / middle] : [middle / most, middle / least];
  return { value, low: value * low, high: value * high, model: model ? { value: model, low: band[0], high: band[1] } : null };
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

/** The lines that are on. */
const shownOf = (view) => view.lines.filter(({ label }) => view.slots.has(label));

/** The cliffs that are marked: the deepest losses, one for each place, in order; and how many there are.

    Where residency is x, every step of it is a predicted cliff: there the table alone has these. */
function deepest(cliffs, x) {
  const found = new Map();
  for (const cliff of cliffs) {
    if (cliff.drop < 0.01 || (RESIDENCY.includes(x.id) && cliff.verdict === "confirmed")) continue;
    const old = found.get(cliff.at);
    if (!old || cliff.drop > old.drop) found.set(cliff.at, cliff);
  }
  const marked = [...found.values()].sort((a, b) => b.drop - a.drop).slice(0, innerWidth < 500 ? 4 : 8);
  return { marked: marked.sort((a, b) => a.at - b.at), cliffCount: found.size };
}
