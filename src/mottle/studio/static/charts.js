// Charts: the loss of a run, the frontier, the rail of k, and the line of numbers.

import { contentOf, page, post } from "./requests.js";

const SVG = "http://www.w3.org/2000/svg";

// The loss curve.
function add(parent, name, attributes, text = "") {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  parent.append(made);
}

export function draw(chart, losses) {
  chart.replaceChildren();
  add(chart, "line", { x1: 50, y1: 175, x2: 630, y2: 175 });
  if (losses.length === 0) return;
  const from = losses[0][0];
  const span = Math.max(losses.at(-1)[0] - from, 0.1);
  const lines = JSON.parse(chart.dataset.lines ?? "[]");
  const wished = chart === live && enough && enough.value !== "" ? Number(enough.value) / 100 : null;
  const values = losses.map((each) => each[1]).concat(lines.map((each) => each.loss));
  const high = Math.max(...values, wished ?? 0);
  const low = chart === live && enough ? 0 : Math.min(...values);
  const height = (loss) => 20 + (150 * (high - loss)) / Math.max(high - low, 1e-9);
  chart.dataset.high = high;
  for (const line of lines) {
    add(chart, "line", { class: "other", x1: 50, y1: height(line.loss), x2: 630, y2: height(line.loss) });
  }
  if (wished !== null) {
    add(chart, "line", { class: "wished", x1: 50, y1: height(wished), x2: 630, y2: height(wished) });
    add(chart, "text", { x: 60, y: height(wished) - 4 }, "good enough");
  }
  const place = ([seconds, loss]) => {
    const x = 50 + (580 * (seconds - from)) / span;
    return `${x.toFixed(1)} ${height(loss).toFixed(1)}`;
  };
  add(chart, "path", { d: "M" + losses.map(place).join("L") });
  for (const line of lines) { // in front of the curve
    add(chart, "text", { x: 626, y: height(line.loss) - 5, "text-anchor": "end" }, `${line.words}, on a sample: ${(100 * line.loss).toFixed(1)} %`);
  }
  add(chart, "text", { x: 0, y: 24 }, `${(100 * high).toFixed(1)} %`);
  add(chart, "text", { x: 0, y: 174 }, `${(100 * low).toFixed(1)} %`);
  add(chart, "text", { x: 560, y: 194 }, `${(from + span).toFixed(0)} s`);
}

export const live = document.querySelector("svg.curve[data-lines]");
export const enough = document.querySelector("[data-enough]");
export const losses = live ? JSON.parse(live.dataset.losses) : [];
for (const chart of document.querySelectorAll("svg.curve[data-losses]")) {
  draw(chart, chart === live ? losses : JSON.parse(chart.dataset.losses));
}

// What each column loses, while a run goes on; the rows are those of the page that is loaded then.
export function drawColumns(columns) {
  const place = document.querySelector("[data-live-columns]");
  if (!place || columns.length === 0) return;
  const most = Math.max(...columns.map(([, loss]) => loss), 0.0001);
  const rows = columns.map(([name, loss]) => {
    const said = `${(100 * loss).toFixed(1)} %`;
    const row = document.createElement("tr");
    const head = document.createElement("th");
    head.scope = "row";
    head.textContent = name;
    const number = document.createElement("td");
    number.className = "count";
    number.textContent = said;
    const drawn = document.createElement("td");
    const chart = document.createElementNS(SVG, "svg");
    for (const [key, value] of [["class", "belief"], ["viewBox", "0 0 100 12"], ["preserveAspectRatio", "none"],
      ["role", "img"], ["aria-label", said]]) chart.setAttribute(key, value);
    add(chart, "rect", { class: "track", x: 0, y: 2, width: 100, height: 8 });
    add(chart, "rect", { class: "bar", x: 0, y: 2, width: ((100 * loss) / most).toFixed(1), height: 8 });
    drawn.append(chart);
    row.append(head, number, drawn);
    return row;
  });
  place.querySelector("tbody").replaceChildren(...rows);
  place.hidden = false;
}

