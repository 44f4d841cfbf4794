// The pages of the studio: requests with the seal, live progress, keys. State lives in the server.

const seal = document.querySelector('meta[name="seal"]').content;
const SVG = "http://www.w3.org/2000/svg";
const HIDDEN = "mottle-hidden";
let leaving = false;
let acting = false; // whether this page waits for the answer to a request
let typed = false; // whether something was typed that has not been sent

// Load the page again, or another one; once, because events may ask for it several times.
function go(address = null) {
  if (leaving) return;
  leaving = true;
  if (address) location.assign(address);
  else location.reload();
}

function complain(text) {
  const place = document.getElementById("problem");
  place.textContent = text;
  place.hidden = false;
  place.scrollIntoView({ block: "center" });
}

function post(address, content = {}) {
  return send(address, { "content-type": "application/json" }, JSON.stringify(content));
}

async function send(address, headers, body) {
  let answer;
  let said = {};
  acting = true;
  try {
    answer = await fetch(address, { method: "POST", headers: { "x-mottle-seal": seal, ...headers }, body });
    said = await answer.json();
  } catch {
    complain("The studio does not answer. It may have been quit.");
    return;
  } finally {
    acting = false;
  }
  if (!answer.ok) {
    complain([said.problem, said.remedy].filter(Boolean).join(" "));
  } else if (said.left) {
    document.body.textContent = "The studio has ended. This page can be closed.";
  } else if (said.to) {
    go(said.to);
  } else if (!said.stay) {
    go();
  }
}

function contentOf(form) {
  const content = {};
  for (const field of form.elements) {
    if (!field.name || (field.type === "radio" && !field.checked)) continue;
    if (field.type === "checkbox") content[field.name] = field.checked;
    else content[field.name] = "number" in field.dataset ? Number(field.value) : field.value;
  }
  return content;
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.post) {
    button.disabled = true;
    post(button.dataset.post).finally(() => { button.disabled = false; });
  } else if (button.dataset.send) {
    post(button.dataset.send, contentOf(button.form));
  } else if (button.id === "again") {
    go();
  } else if (button.dataset.set) {
    document.getElementById(button.dataset.set).value = button.dataset.value;
    post(button.form.dataset.form, contentOf(button.form));
  }
});

document.addEventListener("submit", (event) => {
  event.preventDefault();
  post(event.target.dataset.form, contentOf(event.target));
});

document.addEventListener("input", (event) => {
  typed = true;
  if (event.target === enough && live) draw(live, losses);
  if (event.target.type === "range" && event.target.id !== "along") {
    document.querySelector(`output[for="${event.target.id}"]`).value = event.target.value;
  }
  if (event.target.closest("[data-builder]")) compose(event.target.closest("[data-builder]"));
});

// Trees of values: dropping on a group moves there, dropping on a value groups both under a name.
const tree = document.querySelector(".tree");
if (tree) {
  let held = null;
  const node = (event) => event.target.closest?.("[data-node]");
  tree.addEventListener("dragstart", (event) => {
    held = node(event);
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", "");
  });
  tree.addEventListener("dragover", (event) => {
    const over = node(event);
    for (const each of tree.querySelectorAll(".over")) each.classList.remove("over");
    if (!held || !over || over === held) return;
    event.preventDefault();
    over.classList.add("over");
  });
  tree.addEventListener("dragend", () => { held = null; });
  tree.addEventListener("drop", (event) => {
    const over = node(event);
    if (!held || !over || over === held) return;
    event.preventDefault();
    const ticked = [held.dataset.node, over.dataset.node];
    if ("group" in over.dataset) {
      post("/values/move", { [`node-${ticked[0]}`]: true, to: Number(ticked[1]) });
      return;
    }
    for (const box of tree.querySelectorAll("input")) box.checked = ticked.some((each) => box.name === `node-${each}`);
    typed = true;
    document.getElementById("name").focus();
  });
}

// The question box: what was chosen by clicks, as SQL.
function compose(builder) {
  const part = (name) => builder.querySelector(`[data-part="${name}"]`);
  const name = (text) => `"${text.replaceAll('"', '""')}"`;
  const chosen = part("what").selectedOptions[0];
  const of = chosen.dataset.name;
  const what = of === undefined ? chosen.value : `${chosen.value}(${name(of)})`;
  const [column, value, group] = ["column", "value", "group"].map((each) => part(each).value);
  const literal = value.trim() !== "" && Number.isFinite(Number(value))
    ? value.trim() : `'${value.replaceAll("'", "''")}'`;
  const where = column ? ` WHERE ${name(column)} ${part("compare").value} ${literal}` : "";
  const grouped = group ? ` GROUP BY ${name(group)}` : "";
  const first = group ? `${name(group)}, ` : "";
  document.getElementById("sql").value = `SELECT ${first}${what} FROM release${where}${grouped}`;
}

// A file that is dropped on the page, or chosen.
function upload(file) {
  let name;
  try {
    name = encodeURIComponent(file.name);
  } catch {
    complain("The file has no readable name. Give it another name.");
    return;
  }
  document.querySelector("[data-drop] output").value = "The file is copied …";
  send("/open/drop", {
    "content-type": "application/octet-stream", "x-mottle-name": name, "x-mottle-modified": String(file.lastModified),
  }, file).finally(() => { document.querySelector("[data-drop] output").value = ""; });
}
const zone = document.querySelector("[data-drop]");
if (zone) {
  for (const name of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(name, (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      zone.classList.toggle("over", name === "dragover");
      if (name === "drop" && event.dataTransfer.files.length > 0) upload(event.dataTransfer.files[0]);
    });
  }
}

