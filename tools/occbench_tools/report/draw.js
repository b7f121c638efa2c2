// SPDX-License-Identifier: Apache-2.0
// A figure drawn by uPlot: curves with their intervals, what the model said, theory's steps below, cliffs.
"use strict";

// Okabe and Ito's colours and two more, one for each line seen first; lines differ in their marks as well, and
// devices in their dashes.
const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8E6FD0", "#8A8A1A"];
const DASHES = [[], [6, 4], [2, 3], [6, 3, 2, 3], [10, 4]];
const MARKS = [
  "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0", "M-3.5-3.5h7v7h-7z", "M0-5l4 5l-4 5l-4-5z", "M0-4.5l4.5 8h-9z",
  "M-4-2l2-2l2 2l2-2l2 2l-2 2l2 2l-2 2l-2-2l-2 2l-2-2l2-2z", "M0 4.5l4.5-8h-9z",
  "M0-5l1.4 3.4l3.6.3l-2.8 2.3l.9 3.6l-3.1-2l-3.1 2l.9-3.6l-2.8-2.3l3.6-.3z",
];
const BAR = "M-5-.5h10v1h-10z";
const TINY = 14; // pixels of a row of words

/** The words' colour, a fainter one, that of the grid, and the ground's, as the theme has them. */
function inks() {
  const style = getComputedStyle(document.documentElement);
  return ["--ink-2", "--ink-3", "--hair", "--paper"].map((name) => style.getPropertyValue(name).trim());
}

const font = (size) => `${size}px ${getComputedStyle(document.body).fontFamily}`;

function widthOf(words, size) {
  const context = document.createElement("canvas").getContext("2d");
  context.font = font(size);
  return context.measureText(words).width;
}

/** What a chart shows: {traces, steps, x, y, marked: its cliffs, cliffCount}.

    A trace is {kind: line or model, label, run, points: [{at, value, low, high, row}], ...} and how it looks. */
function figure(experiment, view, runs, columns) {
  const { rows } = experiment;
  const { x, y } = view;
  const shown = shownOf(view);
  const [, faint] = inks();
  const traces = [];
  for (const line of shown) {
    const slot = view.slots.get(line.label);
    for (const run of runs.filter((each) => line.runs.has(each))) {
      const list = line.runs.get(run);
      const best = Math.max(...list.map(y.value));
      const points = list.map((row) => ({ row, at: rows.get(row, x.id) * x.scale, ...heights(rows, y, row, best) }));
      // One point for each x carries the line: the best; the others stand beside it.
      const chosen = new Map();
      const isBetter = (a, b) => (y.kind === "time" || y.kind === "own" ? a.value < b.value : a.value > b.value);
      for (const point of points) if (!chosen.has(point.at) || isBetter(point, chosen.get(point.at))) chosen.set(point.at, point);
      const on = [...chosen.values()];
      const off = points.filter((point) => chosen.get(point.at) !== point);
      const look = { label: line.label, run, dash: DASHES[run % DASHES.length], isJoined: on.length >= experiment.curve_points }; // curves.py: fewer are no curve
      const said = on.filter((point) => point.model);
      if (said.length) {
        const hasBand = said.every((point) => point.model.low);
        traces.push({ ...look, kind: "model", color: faint, width: 1, mark: look.isJoined ? null : BAR,
          points: said.map(({ at, model }) => ({ at, value: model.value, low: hasBand ? model.low : model.value, high: hasBand ? model.high : model.value })) });
      }
      const ink = { kind: "line", color: COLOURS[slot % COLOURS.length], width: 2, mark: MARKS[slot % MARKS.length], isOpen: run !== runs[0] };
      if (off.length) traces.push({ ...look, ...ink, points: off, isJoined: false, alpha: 0.35 });
      traces.push({ ...look, ...ink, points: on });
    }
  }
  const measured = traces.filter(({ kind }) => kind === "line").flatMap(({ points }) => points);
  const most = Math.max(0, ...measured.map(({ value }) => value));
  const top = Math.max(0, ...traces.flatMap(({ kind, points }) => points.map(({ value, high }) => (kind === "line" ? high : Math.min(value, 1.3 * most)))));
  const low = Math.min(...measured.map(({ value }) => value));
  const isLog = (y.kind === "time" || y.kind === "own") && low > 0 && top > 20 * low; // from a cache to DRAM
  return {
    traces, x: { ...x, ends: endsOf(x, measured.map(({ at }) => at)) },
    y: { ...y, isLog, ends: isLog ? [low / 1.3, 1.3 * top] : [0, 1.06 * top || 1] },
    steps: flights(experiment, x, shown, runs), ...deepest(cliffsOn(experiment, x, shown, runs, columns), x),
  };
}

