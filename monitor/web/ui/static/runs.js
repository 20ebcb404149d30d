// The pages of runs: a run as it goes, the squares of its coverage by keyboard, a list that keeps itself fresh.
// Without this script everything is there too: the page then loads itself again while the run is at work.

const LINES_SHOWN = 60;
const FIRST_REFRESH_MS = 400;
const REFRESH_MS = 1500;
const COMES_BACK_MS = 3000;

const root = document.getElementById("run");

/** Put the fresh parts of a page of ours in place of those shown; what has not changed is not touched. */
async function refresh(address, only) {
  const answer = await fetch(address, { headers: { Accept: "text/html" }, credentials: "same-origin" });
  if (!answer.ok || answer.redirected) return null;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  const focused = document.activeElement && document.activeElement.id;
  for (const part of document.querySelectorAll("[data-part]")) {
    const other = (!only || only === part.id) && fresh.getElementById(part.id);
    if (!other || other.outerHTML === part.outerHTML) continue;
    for (const open of part.querySelectorAll("details[open][id]")) {
      const again = other.querySelector(`#${open.id}`);
      if (again) again.open = true;
    }
    part.replaceWith(document.adoptNode(other));
  }
  if (focused && document.activeElement.id !== focused) {
    const again = document.getElementById(focused);
    if (again) again.focus({ preventScroll: true });
  }
  rove();
  return fresh;
}

// The squares: one stop for the tab key, arrows from there.

function rove() {
  const cells = [...document.querySelectorAll(".cells a.cell")];
  const at = cells.find((cell) => cell === document.activeElement) || cells.find((cell) => !cell.classList.contains("dim"));
  for (const cell of cells) cell.tabIndex = cell === (at || cells[0]) ? 0 : -1;
}

function step(cell, key) {
  const cells = [...document.querySelectorAll(".cells a.cell:not(.dim)")];
  const at = cells.indexOf(cell);
  if (key === "ArrowRight") return cells[at + 1];
  if (key === "ArrowLeft") return cells[at - 1];
  if (key === "Home") return cells[0];
  if (key === "End") return cells[cells.length - 1];
  const here = cell.getBoundingClientRect();
  const onward = key === "ArrowDown" ? cells.slice(at + 1) : cells.slice(0, Math.max(at, 0)).reverse();
  const rows = onward.filter((one) => Math.abs(one.getBoundingClientRect().top - here.top) > here.height / 2);
  const top = rows.length ? rows[0].getBoundingClientRect().top : 0;
  const row = rows.filter((one) => Math.abs(one.getBoundingClientRect().top - top) < here.height / 2);
  const distance = (one) => Math.abs(one.getBoundingClientRect().left - here.left);
  return row.sort((one, other) => distance(one) - distance(other))[0];
}

function showRow(address) {
  const row = document.getElementById(new URL(address).hash.slice(1));
  if (!row || !row.matches("tr")) return false;
  for (const other of document.querySelectorAll("tr.wanted")) other.classList.remove("wanted");
  row.classList.add("wanted");
  row.scrollIntoView({ block: "center" });
  row.focus({ preventScroll: true });
  return true;
}

/** Another part of the ledger: the row of a square, if it is shown already, or what the server has at the address. */
async function follow(link) {
  const { href } = link;
  if (!link.matches(".cell") || !showRow(href)) {
    await refresh(href, "run-ledger");
    showRow(href);
  }
  history.replaceState(null, "", href);
}

function attendLedger() {
  rove();
  root.addEventListener("keydown", (event) => {
    const cell = event.target.closest(".cells a.cell");
    if (!cell || !/^(Arrow|Home|End)/.test(event.key)) return;
    const next = step(cell, event.key);
    event.preventDefault();
    if (!next) return;
    cell.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });
  root.addEventListener("click", (event) => {
    const link = event.target.closest("#run-ledger a.cell, #run-ledger a[data-filter]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    follow(link);
  });
  const form = document.getElementById("ledger-form");
  if (!form) return;
  let timer = 0;
  const search = () => {
    clearTimeout(timer);
    const address = new URL(form.action);
    const wanted = new URLSearchParams(new FormData(form));
    wanted.delete("disposition");
    const disposition = new URL(location.href).searchParams.get("disposition");
    if (disposition) wanted.set("disposition", disposition);
    address.search = wanted.toString();
    refresh(address.href, "run-ledger");
    history.replaceState(null, "", address.href);
  };
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(search, 250);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    search();
  });
}

// The run as it goes: events are gathered and shown once a frame.

