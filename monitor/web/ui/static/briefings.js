// Briefings: says that something is at work, and moves items without loading the page anew.
// Everything here works without it too, by plain forms.

for (const form of document.querySelectorAll("form[data-working]")) {
  form.addEventListener("submit", () => {
    const status = form.querySelector(".working");
    if (status) status.textContent = status.dataset.text;
    for (const button of form.querySelectorAll("button")) button.setAttribute("aria-disabled", "true");
    form.setAttribute("aria-busy", "true");
  });
}
window.addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[aria-busy]")) {
    form.removeAttribute("aria-busy");
    const status = form.querySelector(".working");
    if (status) status.textContent = "";
    for (const button of form.querySelectorAll("button")) button.removeAttribute("aria-disabled");
  }
});

// A delivery that is being made is followed to its end: each second, and less often when it takes long.
async function follow() {
  for (let looks = 0; looks < 300; looks += 1) {
    const sent = document.querySelector("#sent[data-follow]");
    if (!sent) return;
    await new Promise((resume) => setTimeout(resume, looks < 60 ? 1000 : 5000));
    try {
      const answer = await fetch(sent.dataset.follow);
      if (!answer.ok || answer.redirected) return;
      const made = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("sent");
      if (made && made.innerHTML !== sent.innerHTML) {
        sent.replaceChildren(...made.childNodes);
        sent.hidden = made.hidden;
      }
      if (made && !made.dataset.follow) sent.removeAttribute("data-follow");
    } catch {
      // the service is away for a moment: look again
    }
  }
}
follow();

// A briefing that is being composed: how far it is, and then the page with it.
async function followComposing() {
  for (let looks = 0; looks < 600; looks += 1) {
    const progress = document.querySelector("#progress[data-follow]");
    if (!progress) return;
    await new Promise((resume) => setTimeout(resume, looks < 30 ? 500 : 2000));
    try {
      const answer = await fetch(progress.dataset.follow);
      if (!answer.ok || answer.redirected) return;
      const made = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("progress");
      if (!made || !made.dataset.follow) {
        location.reload();
        return;
      }
      progress.replaceChildren(...made.childNodes);
    } catch {
      // the service is away for a moment: look again
    }
  }
}
followComposing();

let arrange = document.getElementById("arrange");
let isSaving = false;

if (arrange) {
  document.addEventListener("submit", async (event) => {
    const pressed = event.submitter;
    if (event.target !== arrange) return;
    if (isSaving || !pressed || pressed.value === "save") {
      isSaving = true;
      return;
    }
    event.preventDefault();
    if (arrange.getAttribute("aria-busy")) return;
    await moved(pressed);
  });
  document.addEventListener("input", (event) => {
    if (arrange.contains(event.target)) arrange.dataset.changed = "true";
  });
  window.addEventListener("beforeunload", (event) => {
    if (arrange.dataset.changed === "true" && !isSaving) event.preventDefault();
  });
}

// The server puts the items in order; its form takes the place of this one, and the focus stays on what was pressed.
async function moved(pressed) {
  arrange.setAttribute("aria-busy", "true");
  const place = pressed.getBoundingClientRect().top;
  let answer;
  try {
    answer = await fetch(arrange.action, { method: "POST", body: new FormData(arrange, pressed) });
  } catch {
    answer = null;
  }
  const made = answer && answer.ok ? new DOMParser().parseFromString(await answer.text(), "text/html") : null;
  const next = made && made.getElementById("arrange");
  if (!next) {
    arrange.removeAttribute("aria-busy");
    isSaving = true;
    arrange.requestSubmit(pressed); // the page itself says what is wrong
    return;
  }
  arrange.replaceWith(next);
  arrange = next;
  const again = next.querySelector(`#${CSS.escape(pressed.id)}:not([disabled])`);
  const item = pressed.value.split("-")[1];
  const focus = again || next.querySelector(`[value$="-${CSS.escape(item || "")}"]:not([disabled])`);
  if (focus) {
    focus.focus({ preventScroll: true });
    window.scrollBy(0, focus.getBoundingClientRect().top - place);
  }
}
