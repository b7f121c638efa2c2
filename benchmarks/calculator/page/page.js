// SPDX-License-Identifier: Apache-2.0
// Draws what the module answers. No number of occupancy is computed here.
"use strict";

/** The module: a question in JSON, an answer in JSON; standard input is a Blob (in a worker) or bytes. */
function engineOf(module) {
  let memory, input = null, at = 0;
  const view = () => new DataView(memory.buffer);
  const read = (from, size) => input instanceof Uint8Array ? input.subarray(from, from + size)
    : new Uint8Array(new FileReaderSync().readAsArrayBuffer(input.slice(from, from + size)));
  const fill = (vectors, count, got, from) => {
    let sum = 0;
    for (let i = 0; i < count && input; ++i) {
      const place = view().getUint32(vectors + 8 * i, true), room = view().getUint32(vectors + 8 * i + 4, true);
      const part = read(from + sum, room);
      new Uint8Array(memory.buffer).set(part, place);
      sum += part.length;
      if (part.length < room) break;
    }
    view().setUint32(got, sum, true);
    return sum;
  };
  const system = {  // WASI's, for the one input
    fd_read(descriptor, vectors, count, got) {
      at += fill(vectors, count, got, at);
      return 0;
    },
    fd_pread(descriptor, vectors, count, from, got) {
      fill(vectors, count, got, Number(from));
      return 0;
    },
    fd_filestat_get(descriptor, place) {
      for (let i = 0; i < 64; i += 8) view().setBigUint64(place + i, 0n, true);
      view().setUint8(place + 16, 4);  // a regular file
      view().setBigUint64(place + 32, BigInt(input?.size ?? input?.length ?? 0), true);
      return 0;
    },
    environ_sizes_get(count, bytes) {
      view().setUint32(count, 0, true);
      view().setUint32(bytes, 0, true);
      return 0;
    },
    environ_get: () => 0,
    proc_exit(code) { throw new Error("the module ended with " + code); },
  };
  const imports = {};
  for (const each of WebAssembly.Module.imports(module))
    (imports[each.module] ??= {})[each.name] = system[each.name] ?? (() => 52 /* not supported */);
  const instance = new WebAssembly.Instance(module, imports);
  memory = instance.exports.memory;
  instance.exports._initialize();
  return (question, standardInput = null) => {
    input = standardInput;
    at = 0;
    const bytes = new TextEncoder().encode(JSON.stringify(question));
    const place = instance.exports.calculator_buffer(bytes.length);
    new Uint8Array(memory.buffer).set(bytes, place);
    const answer = instance.exports.calculator_ask(place, bytes.length);
    const all = new Uint8Array(memory.buffer);
    return JSON.parse(new TextDecoder().decode(all.subarray(answer, all.indexOf(0, answer))));
  };
}

const $ = (id) => document.getElementById(id);
const grouped = new Intl.NumberFormat("en-US", {maximumFractionDigits: 4}).format;
const percent = (fraction) => (100 * fraction).toFixed(1) + " %";
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (name in element && name !== "role" && name !== "list") element[name] = value;
    else element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** Writes what has changed: an equal value would be laid out and painted anew as well. */
const put = (element, name, value) => { if (element[name] !== String(value)) element[name] = value; };

// The inputs: label, unit, step and end of the slider; the names, options and help are the program's.
const WORDS = {
  block_size: ["Block size", "threads", 32, (d) => d.limits.max_threads_per_block],
  registers_per_thread: ["Registers", "per thread", 1, () => 255],
  static_smem_bytes: ["Static shared memory", "B per block", 128, (d) => d.limits.smem_per_block_bytes],
  dynamic_smem_bytes: ["Dynamic shared memory", "B per block", 128, (d) => d.smem_limit_per_block_bytes],
  barriers: ["Barriers", "per block", 1, () => 16],
  cluster_size: ["Cluster size", "blocks", 1, () => 16],
  carveout_percent: ["Carve-out", "%; -1: driver's choice", 1, () => 100],
  max_block_size: ["Launch bound", "threads", 32, (d) => d.limits.max_threads_per_block],
  grid_size: ["Grid", "blocks; empty: none", 1, (d) => 32 * d.limits.sm_count || 4096],
};
const DEFAULTS = {block_size: "256", registers_per_thread: "32", static_smem_bytes: "0",
  dynamic_smem_bytes: "0", barriers: "1", cluster_size: "1", carveout_percent: "-1", max_block_size: "1024",
  grid_size: ""};
