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

async function post(address, content = {}) {
  let answer;
  let said = {};
  acting = true;
  try {
    answer = await fetch(address, {
      method: "POST",
      headers: { "content-type": "application/json", "x-mottle-seal": seal },
      body: JSON.stringify(content),
    });
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
  if (event.target.type === "range") {
    document.querySelector(`output[for="${event.target.id}"]`).value = event.target.value;
  }
  if (event.target.closest("[data-builder]")) compose(event.target.closest("[data-builder]"));
});

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

document.addEventListener("change", (event) => {
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
  const values = losses.map((each) => each[1]);
  const high = Math.max(...values);
  const low = Math.min(...values);
  const place = ([seconds, loss]) => {
    const x = 50 + (580 * (seconds - from)) / span;
    const y = 20 + (150 * (high - loss)) / Math.max(high - low, 1e-9);
    return `${x.toFixed(1)} ${y.toFixed(1)}`;
  };
  add(chart, "path", { d: "M" + losses.map(place).join("L") });
  add(chart, "text", { x: 0, y: 24 }, `${(100 * high).toFixed(1)} %`);
  add(chart, "text", { x: 0, y: 174 }, `${(100 * low).toFixed(1)} %`);
  add(chart, "text", { x: 560, y: 194 }, `${(from + span).toFixed(0)} s`);
}

for (const chart of document.querySelectorAll("svg.curve")) {
  draw(chart, JSON.parse(chart.dataset.losses));
}

// What happens in the server.
const working = document.querySelector("[data-job]");
const live = document.querySelector("svg.curve:not(.small)");
const losses = live ? JSON.parse(live.dataset.losses) : [];
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
