// Triage of a list of items: by key, by button and in bulk, with undo and the item beside the list.
// Without this script the form posts, and the page comes back.

const UNDO_MS = 10_000;
const OPPOSITES = {
  read: "unread", unread: "read", later: "not_later", not_later: "later",
  star: "unstar", unstar: "star", hide: "unhide", unhide: "hide", collect: "uncollect",
};
const SIGNS = { star: "☆", unstar: "★", read: "●", unread: "○", later: "◷", not_later: "◷" };
const KEYS = { s: ["star", "unstar"], l: ["later", "not_later"], u: ["read", "unread"], h: ["hide", "unhide"], b: ["collect"] };
const ADVANCING = new Set(["hide", "later", "collect"]);
const token = document.querySelector('meta[name="csrf-token"]')?.content;
const form = document.getElementById("triage");

async function send(url, method, body) {
  const answer = await fetch(url, {
    method,
    headers: { "Content-Type": "application/json", "X-CSRF-Token": token },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(String(answer.status));
  return answer.status === 204 ? {} : answer.json();
}

// An item that is looked at by itself counts as read.
const single = document.querySelector("form[data-item]");
if (single && token && !form) {
  send(single.dataset.marks, "POST", { action: "read", items: [Number(single.dataset.item)] }).catch(() => {});
}

if (form && token) startTriage();

function startTriage() {
  const list = form.querySelector(".rows");
  const pane = document.querySelector(".pane");
  const toast = document.querySelector(".toast");
  const sheet = document.querySelector(".sheet");
  const picked = form.querySelector(".picked");
  const pickAll = form.querySelector("[data-pick-all]");
  const said = JSON.parse(form.dataset.said);
  const wide = matchMedia("(min-width: 75rem)");
  let queue = Promise.resolve();
  let waiting = 0;
  let current = null;
  let lastTicked = null;
  let undoable = null;
  let toastTimer = 0;

  const rows = () => [...list.querySelectorAll(".row")];
  const ticked = () => rows().filter((row) => row.querySelector("input").checked);
  const find = (id) => list.querySelector(`.row[data-id="${CSS.escape(String(id))}"]`);
  const idOf = (row) => Number(row.dataset.id);
  const has = (row, action) => row.querySelector(`[data-act="${action}"]`) !== null;

  // What a row shows.

  function show(row, action) {
    if (action === "hide") return row.remove();
    if (action === "unhide") row.classList.remove("dimmed");
    if (action === "collect" || action === "uncollect") {
      row.classList.toggle("collected", action === "collect");
      return undefined;
    }
    const button = row.querySelector(`[data-act="${action}"]`);
    if (!button) return undefined;
    const next = OPPOSITES[action];
    button.dataset.act = next;
    button.value = `${next}-${row.dataset.id}`;
    if (button.hasAttribute("aria-pressed")) button.setAttribute("aria-pressed", String(action in { star: 1, later: 1 }));
    button.firstElementChild.textContent = SIGNS[next];
    if (action === "read" || action === "unread") row.classList.toggle("unread", action === "unread");
    return undefined;
  }

  function putBack(places) {
    for (const { row, next } of places.toReversed()) {
      if (!row.isConnected) list.insertBefore(row, next && next.isConnected ? next : null);
    }
  }

  // What is done.

  async function store(action, ids, target) {
    if (action === "collect") {
      const select = form.elements.briefing;
      if (select.value === "0") {
        const made = await send(`${form.dataset.briefings}/blank`, "POST", { language: form.dataset.language });
        select.append(new Option(made.title, made.id, false, true));
      }
      target.id = select.value;
      const result = await send(`${form.dataset.briefings}/${target.id}/items`, "POST", { items: ids });
      target.title = result.title;
      return result.added;
    }
    if (action === "uncollect") {
      await send(`${form.dataset.briefings}/${target.id}/items/remove`, "POST", { items: ids });
      return ids;
    }
    return (await send(form.dataset.marks, "POST", { action, items: ids })).changed;
  }

  // One request after the other, in the order of the keys; the form is busy until all are answered.
  function enqueue(request) {
    waiting += 1;
    form.setAttribute("aria-busy", "true");
    const answered = queue.then(request);
    queue = answered.catch(() => {}).finally(() => {
      waiting -= 1;
      if (!waiting) form.setAttribute("aria-busy", "false");
    });
    return answered;
  }

  function act(action, chosen, { isQuiet = false } = {}) {
    if (!chosen.length) return tell(said.nothing);
    const ids = chosen.map(idOf);
    const places = chosen.map((row) => ({ row, next: row.nextElementSibling }));
    const target = {};
    if (chosen.includes(current) && (action === "hide" || (ADVANCING.has(action) && chosen.length === 1))) advance(chosen);
    for (const row of chosen) {
      row.querySelector("input").checked = false;
      show(row, action);
    }
    countTicked();
    const entry = { action, ids: [], places, target };
    enqueue(() => store(action, ids, target))
      .then((changed) => {
        entry.ids = changed;
        if (!isQuiet) tell(format(said[action], changed.length, target), entry);
      })
      .catch(() => {
        putBack(places);
        for (const { row } of places) show(row, OPPOSITES[action]);
        tell(said.failed);
      });
    return undefined;
  }

  function undo() {
    const entry = undoable;
    if (!entry) return;
    undoable = null;
    const opposite = OPPOSITES[entry.action];
    enqueue(() => (entry.ids.length ? store(opposite, entry.ids, entry.target) : []))
      .then(() => {
        putBack(entry.places);
        for (const { row } of entry.places) show(row, opposite);
        tell(said.undone);
        go(entry.places[0].row);
      })
      .catch(() => tell(said.failed));
  }

  const format = (text, count, target) => text.replace("%(count)s", count).replace("%(title)s", target.title ?? "");

  function tell(text, entry = null) {
    const [words, link] = [toast.querySelector("span"), toast.querySelector("a")];
    words.textContent = text;
    undoable = entry && entry.ids.length ? entry : null;
    toast.querySelector("button").hidden = !undoable;
    link.hidden = entry?.action !== "collect";
    if (!link.hidden) link.href = `${form.dataset.briefings.replace(/\/api\//, "/")}/${entry.target.id}/edit`;
    toast.hidden = false;
    clearTimeout(toastTimer);
    toastTimer = setTimeout(() => {
      toast.hidden = true;
      undoable = null;
    }, UNDO_MS);
  }

  // Where one is.

  function go(row) {
    if (!row) return;
    current?.classList.remove("current");
    current = row;
    row.classList.add("current");
    row.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
    const place = rows().indexOf(row);
    if (rows().length - place < 10) loadMore();
    if (!pane.hidden) open(row);
  }

  function step(by) {
    const all = rows();
    const place = current?.isConnected ? all.indexOf(current) + by : 0;
    go(all[Math.max(0, Math.min(place, all.length - 1))]);
  }

  function advance(chosen) {
    const all = rows();
    const after = all.slice(all.indexOf(current) + 1).find((row) => !chosen.includes(row));
    const before = all.slice(0, all.indexOf(current)).findLast((row) => !chosen.includes(row));
    go(after ?? before);
  }

  function countTicked() {
    const count = ticked().length;
    picked.textContent = count ? String(count) : "";
    pickAll.checked = count > 0 && count === rows().length;
    form.classList.toggle("has-ticked", count > 0);
  }

  // The item beside the list.

  async function open(row) {
    const link = row.querySelector("h3 a");
    if (!wide.matches) {
      location.assign(link.href);
      return;
    }
    pane.hidden = false;
    document.documentElement.classList.add("has-pane");
    pane.dataset.shows = row.dataset.id;
    if (row.classList.contains("unread")) act("read", [row], { isQuiet: true });
    try {
      const answer = await fetch(`${link.href}?pane=true`);
      if (!answer.ok || answer.redirected) throw new Error(String(answer.status));
      const made = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (pane.dataset.shows !== row.dataset.id) return;
      pane.replaceChildren(...made.body.childNodes);
      pane.scrollTop = 0;
    } catch {
      if (pane.dataset.shows === row.dataset.id) location.assign(link.href);
    }
  }

  function close() {
    pane.hidden = true;
    document.documentElement.classList.remove("has-pane");
    pane.replaceChildren();
    current?.focus({ preventScroll: true });
  }

  const nextPage = () => document.querySelector(".pager a[rel=next]");
  let loading = null;
  function loadMore() {
    if (nextPage()) loading ??= fetchMore(nextPage()).catch(() => {}).finally(() => (loading = null));
    return loading ?? Promise.resolve();
  }

  async function fetchMore(pager) {
    const answer = await fetch(pager.href);
    if (!answer.ok || answer.redirected) return;
    const made = new DOMParser().parseFromString(await answer.text(), "text/html");
    list.append(...[...made.querySelectorAll("#triage .row")].filter((row) => !find(row.dataset.id)));
    const next = made.querySelector(".pager");
    if (next) pager.closest(".pager").replaceWith(next);
    else pager.closest(".pager").remove();
    watchPager();
  }

  const observer = new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting)) loadMore();
  }, { rootMargin: "600px" });
  function watchPager() {
    observer.disconnect();
    const pager = document.querySelector(".pager");
    if (pager) observer.observe(pager);
  }
  watchPager();

  // Buttons, ticks and keys.

  document.addEventListener("submit", (event) => {
    const pressed = event.submitter;
    if (event.target !== form && !(pane.contains(event.target) && event.target.dataset.item)) return;
    event.preventDefault();
    const row = pane.contains(event.target) ? find(event.target.dataset.item) : pressed.closest(".row");
    if (row && !current) current = row;
    if (row && pane.contains(event.target)) show(event.target, pressed.dataset.act);
    act(pressed.dataset.act, row ? [row] : ticked());
  });

  list.addEventListener("click", (event) => {
    const row = event.target.closest(".row");
    const link = event.target.closest("h3 a");
    if (link && wide.matches && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      go(row);
      if (pane.hidden) open(row);
    }
    if (event.target.type !== "checkbox") return;
    if (event.shiftKey && lastTicked?.isConnected) {
      const all = rows();
      const [from, to] = [all.indexOf(lastTicked), all.indexOf(row)].sort((a, b) => a - b);
      for (const other of all.slice(from, to + 1)) other.querySelector("input").checked = event.target.checked;
    }
    lastTicked = row;
    countTicked();
  });

  pickAll.closest("[hidden]").hidden = false;
  pickAll.addEventListener("change", () => {
    for (const row of rows()) row.querySelector("input").checked = pickAll.checked;
    countTicked();
  });

  toast.querySelector("button").addEventListener("click", undo);
  const keysButton = form.querySelector("[data-keys]");
  keysButton.hidden = false;
  keysButton.addEventListener("click", () => sheet.showModal());

  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.matches?.("input:not([type=checkbox]), select, textarea") || sheet.open;
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    if ((held || isAtEnd()) && (event.key in KEYS || "jkoxz".includes(event.key))) hold(event.key, event.target);
    else if (!handleKey(event.key, event.target)) return;
    event.preventDefault();
  });

  // At the last loaded row of a longer list a key waits for the rows that follow, and later keys wait for it.
  let held = 0;
  let keys = Promise.resolve();
  const isAtEnd = () => nextPage() !== null && current !== null && current === rows().at(-1);

  function hold(key, target) {
    held += 1;
    keys = keys.then(async () => {
      if (isAtEnd()) await loadMore();
      held -= 1;
      handleKey(key, target);
    });
  }

  function handleKey(key, target) {
    if (key === "j" || key === "k") step(key === "j" ? 1 : -1);
    else if (key === "o" || (key === "Enter" && target === current)) current && open(current);
    else if (key === "x" && current) current.querySelector("input").click();
    else if (key === "z") undo();
    else if (key === "?") sheet.showModal();
    else if (key === "Escape" && !pane.hidden) close();
    else if (key in KEYS) press(KEYS[key]);
    else return false;
    return true;
  }

  function press(actions) {
    const chosen = ticked().length ? ticked() : [current].filter((row) => row?.isConnected);
    const action = actions.find((one) => chosen.some((row) => has(row, one)));
    if (action) act(action, chosen.filter((row) => has(row, action)));
    else tell(said.nothing);
  }
}

// How dense the rows stand is remembered in this browser.
const density = document.querySelector("[data-density]");
if (density) {
  const apply = (isCompact) => {
    document.documentElement.classList.toggle("compact", isCompact);
    density.setAttribute("aria-pressed", String(isCompact));
  };
  density.hidden = false;
  apply(localStorage.getItem("density") === "compact");
  density.addEventListener("click", () => {
    const isCompact = density.getAttribute("aria-pressed") !== "true";
    localStorage.setItem("density", isCompact ? "compact" : "roomy");
    apply(isCompact);
  });
}