const RESOURCES = [["warps", "Warps"], ["blocks", "Block slots"], ["registers", "Registers"],
  ["shared_memory", "Shared memory"], ["barriers", "Barriers"]];
const DIALS = {block_size: "threads per block", registers_per_thread: "registers per thread",
  dynamic_smem_bytes: "B of dynamic shared memory"};

let ask, catalogue, worker, numberOfQuestion = 0;
let state = {device: "h200", values: {...DEFAULTS}, limits: {}}, pinned = null, last = null;
const charts = {}, waiting = new Map(), timings = [];

const question = (what, of = state) => ({ask: what, device: of.device, limits: of.limits, query: of.values});

// The state in the address: what differs from the defaults.
function encode(of) {
  const words = new URLSearchParams({device: of.device});
  for (const [name, value] of Object.entries(of.values)) if (value !== DEFAULTS[name]) words.set(name, value);
  for (const [name, value] of Object.entries(of.limits)) if (value !== "") words.set("limit." + name, value);
  return words;
}
function decode(words) {
  const of = {device: words.get("device") || "h200", values: {...DEFAULTS}, limits: {}};
  for (const [name, value] of words) {
    if (name in DEFAULTS) of.values[name] = value;
    if (name.startsWith("limit.")) of.limits[name.slice(6)] = value;
  }
  return of;
}
function address() {
  const words = encode(state);
  if (pinned) words.set("vs", encode(pinned).toString());
  return "#" + words;
}
function readAddress() {
  const words = new URLSearchParams(location.hash.slice(1));
  state = decode(words);
  pinned = words.get("vs") ? decode(new URLSearchParams(words.get("vs"))) : null;
}

function makeInputs() {
  for (const device of catalogue.devices)
    $("devices").append(make("option", {value: device.name}, "cc " + device.compute_capability));
  const helps = Object.fromEntries(catalogue.fields.map((field) => [field.column, field]));
  for (const [name, [label, unit, step]] of Object.entries(WORDS)) {
    const {least, help} = helps[name];
    $("fields").append(make("div", {className: "field"},
      make("label", {htmlFor: name}, label + ", " + unit),
      make("input", {id: name, autocomplete: "off", inputMode: "text", title: help}),
      make("input", {type: "range", id: name + "-slider", min: name.endsWith("block_size") ? step : least, step, ariaLabel: label + ", slider"}),
      make("small", {id: name + "-range"})));
    $(name).addEventListener("input", () => set(name, $(name).value.trim()));
    $(name + "-slider").addEventListener("input", () => set(name, $(name + "-slider").value));
  }
  for (const limit of catalogue.limits) {
    $("limits").append(make("div", {className: "field"},
      make("label", {htmlFor: "limit-" + limit.name}, limit.words),
      make("input", {id: "limit-" + limit.name, autocomplete: "off"})));
    $("limit-" + limit.name).addEventListener("input", (event) => {
      state.limits[limit.name] = event.target.value.trim();
      schedule();
    });
  }
  $("bars").append(...RESOURCES.map(([name, words]) => make("div", {id: "bar-" + name, role: "listitem"},
    make("b", {}, words), make("div", {className: "track", ariaHidden: "true"}, make("div")), make("span"))));
  $("device").addEventListener("input", () => {
    state.device = $("device").value.trim();
    state.limits = {};
    schedule();
  });
}
function set(name, value) {
  state.values[name] = value;
  schedule();
}

let scheduled = false;
function schedule() {
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(() => {
    scheduled = false;
    update();
  });
}