/** Where x begins and ends: its values, and a little beside them. */
function endsOf(x, values) {
  if (!values.length) return [0, 1];
  const [low, high] = [Math.min(...values), Math.max(...values)].map(x.log ? Math.log : Number);
  const margin = 0.055 * (high - low || 1);
  return [low - margin, high + margin].map(x.log ? Math.exp : Number);
}

/** For an axis: uPlot leaves out some ticks of a logarithmic one. */
const all = (_, splits) => splits;

/** uPlot's axis along x: whole steps of a dial, or powers of two. */
function axisOfX({ log, step, bytes, label }, [ink, , hair]) {
  const powers = (u, _, low, high) => {
    const [first, last] = [Math.ceil(Math.log2(low)), Math.floor(Math.log2(high))];
    const every = Math.max(1, Math.ceil((last - first) / (u.width < 500 ? 4 : 8)));
    const found = Array.from({ length: Math.max(0, Math.floor((last - first) / every) + 1) }, (_, i) => 2 ** (first + i * every));
    return found.length ? found : [Math.sqrt(low * high)];
  };
  const line = { stroke: hair, width: 1 };
  return {
    scale: "x", stroke: ink, font: font(12), size: 30, gap: 3, grid: { show: false }, ticks: { ...line, size: 4 }, border: { ...line, show: true },
    label, labelFont: font(13), labelSize: 18, labelGap: 0, space: 46,
    values: (_, splits) => splits.map(bytes ? bytesName : number), filter: all,
    ...(log ? { splits: powers } : step ? { incrs: [1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8, 16, 32].map((part) => part * step) } : {}),
  };
}

/** 1, 2 and 5 of each decade. */
function thirds(_, __, low, high) {
  const powers = Array.from({ length: Math.ceil(Math.log10(high / low)) + 2 }, (_, i) => 10 ** (Math.floor(Math.log10(low)) + i));
  return powers.flatMap((power) => [1, 2, 5].map((d) => d * power)).filter((value) => value >= low && value <= high);
}

/** Words over the plot at each cliff, in as many rows as keep them apart; the cause said once if there is one. */
function cliffWords({ marked, cliffCount, x, y }, width) {
  const cause = (c) => (c.cause || c.verdict).replace(/_/g, " ");
  const causes = new Set(marked.map(cause));
  const place = x.log ? Math.log : Number;
  const [low, high] = x.ends.map(place);
  const ends = []; // of each row, in pixels
  const words = marked.map((c) => {
    const drop = `\u2212${Math.round(100 * c.drop)} %`;
    const text = causes.size > 1 ? `${cause(c)} ${drop}` : drop;
    const half = widthOf(text, 11) / 2 + 4;
    // Words at an end of the plot stay within it.
    const middle = Math.min(Math.max((width * (place(c.at) - low)) / (high - low), half), width - half);
    let row = ends.findIndex((end) => end < middle - half);
    if (row < 0) row = ends.length;
    ends[row] = middle + half;
    return { at: c.at, row, text, isBad: c.verdict === "unpredicted" };
  });
  const only = causes.size === 1 ? `, by ${[...causes][0]}` : "";
  const head = marked.length ? `Cliffs${only}${cliffCount > marked.length ? `: the ${marked.length} deepest of ${cliffCount}` : ""}` : "";
  const isCrowded = head && widthOf(head, 12) + widthOf(y.label, 13) + 24 > width;
  return { words, head, headRow: ends.length, rows: ends.length + Boolean(isCrowded) };
}

/** Writes words over a plot: their middle or end at `left`, their foot `above` its top, in pixels. */
function write(u, words, left, above, align, color, size) {
  const { ctx, bbox } = u;
  const ratio = uPlot.pxRatio;
  ctx.save();
  Object.assign(ctx, { font: font(size * ratio), fillStyle: color, textAlign: align, textBaseline: "alphabetic" });
  ctx.fillText(words, left * ratio, bbox.top - above * ratio);
  ctx.restore();
}

