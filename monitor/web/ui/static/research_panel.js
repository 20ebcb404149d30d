// The settings of the next research, kept in this browser. Others read them in `window.steadyResearchConfig.deepAgent`
// and hear of a change by the event `deepAgent:configChanged`, whose `detail` is the new object.

const KEPT = "monitor.deepAgent";
const panel = document.getElementById("research-panel");

function isConfig(value) {
  const { enabled, models, sampling } = value || {};
  const texts = models && ["search", "modeling", "report"].every((name) => typeof models[name] === "string" && models[name]);
  const numbers = sampling && isWithin(sampling.temperature, 0, 2) && isWithin(sampling.topP, Number.MIN_VALUE, 1);
  return typeof enabled === "boolean" && Boolean(texts && numbers);
}

function isWithin(number, least, most) {
  return typeof number === "number" && number >= least && number <= most;
}

/** What this browser keeps; null where it keeps nothing that is sound. */
function kept() {
  try {
    const value = JSON.parse(localStorage.getItem(KEPT));
    return isConfig(value) ? value : null;
  } catch {
    return null;
  }
}

function attend(form, defaults) {
  const { elements } = form;
  const summary = document.getElementById("panel-summary");
  const status = document.getElementById("panel-status");

  function show(config) {
    elements.enabled.checked = config.enabled;
    for (const name of ["search", "modeling", "report"]) elements[name].value = config.models[name];
    for (const name of ["temperature", "topP"]) elements[name].value = config.sampling[name];
    sum(config);
  }

  function sum({ enabled, models, sampling }) {
    const names = [...new Set(Object.values(models))].join(" · ");
    summary.textContent = enabled ? `${names} · ${sampling.temperature} / ${sampling.topP}` : "";
  }

  /** Say beside a field what is wrong with it, or that nothing is. */
  function judge(name, sentence) {
    const place = document.getElementById(`p-${name}-error`);
    place.textContent = sentence;
    place.hidden = !sentence;
    elements[name].toggleAttribute("aria-invalid", Boolean(sentence));
    if (sentence) elements[name].setAttribute("aria-invalid", "true");
    elements[name].closest(".field").classList.toggle("wrong", Boolean(sentence));
    return !sentence;
  }

  function number(name, least, sentence) {
    const typed = elements[name].value.trim().replace(",", ".");
    const value = typed === "" ? NaN : Number(typed);
    const isRight = isWithin(value, least, name === "topP" ? 1 : 2);
    return judge(name, isRight ? "" : sentence) ? value : null;
  }

  function read() {
    const models = {};
    for (const name of ["search", "modeling", "report"]) {
      models[name] = elements[name].value.trim();
      judge(name, models[name] ? "" : panel.dataset.wrongModel);
    }
    const temperature = number("temperature", 0, panel.dataset.wrongTemperature);
    const topP = number("topP", Number.MIN_VALUE, panel.dataset.wrongTopP);
    const config = { enabled: elements.enabled.checked, models, sampling: { temperature, topP } };
    return isConfig(config) ? config : null;
  }

  function hold(config, sentence) {
    window.steadyResearchConfig.deepAgent = config;
    sum(config);
    status.textContent = sentence;
    window.dispatchEvent(new CustomEvent("deepAgent:configChanged", { detail: config }));
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    status.textContent = "";
    const config = read();
    if (!config) {
      form.querySelector("[aria-invalid]").focus();
      return;
    }
    localStorage.setItem(KEPT, JSON.stringify(config));
    hold(config, panel.dataset.saved);
  });
  document.getElementById("panel-back").addEventListener("click", () => {
    localStorage.removeItem(KEPT);
    for (const name of ["search", "modeling", "report", "temperature", "topP"]) judge(name, "");
    show(defaults);
    hold(defaults, panel.dataset.default);
  });
  show(window.steadyResearchConfig.deepAgent);
}

/** Offer the names of the endpoint's models once it has told them, which may take some seconds; a name can be typed. */
async function offer(list, tries = 8) {
  if (list.options.length) return;
  try {
    const answer = await fetch(panel.dataset.models);
    const { models } = answer.ok ? await answer.json() : { models: [] };
    if (!list.options.length) list.append(...models.map((name) => new Option("", name)));
    if (!models.length && tries > 1) setTimeout(() => offer(list, tries - 1), 1000);
  } catch {
    // Without the names the fields take what is typed.
  }
}

if (panel) {
  const form = document.getElementById("panel-form");
  form.addEventListener("focusin", () => offer(document.getElementById("offered-models")));
  const defaults = JSON.parse(panel.dataset.defaults);
  window.steadyResearchConfig = { ...window.steadyResearchConfig, deepAgent: kept() || defaults };
  attend(form, defaults);
  panel.hidden = "byRule" in panel.dataset;
  const ask = document.getElementById("ask");
  // What is asked next takes the object as it stands then, whoever changed it.
  ask.addEventListener("submit", () => {
    const { enabled, models, sampling } = window.steadyResearchConfig.deepAgent;
    ask.elements.options.value = JSON.stringify({ enabled, models, sampling });
  });
}