/** The fields, less the one that is being written in; with an answer, the sliders too. */
function fillInputs(answer) {
  const fill = (id, value) => { if (document.activeElement !== $(id)) put($(id), "value", value); };
  fill("device", state.device);
  for (const name of Object.keys(WORDS)) fill(name, state.values[name]);
  for (const {name} of catalogue.limits) fill("limit-" + name, state.limits[name] ?? answer?.device.limits[name] ?? "");
  if (!answer) return;
  for (const [name, [, , , end]] of Object.entries(WORDS)) {
    const slider = $(name + "-slider"), most = end(answer.device);
    put(slider, "max", most);
    put($(name + "-range"), "textContent", grouped(slider.min) + " to " + grouped(most));
    fill(slider.id, answer.answer[name] ?? 1);
  }
}

function update() {
  const started = performance.now();
  clearTimeout(update.later);
  const answer = ask(question("answer"));
  fillInputs(answer.error ? null : answer);
  $("problem").hidden = !answer.error;
  if (answer.error) {
    $("problem").textContent = answer.error;
    $("headline").textContent = "No answer";
    last = null;
    return;
  }
  last = answer;
  drawAnswer(answer);
  drawPinned();
  drawCharts(answer);
  update.later = setTimeout(() => {
    drawMap();
    history.replaceState(null, "", address());
  }, 60);
  timings.push(performance.now() - started);
}

const headline = ({answer: a, launches}) => launches
  ? `${a.blocks_per_sm} blocks, ${a.warps_per_sm} warps per SM: ${percent(a.occupancy)}, limited by ` +
    a.limiters.replaceAll("_", " ").replaceAll("+", " and ")
  : a.status;

function drawAnswer(answer) {
  const a = answer.answer;
  $("headline").textContent = headline(answer);
  const left = {warps: a.unused_per_sm.warps, blocks: a.unused_per_sm.blocks, registers: a.unused_per_sm.registers,
    shared_memory: a.unused_per_sm.smem_bytes, barriers: a.unused_per_sm.barriers};
  for (const [name] of RESOURCES) {
    const allowed = a.blocks_allowed_by[name], limits = answer.launches && a.limiters.split("+").includes(name);
    const bar = $("bar-" + name), [, track, words] = bar.children;
    put(bar, "className", limits ? "bar limits" : "bar");
    track.firstChild.style.transform = `scaleX(${allowed ? Math.min(1, a.blocks_per_sm / allowed) : 0})`;
    put(words, "textContent", allowed === null ? "no limit"
      : `${limits ? "limits to" : "allows"} ${grouped(allowed)} blocks` + (left[name] === null ? ""
        : `, ${grouped(left[name])} ${name === "shared_memory" ? "B " : ""}left`));
  }
  drawNumbers(answer);
}

const numbers = new Map();  // the <details> of each, which stay open or closed
function drawNumbers(answer) {
  const a = answer.answer;
  const rows = [["warps_per_block", "Warps per block: " + answer.warps_per_block],
    ["allocated_registers_per_block", "Registers of a block: " + grouped(a.allocated_registers_per_block)],
    ["allocated_smem_per_block_bytes", "Shared memory of a block: " + grouped(a.allocated_smem_per_block_bytes) + " B"],
    ...RESOURCES.map(([name, words]) => [name, `${words} allow: ${a.blocks_allowed_by[name]} blocks`]),
    ["blocks_per_sm", "Blocks per SM: " + a.blocks_per_sm], ["warps_per_sm", "Warps per SM: " + a.warps_per_sm],
    ["occupancy", "Occupancy: " + percent(a.occupancy)],
    ["occupancy_textbook", "By the textbook's plain division: " + percent(a.occupancy_textbook)]];
  if (a.waves) rows.push(["waves", "Waves: " + grouped(a.waves)], ["idle_sms", "SMs without a block: " + a.idle_sms],
    ["tail_share", "Time of the last, partial wave: " + percent(a.tail_share)]);
  const hasFormula = ([name]) => answer.formulas?.[name], left = rows.filter((row) => !hasFormula(row));
  const shown = rows.filter(hasFormula).map(([name, words]) => {
    if (!numbers.has(name))
      numbers.set(name, make("details", {}, make("summary"), make("code"), make("small")));
    const details = numbers.get(name), [summary, formula, source] = details.children;
    put(summary, "textContent", words);
    put(formula, "textContent", answer.formulas[name].text);
    put(source, "textContent", answer.formulas[name].source);
    return details;
  });
  if (shown.length !== $("numbers").children.length || shown.some((each, i) => each !== $("numbers").children[i]))
    $("numbers").replaceChildren(...shown);
  put($("no-formula"), "textContent", left.length === 0 ? "" : `No formula applies to ${left.length} of ` +
    `${rows.length} numbers: ${left.map(([name]) => name.replaceAll("_", " ")).join(", ")}.`);
  const api = answer.api_block_size;
  put($("status"), "textContent", answer.launches && a.status !== "ok" ? a.status : "");
  put($("api"), "textContent", api ? `cudaOccupancyMaxPotentialBlockSize picks ${grouped(api)} threads.` : "");
}