document.addEventListener("change", (event) => {
  if (event.target.closest("[data-drop]") && event.target.files.length > 0) upload(event.target.files[0]);
  const column = event.target.dataset.role;
  if (column !== undefined) post("/columns/role", { column: Number(column), role: event.target.value });
});

// Keys: h hides all originals, 1 to 5 give the column that has the cursor a role.
function hide(hidden) {
  document.documentElement.classList.toggle("hidden", hidden);
  document.getElementById("hide").setAttribute("aria-pressed", String(hidden));
  localStorage.setItem(HIDDEN, hidden ? "yes" : "");
}
hide(localStorage.getItem(HIDDEN) === "yes");
document.getElementById("hide").addEventListener("click", () => {
  hide(!document.documentElement.classList.contains("hidden"));
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !(event.target instanceof Element)) return;
  const column = event.target.closest("[data-column]");
  if (column && /^[1-5]$/.test(event.key)) {
    event.preventDefault();
    const select = column.querySelector("select");
    const role = select.options[Number(event.key) - 1].value;
    sessionStorage.setItem("column", column.dataset.column);
    post("/columns/role", { column: Number(column.dataset.column), role });
  } else if (event.key === "h" && !event.target.closest("input, select, textarea")) {
    hide(!document.documentElement.classList.contains("hidden"));
  }
});
const last = sessionStorage.getItem("column");
sessionStorage.removeItem("column");
if (last !== null) document.querySelector(`select[data-role="${Number(last)}"]`)?.focus();

// The loss curve.
function add(parent, name, attributes, text = "") {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  parent.append(made);
}

function draw(chart, losses) {
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
    add(chart, "text", { x: 60, y: height(line.loss) - 4 }, `${line.words}, on a sample: ${(100 * line.loss).toFixed(1)} %`);
  }
  if (wished !== null) {
    add(chart, "line", { class: "wished", x1: 50, y1: height(wished), x2: 630, y2: height(wished) });
    add(chart, "text", { x: 520, y: height(wished) - 4 }, "good enough");
  }
  const place = ([seconds, loss]) => {
    const x = 50 + (580 * (seconds - from)) / span;
    return `${x.toFixed(1)} ${height(loss).toFixed(1)}`;
  };
  add(chart, "path", { d: "M" + losses.map(place).join("L") });
  add(chart, "text", { x: 0, y: 24 }, `${(100 * high).toFixed(1)} %`);
  add(chart, "text", { x: 0, y: 174 }, `${(100 * low).toFixed(1)} %`);
  add(chart, "text", { x: 560, y: 194 }, `${(from + span).toFixed(0)} s`);
}

const live = document.querySelector("svg.curve[data-lines]");
const enough = document.querySelector("[data-enough]");
const losses = live ? JSON.parse(live.dataset.losses) : [];
for (const chart of document.querySelectorAll("svg.curve[data-losses]")) {
  draw(chart, chart === live ? losses : JSON.parse(chart.dataset.losses));
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
  const mondrian = points.map((each) => [each.k, found.others.mondrian?.[each.k]])
    .filter((each) => each[1] !== undefined);
  const last = Math.log(points.at(-1).k / points[0].k) || 1;
  const high = Math.max(...points.map((each) => Math.max(each.loss, each.error ?? 0)),
    ...mondrian.map((each) => each[1]), 1e-9);
  const at = (k, value) => [60 + (560 * Math.log(k / points[0].k)) / last, 180 - (160 * value) / high];
  const path = (pairs) => "M" + pairs.map(([k, value]) => at(k, value).map((n) => n.toFixed(1)).join(" ")).join("L");
  const show = () => {
    const point = points[Number(along.value)];
    chart.replaceChildren();
    add(chart, "line", { x1: 60, y1: 180, x2: 620, y2: 180 });
    add(chart, "text", { x: 0, y: 24 }, `${(100 * high).toFixed(1)} %`);
    add(chart, "text", { x: 0, y: 184 }, "0 %");
    for (const each of points) add(chart, "text", { x: at(each.k, 0)[0] - 6, y: 204 }, String(each.k));
    if (mondrian.length > 1) {
      const [x, y] = at(...mondrian.at(-1));
      add(chart, "path", { class: "other", d: path(mondrian) });
      add(chart, "text", { x: x - 75, y: Math.max(y, 14) }, "Mondrian");
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

// What happens in the server.
const working = document.querySelector("[data-job]");
const events = new EventSource("/events");
events.addEventListener("job", (event) => {
  const job = JSON.parse(event.data);
  if (!working || job.purpose !== working.dataset.job) return;
  if (["done", "failed", "cancelled"].includes(job.state)) {
    if (live || working.dataset.job !== "run") go();
    return;
  }
  if (job.progress.words) working.textContent = job.progress.words;
  if (live && typeof job.progress.loss === "number") {
    losses.push([job.seconds, job.progress.loss]);
    draw(live, losses);
  }
});
events.addEventListener("changed", () => {
  if (acting) return;
  if (typed) document.getElementById("outdated").hidden = false; // what was typed is not lost
  else go(); // another page, or the end of a run
});
events.addEventListener("reload", () => go());
window.addEventListener("beforeunload", () => { leaving = true; });
window.addEventListener("pagehide", () => events.close());

// What a page needs that takes a while: it is asked for at once, and the page loads again then.
const wanted = document.querySelector("[data-now]");
if (wanted) post(wanted.dataset.now);
