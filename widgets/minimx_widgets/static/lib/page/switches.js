// Controls that keys turn as ARIA has it: a row of radio buttons, and an on/off switch.

import { el } from "./dom.js";

const STEPS = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 };

/**
 * The place in a row of `count` that a key leads to from `place`, around its ends; null if
 * the key leads nowhere.
 * @param {string} key @param {number} place @param {number} count
 */
export function placeAfter(key, place, count) {
  if (key === "Home") return 0;
  if (key === "End") return count - 1;
  const step = STEPS[key];
  return step === undefined ? null : (place + step + count) % count;
}

/**
 * Choices in a row, of which one is pressed. Tab comes to the pressed one, arrows turn.
 * @param {{label: string, choices: [string, string, string][], signal: AbortSignal,
 *   onchange: (value: string) => void}} options value, label and meaning of each choice
 */
export function radioRow({ label, choices, signal, onchange }) {
  const node = el("div", { class: "mx-segmented", role: "radiogroup", "aria-label": label });
  const values = choices.map(([value]) => value);
  let shown = "";
  const show = (/** @type {string} */ value) => {
    shown = value;
    const known = values.includes(value);
    for (const [i, button] of [...node.children].entries()) {
      const on = button.dataset.value === value;
      button.setAttribute("aria-checked", String(on));
      button.tabIndex = on || (!known && i === 0) ? 0 : -1;
    }
  };
  const choose = (/** @type {string} */ value) => {
    if (value === shown) return;
    show(value);
    onchange(value);
  };
  for (const [value, text, meaning] of choices)
    node.append(
      el("button", {
        type: "button",
        role: "radio",
        title: meaning ? `${value}: ${meaning}` : value,
        text,
        signal,
        data: { value },
        onclick: () => choose(value),
        onkeydown: (/** @type {KeyboardEvent} */ event) => {
          const next = placeAfter(event.key, values.indexOf(value), values.length);
          if (next === null) return;
          event.preventDefault();
          event.stopPropagation();
          node.children[next].focus();
          choose(values[next]);
        },
      }),
    );
  show(values[0]);
  return { node, show };
}

/**
 * On or off: "1" or "0". Space turns it, → turns it on and ← off.
 * @param {{label: string, signal: AbortSignal, onchange: (value: string) => void}} options
 */
export function toggle({ label, signal, onchange }) {
  const box = el("input", {
    type: "checkbox",
    role: "switch",
    "aria-label": label,
    signal,
    onchange: () => onchange(box.checked ? "1" : "0"),
    onkeydown: (/** @type {KeyboardEvent} */ event) => {
      const on = { ArrowLeft: false, ArrowRight: true }[event.key];
      if (on === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      if (box.checked === on) return;
      box.checked = on;
      onchange(on ? "1" : "0");
    },
  });
  const word = el("span", { class: "mx-five-onoff", "aria-hidden": "true" });
  const node = el(
    "span",
    { class: "mx-five-with" },
    el("label", { class: "mx-switch" }, box, el("i")),
    word,
  );
  return {
    node,
    show: (/** @type {string} */ text) => {
      box.checked = text === "1";
      word.textContent = text === "1" ? "on" : "off";
    },
  };
}