function drawPinned() {
  $("pinned").hidden = $("unpin").hidden = !pinned;
  if (!pinned) return;
  const other = ask(question("answer", pinned));
  $("pinned").textContent = "Compared with " + pinned.device + ", " + pinned.values.block_size + " threads, " +
    pinned.values.registers_per_thread + " registers: " + (other.error ?? headline(other));
}

const colors = new Map();  // asking the style anew lays the page out
function color(name) {
  if (!colors.has(name))
    colors.set(name, getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim());
  return colors.get(name);
}
function chart(id, width, label, y, series) {
  const axis = {stroke: color("soft"), grid: {stroke: color("line"), width: 1}, ticks: {stroke: color("line")}};
  return new uPlot({width, height: 230, cursor: {show: false}, legend: {show: false},
    scales: {x: {time: false}, y: {range: () => [0, charts[id]?.top ?? 64]}},
    series: [{label}, ...series],
    axes: [{...axis, label, labelSize: 18, space: 75}, {...axis, label: y, labelSize: 18, size: 54}],
    hooks: {draw: [(u) => charts[id]?.marks(u)]}}, null, $(id));
}

/** Draws `x`, `y` as a disc; the next steps as rings. */
function disc(u, x, y, filled) {
  const {ctx} = u, ratio = uPlot.pxRatio;
  ctx.beginPath();
  ctx.arc(u.valToPos(x, "x", true), u.valToPos(y, "y", true), 5 * ratio, 0, 7);
  ctx.setLineDash([]);
  ctx.lineWidth = 2 * ratio;
  ctx.strokeStyle = ctx.fillStyle = color(filled ? "ink" : "full");
  if (filled) ctx.fill();
  else ctx.stroke();
}

function drawCharts(answer) {
  const own = ask(question("curves")), other = pinned && ask(question("curves", pinned));
  for (const [dial, words] of Object.entries(DIALS)) {
    const id = "chart-" + dial, a = answer.answer;
    if (!own[dial][0].length) continue;
    const has = other && !other.error && other[dial][0].length;
    const data = has ? uPlot.join([own[dial], other[dial]]) : [...own[dial], own[dial][1].map(() => null)];
    const steps = answer.answer.cliffs[dial];
    const known = charts[id], key = JSON.stringify([data, steps, a[dial], a.warps_per_sm, other?.max_warps_per_sm]);
    if (known?.key === key) continue;
    const text = [["gains", "gains"], ["loses", "loses"]].map(([side, verb]) => steps[side]
      ? `${verb} at ${grouped(steps[side].value)} (${percent(steps[side].occupancy)})` : `${verb} nowhere`).join("; ");
    $("cap-" + dial).textContent = `${grouped(a[dial])} ${words}: ${text}.`;
    $(id).setAttribute("aria-label", `Warps per SM over ${words}. ` + $("cap-" + dial).textContent);
    const most = Math.max(own.max_warps_per_sm, other?.max_warps_per_sm ?? 0);
    const marks = (u) => {
      for (const side of ["gains", "loses"])
        if (steps[side]) disc(u, steps[side].value, steps[side].occupancy * own.max_warps_per_sm, false);
      disc(u, a[dial], a.warps_per_sm, true);
    };
    charts[id] = {...known, key, top: most * 1.05, marks};
    if (!known?.plot) {
      const stepped = uPlot.paths.stepped({align: 1});
      charts[id].plot = chart(id, $(id).clientWidth || 300, words, "warps per SM", [
        {stroke: color("accent"), width: 2, paths: stepped, points: {show: false}, spanGaps: true},
        {stroke: color("second"), width: 2, dash: [6, 4], paths: stepped, points: {show: false}, spanGaps: true}]);
    }
    charts[id].plot.setData(data);
  }
}

