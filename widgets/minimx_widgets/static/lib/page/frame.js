// What surrounds every view: title, key numbers, tools, help, table, tooltip, theme.

import { button, el, segmented } from "./dom.js";
import { SOURCES } from "./sources.js";
import { stateString } from "./kept.js";
import { colours, onTheme } from "./theme.js";
import { GONE, LIVE, WORDS, watchKernel } from "../data/link.js";

// Views that only ask the kernel for something; others can be explored without it.
const CONTROLS = ["lab", "knobs", "five", "turns"];
const SAID = 4000; // milliseconds for which it is said that something was copied
/** @type {[string, string]} */
const COPY_KEY = ["Shift+C", "copy what is set in this view as a string, for view.state_string"];

/**
 * The frame of a view. Its parts are public: a view fills them.
 */
export class Frame {
  /**
   * @param {{el: HTMLElement, model: any, title: string, name: string, help: string,
   *   keys: [string, string][], signal: AbortSignal, onkey?: (event: KeyboardEvent) => boolean,
   *   ontheme?: () => void, table?: boolean}} options
   */
  constructor({
    el: host,
    model,
    title,
    name,
    help,
    keys,
    signal,
    onkey,
    ontheme,
    table = true,
  }) {
    this.model = model;
    this.signal = signal;
    this.onkey = onkey;
    /** @type {import("./code_panel.js").CodePanel | undefined} with it O shows source */
    this.code = undefined;
    /** @type {ReturnType<typeof setInterval> | undefined} */
    this.refresh = undefined;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.fading = undefined;
    this.numbers = el("div", { class: "mx-numbers", "aria-live": "off" });
    this.source = el("span", { class: "mx-origin", hidden: true });
    this.tools = el("div", { class: "mx-tools" });
    this.picture = el("div", { class: "mx-picture" });
    this.legend = el("div", { class: "mx-legend" });
    this.table = el("div", { class: "mx-table", hidden: true, tabindex: "0" });
    this.keeps = Boolean(model.get("keeps"));
    const common = this.keeps ? [...keys, COPY_KEY] : keys;
    this.help = helpCard(title, help, common, signal, () => this.toggleHelp(false));
    this.tip = el("div", { class: "mx-tip", role: "tooltip", hidden: true });
    this.note = el("div", { class: "mx-note", role: "alert", hidden: true });
    /** What is said while there is no kernel; in a lab its first line says it for all. */
    this.away = "";
    const head = el(
      "div",
      { class: "mx-head" },
      el("div", { class: "mx-title", text: title }),
      this.numbers,
      this.source,
      this.tools,
    );
    this.body = el("div", { class: "mx-body" }, this.picture, this.table, this.help);
    this.root = el(
      "section",
      {
        class: "mx-view",
        tabindex: "0",
        "aria-label": title,
        signal,
        "data-lm-suppress-shortcuts": "true",
        data: { view: name },
        onkeydown: (/** @type {KeyboardEvent} */ event) => this.key(event),
      },
      head,
      this.note,
      this.body,
      this.legend,
      this.tip,
    );
    this.addStandardTools(table);
    host.append(this.root);
    /** @type {ReturnType<typeof colours> | null} */
    this.known = null;
    onTheme(signal, (dark) => {
      this.root.dataset.mxTheme = dark ? "dark" : "light";
      this.known = null;
      ontheme?.();
    });
    watchKernel(model, signal, (state) => this.setKernel(state));
    signal.addEventListener(
      "abort",
      () => {
        clearInterval(this.refresh);
        clearTimeout(this.fading);
      },
      { once: true },
    );
  }

  /** The kernel went or came. What needs it is off; in a lab its first line says why.
   * @param {string} state */
  setKernel(state) {
    const { root } = this;
    root.dataset.kernel = state;
    clearInterval(this.refresh);
    if (CONTROLS.includes(root.dataset.view ?? ""))
      for (const part of [this.body, this.tools]) part.inert = state !== LIVE;
    this.away = root.closest(".mx-lab") ? "" : WORDS[state];
    this.setNote("");
    for (const { children } of this.numbers.children)
      if (state === GONE && children[0].textContent === "state")
        children[1].textContent = "kernel gone";
    root.dispatchEvent(new CustomEvent("mx-kernel", { detail: state }));
  }

  /** Whether the kernel can be asked. */
  get live() {
    return (this.root.dataset.kernel ?? LIVE) === LIVE;
  }

