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