/** The cells of the map, each `wide` x `high`: own levels as shades, the edges of the other's as lines. */
function drawLevels(ctx, map, other, shade, wide, high) {
  const top = (y) => high * (map.rows.length - 1 - y), line = 2 * uPlot.pxRatio;
  map.rows.forEach((row, y) => row.forEach((warps, x) => {
    if (warps === row[x - 1]) return;
    ctx.fillStyle = shade(warps);  // to the end of the row, over which the next level is drawn
    ctx.fillRect(Math.floor(wide * x), Math.floor(top(y)), Math.ceil(wide * (row.length - x)), Math.ceil(high) + 1);
  }));
  ctx.fillStyle = color("second");
  other?.rows.forEach((row, y) => row.forEach((warps, x) => {
    if (x + 1 < row.length && row[x + 1] !== warps) ctx.fillRect(wide * (x + 1), top(y), line, high + line);
    if (y > 0 && other.rows[y - 1][x] !== warps) ctx.fillRect(wide * x, top(y) + high, wide + line, line);
  }));
}

const MAP_EDGE = {left: 46, below: 20};  // for the numbers at the axes, in CSS pixels

/** Numbers at both axes of the map, whose cells are `wide` x `high`; the last has its unit and takes 60 pixels. */
function drawAxes(ctx, map, columns, wide, high) {
  const ratio = uPlot.pxRatio, bottom = high * map.rows.length;
  ctx.fillStyle = color("soft");
  ctx.font = `${11 * ratio}px system-ui, sans-serif`;
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  for (const registers of [1, 64, 128, 192, 255])
    ctx.fillText(registers, -5 * ratio, Math.max(bottom - high * registers / map.register_step, 6 * ratio));
  ctx.textBaseline = "top";
  const last = (columns - 1) * map.smem_step / 1024, kib = wide * 1024 / map.smem_step;
  const step = [16, 32, 64].find((each) => each * kib >= 64 * ratio) ?? 128;
  for (let at = 0; at <= last; at += step) {
    ctx.textAlign = at === 0 ? "left" : at + step > last ? "right" : "center";
    ctx.fillText(at + step > last ? at + " KiB" : at, at * kib, bottom + 4 * ratio);
  }
}