/** Intervals and marks of one trace. */
function drawMarks(u, { points, color, mark, isOpen = false, alpha = 1 }, paper) {
  const { ctx, bbox } = u;
  const ratio = uPlot.pxRatio;
  const shape = mark && new Path2D(mark);
  const size = (points.length > 40 ? 0.65 : 0.9) * ratio;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left - 7 * ratio, bbox.top - 7 * ratio, bbox.width + 14 * ratio, bbox.height + 14 * ratio);
  ctx.clip();
  Object.assign(ctx, { globalAlpha: alpha, strokeStyle: color, fillStyle: isOpen ? paper : color });
  ctx.setLineDash([]);
  for (const { at, value, low, high } of points) {
    const [px, py, from, to] = [u.valToPos(at, "x", true), ...[value, low, high].map((end) => u.valToPos(end, "y", true))];
    if (high > low) {
      ctx.lineWidth = 1.2 * ratio;
      ctx.stroke(new Path2D(`M${px} ${from}V${to}M${px - 3 * ratio} ${from}h${6 * ratio}M${px - 3 * ratio} ${to}h${6 * ratio}`));
    }
    if (!shape) continue;
    ctx.setTransform(size, 0, 0, size, px, py);
    ctx.fill(shape);
    ctx.lineWidth = 1.4;
    if (isOpen) ctx.stroke(shape);
    ctx.resetTransform();
  }
  ctx.restore();
}

/** What both plots have: the same x, no legend of uPlot's, zoom by drag, and a double click back. */
function plotOf(place, made, traces, plots, { ends, isLog = false, width, height, axes, padding, hooks }) {
  const scaleOf = (range, log) => ({ time: false, range: () => range, ...(log ? { distr: 3, log: 10 } : {}) });
  const facets = ["x", "y"].map((scale) => ({ scale, auto: true }));
  plots.push(new uPlot({
    mode: 2, width, height, axes, padding, legend: { show: false },
    cursor: { x: false, y: false, points: { show: false }, drag: { x: true, y: true, uni: 30, dist: 5 } },
    scales: { x: scaleOf(made.x.ends, made.x.log), y: scaleOf(ends, isLog) },
    series: [{}, ...traces.map(({ color, width: thick, dash, isJoined, fill, alpha = 1 }) => ({
      facets, stroke: color, width: thick, dash: dash.length ? dash.map((part) => part * uPlot.pxRatio) : undefined, fill, fillTo: 0, alpha,
      points: { show: false }, paths: isJoined ? uPlot.paths.linear() : () => null,
    }))],
    hooks: { ...hooks, setScale: [(u, key) => key === "x" && plots.forEach((other) => {
      const { min, max } = u.scales.x;
      if (other !== u && (other.scales.x.min !== min || other.scales.x.max !== max)) other.setScale("x", { min, max });
    })] },
  }, [null, ...traces.map(({ points }) => [points.map(({ at }) => at), points.map(({ value }) => value)])], place));
}

/** The steps of one flight as a line that rises half-way between two values. */
function stairs(flight, which, x) {
  return flight.flatMap((step, i) => {
    const point = { at: step[0], value: step[which] };
    if (!i) return [point];
    const [from, to] = [flight[i - 1], step];
    const at = x.log ? Math.sqrt(from[0] * to[0]) : (from[0] + to[0]) / 2;
    return [{ at, value: from[which] }, { at, value: to[which] }, point];
  });
}

