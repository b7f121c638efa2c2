// SPDX-License-Identifier: Apache-2.0
// A figure as plain SVG, seen at once: a browser takes a second or two over the five megabytes of plotly.js.
"use strict";

/** Steps of 1, 2 or 5 times a power of ten, about ten of them up to `top`. */
function evenTicks(low, top) {
  const rough = (top - low) / 10 || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((d) => d * power).find((s) => s >= rough);
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(top / step) - first + 1 }, (_, i) => (first + i) * step);
}

/** Draws what figure() made into `place`; Plotly draws over it when it is there. */
function sketch(place, { traces, layout }) {
  const [width, height] = [place.clientWidth, place.clientHeight];
  const { l, r, t, b } = layout.margin;
  const scale = (axis, from, to) => {
    const transform = axis.type === "log" ? Math.log10 : Number;
    const [low, high] = axis.range;
    return (value) => from + ((transform(value) - low) / (high - low)) * (to - from);
  };
  const upright = (axis) => scale(axis, height - b - axis.domain[0] * (height - t - b), height - b - axis.domain[1] * (height - t - b));
  const x = scale(layout.xaxis, l, width - r);
  const ys = { y: upright(layout.yaxis), y2: layout.yaxis2 && upright(layout.yaxis2) };
  const words = (text, at, anchor, font = layout.xaxis.tickfont) => svg("text", { ...at, "text-anchor": anchor, "font-size": font.size, fill: font.color }, text);
  const drawn = [];
  for (const [axis, y] of [[layout.yaxis, ys.y], [layout.yaxis2, ys.y2]]) {
    for (const value of axis ? axis.tickvals || evenTicks(...axis.range) : []) {
      drawn.push(svg("line", { x1: l, x2: width - r, y1: y(value), y2: y(value), stroke: axis.gridcolor }),
        words(number(value), { x: l - 5, y: y(value) + 4 }, "end"));
    }
  }
  const { dtick, range } = layout.xaxis;
  const steps = () => Array.from({ length: Math.floor(range[1] / dtick) + 1 }, (_, i) => i * dtick).filter((v) => v >= range[0]);
  const along = layout.xaxis.tickvals || (dtick ? steps() : evenTicks(...range));
  along.forEach((value, i) => drawn.push(words(layout.xaxis.ticktext ? layout.xaxis.ticktext[i] : number(value), { x: x(value), y: height - b + 17 }, "middle")));
  drawn.push(words(layout.xaxis.title.text, { x: (l + width - r) / 2, y: height - 6 }, "middle", layout.xaxis.title.font));
  const unit = layout.annotations.find((a) => a.xshift);
  if (unit) drawn.push(words(unit.text, { x: l + unit.xshift, y: t - unit.yshift }, "start", unit.font));
  for (const trace of traces) {
    const y = ys[trace.yaxis || "y"];
    const points = trace.x.map((value, i) => [x(value), y(trace.y[i])]);
    const path = points.map(([px, py], i) => {
      if (!i) return `M${px} ${py}`;
      return trace.line.shape === "hvh" ? `H${(points[i - 1][0] + px) / 2}V${py}H${px}` : `L${px} ${py}`;
    }).join("");
    const { color, width: thick, dash } = trace.line;
    if (trace.mode !== "markers") drawn.push(svg("path", { d: path, fill: "none", stroke: color, "stroke-width": thick, "stroke-dasharray": DASH_LENGTHS[dash] || "" }));
    if (trace.marker) for (const [px, py] of points) drawn.push(svg("path", { d: OUTLINES[trace.marker.symbol], transform: `translate(${px} ${py}) scale(0.9)`, fill: trace.marker.color, opacity: trace.opacity }));
  }
  place.replaceChildren(svg("svg", { width, height, class: "sketch" }, ...drawn));
}