/** Shades of the map; white around a point shows it on every level. */
function drawMap() {
  const map = ask(question("map")), other = pinned && ask(question("map", pinned));
  if (map.error || !map.rows[0].length) return;
  const levels = [...new Set(map.rows.flat())].sort((p, q) => p - q);
  const shade = (warps) => warps === 0 ? color("bad")
    : `hsl(210 70% ${Math.round(90 - 62 * warps / map.max_warps_per_sm)}%)`;
  const canvas = $("map"), ratio = uPlot.pxRatio, compared = other?.error ? null : other;
  const columns = Math.max(map.rows[0].length, compared?.rows[0].length ?? 0);
  canvas.width = canvas.clientWidth * ratio;
  canvas.height = canvas.clientHeight * ratio;
  const wide = (canvas.width - MAP_EDGE.left * ratio) / columns;
  const high = (canvas.height - MAP_EDGE.below * ratio) / map.rows.length;
  const ctx = canvas.getContext("2d"), a = last.answer, bytes = a.dynamic_smem_bytes;
  ctx.translate(MAP_EDGE.left * ratio, 0);
  drawLevels(ctx, map, compared, shade, wide, high);
  drawAxes(ctx, map, columns, wide, high);
  const point = (registers, at, radius, fill) => {
    ctx.beginPath();
    ctx.arc(wide * at / map.smem_step, high * (map.rows.length - registers / map.register_step), radius * ratio, 0, 7);
    ctx.lineWidth = 2 * ratio;
    ctx.strokeStyle = "#fff";
    ctx.fillStyle = fill;
    ctx.fill();
    ctx.stroke();
  };
  const {registers_per_thread: registers, dynamic_smem_bytes: smem} = a.cliffs;
  for (const side of ["gains", "loses"]) {
    if (registers[side]) point(registers[side].value, bytes, 3.5, "#2f7d32");
    if (smem[side]) point(a.registers_per_thread, smem[side].value, 3.5, "#2f7d32");
  }
  if (compared) {
    const {answer: theirs} = ask(question("answer", pinned));
    point(theirs.registers_per_thread, theirs.dynamic_smem_bytes, 5, color("second"));
  }
  point(a.registers_per_thread, bytes, 5, "#000");
  $("map-here").textContent = `From 1 to 255 and from 0 to ${grouped((columns - 1) * map.smem_step)} B. ` +
    `Black: ${a.registers_per_thread}, ${grouped(bytes)} B; green: the next steps.` +
    (compared ? " Lines: where the compared one's level changes." : "");
  canvas.setAttribute("aria-label", `Levels of warps per SM: ${levels.join(", ")}. ` + $("map-here").textContent);
  $("map-key").replaceChildren(...levels.map((warps) => {
    const mark = make("i");
    mark.style.background = shade(warps);
    return make("span", {}, mark, warps === 0 ? "none" : warps + " warps");
  }));
}

// The worker reads files and predicts: both may take seconds.
function startWorker(module) {
  const source = `"use strict"; ${engineOf}; let ask;
    onmessage = ({data}) => { if (data.module) { ask = engineOf(data.module); return; }
      let answer; try { answer = ask(data.question, data.input); }
      catch { answer = {error: data.question.source + ": is damaged, or needs more memory than a page has", broken: true}; }
      postMessage({id: data.id, answer}); };`;
  worker = new Worker(URL.createObjectURL(new Blob([source], {type: "text/javascript"})));
  worker.postMessage({module});
  worker.onmessage = ({data}) => {
    waiting.get(data.id)(data.answer);
    waiting.delete(data.id);
    if (data.answer.broken) {
      worker.terminate();
      startWorker(module);
    }
  };
}
const askLater = (asked, input = null) => new Promise((resolve) => {
  waiting.set(++numberOfQuestion, resolve);
  worker.postMessage({id: numberOfQuestion, question: asked, input});
});

const PACKED_LIMIT = 100;
async function unpacked(blob) {
  const start = new Uint8Array(await blob.slice(0, 2).arrayBuffer());
  if (start[0] !== 0x1f || start[1] !== 0x8b) return blob;
  const parts = [];
  let size = 0;
  for (let reader = blob.stream().pipeThrough(new DecompressionStream("gzip")).getReader();;) {
    const {done, value} = await reader.read();
    if (done) return new Blob(parts);
    size += value.length;
    if (size > (16 << 20) + PACKED_LIMIT * blob.size)
      throw new Error("unpacks to more than 100 times its size; unpack it first");
    parts.push(value);
  }
}

