// Briefings: says that something is at work, and follows what is made in the background.
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
