// A research as it goes on: how far it is, what it does, the report as it is written. Without this script everything is
// there too: the page then loads itself again while the research goes on.
import { attendForms, page } from "./research_forms.js";
import { Reader } from "./research_markdown.js";

const REFRESH_MS = 1000;
const COMES_BACK_MS = 3000;
const MOST_LOOKS = 40;

// The number of every message that came, in order: none is missing, none comes twice.
window.steadyResearchEvents = [];

let root = document.getElementById("research");
const words = JSON.parse(root.dataset.words);
const drawn = new Map();
const live = new Map();
const sources = new Map();
let report = "";
let reader = null;
let doing = "";
let last = 0;
let stream = null;

const isOver = () => root.dataset.isOver === "yes";

/** What a person opened, closed or typed in a part stays so in the one that takes its place. */
function carryOver(old, other) {
  for (const details of old.querySelectorAll("details[id]")) {
    const again = other.querySelector(`#${details.id}`);
    if (again) again.open = details.open;
  }
  for (const input of old.querySelectorAll("input[id]:not([type=hidden])")) {
    const again = other.querySelector(`#${input.id}`);
    if (again && !old.dataset.sent) again.value = input.value;
  }
}

function keepingFocus(change) {
  const focused = document.activeElement && document.activeElement.id;
  change();
  if (!focused || document.activeElement.id === focused) return;
  const again = document.getElementById(focused);
  if (again) again.focus({ preventScroll: true });
}

/** Put what the server has now in place of what is shown; the report only when the research is over. */
function take(fresh) {
  const isOther = fresh.dataset.isOver !== root.dataset.isOver || (fresh.dataset.status === "awaiting_plan") !== (root.dataset.status === "awaiting_plan");
  keepingFocus(() => {
    if (isOther) {
      const shown = document.getElementById("research-report");
      const before = shown && shown.getBoundingClientRect().top;
      carryOver(root, fresh);
      document.adoptNode(fresh);
      root.replaceWith(fresh);
      root = fresh;
      reader = null;
      drawn.clear();
      const now = document.getElementById("research-report");
      if (report && now && before < window.innerHeight) window.scrollBy(0, now.getBoundingClientRect().top - before);
    } else {
      root.dataset.status = fresh.dataset.status;
      for (const part of root.querySelectorAll('[data-part=""]')) {
        const other = fresh.querySelector(`#${part.id}`);
        if (!other || drawn.get(part.id) === other.outerHTML) continue;
        drawn.set(part.id, other.outerHTML);
        carryOver(part, other);
        part.replaceWith(document.adoptNode(other));
      }
    }
    paint();
  });
}

async function refresh() {
  const { answer, part } = await page(location.href);
  if (answer.ok && !answer.redirected && part) take(part);
}

let refreshing = 0;
let restMs = REFRESH_MS;
function refreshSoon() {
  if (refreshing) return;
  refreshing = setTimeout(async () => {
    const began = performance.now();
    await refresh().catch(() => null);
    restMs = Math.max(REFRESH_MS, 5 * (performance.now() - began));
    refreshing = 0;
  }, restMs);
}

// What the stream tells.

const fill = (sentence, facts) => sentence.replace(/\{(\w+)\}/g, (_, name) => facts[name] ?? "");

function hostOf(url) {
  try {
    return new URL(url).host;
  } catch {
    return "";
  }
}

function link(number) {
  const source = sources.get(number);
  const made = document.createElement(source ? "a" : "span");
  made.className = "cite";
  made.textContent = String(number);
  if (!source) return made;
  made.href = `${root.dataset.notes}/${source.noteIndex}`;
  made.title = source.title;
  const unseen = document.createElement("span");
  unseen.className = "unseen";
  unseen.textContent = `${words.source} `;
  made.prepend(unseen);
  return made;
}

/** Each page once, with all the numbers under which it is cited. */
function listSources() {
  const list = document.getElementById("stream-sources");
  if (!list || Number(list.dataset.count || 0) === sources.size) return;
  list.dataset.count = sources.size;
  const pages = new Map();
  for (const [number, source] of [...sources].sort(([one], [other]) => one - other)) {
    pages.set(source.url, [...(pages.get(source.url) || []), number]);
  }
  list.replaceChildren(...[...pages.values()].map((numbers) => {
    const item = document.createElement("li");
    const source = sources.get(numbers[0]);
    item.append(...numbers.map(link), ` ${source.title || source.url}`);
    return item;
  }));
}