async function readKernels(blob, name) {
  $("reading").textContent = "reading ...";
  $("kernels").replaceChildren();
  let answer;
  try {
    answer = await askLater({ask: "kernels", device: state.device, source: name}, await unpacked(blob));
  } catch (error) {
    answer = {error: name + ": " + (error.message || "cannot be unpacked")};
  }
  if (answer.error) {
    $("reading").textContent = answer.error;
    return answer;
  }
  const left = answer.notes && "; " + answer.notes.trim().replaceAll("\n", "; ");
  $("reading").textContent = `${answer.kernels.length} kernels of ${answer.source}` +
    (answer.assumed_block_size ? "; it gives no block size: 256 is assumed" : "") + left;
  showKernels(answer.kernels);
  return answer;
}

const KERNEL_COLUMNS = [["kernel", "Kernel"], ["architecture", "Code for"], ["launches", "Launches"], ["time_us", "Time, us"],
  ["block_size", "Threads"], ["registers_per_thread", "Registers"], ["static_smem_bytes", "Static B"],
  ["dynamic_smem_bytes", "Dynamic B"], ["spill_bytes", "Spilled B"], ["occupancy", "Occupancy"],
  ["limiters", "Limited by"]];
function showKernels(kernels, by = null, falling = true) {
  const shown = KERNEL_COLUMNS.filter(([name]) => kernels.some((kernel) => kernel[name] !== null && kernel[name] !== undefined));
  const sorted = by === null ? kernels : [...kernels].sort((p, q) =>
    (p[by] < q[by] ? -1 : p[by] > q[by] ? 1 : 0) * (falling ? -1 : 1));
  const cell = (kernel, name) => kernel[name] === null || kernel[name] === undefined ? "" :
    name === "occupancy" ? percent(kernel[name]) : typeof kernel[name] === "number" ? grouped(kernel[name]) : kernel[name];
  const head = make("tr", {}, ...shown.map(([name, words]) => make("th",
    {scope: "col", ariaSort: by === name ? (falling ? "descending" : "ascending") : "none"},
    make("button", {type: "button", onclick: () => showKernels(kernels, name, by === name ? !falling : true)}, words))));
  const most = 500;
  const body = sorted.slice(0, most).map((kernel) => make("tr", {}, ...shown.map(([name]) => name === "kernel"
    ? make("td", {}, make("button", {type: "button", onclick: () => take(kernel)}, kernel.kernel))
    : make("td", {}, cell(kernel, name)))));
  $("kernels").replaceChildren(make("table", {}, make("thead", {}, head), make("tbody", {}, ...body)),
    ...(sorted.length > most ? [make("p", {}, `The first ${most} of ${sorted.length}; sort to see others.`)] : []));
}
function take(kernel) {
  for (const name of Object.keys(DEFAULTS)) state.values[name] = String(kernel[name] ?? DEFAULTS[name]);
  if (kernel.architecture && kernel.device !== "cc" + last?.device.compute_capability)
    Object.assign(state, {device: kernel.device, limits: {}});  // machine code runs there alone
  update();
  $("result").scrollIntoView();
}

async function predict() {
  $("predicting").textContent = "simulating ...";
  const asked = {...question("predict"), kind: $("kind").value, ilp: $("ilp").value};
  const p = await askLater(asked);
  $("predicting").textContent = p.error ?? "";
  $("speed-figure").hidden = !!p.error;
  $("conclusion").textContent = p.error ? "" : p.conclusion ?? "";
  if (p.error) return;
  const flops = p.unit === "FLOP/s", scale = flops ? 1e-12 : 1e-9, unit = flops ? "TFLOP/s" : "GB/s";
  const run = JSON.parse($("measured").textContent)[p.gpu], points = run?.[asked.kind + " " + asked.ilp];
  $("cap-speed").textContent = `Line: predicted for ${p.class}, on ${p.gpu}; parameters ${p.parameters}, ${p.origin}. ` +
    `Peak: ${grouped(Math.round(p.peak * scale * 10) / 10)} ${unit}, ${p.basis}. ` +
    (points?.length ? `Dashed: measured, run ${run.run}.` : "No committed run has measured this GPU.");
  $("chart-speed").setAttribute("aria-label", $("cap-speed").textContent);
  charts["chart-speed"]?.plot?.destroy();
  charts["chart-speed"] = {top: p.peak * scale * 1.05, marks: (u) => {
    if (p.own) disc(u, p.own[0], p.own[1] * scale, true);
  }};
  const plot = charts["chart-speed"].plot = chart("chart-speed", $("chart-speed").clientWidth,
    "resident warps per SM", unit, [
      {stroke: color("accent"), width: 2, spanGaps: true, points: {show: false}},
      {stroke: color("second"), width: 2, dash: [6, 4], spanGaps: true,
        points: {show: true, size: 7, fill: color("second")}}]);
  const columns = (rows) => [rows.map((row) => row[0]), rows.map((row) => row[1] * scale)];
  plot.setData(uPlot.join([columns(p.curve), columns(points ?? [])]));
}