  /** What is said where something would have to be asked of a kernel that is not there.
   * @param {string} what */
  unasked(what) {
    return `${what} comes from the kernel. ${WORDS[this.root.dataset.kernel ?? LIVE]}`;
  }

  /** @param {boolean} table */
  addStandardTools(table) {
    const { signal } = this;
    this.standard = el("div", { class: "mx-tool-group" });
    if (table) {
      this.tableButton = button({
        label: "",
        icon: "table",
        title: "Show as a table (T)",
        signal,
        onclick: () => this.toggleTable(),
      });
      this.standard.append(this.tableButton);
    }
    if (this.keeps)
      this.standard.append(
        button({
          label: "",
          icon: "link",
          title: "Copy the state of this view as a string (Shift+C)",
          signal,
          onclick: () => this.copyState(),
        }),
      );
    this.standard.append(
      button({
        label: "",
        icon: "help",
        title: "What is this, and which keys work? (?)",
        signal,
        onclick: () => this.toggleHelp(),
      }),
    );
    this.tools.append(this.standard);
  }

  /** The colours in force. A page has none before the view is part of it, so they are
   * read when something is drawn, and again after a change of theme. */
  get theme() {
    if (!this.known) {
      const found = colours(this.root);
      if (!this.root.isConnected) return found;
      this.known = found;
    }
    return this.known;
  }

  /** Put a tool before the standard ones. @param {Node} node */
  addTool(node) {
    this.tools.insertBefore(node, this.standard);
  }

  /**
   * A row of exclusive choices among the tools.
   * @param {string} label @param {string[]} choices @param {string} value
   * @param {(value: string) => void} onchange
   */
  addChoice(label, choices, value, onchange) {
    const group = segmented({ label, choices, value, signal: this.signal, onchange });
    this.addTool(group.root);
    return group;
  }

  /** Key numbers: pairs of label and value; unchanged text is not touched.
   * @param {[string, string][]} pairs */
  setNumbers(pairs) {
    while (this.numbers.children.length > pairs.length) this.numbers.lastChild.remove();
    pairs.forEach(([label, value], i) => {
      let node = this.numbers.children[i];
      if (!node) {
        node = el("span", { class: "mx-number" }, el("small"), el("b"));
        this.numbers.append(node);
      }
      if (node.children[0].textContent !== label) node.children[0].textContent = label;
      if (node.children[1].textContent !== value) node.children[1].textContent = value;
    });
  }

  /** Say where the key numbers come from, in words of `SOURCES`, a comma between them.
   * @param {string} words */
  setSource(words) {
    if (this.source.textContent === words) return;
    this.source.hidden = !words;
    this.source.textContent = words;
    const known = words.split(", ").map((word) => SOURCES[word.replace(/^.* /, "")] ?? SOURCES[word]);
    this.source.title = known.filter(Boolean).join(". ");
    this.root.dataset.source = words;
  }

  /** A legend of coloured names. @param {[string, string, string?][]} entries */
  setLegend(entries) {
    const text = JSON.stringify(entries);
    if (this.legend.dataset.text === text) return;
    this.legend.dataset.text = text;
    this.legend.replaceChildren(
      ...entries.map(([name, colour, kind]) => {
        const swatch = el("i", { class: `mx-swatch mx-swatch-${kind ?? "fill"}` });
        swatch.style.setProperty("--swatch", colour);
        return el("span", {}, swatch, name);
      }),
    );
  }

  /** A message above the picture, or none. Without a kernel nothing is on its way, so of
   * messages only those are left that say what was wrong.
   * @param {string} text @param {string} [kind] */
  setNote(text, kind = "info") {
    const said = this.away ? [this.away, kind === "info" ? "" : text].filter(Boolean).join(" ") : text;
    this.note.hidden = !said;
    this.note.textContent = said;
    this.note.dataset.kind = this.away ? "error" : kind;
  }

  /**
   * Show the tooltip near a point of the picture, or of a part of it.
   * @param {number} x @param {number} y @param {Node[]} lines
   * @param {HTMLElement} [part]
   */
  showTip(x, y, lines, part = this.picture) {
    this.tip.replaceChildren(...lines);
    this.tip.hidden = false;
    const room = this.root.getBoundingClientRect();
    const box = part.getBoundingClientRect();
    const own = this.tip.getBoundingClientRect();
    const left = box.left - room.left + x;
    const flip = left + 14 + own.width > room.width;
    this.tip.style.left = `${Math.max(4, flip ? left - own.width - 10 : left + 14)}px`;
    const top = box.top - room.top + y + 14;
    this.tip.style.top = `${Math.max(4, Math.min(top, room.height - own.height - 4))}px`;
  }

