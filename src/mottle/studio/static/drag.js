// What is dragged: values of trees onto groups, columns into lanes, files onto the page.

import { complain, page, post, send } from "./requests.js";

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
    page.typed = true;
    document.getElementById("name").focus();
  });
}

// Lanes: a column that is dropped in another lane gets its role.
const lanes = [...document.querySelectorAll("[data-lane]")];
let carried = null;
for (const column of document.querySelectorAll("[data-column][draggable]")) {
  column.addEventListener("dragstart", (event) => {
    carried = column;
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", "");
  });
  column.addEventListener("dragend", () => {
    carried = null;
    for (const lane of lanes) lane.classList.remove("over");
  });
}
for (const lane of lanes) {
  lane.addEventListener("dragover", (event) => {
    if (!carried || lane.contains(carried)) return;
    event.preventDefault();
    lane.classList.add("over");
  });
  lane.addEventListener("dragleave", (event) => {
    if (!lane.contains(event.relatedTarget)) lane.classList.remove("over");
  });
  lane.addEventListener("drop", (event) => {
    if (!carried || lane.contains(carried)) return;
    event.preventDefault();
    post("/columns/role", { column: Number(carried.dataset.column), role: lane.dataset.lane });
  });
}

// A file that is dropped on the page, or chosen.
export function upload(file) {
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
