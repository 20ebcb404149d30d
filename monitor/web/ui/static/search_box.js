// The search box of every page as a combobox (ARIA 1.2): suggestions by type, recent queries and saved views.
// Without this script the form leads to the page of the search.

const PAUSE_MS = 120;
const form = document.querySelector("form.find");
if (form) startSearchBox(form, document.getElementById("find"));

function startSearchBox(form, input) {
  const root = form.dataset.root;
  const words = JSON.parse(form.dataset.words);
  const opener = document.querySelector(".find-open");
  const list = document.createElement("div");
  const status = document.createElement("p");
  let options = [];
  let active = -1;
  let timer = 0;
  let asked = null;

  list.id = "find-list";
  list.className = "suggestions";
  list.hidden = true;
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", form.querySelector("label").textContent);
  status.className = "unseen";
  status.setAttribute("role", "status");
  form.append(list, status);
  for (const [name, value] of Object.entries({
    role: "combobox", "aria-autocomplete": "list", "aria-controls": list.id, "aria-expanded": "false",
  })) input.setAttribute(name, value);

  // What is shown.

  function buildOption(entry, id) {
    const option = document.createElement("a");
    option.id = id;
    option.href = root + entry.path;
    option.tabIndex = -1;
    option.setAttribute("role", "option");
    option.setAttribute("aria-selected", "false");
    const title = document.createElement("span");
    title.className = "title";
    title.textContent = entry.title;
    option.append(title);
    const about = [entry.about, entry.day].filter(Boolean).join(" · ");
    if (about) {
      const beside = document.createElement("span");
      beside.className = "about";
      beside.textContent = about;
      option.append(beside);
    }
    return option;
  }

  function show(groups, { isSearch }) {
    list.replaceChildren();
    options = [];
    for (const { type, name, entries } of groups) {
      const group = document.createElement("div");
      const heading = document.createElement("div");
      heading.id = `find-group-${type}`;
      heading.className = "group";
      heading.textContent = name;
      group.setAttribute("role", "group");
      group.setAttribute("aria-labelledby", heading.id);
      group.append(heading);
      for (const entry of entries) {
        const option = buildOption(entry, `find-option-${options.length}`);
        options.push(option);
        group.append(option);
      }
      list.append(group);
    }
    setActive(-1);
    setOpen(options.length > 0);
    const count = words.count.replace("%(count)s", options.length);
    status.textContent = !isSearch ? "" : options.length ? count : words.none;
  }

  function setOpen(isOpen) {
    list.hidden = !isOpen;
    input.setAttribute("aria-expanded", String(isOpen));
    if (!isOpen) setActive(-1);
  }

  function setActive(place) {
    options[active]?.setAttribute("aria-selected", "false");
    active = place;
    const option = options[active];
    if (!option) {
      input.removeAttribute("aria-activedescendant");
      return;
    }
    option.setAttribute("aria-selected", "true");
    option.scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", option.id);
  }

  // What is asked.

  async function load(path, signal) {
    const answer = await fetch(`${root}/api/v1/${path}`, { signal });
    if (!answer.ok) throw new Error(String(answer.status));
    return answer.json();
  }

  async function suggest() {
    const text = input.value.trim();
    asked?.abort();
    asked = new AbortController();
    const { signal } = asked;
    try {
      if (text) {
        const { groups } = await load(`find/suggestions?${new URLSearchParams({ q: text })}`, signal);
        show(groups.map((group) => ({ ...group, name: words.types[group.type] })), { isSearch: true });
      } else {
        show(await loadOwn(signal), { isSearch: false });
      }
    } catch {
      if (!signal.aborted) show([], { isSearch: false });
    }
  }

  async function loadOwn(signal) {
    const [{ queries }, { views }] = await Promise.all([load("find/recent", signal), load("items/views", signal)]);
    const recent = queries.slice(0, 6).map(({ text }) => ({ title: text, path: `/search?${new URLSearchParams({ q: text })}` }));
    const saved = views.map(({ name, filters }) => ({ title: name, path: `/items?${buildQuery(filters)}` }));
    const groups = [
      { type: "recent", name: words.recent, entries: recent },
      { type: "views", name: words.views, entries: saved },
    ];
    return groups.filter(({ entries }) => entries.length);
  }

  function buildQuery(filters) {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(filters)) {
      for (const each of [value].flat()) query.append(name, each);
    }
    return query;
  }

  // Keys, pointer, focus.

  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(suggest, PAUSE_MS);
  });
  input.addEventListener("focus", suggest);
  input.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const { key } = event;
    if (key === "ArrowDown" || key === "ArrowUp") {
      event.preventDefault();
      if (list.hidden) {
        suggest();
        return;
      }
      const step = key === "ArrowDown" ? 1 : -1;
      const places = options.length + 1; // one of them is the input itself
      setActive(((active + 1 + step + places) % places) - 1);
    } else if (key === "Enter" && options[active]) {
      event.preventDefault();
      options[active].click();
    } else if (key === "Escape") {
      if (!list.hidden) setOpen(false);
      else if (input.value) input.value = "";
      else closePhone();
      event.preventDefault();
    } else if (key === "Tab") {
      setOpen(false);
    }
  });
  list.addEventListener("pointerdown", (event) => event.preventDefault()); // the focus stays in the input
  list.addEventListener("click", () => setOpen(false));
  form.addEventListener("submit", (event) => {
    if (!input.value.trim()) event.preventDefault();
  });
  document.addEventListener("pointerdown", (event) => {
    if (!form.contains(event.target)) setOpen(false);
  });
  form.addEventListener("focusout", (event) => {
    if (!form.contains(event.relatedTarget)) setOpen(false);
  });

  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.closest?.("input:not([type=checkbox]), textarea, select, dialog[open]");
    if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    openPhone();
    input.focus();
    input.select();
  });

  // On a phone the box is behind a button.

  opener.setAttribute("role", "button");
  opener.setAttribute("aria-expanded", "false");
  opener.setAttribute("aria-controls", "find");
  opener.addEventListener("click", (event) => {
    event.preventDefault();
    if (form.classList.contains("open")) closePhone();
    else {
      openPhone();
      input.focus();
    }
  });
  opener.addEventListener("keydown", (event) => {
    if (event.key !== " ") return;
    event.preventDefault();
    opener.click();
  });

  function openPhone() {
    form.classList.add("open");
    opener.setAttribute("aria-expanded", "true");
  }

  function closePhone() {
    if (!form.classList.contains("open")) return;
    form.classList.remove("open");
    opener.setAttribute("aria-expanded", "false");
    if (opener.offsetParent) opener.focus();
  }
}
