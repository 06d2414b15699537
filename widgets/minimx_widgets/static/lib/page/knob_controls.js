// One control per type of knob. A control shows a value's text and reports a new one.

import { el } from "./dom.js";

/**
 * @typedef {{name: string, type: string, default: string, choices: string[], low: number | null,
 *   high: number | null, unit: string, live: boolean}} Knob
 * @typedef {{node: HTMLElement, show: (text: string) => void, busy: () => boolean}} Control
 */

/**
 * The control of a knob. `send` gets the text of a new value.
 * @param {Knob} knob @param {AbortSignal} signal @param {(text: string) => void} send
 * @returns {Control}
 */
export function control(knob, signal, send) {
  const make =
    { bool: toggle, choice: dropDown, int: number, float: number, size: number }[knob.type] ??
    textBox;
  const made = make(knob, signal, send);
  if (!knob.live)
    for (const input of made.node.querySelectorAll("input, select, button"))
      input.disabled = true;
  return made;
}

/** @param {Knob} knob @param {AbortSignal} signal @param {(text: string) => void} send */
function toggle(knob, signal, send) {
  const box = el("input", {
    type: "checkbox",
    role: "switch",
    "aria-label": knob.name,
    signal,
    onchange: () => send(box.checked ? "1" : "0"),
  });
  const node = el("label", { class: "mx-switch" }, box, el("i"));
  return {
    node,
    show: (text) => {
      box.checked = text === "1";
    },
    busy: () => false,
  };
}

/** @param {Knob} knob @param {AbortSignal} signal @param {(text: string) => void} send */
function dropDown(knob, signal, send) {
  const select = el(
    "select",
    {
      class: "mx-select",
      "aria-label": knob.name,
      signal,
      onchange: () => send(select.value),
    },
    ...knob.choices.map((choice) => el("option", { value: choice, text: choice || "(empty)" })),
  );
  return {
    node: el("div", { class: "mx-control" }, select),
    show: (text) => {
      select.value = text;
    },
    busy: () => false,
  };
}

/** A text box that sends on Enter or when it is left, and is let alone while it is edited.
 * @param {Knob} knob @param {AbortSignal} signal @param {(text: string) => void} send */
function textBox(knob, signal, send) {
  const input = entry(knob, signal, send);
  return {
    node: el("div", { class: "mx-control" }, input),
    show: (text) => {
      input.value = text;
      input.dataset.shown = text;
    },
    busy: () => edited(input),
  };
}

/** A box, and beside it a slider where the range is known: logarithmic where it is wide.
 * @param {Knob} knob @param {AbortSignal} signal @param {(text: string) => void} send */
function number(knob, signal, send) {
  const input = entry(knob, signal, send);
  const node = el("div", { class: "mx-control" }, input);
  const scale = sliderScale(knob);
  if (!scale) {
    return {
      node,
      show: (text) => {
        input.value = text;
        input.dataset.shown = text;
      },
      busy: () => edited(input),
    };
  }
  let dragging = false;
  const slider = el("input", {
    type: "range",
    min: "0",
    max: String(scale.stops),
    step: "1",
    "aria-label": `${knob.name} slider`,
    signal,
    oninput: () => {
      dragging = true;
      input.value = scale.text(Number(slider.value));
      send(input.value);
    },
    onchange: () => {
      dragging = false;
    },
  });
  node.prepend(slider);
  const show = (text) => {
    input.value = text;
    input.dataset.shown = text;
    const stop = scale.stop(text);
    if (stop !== null) slider.value = String(stop);
  };
  return { node, show, busy: () => dragging || edited(input) };
}

/** @param {Knob} knob @param {AbortSignal} signal @param {(text: string) => void} send */
function entry(knob, signal, send) {
  const commit = () => {
    if (edited(input)) {
      input.dataset.shown = input.value;
      send(input.value.trim());
    }
  };
  const input = el("input", {
    type: "text",
    class: "mx-entry",
    spellcheck: "false",
    autocomplete: "off",
    "aria-label": knob.name,
    placeholder: knob.default || "(empty)",
    signal,
    onblur: commit,
    onkeydown: (event) => {
      if (event.key === "Enter") commit();
      if (event.key === "Escape") {
        input.value = input.dataset.shown ?? "";
        input.blur();
      }
    },
  });
  return input;
}

/** @param {any} input */
function edited(input) {
  return document.activeElement === input && input.value !== (input.dataset.shown ?? "");
}

/**
 * How a slider's stops map to values: one by one, or by powers of two where the range
 * spans more than a hundred values. Null where a bound is missing.
 * @param {Knob} knob
 */
export function sliderScale({ type, low, high }) {
  if (low === null || high === null || (type === "float" && high - low > 1)) return null;
  if (type === "float")
    return linear(low, (high - low) / 100, 100, (value) => value.toFixed(2));
  if (high - low <= 100) return linear(low, 1, high - low, String);
  const base = Math.max(1, low);
  const zero = low < 1 ? 1 : 0;
  const stops = Math.ceil(Math.log2(high / base)) + zero;
  return {
    stops,
    text: (/** @type {number} */ stop) =>
      sizeText(stop < zero ? low : Math.min(high, base * 2 ** (stop - zero)), type),
    stop: (/** @type {string} */ text) => {
      const value = numberOf(text);
      if (value === null) return null;
      return value < base ? 0 : Math.round(Math.log2(value / base)) + zero;
    },
  };
}

/** @param {number} low @param {number} step @param {number} stops @param {(value: number) => string} format */
function linear(low, step, stops, format) {
  return {
    stops,
    text: (/** @type {number} */ stop) => format(low + stop * step),
    stop: (/** @type {string} */ text) => {
      const value = numberOf(text);
      return value === null ? null : Math.round((value - low) / step);
    },
  };
}

/** "64MiB" or "12" as a number; null if it is neither. @param {string} text */
export function numberOf(text) {
  const found = /^\s*([+-]?[0-9.]+)\s*(?:([KMGT])i?)?B?\s*$/.exec(text);
  if (!found) return null;
  const power = found[2] ? "KMGT".indexOf(found[2]) + 1 : 0;
  const value = Number(found[1]) * 1024 ** power;
  return Number.isFinite(value) ? value : null;
}

/** @param {number} value @param {string} type */
function sizeText(value, type) {
  if (type !== "size") return String(value);
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  let left = value;
  while (left >= 1024 && left % 1024 === 0 && unit < units.length - 1) {
    left /= 1024;
    unit += 1;
  }
  return `${left}${units[unit]}`;
}