// Follow the pointer over a chart: called with places in its own units, and whether it was let go.
function dragging(chart, moved) {
  const place = (event, done) => {
    const box = chart.getBoundingClientRect();
    const scale = chart.viewBox.baseVal.width / box.width;
    moved((event.clientX - box.left) * scale, (event.clientY - box.top) * scale, done);
  };
  chart.addEventListener("pointerdown", (event) => {
    chart.setPointerCapture(event.pointerId);
    place(event, false);
  });
  chart.addEventListener("pointermove", (event) => {
    if (chart.hasPointerCapture(event.pointerId)) place(event, false);
  });
  chart.addEventListener("pointerup", (event) => place(event, true));
}

// The line at which a run is good enough.
if (live && enough) {
  let from = null; // a click alone moves nothing
  dragging(live, (x, y, done) => {
    from ??= y;
    const is_click = Math.abs(y - from) < 4;
    if (done) from = null;
    if (is_click) return;
    const share = Math.min(Math.max((170 - y) / 150, 0), 1) * Number(live.dataset.high ?? 0);
    enough.value = (100 * share).toFixed(1);
    draw(live, losses);
    if (done) post(enough.form.dataset.form, contentOf(enough.form));
  });
}

// The frontier: loss, and error of pinned questions, against k; one goes along it by mouse or keys.
const along = document.getElementById("along");
if (along) {
  const chart = document.querySelector("svg.frontier");
  const found = JSON.parse(chart.dataset.frontier);
  const points = found.points;
  const others = ["mondrian", "global"].map((name) => [name, points
    .map((each) => [each.k, found.others[name]?.[each.k]]).filter((each) => each[1] !== undefined)])
    .filter(([, line]) => line.length > 1);
  const last = Math.log(points.at(-1).k / points[0].k) || 1;
  const high = Math.max(...points.map((each) => Math.max(each.loss, each.error ?? 0)),
    ...others.flatMap(([, line]) => line.map((each) => each[1])), 1e-9);
  const at = (k, value) => [60 + (560 * Math.log(k / points[0].k)) / last, 180 - (160 * value) / high];
  const path = (pairs) => "M" + pairs.map(([k, value]) => at(k, value).map((n) => n.toFixed(1)).join(" ")).join("L");
  const show = () => {
    const point = points[Number(along.value)];
    chart.replaceChildren();
    add(chart, "line", { x1: 60, y1: 180, x2: 620, y2: 180 });
    add(chart, "text", { x: 0, y: 24 }, `${(100 * high).toFixed(1)} %`);
    add(chart, "text", { x: 0, y: 184 }, "0 %");
    let free = 0; // labels that would touch the one before are left out
    for (const each of points) {
      const x = at(each.k, 0)[0] - 6;
      if (x >= free) add(chart, "text", { x, y: 204 }, String(each.k));
      if (x >= free) free = x + 24;
    }
    for (const [name, line] of others) {
      add(chart, "path", { class: `other ${name}`, d: path(line) });
    }
    if (points[0].error !== null) {
      add(chart, "path", { class: "error", d: path(points.map((each) => [each.k, each.error ?? 0])) });
    }
    add(chart, "path", { d: path(points.map((each) => [each.k, each.loss])) });
    const [x, y] = at(point.k, point.loss);
    add(chart, "line", { class: "wished", x1: x, y1: 20, x2: x, y2: 180 });
    add(chart, "circle", { cx: x, cy: y, r: 7 });
    const error = point.error === null ? "" : `, questions off by ${(100 * point.error).toFixed(1)} %`;
    const said = `k = ${point.k}: risk at most 1 in ${point.k}, ${(100 * point.loss).toFixed(1)} % lost${error}`;
    along.setAttribute("aria-valuetext", said);
    document.querySelector('output[for="along"]').value = said;
  };
  const promise = () => {
    document.getElementById("k").value = points[Number(along.value)].k;
    const form = document.querySelector("[data-form='/promise/choose']");
    sessionStorage.setItem("along", "yes");
    post(form.dataset.form, contentOf(form));
  };
  const distances = points.map((each) => Math.abs(Math.log(each.k / (Number(along.dataset.k) || 5))));
  along.value = distances.indexOf(Math.min(...distances));
  show();
  along.addEventListener("input", show);
  along.addEventListener("change", promise);
  dragging(chart, (x, y, done) => {
    const away = points.map((each) => Math.abs(at(each.k, 0)[0] - x));
    along.value = away.indexOf(Math.min(...away));
    show();
    if (done) promise();
  });
  if (sessionStorage.getItem("along")) along.focus();
  sessionStorage.removeItem("along");
}

