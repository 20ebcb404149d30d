// The forms of a research, sent without a reload: a remark, the wish to stop, the plan in another order. Where that does
// not work, and without this script, they are plain forms: the page itself says what is wrong.

/** A page of ours, and the part of it that is the research. */
export async function page(address, options = {}) {
  const answer = await fetch(address, { headers: { Accept: "text/html" }, credentials: "same-origin", ...options });
  const text = await answer.text();
  const fresh = new DOMParser().parseFromString(text, "text/html");
  return { answer, fresh, part: fresh.getElementById("research") };
}

async function send(form, submitter, take) {
  const place = submitter && submitter.getBoundingClientRect().top;
  form.setAttribute("aria-busy", "true");
  const body = new FormData(form, submitter);
  const { answer, fresh, part } = await page(form.action, { method: "POST", body });
  if (!answer.ok || !part) throw new Error(String(answer.status));
  if (form.matches("[data-plan]")) {
    const next = part.querySelector("#plan-form");
    if (!next) throw new Error("no plan");
    form.replaceWith(document.adoptNode(next));
    focusPlan(next, submitter, place);
    return;
  }
  form.parentElement.dataset.sent = "yes";
  take(part);
  form.removeAttribute("aria-busy");
  form.reset();
  const notice = fresh.querySelector(".notice");
  if (notice) document.getElementById("announce").textContent = notice.textContent;
}

/** After a paragraph was moved the focus stays on it, and it stays where it was on the screen. */
function focusPlan(form, submitter, place) {
  const [what] = submitter.value.split("-");
  const at = form.dataset.focus;
  const other = { up: "down", down: "up" }[what];
  const wanted = [`#${what}-${at}`, `#${other}-${at}`].map((one) => form.querySelector(`${one}:not([disabled])`));
  const focus = wanted.find(Boolean) || form.querySelector(`#p-title-${at}`);
  if (!focus) return;
  focus.focus({ preventScroll: true });
  if (what === "up" || what === "down") window.scrollBy(0, focus.getBoundingClientRect().top - place);
  else focus.scrollIntoView({ block: "nearest" });
}

/** `take` is given the research as the server shows it after a form was sent. */
export function attendForms(take) {
  document.addEventListener("submit", (event) => {
    const form = event.target;
    const isMove = form.matches("[data-plan]") && event.submitter && event.submitter.value !== "start";
    if (!isMove && !form.matches("[data-send]")) return;
    event.preventDefault();
    if (form.getAttribute("aria-busy")) return;
    send(form, event.submitter, take).catch(() => {
      form.removeAttribute("data-send");
      form.removeAttribute("data-plan");
      form.requestSubmit(event.submitter);
    });
  });
}