  hideTip() {
    this.tip.hidden = true;
  }

  /** @param {boolean} [on] */
  toggleHelp(on = this.help.hidden) {
    this.help.hidden = !on;
    if (on) this.help.focus();
    else this.root.focus({ preventScroll: true });
  }

  /** Copy what is set in the view as a string. */
  copyState() {
    const text = stateString(this.model);
    this.root.dataset.stateString = text;
    return this.copy(text, "The state of this view");
  }

  /** Copy a text; it is shown as well, for pages that may not write to the clipboard.
   * @param {string} text @param {string} what it is */
  async copy(text, what) {
    const copied = await (navigator.clipboard?.writeText(text) ?? Promise.reject()).then(
      () => true,
      () => false,
    );
    if (this.signal.aborted) return;
    const before = this.note.textContent;
    if (before && this.note.dataset.kind === "error") return;
    this.setNote(copied ? `Copied: ${text}` : `${what}: ${text}`);
    clearTimeout(this.fading);
    const said = this.note.textContent;
    this.fading = setTimeout(() => {
      if (this.note.textContent === said && copied) this.setNote("");
    }, SAID);
  }

  /** The table comes from the kernel, and again each second while it is shown.
   * @param {boolean} [on] */
  toggleTable(on = this.table.hidden) {
    this.table.hidden = !on;
    this.picture.hidden = on;
    this.legend.hidden = on;
    this.tableButton?.setAttribute("aria-pressed", String(on));
    clearInterval(this.refresh);
    if (!on) return;
    const ask = () => this.model.send({ kind: "table" });
    if (!this.live && !this.table.querySelector("table")) {
      this.table.textContent = this.unasked("The table");
      return;
    }
    if (!this.table.firstChild) this.table.textContent = "Asking the kernel for the table…";
    this.refresh = setInterval(ask, 1000);
    ask();
  }

  /** @param {string} html made and escaped by the kernel */
  setTable(html) {
    if (!this.table.hidden) this.table.innerHTML = html;
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    event.stopPropagation();
    const target = /** @type {HTMLElement} */ (event.target);
    if (
      target.matches("input, select, textarea") ||
      event.ctrlKey ||
      event.metaKey ||
      event.altKey
    )
      return;
    const press = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    let used = true;
    if (press === "?") this.toggleHelp();
    else if (press === "c" && event.shiftKey && this.keeps) this.copyState();
    else if (press === "Escape" && !this.help.hidden) this.toggleHelp(false);
    else if (press === "t" && this.tableButton) this.toggleTable();
    else if (press === "o" && this.code) this.code.open();
    else used = this.onkey?.(event) ?? false;
    if (used) event.preventDefault();
  }
}

/**
 * @param {string} title @param {string} help @param {[string, string][]} keys
 * @param {AbortSignal} signal @param {() => void} close
 */
function helpCard(title, help, keys, signal, close) {
  const rows = keys
    .concat([["?", "this help"]])
    .flatMap(([key, what]) => [
      el("dt", {}, ...key.split(" ").map((k) => el("kbd", { text: k }))),
      el("dd", { text: what }),
    ]);
  const card = el(
    "div",
    { class: "mx-help", role: "dialog", "aria-label": `Help: ${title}`, tabindex: "-1" },
    el(
      "div",
      { class: "mx-help-head" },
      el("b", { text: title }),
      button({ label: "Close", title: "Close the help (Esc)", signal, onclick: close }),
    ),
    el("p", { text: help }),
    el("dl", {}, ...rows),
  );
  card.hidden = true;
  return card;
}

/** A line of a tooltip: a label and what it says. @param {string} label @param {string} value */
export function tipRow(label, value) {
  return el(
    "div",
    { class: "mx-tip-row" },
    el("small", { text: label }),
    el("span", { text: value }),
  );
}

/** The head of a tooltip. @param {string} text @param {string} [colour] */
export function tipHead(text, colour) {
  const head = el("div", { class: "mx-tip-head" });
  if (colour) {
    const swatch = el("i", { class: "mx-swatch mx-swatch-fill" });
    swatch.style.setProperty("--swatch", colour);
    head.append(swatch);
  }
  head.append(text);
  return head;
}
