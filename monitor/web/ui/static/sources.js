/* Sources: follows a trial until it ends, and ticks all rows of a list. Without it the pages do the same more slowly. */

const EVERY_MS = 700;

async function follow(place) {
  const answer = await fetch(place.dataset.trial, { headers: { Accept: "text/html" } }).catch(() => null);
  if (answer?.ok) {
    const isOver = !["waiting", "running"].includes(answer.headers.get("X-Trial-State"));
    if (isOver) return location.reload();
    const html = await answer.text();
    if (html !== place.html) {
      place.html = html;
      place.replaceChildren(...new DOMParser().parseFromString(html, "text/html").body.childNodes);
    }
  } else if (answer?.status === 404) {
    return location.reload();
  }
  setTimeout(() => follow(place), EVERY_MS);
}

for (const place of document.querySelectorAll("[data-trial]")) follow(place);

for (const all of document.querySelectorAll("[data-ticks]")) {
  all.hidden = false;
  all.addEventListener("change", () => {
    for (const one of all.form.elements) if (one.name === all.dataset.ticks) one.checked = all.checked;
  });
}

/* Bodies that were ticked stay chosen from one search to the next, until they are added. */
for (const form of document.querySelectorAll("form[data-picks]")) {
  const { picks: key } = form.dataset;
  const boxes = [...form.querySelectorAll("input[type=checkbox][name=ids]")];
  const shown = form.querySelector("[data-picked]");
  const chosen = new Set(JSON.parse(sessionStorage.getItem(key) ?? "[]"));
  const update = () => {
    for (const box of boxes) chosen[box.checked ? "add" : "delete"](box.value);
    sessionStorage.setItem(key, JSON.stringify([...chosen]));
    shown.hidden = !chosen.size;
    shown.textContent = shown.dataset.picked.replace("#", chosen.size);
  };
  for (const box of boxes) box.checked ||= chosen.has(box.value);
  update();
  form.addEventListener("change", update);
  form.addEventListener("submit", () => {
    const here = new Set(boxes.map((box) => box.value));
    for (const value of chosen) {
      if (here.has(value)) continue;
      form.append(Object.assign(document.createElement("input"), { type: "hidden", name: "ids", value }));
    }
    sessionStorage.removeItem(key);
  });
}
