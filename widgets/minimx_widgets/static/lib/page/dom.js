// Small helpers to build and fill HTML without a framework.

/**
 * An element with attributes, listeners and children in one call.
 * `on<event>` keys become listeners that `signal` removes; `data` becomes data attributes.
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {...(Node | string | null | undefined)} children
 * @returns {any}
 */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  const { signal, data, ...rest } = attributes;
  for (const [key, value] of Object.entries(rest)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) {
      if (!signal) throw new Error(`${tag}.${key}: a listener needs a signal that ends it`);
      node.addEventListener(key.slice(2), value, { signal });
    } else if (key === "text") node.textContent = value;
    else node.setAttribute(key, value === true ? "" : value);
  }
  if (data) Object.assign(node.dataset, data);
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

const ICONS = {
  table: "M2 3h12v10H2zM2 6.5h12M2 10h12M6.5 3v10",
  help: "M5.6 6a2.4 2.4 0 1 1 3.5 2.2c-.8.4-1.1.8-1.1 1.7M8 12.4v.1",
  play: "M5 3.2v9.6l7.6-4.8z",
  pause: "M5.2 3.5v9M10.8 3.5v9",
  step: "M4 3.5v9l6-4.5zM12 3.5v9",
  back: "M12 3.5v9l-6-4.5zM4 3.5v9",
  stop: "M4 4h8v8H4z",
  fit: "M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",
  live: "M8 8m-2.2 0a2.2 2.2 0 1 0 4.4 0a2.2 2.2 0 1 0-4.4 0M8 8m-5.5 0a5.5 5.5 0 1 0 11 0a5.5 5.5 0 1 0-11 0",
  reset: "M3 8a5 5 0 1 0 1.6-3.7M3 2.6v2.8h2.8",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  link: "M6.8 9.2a2.4 2.4 0 0 0 3.4 0l2.4-2.4a2.4 2.4 0 0 0-3.4-3.4l-1 1M9.2 6.8a2.4 2.4 0 0 0-3.4 0L3.4 9.2a2.4 2.4 0 0 0 3.4 3.4l1-1",
  pin: "M6 2.5h4l-.6 4 2.4 2.4H4.2L6.6 6.5zM8 9v4.5",
  more: "M4 6l4 4 4-4",
  code: "M5.5 4.5L2 8l3.5 3.5M10.5 4.5L14 8l-3.5 3.5M9 3l-2 10",
};

/**
 * A 16-pixel icon drawn with the text's colour.
 * @param {keyof typeof ICONS} name
 */
export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", "mx-icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", ICONS[name]);
  const solid = name === "play" || name === "stop" || name === "step" || name === "back";
  path.setAttribute("class", solid ? "mx-icon-solid" : "mx-icon-line");
  svg.append(path);
  return svg;
}

/**
 * A button with an icon or a word, a tooltip, and a listener.
 * @param {{label: string, title: string, icon?: keyof typeof ICONS, signal: AbortSignal,
 *   onclick: (event: MouseEvent) => void, kind?: string}} options
 * @returns {HTMLButtonElement}
 */
export function button({ label, title, icon: name, signal, onclick, kind = "plain" }) {
  const node = el(
    "button",
    {
      type: "button",
      class: `mx-button mx-button-${kind}`,
      title,
      "aria-label": title,
      signal,
      onclick,
    },
    name ? icon(name) : null,
    label ? el("span", { text: label }) : null,
  );
  return node;
}

/**
 * Mark the active option of a listbox, for keyboards and screen readers.
 * @param {HTMLElement} list @param {HTMLElement | null | undefined} option
 */
export function lookAt(list, option) {
  if (option) {
    option.id ||= `mx-${Math.random().toString(36).slice(2)}`;
    list.setAttribute("aria-activedescendant", option.id);
  } else list.removeAttribute("aria-activedescendant");
}

/**
 * A row of choices of which one is pressed.
 * @param {{label: string, choices: string[], value: string, signal: AbortSignal,
 *   onchange: (value: string) => void}} options
 */
export function segmented({ label, choices, value, signal, onchange }) {
  const root = el("div", { class: "mx-segmented", role: "radiogroup", "aria-label": label });
  const show = (/** @type {string} */ chosen) => {
    for (const node of root.children) {
      node.setAttribute("aria-checked", String(node.dataset.value === chosen));
    }
  };
  for (const choice of choices) {
    root.append(
      el("button", {
        type: "button",
        role: "radio",
        title: `${label}: ${choice}`,
        text: choice,
        signal,
        data: { value: choice },
        onclick: () => {
          show(choice);
          onchange(choice);
        },
      }),
    );
  }
  show(value);
  return { root, show };
}
