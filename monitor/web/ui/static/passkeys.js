// Passkeys: the browser asks the device, and the answer goes to the service. The buttons are there only with this
// script, in a browser that has passkeys.

const encode = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
const decode = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));

const form = document.querySelector("form[data-passkey]");
if (form && window.PublicKeyCredential) {
  form.hidden = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    run(form);
  });
}

async function run(form) {
  const trouble = form.querySelector("[role=alert]");
  const button = form.querySelector("button");
  trouble.hidden = true;
  button.disabled = true;
  try {
    const isNew = form.dataset.passkey === "add";
    const options = await post(form, `${form.getAttribute("action")}/options`, {});
    const credential = isNew ? await create(options) : await get(options);
    const fields = Object.fromEntries([...new FormData(form)].filter(([name]) => name !== "csrf"));
    const answer = await post(form, form.getAttribute("action"), { credential, ...fields });
    location.assign(answer.location);
  } catch (error) {
    trouble.textContent = error instanceof DOMException ? form.dataset.failed : error.message;
    trouble.hidden = false;
    button.disabled = false;
  }
}

async function post(form, url, body) {
  const headers = { "Content-Type": "application/json", Accept: "application/json" };
  const csrf = form.querySelector("input[name=csrf]");
  if (csrf) headers["X-CSRF-Token"] = csrf.value;
  const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  const parsed = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(parsed.detail || form.dataset.failed);
  return parsed;
}

async function create(options) {
  const known = (options.excludeCredentials || []).map((key) => ({ ...key, id: decode(key.id) }));
  const user = { ...options.user, id: decode(options.user.id) };
  const publicKey = { ...options, challenge: decode(options.challenge), user, excludeCredentials: known };
  const made = await navigator.credentials.create({ publicKey });
  return describe(made, { attestationObject: encode(made.response.attestationObject) });
}

async function get(options) {
  const publicKey = { ...options, challenge: decode(options.challenge), allowCredentials: [] };
  const found = await navigator.credentials.get({ publicKey });
  const { authenticatorData, signature, userHandle } = found.response;
  return describe(found, {
    authenticatorData: encode(authenticatorData),
    signature: encode(signature),
    userHandle: userHandle ? encode(userHandle) : null,
  });
}

function describe(credential, response) {
  const { id, type, rawId } = credential;
  const clientDataJSON = encode(credential.response.clientDataJSON);
  return { id, rawId: encode(rawId), type, clientExtensionResults: {}, response: { clientDataJSON, ...response } };
}
