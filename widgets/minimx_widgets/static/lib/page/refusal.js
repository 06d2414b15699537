// The words at a field whose new value was refused. The field shows its old value again,
// so the words only have to stay until they were read.

const READ = 20_000; // milliseconds

/**
 * `refuse(text)` shows the words; they go when the field is edited or left, at Escape, or
 * after a while.
 * @param {HTMLElement} field holds the inputs @param {HTMLElement} words
 * @param {AbortSignal} signal
 */
export function refusal(field, words, signal) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const mark = (/** @type {boolean} */ refused) => {
    clearTimeout(timer);
    words.hidden = !refused;
    for (const input of field.querySelectorAll("input, select"))
      if (refused) input.setAttribute("aria-invalid", "true");
      else input.removeAttribute("aria-invalid");
  };
  const settle = () => mark(false);
  const refuse = (/** @type {string} */ text) => {
    words.textContent = text;
    mark(true);
    timer = setTimeout(settle, READ);
  };
  field.addEventListener("input", settle, { signal });
  field.addEventListener("focusout", settle, { signal });
  field.addEventListener(
    "keydown",
    (event) => {
      if (event.key === "Escape") settle();
    },
    { signal },
  );
  signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  return { refuse, settle };
}