/** Show again what the stream told and the server's page does not have. */
function paint() {
  for (const [paragraph, text] of live) {
    const place = root.querySelector(`[data-paragraph="${paragraph}"] .live`);
    if (!place || place.closest(".node-done")) continue;
    place.textContent = text;
    place.hidden = !text;
  }
  const place = document.getElementById("doing");
  if (place && doing) place.textContent = doing;
  const growing = document.getElementById("growing");
  if (!growing || !report) return;
  if (!reader) reader = new Reader(document.getElementById("stream"), link, words.end);
  growing.hidden = false;
  reader.show(report);
  listSources();
}

let painting = 0;
function paintSoon() {
  if (!painting) {
    painting = requestAnimationFrame(() => {
      painting = 0;
      paint();
    });
  }
}

function far(progress) {
  const bar = document.getElementById("progress");
  if (!bar) return;
  bar.value = progress;
  document.getElementById("percent").textContent = `${Math.floor(progress * 100)} %`;
}

function mark(step, state) {
  const place = root.querySelector(`[data-step="${step}"]`);
  if (!place || place.classList.contains(state)) return;
  place.className = `phase ${state}`;
  place.querySelector(".state").textContent = words.states[state];
}

function hear(metadata) {
  for (const source of metadata.sources || (metadata.source ? [metadata.source] : [])) {
    sources.set(source.number, source);
    if (reader) reader.again(report);
  }
  refreshSoon();
  const node = metadata.node === "reading" && metadata.results === undefined ? "page" : metadata.node;
  if (!words[node]) return;
  const tool = /search$|^reflection$/.test(metadata.node) && metadata.tool ? ` · ${words.tools[metadata.tool] || metadata.tool}` : "";
  const activity = fill(words[node], { host: hostOf(metadata.url), ...metadata }) + tool;
  if (metadata.paragraph === undefined) doing = activity;
  else live.set(metadata.paragraph, metadata.node === "done" ? "" : activity);
}

function showMessage(message) {
  const { stepType, status, progress, payload } = JSON.parse(message.data);
  last = Number(message.lastEventId);
  window.steadyResearchEvents.push(last);
  far(progress);
  if (status === "start") {
    doing = words[stepType] || "";
    mark(stepType, "now");
    document.getElementById("announce").textContent = words.steps[stepType] || "";
    if (stepType === "reporting") {
      const how = document.getElementById("how");
      if (how) how.open = false;
      report = "";
      sources.clear();
      if (reader) reader.again("");
    }
    refreshSoon();
  }
  if (payload.metadata && status === "progress") hear(payload.metadata);
  if (payload.chunk) report += payload.chunk;
  if (status === "complete") {
    mark(stepType, "done");
    doing = "";
    refreshSoon();
  }
  paintSoon();
  const isEnd = status === "error" || (status === "complete" && stepType === "reporting");
  if (isEnd) end();
}

/** The last message came: the page as it stands from now on, as soon as the server has it. */
async function end() {
  close();
  for (let looks = 0; looks < MOST_LOOKS && !isOver(); looks += 1) {
    if (looks) await new Promise((resume) => setTimeout(resume, Math.min(250 * looks, 2000)));
    await refresh().catch(() => null);
  }
  if (!isOver()) open();
  else document.getElementById("announce").textContent = document.querySelector("#research-head .badge").textContent;
}

function open() {
  if (stream || document.hidden || isOver()) return;
  stream = new EventSource(`${root.dataset.events}?after=${last}`);
  stream.onopen = () => { document.getElementById("connection").hidden = true; };
  stream.onerror = () => {
    document.getElementById("connection").hidden = false;
    if (stream && stream.readyState === EventSource.CLOSED) comeBack();
  };
  stream.onmessage = showMessage;
}

function close() {
  if (stream) stream.close();
  stream = null;
}

/** The browser has given the stream up: the service is being started again, or we are not signed in any more. */
function comeBack() {
  close();
  setTimeout(async () => {
    const { answer } = await page(location.href).catch(() => ({ answer: null }));
    if (answer && answer.redirected) location.reload();
    else open();
  }, COMES_BACK_MS);
}

// A page that nobody sees holds no connection; it catches up when it is looked at again.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) close();
  else open();
});
open();
attendForms(take);
