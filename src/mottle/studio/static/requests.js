// Requests of the studio's pages: they carry the seal, and load the page again when they are answered.

const seal = document.querySelector('meta[name="seal"]').content;
export const page = {
  leaving: false,
  acting: false, // whether this page waits for the answer to a request
  typed: false, // whether something was typed that has not been sent
};

// Load the page again, or another one; once, because events may ask for it several times.
export function go(address = null) {
  if (page.leaving) return;
  page.leaving = true;
  const column = document.activeElement?.closest?.("[data-column]");
  if (!address && column) sessionStorage.setItem("column", column.dataset.column);
  if (address) location.assign(address);
  else location.reload();
}

export function complain(text) {
  const place = document.getElementById("problem");
  place.textContent = text;
  place.hidden = false;
  place.scrollIntoView({ block: "center" });
}

export function post(address, content = {}) {
  return send(address, { "content-type": "application/json" }, JSON.stringify(content));
}

export async function send(address, headers, body) {
  let answer;
  let said = {};
  page.acting = true;
  try {
    answer = await fetch(address, { method: "POST", headers: { "x-mottle-seal": seal, ...headers }, body });
    said = await answer.json();
  } catch {
    complain("The studio does not answer. It may have been quit.");
    return;
  } finally {
    page.acting = false;
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

export function contentOf(form) {
  const content = {};
  for (const field of form.elements) {
    if (!field.name || (field.type === "radio" && !field.checked)) continue;
    if (field.type === "checkbox") content[field.name] = field.checked;
    else content[field.name] = "number" in field.dataset ? Number(field.value) : field.value;
  }
  return content;
}