// The rail of k: landmarks to click, a knob to drag; letting go promises that k.
const rail = document.querySelector("[data-rail]");
if (rail) {
  const [low, high] = JSON.parse(rail.dataset.rail);
  const field = document.getElementById("k");
  const at = (k) => 20 + (600 * Math.log(k / low)) / Math.log(high / low);
  const show = () => {
    rail.replaceChildren();
    add(rail, "line", { x1: 20, y1: 30, x2: 620, y2: 30 });
    for (let k = low; k <= high; k += k < 20 ? 1 : 5) add(rail, "line", { x1: at(k), y1: 26, x2: at(k), y2: 34 });
    for (const k of [low, high]) add(rail, "text", { x: at(k) - 8, y: 54 }, String(k));
    JSON.parse(rail.dataset.landmarks).forEach((k, place) => {
      add(rail, "line", { class: "landmark", x1: at(k), y1: 20, x2: at(k), y2: 40 });
      add(rail, "text", { x: at(k) - 6, y: place % 2 ? 68 : 54 }, String(k));
    });
    const chosen = Number(field.value);
    if (chosen >= low) add(rail, "circle", { cx: at(Math.min(chosen, high)), cy: 30, r: 9 });
  };
  show();
  field.addEventListener("input", show);
  dragging(rail, (x, y, done) => {
    const k = low * (high / low) ** (Math.min(Math.max(x - 20, 0), 600) / 600);
    field.value = Math.round(k);
    show();
    if (done) post(field.form.dataset.form, contentOf(field.form));
  });
}

// The line of numbers: a click puts a break there, or takes away the one that is there; dragging moves it.
const line = document.querySelector("[data-line]");
if (line) {
  const [low, high, whole] = JSON.parse(line.dataset.line);
  const field = (name) => document.getElementById(`option-${name}`);
  const at = (value) => (96 * (value - low)) / Math.max(high - low, 1e-9);
  const read = () => field("breaks").value.split(",").map((each) => each.trim()).filter((each) => each !== "")
    .map(Number).filter(Number.isFinite);
  const marks = [];
  const show = () => {
    for (const each of marks.splice(0)) each.remove();
    const draw = (value, kind) => {
      if (!Number.isFinite(value) || value < low || value > high) return;
      add(line, "line", { class: kind, x1: at(value), x2: at(value), y1: 0, y2: 24 });
      marks.push(line.lastChild);
    };
    for (const value of read()) draw(value, "break");
    for (const name of ["bottom", "top"]) if (field(name).value.trim() !== "") draw(Number(field(name).value), "end");
    const step = Number(field("snap").value);
    if (step > 0 && (high - low) / step <= 60) {
      for (let value = Math.ceil(low / step) * step; value <= high; value += step) draw(value, "step");
    }
  };
  show();
  for (const name of ["breaks", "bottom", "top", "snap"]) field(name).addEventListener("input", show);
  let held = null;
  dragging(line, (x, y, done) => {
    const value = low + ((high - low) * Math.min(Math.max(x, 0), 96)) / 96;
    const here = whole ? Math.round(value) : Number(value.toPrecision(3));
    const breaks = read();
    if (held === null) {
      const near = breaks.find((each) => Math.abs(at(each) - x) < 1.5);
      held = { from: x, value: near ?? here, found: near !== undefined };
    }
    const others = breaks.filter((each) => each !== held.value);
    const is_click = Math.abs(x - held.from) < 1;
    const kept = done && is_click && held.found ? others : [...others, here];
    held.value = here;
    field("breaks").value = [...new Set(kept)].sort((one, two) => one - two).join(",");
    page.typed = true;
    show();
    if (done) held = null;
  });
}
