// Stars without a reload: the form does the same where no script runs.
const token = document.querySelector('meta[name="csrf-token"]')?.content;

async function toggle(form) {
  const button = form.querySelector("button");
  const wanted = form.elements.starred;
  const star = wanted.value === "true";
  const answer = await fetch(form.dataset.api, {
    method: star ? "PUT" : "DELETE",
    headers: { "X-CSRF-Token": token },
  });
  if (!answer.ok) throw new Error(String(answer.status));
  wanted.value = String(!star);
  button.setAttribute("aria-pressed", String(star));
  button.firstElementChild.textContent = star ? "★" : "☆";
}

for (const form of token ? document.querySelectorAll("form.star") : []) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    toggle(form).catch(() => form.submit());
  });
}
