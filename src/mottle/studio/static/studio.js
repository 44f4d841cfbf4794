// The pages of the studio: requests with the seal, live progress, keys. State lives in the server.

import { draw, drawColumns, enough, live, losses } from "./charts.js";
import { upload } from "./drag.js";
import { contentOf, go, page, post } from "./requests.js";

const HIDDEN = "mottle-hidden";

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.post) {
    button.disabled = true;
    post(button.dataset.post, JSON.parse(button.dataset.content ?? "{}")).finally(() => { button.disabled = false; });
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
  page.typed = true;
  if (event.target === enough && live) draw(live, losses);
  if (event.target.type === "range" && event.target.id !== "along") {
    document.querySelector(`output[for="${event.target.id}"]`).value = event.target.value;
  }
  if ("ticks" in event.target.dataset) {
    const boxes = [...event.target.form.querySelectorAll("[name^='known-']")];
    boxes.forEach((box, place) => { box.checked = place < Number(event.target.value); });
  } else if (event.target.name?.startsWith("known-")) {
    const slider = event.target.form.querySelector("[data-ticks]");
    slider.value = event.target.form.querySelectorAll("[name^='known-']:checked").length;
    document.querySelector(`output[for="${slider.id}"]`).value = slider.value;
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

// What happens in the server.
const working = document.querySelector("[data-job]");
let said = { what: null, until: 0 };
const seen = document.querySelector('meta[name="seen"]').content; // what has changed since is told
const events = new EventSource(`/events?seen=${seen}`);
events.addEventListener("job", (event) => {
  const job = JSON.parse(event.data);
  if (!working || job.purpose !== working.dataset.job) return;
  if (["done", "failed", "cancelled"].includes(job.state)) {
    if (live || working.dataset.job !== "run") go();
    return;
  }
  const lost = typeof job.progress.loss === "number" ? `, ${(100 * job.progress.loss).toFixed(1)} % lost so far` : "";
  const what = job.progress.words?.split(",")[0];
  if (what && (what !== said.what || Date.now() > said.until)) { // it is read aloud
    said = { what, until: Date.now() + 3000 };
    working.textContent = job.progress.words + lost;
  }
  if (live && typeof job.progress.loss === "number") {
    losses.push([job.seconds, job.progress.loss]);
    draw(live, losses);
    if (job.progress.columns) drawColumns(job.progress.columns);
  }
});
events.addEventListener("changed", () => {
  if (page.acting) return;
  if (page.typed) document.getElementById("outdated").hidden = false; // what was typed is not lost
  else go(); // another page, or the end of a run
});
events.addEventListener("reload", () => go());
window.addEventListener("beforeunload", () => { page.leaving = true; });
window.addEventListener("pagehide", () => events.close());

// What only a few pages need.
if (document.querySelector("[data-look]")) import("./closer.js");

// What a page needs that takes a while: it is asked for at once, and the page loads again then.
const wanted = document.querySelector("[data-now]");
if (wanted) post(wanted.dataset.now);