function watch() {
  const words = JSON.parse(root.dataset.words);
  const list = document.getElementById("activity");
  const clock = new Intl.DateTimeFormat(document.documentElement.lang, {
    timeZone: root.dataset.timezone, hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23",
  });
  let lastEvent = Number(root.dataset.lastEvent);
  let last = Number(root.dataset.since);
  let waiting = [];
  let stream = null;
  let isBegun = false;

  const fill = (sentence, facts) => words[sentence].replace(/\{(\w+)\}/g, (_, name) => facts[name] ?? "");
  const sentences = {
    page(data) {
      if (data.reason) return [words.unread, data.url];
      return data.candidates === undefined ? [words.article, data.title || data.url]
        : [fill("page", { place: data.place, n: data.candidates }), data.url];
    },
    section: (data) => data.ended === undefined ? [fill("begun", { place: data.place }), ""]
      : [fill("ended", { place: data.place, ended: words.words_ended[data.ended] || data.ended, n: data.candidates || 0, saved: data.saved || 0 }), ""],
    asked: (data) => [fill("asked", { place: words.words_phase[data.phase] || data.phase }), data.place],
    answered: (data) => data.outcome === "ok"
      ? [fill("answered", { n: data.tokens || 0, s: ((data.ms || 0) / 1000).toFixed(1) }), data.place]
      : [fill("unanswered", { outcome: words.words_outcome[data.outcome] || data.outcome }), data.place],
    saved: (data) => [words.saved, data.title],
    fallback: (data) => [words.fallback, data.place],
    phase: (data) => [words.words_phase[data.phase] || data.phase, data.total ? `${data.done || 0} / ${data.total}` : ""],
  };

  function line(event) {
    const [what, about] = sentences[event.kind](event.data);
    const item = document.createElement("li");
    item.dataset.id = event.id;
    item.className = `event-${event.kind}`;
    const time = document.createElement("time");
    time.dateTime = event.data.at;
    time.textContent = clock.format(new Date(event.data.at));
    item.append(time, ` ${what}`);
    if (about) {
      const rest = document.createElement("span");
      rest.className = "soft";
      rest.textContent = ` ${about}`;
      item.append(rest);
    }
    return item;
  }

  function add(name, number) {
    const place = document.querySelector(`[data-count="${name}"]`);
    if (place) place.textContent = (Number(place.textContent.replace(/\D/g, "")) + number).toLocaleString(document.documentElement.lang);
  }

  function count(event) {
    const counts = { page: "pages", saved: "saved", fallback: "fallbacks", answered: "calls" };
    const isList = event.kind !== "page" || event.data.candidates !== undefined;
    if (event.id <= lastEvent || !counts[event.kind] || !isList) return;
    add(counts[event.kind], 1);
    if (event.data.tokens) add("tokens", event.data.tokens);
  }

  function phase(event) {
    const phases = [...document.querySelectorAll("[data-phase]")];
    const at = phases.findIndex((one) => one.dataset.phase === event.data.phase);
    if (event.id <= lastEvent || at < 0) return;
    if (event.data.total) phases[at].querySelector(".far").textContent = `${event.data.done || 0} / ${event.data.total}`;
    if (phases[at].classList.contains("now")) return;
    phases.slice(0, at + 1).forEach((one, place) => {
      const state = place < at ? "done" : "now";
      one.className = `phase ${state}`;
      one.querySelector(".state").textContent = words.words_phase_state[state];
    });
    document.getElementById("announce").textContent = words.words_phase[event.data.phase] || "";
    refreshSoon();
  }

  function show() {
    const events = waiting;
    waiting = [];
    for (const event of events) {
      count(event);
      if (event.kind === "phase") phase(event);
      if (event.kind === "section" || event.kind === "fallback") refreshSoon();
    }
    const lines = events.filter((event) => event.kind in sentences).slice(-LINES_SHOWN).map(line).reverse();
    if (!lines.length) return;
    if (!isBegun) list.replaceChildren();
    isBegun = true;
    list.prepend(...lines);
    while (list.childElementCount > LINES_SHOWN) list.lastElementChild.remove();
  }

  let refreshing = 0;
  let restMs = FIRST_REFRESH_MS;
  function refreshSoon() {
    if (refreshing) return;
    refreshing = setTimeout(async () => {
      const began = performance.now();
      const fresh = await refresh(location.href).catch(() => null);
      // What the page was made with is counted in it already.
      if (fresh) lastEvent = Math.max(lastEvent, Number(fresh.getElementById("run").dataset.lastEvent));
      restMs = Math.max(REFRESH_MS, 5 * (performance.now() - began));
      refreshing = 0;
    }, restMs);
  }

  async function end(status) {
    close();
    clearTimeout(refreshing);
    await refresh(location.href);
    document.querySelector(".watch").hidden = true;
    root.dataset.isOver = "yes";
  }

  function open() {
    if (stream || document.hidden) return;
    stream = new EventSource(`${root.dataset.events}?after=${last}`);
    const broken = document.getElementById("connection");
    stream.onopen = () => { broken.hidden = true; };
    stream.onerror = () => {
      broken.hidden = false;
      if (stream && stream.readyState === EventSource.CLOSED) comeBack();
    };
    for (const kind of Object.keys(sentences)) {
      stream.addEventListener(kind, (message) => {
        last = Number(message.lastEventId);
        if (!waiting.length) requestAnimationFrame(show);
        waiting.push({ kind, id: last, data: JSON.parse(message.data) });
      });
    }
    stream.addEventListener("status", (message) => {
      const { status } = JSON.parse(message.data);
      if (status !== root.dataset.status) {
        root.dataset.status = status;
        refreshSoon();
      }
    });
    stream.addEventListener("end", (message) => end(JSON.parse(message.data).status));
  }

  function close() {
    if (stream) stream.close();
    stream = null;
  }

  /** The browser has given the stream up: the service is being started again, or we are not signed in any more. */
  function comeBack() {
    close();
    setTimeout(async () => {
      const answer = await fetch(location.href, { credentials: "same-origin" }).catch(() => null);
      if (answer && answer.redirected) location.reload();
      else open();
    }, COMES_BACK_MS);
  }

  // A page that nobody sees holds no connection; it catches up when it is looked at again.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) close();
    else if (root.dataset.isOver === "no") open();
  });
  open();
}

function keepFresh(list) {
  const again = () => setTimeout(async () => {
    if (!document.hidden) await refresh(location.href).catch(() => null);
    const fresh = document.getElementById(list.id);
    if (fresh && fresh.dataset.again) again();
  }, Number(list.dataset.again));
  again();
}

if (root) {
  attendLedger();
  if (root.dataset.isOver === "no") watch();
}
const moving = document.querySelector("[data-again]");
if (moving) keepFresh(moving);
