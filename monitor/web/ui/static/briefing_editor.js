// The editor of a briefing: items are moved by button, by key and by dragging, and the preview follows.
// The server puts the items in order; without this script the form posts, and the page comes back.

const PREVIEW_DELAY_MS = 700;
let arrange = document.getElementById("arrange");
let isSaving = false;
let queue = Promise.resolve();
let current = null;
const sheet = document.querySelector(".sheet");
const showPreview = document.getElementById("show-preview");
let previewTimer = 0;

document.addEventListener("submit", (event) => {
  const pressed = event.submitter;
  if (event.target !== arrange || pressed === showPreview) return;
  if (isSaving || !pressed || pressed.value === "save") {
    isSaving = true;
    return;
  }
  event.preventDefault();
  press(pressed);
});

document.addEventListener("input", (event) => {
  if (arrange.contains(event.target)) markChanged();
});

document.addEventListener("change", (event) => {
  if (event.target.name === "as") preview();
  else if (arrange.contains(event.target)) markChanged();
});

window.addEventListener("beforeunload", (event) => {
  if (arrange.dataset.changed === "true" && !isSaving) event.preventDefault();
});

function markChanged() {
  arrange.dataset.changed = "true";
  clearTimeout(previewTimer);
  previewTimer = setTimeout(preview, PREVIEW_DELAY_MS);
}

// A new frame for each preview: one that is posted to again would add to the history of the window.
function preview() {
  const frame = document.querySelector(".preview iframe");
  if (!frame) return;
  const next = frame.cloneNode();
  next.removeAttribute("src");
  frame.replaceWith(next);
  arrange.requestSubmit(showPreview);
}

// One press after the other, each on the form that the one before brought.
function press(button, rowId = null) {
  const { id } = button;
  queue = queue.then(() => {
    const again = document.getElementById(id);
    return again && !again.disabled ? post(again, rowId) : null;
  });
}

async function post(pressed, rowId) {
  arrange.setAttribute("aria-busy", "true");
  const row = rowId && document.getElementById(rowId);
  const place = (row || pressed).getBoundingClientRect().top;
  const open = [...arrange.querySelectorAll("details[open]")].map((details) => details.id);
  let answer;
  try {
    // Not as multipart: there the number of fields is limited.
    answer = await fetch(arrange.action, { method: "POST", body: new URLSearchParams(new FormData(arrange, pressed)) });
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
  for (const id of open) if (next.querySelector(`#${CSS.escape(id)}`)) next.querySelector(`#${CSS.escape(id)}`).open = true;
  arrange.replaceWith(next);
  arrange = next;
  enhance();
  const focus = (rowId && document.getElementById(rowId)) || findFocus(pressed);
  if (focus) {
    focus.focus({ preventScroll: true });
    window.scrollBy(0, focus.getBoundingClientRect().top - place);
  }
  if (rowId) select(document.getElementById(rowId));
  preview();
}

function findFocus(pressed) {
  const item = pressed.value.split("-")[1] || "";
  return arrange.querySelector(`#${CSS.escape(pressed.id)}:not([disabled])`)
    || (item && arrange.querySelector(`[value$="-${CSS.escape(item)}"]:not([disabled])`));
}

// Keys

const KEYS = { t: "top", m: "more", x: "out", c: "cut" };
const rows = () => [...arrange.querySelectorAll(".entries > li")];

function select(row) {
  for (const other of arrange.querySelectorAll(".current")) other.classList.remove("current");
  current = row ? row.id : null;
  if (row) row.classList.add("current");
}

function go(row) {
  if (!row) return;
  select(row);
  row.focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest" });
}

function step(by) {
  const all = rows();
  const at = all.findIndex((row) => row.id === current);
  go(all[at < 0 ? 0 : Math.max(0, Math.min(at + by, all.length - 1))]);
}

document.addEventListener("keydown", (event) => {
  if (sheet.open || event.ctrlKey || event.metaKey) return;
  const row = event.target.closest?.(".entries > li") || document.getElementById(current || "");
  if (event.altKey) {
    const direction = { ArrowUp: "up", ArrowDown: "down" }[event.key];
    if (direction && row) {
      event.preventDefault();
      move(row, direction);
    }
    return;
  }
  const isTyping = event.target.matches?.("input:not([type=checkbox], [type=radio]), select, textarea");
  if (isTyping && event.target.id === "f-find_text" && event.key === "Enter") {
    event.preventDefault();
    press(document.getElementById("find-button"));
  }
  if (!isTyping && handleKey(event.key, row)) event.preventDefault();
});

function handleKey(key, row) {
  if (key === "j" || key === "k") step(key === "j" ? 1 : -1);
  else if (key === "/") openField("finder", "f-find_text");
  else if (key === "?") sheet.showModal();
  else if (key in KEYS && row) move(row, KEYS[key]);
  else if (key === "e" && row) openField(`words-${row.dataset.id}`, `title-${row.dataset.id}`);
  else if (key === "n" && row) document.getElementById(`note-${row.dataset.id}`)?.focus();
  else return false;
  return true;
}

function move(row, direction) {
  const button = document.getElementById(`${direction}-${row.dataset.id}`);
  if (!button) return;
  const isLeaving = direction === "out" || direction === "more" || direction === "top";
  const stays = isLeaving ? row.nextElementSibling || row.previousElementSibling || row : row;
  press(button, stays.id);
}

function openField(detailsId, fieldId) {
  const details = document.getElementById(detailsId);
  if (!details) return;
  details.open = true;
  document.getElementById(fieldId)?.focus();
}

// Dragging: an item is taken by its handle and dropped between others, in any of the lists.

function enhance() {
  for (const grip of arrange.querySelectorAll(".grip")) {
    grip.hidden = false;
    grip.draggable = true;
    const row = grip.closest("li");
    grip.addEventListener("dragstart", (event) => {
      event.dataTransfer.effectAllowed = "move";
      event.dataTransfer.setData("text/plain", row.dataset.id);
      event.dataTransfer.setDragImage(row, 0, 0);
      row.classList.add("dragged");
    });
    grip.addEventListener("dragend", () => {
      row.classList.remove("dragged");
      drop(row);
    });
  }
  for (const list of arrange.querySelectorAll(".entries[data-standing]")) {
    list.addEventListener("dragover", (event) => {
      const dragged = arrange.querySelector(".dragged");
      if (!dragged) return;
      event.preventDefault();
      const before = [...list.children].find((row) => {
        const box = row.getBoundingClientRect();
        return row !== dragged && event.clientY < box.top + box.height / 2;
      });
      if (before !== dragged.nextElementSibling || dragged.parentNode !== list) list.insertBefore(dragged, before ?? null);
    });
    list.addEventListener("drop", (event) => event.preventDefault());
  }
  const keys = arrange.querySelector("[data-keys]");
  keys.hidden = false;
  keys.addEventListener("click", () => sheet.showModal());
}

function drop(row) {
  const order = arrange.elements.order;
  const shown = new Set(rows().map((each) => each.dataset.id));
  const hidden = Object.fromEntries(order.value.split(";").filter(Boolean).map((part) => {
    const [standing, ids] = part.split(":");
    return [standing, ids.split(",").filter((id) => id && !shown.has(id))];
  }));
  const next = [...arrange.querySelectorAll(".entries[data-standing]")].map((list) => {
    const ids = [...list.children].map((each) => each.dataset.id);
    return `${list.dataset.standing}:${[...ids, ...(hidden[list.dataset.standing] || [])].join(",")};`;
  }).join("");
  if (next === order.value) return;
  order.value = next;
  press(arrange.querySelector("#arrange-button"), row.id);
}

enhance();
