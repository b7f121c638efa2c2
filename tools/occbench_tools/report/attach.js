// SPDX-License-Identifier: Apache-2.0
// What a page on a program has beside a run's: a small picture of each kernel, and a table that can be sorted.
"use strict";

const PANEL = { width: 280, height: 150, left: 56, right: 10, top: 8, bottom: 34 };

/** Small pictures beside one another: {of: [{name, full, verdict, more: [words], points: [[warps, value, low, high]]}]}. */
function panels({ of }) {
  return el("div", { className: "panels" }, ...of.map((kernel) => el("figure", {},
    el("figcaption", {}, named(kernel), el("span", { className: "verdict" }, kernel.verdict), ...kernel.more.map((words) => el("small", {}, words))),
    kernel.points.length ? slowdowns(kernel) : el("p", { className: "bare" }, "No time at fewer warps."))));
}

/** A kernel's short name, and the whole of it on demand. */
function named({ name, full }) {
  return name === full ? el("span", { className: "kernel" }, name)
    : el("details", { className: "kernel" }, el("summary", {}, name), el("code", {}, full));
}

/** One picture: percent longer over the share of the warps, falling to the right, with intervals. */
function slowdowns({ name, points }) {
  const { width, height, left, right, top, bottom } = PANEL;
  const ends = points.flatMap(([, , low, high]) => [low, high]);
  const [least, most] = [Math.min(0, ...ends), Math.max(5, ...ends)];
  const fewest = Math.min(...points.map(([warps]) => warps));
  const x = (warps) => left + ((100 - warps) / (100 - Math.min(fewest, 75))) * (width - left - right - 14);
  const y = (value) => top + ((most - value) / (most - least)) * (height - top - bottom);
  const words = (text, at, anchor) => svg("text", { ...at, "text-anchor": anchor }, text);
  const line = (x1, y1, x2, y2, name) => svg("line", { x1, y1, x2, y2, class: name });
  const across = points.map(([warps, value]) => `L${x(warps)} ${y(value)}`).join("");
  // What it would be if the time were inversely proportional to the warps: as bad as it can be by warps alone.
  const law = Array.from({ length: 40 }, (_, i) => 100 - ((100 - fewest) * i) / 39)
    .filter((warps) => 100 * (100 / warps - 1) <= most).map((warps, i) => `${i ? "L" : "M"}${x(warps)} ${y(100 * (100 / warps - 1))}`).join("");
  const said = points.map(([warps, value, low, high]) => `${number(warps)} % of the warps: ${signedPercent(value)} (${number(low)} to ${number(high)})`).join("; ");
  const apart = (value) => Math.abs(y(value) - y(0)) > 14;
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${name}. ${said}` },
    svg("title", {}, said),
    line(left, y(0), width - right, y(0), "axis"),
    ...[0, ...[most, least].filter(apart)].map((value) => words(signedPercent(value), { x: left - 6, y: y(value) + 4 }, "end")),
    svg("path", { d: law, class: "law" }),
    svg("path", { d: `M${x(100)} ${y(0)}${across}`, class: "curve" }),
    ...points.flatMap(([warps, value, low, high]) => [
      line(x(warps), y(low), x(warps), y(high), "interval"), svg("circle", { cx: x(warps), cy: y(value), r: 3.5, class: "point" })]),
    ...[100, ...points.map(([warps]) => warps)].map((warps) => words(`${Math.round(warps)} %`, { x: x(warps), y: height - bottom + 16 }, "middle")),
    words("of its warps", { x: width - right, y: height - 4 }, "end"));
}

/** Source with what each line holds: {peak, files: [{name, lines: [[number, text, live, loops, stored, loaded]]}]}. */
function sourceView({ peak, files }) {
  const heads = ["live registers", "loops", "spills stored, B", "loaded, B", "line", "source"].map((words) => el("th", { attr: { scope: "col" } }, words));
  const rows = files.flatMap(({ name, lines }) => [
    el("tr", { className: "file" }, el("th", { colSpan: heads.length, attr: { scope: "rowgroup" } }, name)),
    ...lines.map(([number, text, live, ...others], i) => el("tr",
      { className: [live === peak && "peak", i && lines[i - 1][0] + 1 < number && "gap"].filter(Boolean).join(" ") },
      el("td", { className: "live", attr: { style: `--share: ${(100 * (live || 0)) / peak}%` } }, live ?? ""),
      ...others.map((value) => el("td", {}, value || "")), el("td", {}, number), el("td", {}, el("code", {}, text))))]);
  return el("div", { className: "scroll source" }, el("table", {}, el("thead", {}, el("tr", {}, ...heads)), el("tbody", {}, ...rows)));
}

/** '+17.6 %' */
function signedPercent(value) {
  return `${value > 0 ? "+" : value < 0 ? "\u2212" : ""}${Number(Math.abs(value).toPrecision(3))} %`;
}

/** A table whose columns sort its rows: {head: [words], body: [[cell]]}; a cell is words, [words, number], or a name. */
function sortable({ head, body }) {
  const shown = (cell) => (Array.isArray(cell) ? cell[0] : cell.full === undefined ? cell : named(cell));
  const value = (cell) => (Array.isArray(cell) ? cell[1] : cell.full === undefined ? cell : cell.full);
  const rows = body.map((cells) => ({ cells, row: el("tr", {}, ...cells.map((cell) => el("td", {}, shown(cell)))) }));
  const place = el("tbody", {}, ...rows.map(({ row }) => row));
  const heads = head.map((words, i) => el("th", { attr: { scope: "col" } },
    el("button", { type: "button", className: "sort", onclick: () => sort(i) }, words)));
  function sort(i) {
    const isUp = heads[i].getAttribute("aria-sort") === "descending";
    for (const other of heads) other.removeAttribute("aria-sort");
    heads[i].setAttribute("aria-sort", isUp ? "ascending" : "descending");
    const order = (a, b) => {
      const [first, second] = [value(a.cells[i]), value(b.cells[i])];
      if (first === null || second === null) return (first === null) - (second === null); // empty ones last
      const before = typeof first === "number" ? second - first : first.localeCompare(second);
      return isUp === (typeof first === "number") ? -before : before;
    };
    place.append(...[...rows].sort(order).map(({ row }) => row));
  }
  return el("div", { className: "scroll kernels" }, el("table", {}, el("thead", {}, el("tr", {}, ...heads)), place));
}
