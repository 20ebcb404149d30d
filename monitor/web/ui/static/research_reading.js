// A finished report: cards on its citations, and the answers to questions about it as they are written. Without this
// script a citation is a link to the saved page, and the page loads itself again while an answer is under way.
import { page } from "./research_forms.js";
import { Reader } from "./research_markdown.js";

const SHOW_MS = 150;
const HIDE_MS = 250;
const MOST_LOOKS = 40;
const GAP = 6;

const words = JSON.parse(document.getElementById("research").dataset.words);

// Cards: shown by pointer, focus and touch, put away by Escape, by leaving, or by a touch elsewhere.

let shown = null;
let cited = null;
let timer = 0;
let isTouch = false;

function hide() {
  clearTimeout(timer);
  if (!shown) return;
  shown.hidden = true;
  cited.removeAttribute("aria-describedby");
  shown = null;
  cited = null;
}

/** Below its citation where there is room, else above it; a phone has it at the foot of the screen by its style. */
function place(card, citation) {
  const at = citation.getBoundingClientRect();
  const { width, height } = card.getBoundingClientRect();
  const left = Math.max(GAP, Math.min(at.left, document.documentElement.clientWidth - width - GAP));
  const hasRoom = at.bottom + GAP + height <= window.innerHeight || at.top < height + GAP;
  card.style.left = `${left + window.scrollX}px`;
  card.style.top = `${(hasRoom ? at.bottom + GAP : at.top - GAP - height) + window.scrollY}px`;
}

function show(citation) {
  const card = document.getElementById(citation.dataset.card);
  if (!card || card === shown) return;
  hide();
  shown = card;
  cited = citation;
  card.hidden = false;
  citation.setAttribute("aria-describedby", card.id);
  place(card, citation);
}

const citationOf = (target) => (target instanceof Element ? target.closest("a.cite[data-card]") : null);

function later(work, delay) {
  clearTimeout(timer);
  timer = setTimeout(work, delay);
}

document.addEventListener("pointerover", (event) => {
  if (event.pointerType === "touch") return;
  const citation = citationOf(event.target);
  if (citation) later(() => show(citation), SHOW_MS);
  else if (shown && shown.contains(event.target)) clearTimeout(timer);
  else if (shown && !cited.matches(":focus-visible")) later(hide, HIDE_MS);
  else clearTimeout(timer);
});
document.addEventListener("pointerdown", (event) => {
  isTouch = event.pointerType === "touch";
  if (shown && !shown.contains(event.target) && citationOf(event.target) !== cited) hide();
});
// The first touch shows the card; the second, or the link in it, leads on.
document.addEventListener("click", (event) => {
  const citation = citationOf(event.target);
  if (!citation || !isTouch || citation === cited || !document.getElementById(citation.dataset.card)) return;
  event.preventDefault();
  show(citation);
});
document.addEventListener("focusin", (event) => {
  const citation = citationOf(event.target);
  if (citation && citation.matches(":focus-visible")) show(citation);
  else if (shown && !shown.contains(event.target) && !isTouch) hide();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") hide();
});

// Answers that are under way.

function link(sources, notes, number) {
  const source = sources.get(number);
  const made = document.createElement(source ? "a" : "span");
  made.className = "cite";
  made.textContent = String(number);
  if (source) made.href = `${notes}/${source.noteIndex}`;
  return made;
}

/** What the server has now takes the place of the answer. */
async function finish(entry) {
  for (let looks = 0; looks < MOST_LOOKS; looks += 1) {
    if (looks) await new Promise((resume) => setTimeout(resume, Math.min(250 * looks, 2000)));
    const { part } = await page(location.href).catch(() => ({ part: null }));
    const fresh = part && part.querySelector(`#${CSS.escape(entry.id)}`);
    if (!fresh || fresh.dataset.events) continue;
    entry.replaceWith(document.adoptNode(fresh));
    document.getElementById("announce").textContent = fresh.querySelector(".answer, .trouble")?.textContent ?? "";
    return;
  }
}

function follow(entry) {
  const sources = new Map();
  const doing = entry.querySelector("[data-doing]");
  const reader = new Reader(entry.querySelector(".answer"), (number) => link(sources, entry.dataset.notes, number), words.end);
  const stream = new EventSource(entry.dataset.events);
  let answer = "";
  stream.onmessage = (message) => {
    const { stepType, status, payload } = JSON.parse(message.data);
    const metadata = payload.metadata || {};
    for (const source of metadata.sources || []) sources.set(source.number, source);
    if (status === "start") answer = "";
    if (status === "progress" && words[metadata.node]) {
      doing.textContent = words[metadata.node].replace(/\{(\w+)\}/g, (_, name) => metadata[name] ?? "");
    }
    if (payload.chunk) {
      answer += payload.chunk;
      reader.show(answer);
    }
    if (status === "error" || (status === "complete" && stepType === "reporting")) {
      stream.close();
      finish(entry);
    }
  };
}

for (const entry of document.querySelectorAll("#research-conversation [data-events]")) follow(entry);