/** Draws a figure into `place`, a second plot below where theory has steps; the plots, the lines' first. */
function draw(place, made, width, height) {
  const colors = inks();
  const [ink, faint, hair, paper] = colors;
  const { traces, steps, x, y } = made;
  const plots = [];
  const { words, head, headRow, rows } = cliffWords(made, width - 68);
  const theory = steps.flatMap(({ run, flight }) => {
    const look = { dash: DASHES[run % DASHES.length], isJoined: true };
    const isMisplaced = flight.some(([, exact, textbook]) => Math.abs(exact - textbook) > 0.5);
    return [{ ...look, color: ink, width: 1.3, fill: `${hair}66`, points: stairs(flight, 1, x) },
      ...(isMisplaced ? [{ ...look, color: faint, width: 1, dash: [2, 3], isTextbook: true, points: stairs(flight, 2, x) }] : [])];
  });
  const below = theory.length ? Math.round(0.22 * height) + 54 : 0;
  let left = 0; // both plots begin at one place
  const axis = { scale: "y", stroke: ink, font: font(12), gap: 6, ticks: { show: false }, grid: { stroke: hair, width: 1 }, border: { show: false } };
  const along = axisOfX(x, colors);
  const cliffLines = (u) => {
    u.ctx.save();
    u.ctx.lineWidth = uPlot.pxRatio;
    u.ctx.setLineDash([2, 3].map((part) => part * uPlot.pxRatio));
    for (const { at, verdict } of made.marked) {
      const px = u.valToPos(at, "x", true);
      u.ctx.strokeStyle = verdict === "unpredicted" ? COLOURS[1] : faint;
      if (px >= u.bbox.left && px <= u.bbox.left + u.bbox.width) u.ctx.stroke(new Path2D(`M${px} ${u.bbox.top}v${u.bbox.height}`));
    }
    u.ctx.restore();
  };
  const heads = (u) => {
    const [from, span] = [u.bbox.left, u.bbox.width].map((part) => part / uPlot.pxRatio);
    write(u, y.label, 2, 8 + TINY * rows, "left", ink, 13);
    write(u, head, from + span, 8 + TINY * headRow, "right", ink, 12);
    for (const { at, row, text, isBad } of words) {
      const half = widthOf(text, 11) / 2;
      const middle = u.valToPos(at, "x");
      if (middle < 0 || middle > span) continue;
      write(u, text, from + Math.min(Math.max(middle, half), span - half), 4 + TINY * row, "center", isBad ? COLOURS[1] : ink, 11);
    }
  };
  plotOf(place, made, traces, plots, {
    ends: y.ends, isLog: y.isLog, width, height: height - below, padding: [26 + TINY * rows, 12, below ? 8 : 0, 0],
    axes: [below ? { ...along, show: false } : along, {
      ...axis, filter: all, values: (_, splits) => splits.map(number), ...(y.isLog ? { splits: thirds } : {}),
      size: (_, values) => (left = Math.max(left, 30, ...(values || []).map((value) => 12 + widthOf(value, 12)))),
    }],
    hooks: { drawAxes: [cliffLines], drawSeries: [(u, i) => drawMarks(u, traces[i - 1], paper)], draw: [heads] },
  });
  if (below) {
    const note = theory.some(({ isTextbook }) => isTextbook) ? "; dotted: by plain division" : "";
    plotOf(place, made, theory, plots, {
      ends: [0, 104], width, height: below, padding: [24, 12, 0, 0],
      axes: [along, { ...axis, splits: [0, 50, 100], size: () => left }],
      hooks: { drawAxes: [cliffLines], draw: [(u) => write(u, `Theory: occupancy (%)${note}`, 2, 11, "left", ink, 12)] },
    });
  }
  return plots;
}

/** The point of a line that is nearest to a place of the plot, if one is near: {trace, point}. */
function nearest(u, traces, left, top) {
  let found = null;
  let least = 24;
  for (const trace of traces.filter(({ kind }) => kind === "line")) {
    for (const point of trace.points) {
      const away = Math.hypot(u.valToPos(point.at, "x") - left, u.valToPos(point.value, "y") - top);
      if (away < least) [found, least] = [{ trace, point }, away];
    }
  }
  return found;
}

/** Saves what is drawn as a picture on the page's ground, twice as fine as a screen. */
function save(plots, name) {
  const sheets = plots.map(({ ctx }) => ctx.canvas);
  const made = document.createElement("canvas");
  [made.width, made.height] = [sheets[0].width, sheets.reduce((sum, { height }) => sum + height, 0)];
  const context = made.getContext("2d");
  [, , , context.fillStyle] = inks();
  context.fillRect(0, 0, made.width, made.height);
  sheets.reduce((top, sheet) => (context.drawImage(sheet, 0, top), top + sheet.height), 0);
  const link = document.createElement("a");
  Object.assign(link, { download: `${name}.png`, href: made.toDataURL("image/png") });
  link.click();
}