function copies(what) {
  const a = last?.answer;
  if (what === "link") return location.href.split("#")[0] + address();
  if (!a) return null;
  if (what === "bounds") return `__launch_bounds__(${a.block_size}, ${Math.max(a.blocks_per_sm, 1)})`;
  if (what === "line")
    return ["occbench calc --device", state.device.includes(" ") ? `'${state.device}'` : state.device,
      ...catalogue.fields.filter((f) => state.values[f.column] !== DEFAULTS[f.column] || f.column === "block_size" ||
        f.column === "registers_per_thread").map((f) => f.option + " " + state.values[f.column])].join(" ");
  return ask({...question("text"), format: what}).text;
}
async function copy(what) {
  const text = copies(what);
  if (text === null) return;
  try {
    await navigator.clipboard.writeText(text);
  } catch {  // file:// has no clipboard in some browsers
    const area = make("textarea", {value: text});
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  $("copied").textContent = "copied";
  setTimeout(() => { $("copied").textContent = ""; }, 2000);
}

function listen() {
  $("pin").onclick = () => { pinned = structuredClone(state); update(); };
  $("unpin").onclick = () => { pinned = null; update(); $("pin").focus(); };
  for (const button of document.querySelectorAll("[data-copy]")) button.onclick = () => copy(button.dataset.copy);
  $("read").onclick = () => readKernels(new Blob([$("text").value]), "the text");
  $("text").addEventListener("paste", () => setTimeout(() => $("read").click()));
  $("file").onchange = () => { if ($("file").files[0]) readKernels($("file").files[0], $("file").files[0].name); };
  $("predict").onclick = predict;
  addEventListener("dragover", (event) => { event.preventDefault(); $("paste").classList.add("dragging"); });
  addEventListener("dragleave", () => $("paste").classList.remove("dragging"));
  addEventListener("drop", (event) => {
    event.preventDefault();
    $("paste").classList.remove("dragging");
    const file = event.dataTransfer.files[0];
    if (file) readKernels(file, file.name);
    else readKernels(new Blob([event.dataTransfer.getData("text")]), "the text");
  });
  addEventListener("hashchange", () => { readAddress(); update(); });
  const redraw = () => {
    colors.clear();
    for (const each of Object.values(charts)) each.plot?.destroy();
    for (const id of Object.keys(charts)) delete charts[id];
    if (last) update();
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; redraw(); } });
}

async function start() {
  const text = atob($("module").textContent), packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) packed[i] = text.charCodeAt(i);  // Uint8Array.from takes 40 ms longer
  const unpacking = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const module = await WebAssembly.compileStreaming(
    new Response(unpacking, {headers: {"Content-Type": "application/wasm"}}));
  ask = engineOf(module);
  catalogue = ask({ask: "catalogue"});
  const query = JSON.parse($("query").textContent);
  if (location.hash.length > 1) readAddress();
  else {
    state.device = query.device || state.device;
    Object.assign(state.values, query.values);
  }
  makeInputs();
  listen();
  update();
  globalThis.calculator = {ask, askLater, update, set, timings, copies, readKernels, start: performance.now(),
    query: () => question("answer")};
  startWorker(module);
}
start().catch((error) => {
  $("problem").hidden = false;
  $("problem").textContent = "This browser cannot run the calculator: " + error.message;
});
