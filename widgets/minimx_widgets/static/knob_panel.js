// Every knob, grouped: its value, when a change acts, what it means, and why it refused.

import { CodePanel } from "./lib/page/code_panel.js";
import { button, el, icon } from "./lib/page/dom.js";
import { Frame } from "./lib/page/frame.js";
import { Kept } from "./lib/page/kept.js";
import { control } from "./lib/page/knob_controls.js";
import { refusal } from "./lib/page/refusal.js";
import { listeningView } from "./lib/page/state_view.js";

const SCOPES = {
  live: ["next op", "acts at the next operation"],
  bind: ["next bind", "acts when the next graph is bound; a hybridized block does so by itself"],
  restart: ["restarts", "acts at once: its part is drained and restarted in this process"],
  create: ["made anew", "acts when what obeys it is made; what exists stays as it is"],
};
const HELP =
  "Each row is one variable. A change is checked, then applied in the running process, also " +
  "while a network trains. The badge says when it acts; a dot marks what differs from its " +
  "default. Point at a row to read what it does and which document names it. A refused " +
  "value leaves everything as it was and says why.";
const TRY =
  " Hold Alt and click a row, or press Alt+Enter in it, to try the knob without turning it: the " +
  "next two steps are recorded, and their replay is compared below with another one in which the " +
  "knob has the value typed or chosen in its field, or else another one. The training goes on.";
/** @type {[string, string][]} */
const KEYS = [
  ["/", "search by name or meaning"],
  ["↑ ↓", "previous, next knob"],
  ["A", "show all knobs, or only the pinned ones"],
  ["R", "reset the knob in focus to its default"],
  ["P", "pin or unpin the knob in focus"],
  ["C", "show the changes as code"],
  ["O", "source: the lines that obey the knob in focus"],
];
/** @type {[string, string][]} */
const TRY_KEYS = [
  ["Alt+Enter", "try the knob in a replay"],
  ["Alt+click", "the same by mouse"],
];

class KnobPanel {
  constructor({ model, el: host, signal }) {
    this.model = model;
    this.signal = signal;
    this.rows = new Map();
    this.sent = 0;
    this.focused = "";
    this.frame = new Frame({
      el: host,
      model,
      title: "Knobs",
      name: "knobs",
      help: HELP + (model.get("comparable") ? TRY : ""),
      keys: [...KEYS, ...(model.get("comparable") ? TRY_KEYS : [])],
      signal,
      onkey: (event) => this.key(event),
    });
    this.frame.root.classList.add("mx-knobs");
    this.addTools();
    this.build();
    model.on("change:state", () => this.show());
    model.on("msg:custom", (message) => this.hear(message));
    this.show();
  }

  addTools() {
    const { signal } = this;
    this.presets = el(
      "select",
      {
        class: "mx-select",
        title: "Settings that the documents recommend together",
        "aria-label": "Presets",
        signal,
        onchange: () => {
          this.ask({ kind: "preset", name: this.presets.value });
          this.presets.value = "";
        },
      },
      el("option", { value: "", text: "Presets…" }),
      ...this.model
        .get("presets")
        .map(([name, meaning]) => el("option", { value: name, text: name, title: meaning })),
    );
    this.frame.addTool(this.presets);
    this.frame.addTool(
      button({
        label: "",
        icon: "copy",
        title: "Show the changes as code (C)",
        signal,
        onclick: () => this.toggleCode(),
      }),
    );
    this.frame.addTool(
      button({
        label: "",
        icon: "reset",
        title: "Reset every knob to its default",
        signal,
        onclick: () => this.ask({ kind: "reset", names: [] }),
      }),
    );
  }

  build() {
    const { signal } = this;
    const knobs = this.model.get("declared");
    this.search = el("input", {
      type: "search",
      class: "mx-search",
      placeholder: `Search ${knobs.length} knobs`,
      "aria-label": "Search knobs",
      signal,
      oninput: () => this.filter(),
    });
    this.code = el("pre", { class: "mx-code", hidden: true, tabindex: "0" });
    this.pinnedBox = el("div", { class: "mx-knob-group" });
    this.groupsBox = el("div", { class: "mx-knob-groups" });
    this.more = button({
      label: "All knobs",
      icon: "more",
      title: "Show all knobs, or only the pinned ones (A)",
      signal,
      kind: "wide",
      onclick: () => this.toggleAll(),
    });
    this.card = el("div", { class: "mx-knob-card" });
    this.card.append(...welcome());
    this.card.addEventListener("click", (event) => this.copyTrial(event), { signal });
    this.said = el("div", { class: "mx-knob-said", role: "status" });
    this.groups = new Map();
    for (const knob of knobs) {
      this.rows.set(knob.name, this.row(knob));
      if (!this.groups.has(knob.group)) this.groups.set(knob.group, this.group(knob.group));
    }
    const list = el(
      "div",
      { class: "mx-knob-list" },
      this.pinnedBox,
      this.more,
      this.groupsBox,
    );
    if (this.model.get("comparable"))
      for (const kind of ["pointerdown", "mousedown", "click", "keydown"])
        list.addEventListener(kind, (event) => this.tryOut(event), { signal, capture: true });
    list.style.maxHeight = `${this.model.get("height")}px`;
    this.groupsBox.append(...[...this.groups.values()].map(({ node }) => node));
    this.frame.picture.append(this.search, this.code, list, this.card, this.said);
    this.frame.root.addEventListener(
      "pointerleave",
      () => {
        if (this.focused) this.explain(this.focused);
      },
      { signal },
    );
    this.code_panel = new CodePanel({ model: this.model, frame: this.frame, signal });
    this.toggleAll(this.model.get("expanded"));
    this.kept = new Kept({
      model: this.model,
      signal,
      parts: {
        expanded: {
          get: () => this.frame.root.dataset.all === "true",
          set: (on) => this.toggleAll(on),
        },
        search: {
          get: () => this.search.value,
          set: (text) => {
            this.search.value = text;
            this.filter();
          },
        },
      },
    });
    this.kept.note(); // all is drawn: what is set from now on is the reader's doing
  }

  group(name) {
    const count = el("small");
    const body = el("div", { class: "mx-knob-group" });
    const node = el(
      "details",
      { data: { group: name } },
      el("summary", {}, el("span", { text: name }), count),
      body,
    );
    return { node, body, count };
  }

  row(knob) {
    const { signal } = this;
    const made = control(knob, signal, (text) => this.turn(knob.name, text));
    const [badge, when] = knob.live
      ? SCOPES[knob.scope]
      : ["planned", `does not act yet; comes with ${knob.planned_in}`];
    const error = el("div", { class: "mx-knob-error", role: "alert", hidden: true });
    const cannot = el("div", { class: "mx-default mx-knob-cannot", hidden: true });
    const pin = button({
      label: "",
      icon: "pin",
      title: `Pin ${knob.name} (P)`,
      signal,
      kind: "tiny",
      onclick: () => this.ask({ kind: "pin", name: knob.name }),
    });
    const reset = button({
      label: "",
      icon: "reset",
      title: `Back to the default (R)`,
      signal,
      kind: "tiny",
      onclick: () => this.ask({ kind: "reset", names: [knob.name] }),
    });
    const name = el(
      "code",
      {},
      ...knob.name.split("_").flatMap((part, i) => (i ? ["_", el("wbr"), part] : [part])),
    );
    const node = el(
      "div",
      {
        class: "mx-knob",
        signal,
        data: { knob: knob.name, live: String(knob.live) },
        onpointerenter: () => this.explain(knob.name),
        onfocusin: () => {
          this.focused = knob.name;
          this.explain(knob.name);
        },
      },
      el(
        "div",
        { class: "mx-knob-line" },
        el(
          "div",
          { class: "mx-knob-name" },
          el("i", { class: "mx-dot", title: "differs from its default" }),
          name,
        ),
        el("div", { class: "mx-knob-tools" }, reset, pin),
      ),
      el(
        "div",
        { class: "mx-knob-line" },
        el("span", {
          class: "mx-badge",
          data: { scope: knob.live ? knob.scope : "planned" },
          text: badge,
          title: when,
        }),
        made.node,
      ),
      el("div", { class: "mx-default", text: `default ${knob.default_text}` }),
      cannot,
      error,
    );
    return {
      knob,
      node,
      made,
      cannot,
      refused: refusal(node, error, signal),
      reset,
      pin,
      words: [knob.name, ...knob.aliases, knob.meaning, knob.group].join(" ").toLowerCase(),
    };
  }

  /** Put every row where it belongs and every value where it shows. */
  show() {
    const state = this.model.get("state");
    const changed = new Set(state.changed);
    this.pinnedBox.replaceChildren(
      ...state.pinned.map((name) => this.rows.get(name)?.node).filter(Boolean),
    );
    for (const [name, row] of this.rows) {
      if (!state.pinned.includes(name)) this.groups.get(row.knob.group).body.append(row.node);
      if (!row.made.busy()) row.made.show(state.values[name]);
      row.node.dataset.changed = String(changed.has(name));
      row.node.dataset.value = state.values[name];
      row.reset.hidden = !changed.has(name);
      const why = row.knob.live ? (state.cannot?.[name] ?? "") : "";
      row.node.dataset.cannot = why;
      row.cannot.textContent = why ? `cannot act now: ${why}` : "";
      // In the long list the card says it; a turned or pinned knob says it in its place.
      row.cannot.hidden = !why || !(changed.has(name) || state.pinned.includes(name));
      row.pin.setAttribute("aria-pressed", String(state.pinned.includes(name)));
    }
    for (const [name, { node, count }] of this.groups) {
      const members = [...this.rows.values()].filter(
        ({ knob }) => knob.group === name && !state.pinned.includes(knob.name),
      );
      const turned = members.filter(({ knob }) => changed.has(knob.name)).length;
      count.textContent = turned
        ? `${members.length}, ${turned} changed`
        : String(members.length);
      node.hidden = members.length === 0;
    }
    this.frame.setNumbers([["changed", String(changed.size)]]);
    this.code.textContent = state.code;
    Object.assign(this.frame.root.dataset, {
      changed: [...changed].join("|"),
      revision: state.revision,
    });
    this.filter();
  }

  /** Show only what matches the search box; every word must occur. */
  filter() {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const { node, words: text } of this.rows.values())
      node.hidden = !words.every((word) => text.includes(word));
    for (const { node, body } of this.groups.values()) {
      const any = [...body.children].some((row) => !row.hidden);
      node.dataset.empty = String(!any);
      if (words.length) node.open = any;
    }
    this.frame.root.dataset.searching = String(words.length > 0);
    this.kept?.note();
  }

  toggleAll(on = this.frame.root.dataset.all !== "true") {
    this.frame.root.dataset.all = String(on);
    this.more.lastChild.textContent = on ? "Only the pinned knobs" : "All knobs";
    this.more.setAttribute("aria-expanded", String(on));
    this.kept?.note();
  }

  toggleCode() {
    this.code.hidden = !this.code.hidden;
    if (this.code.hidden) return;
    const range = document.createRange();
    range.selectNodeContents(this.code);
    getSelection()?.removeAllRanges();
    getSelection()?.addRange(range);
    navigator.clipboard?.writeText(this.code.textContent).then(
      () => this.say("Copied."),
      () => this.say("Selected: copy with Ctrl+C."),
    );
  }

  turn(name, text) {
    this.ask({ kind: "set", name, text });
  }

  /** Alt+click or Alt+Enter: try the knob in a replay; its control does not see them.
   * @param {any} event */
  tryOut(event) {
    const node = event.target.closest(".mx-knob");
    if (!event.altKey || !node || (event.type === "keydown" && event.key !== "Enter")) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.type !== "click" && event.type !== "keydown") return;
    const name = node.dataset.knob;
    const field = node.querySelector(".mx-entry, select");
    this.say(`Recording two steps to try ${name}…`);
    this.ask({ kind: "compare", name, text: field?.value.trim() ?? "" });
    if (field?.matches(".mx-entry")) field.value = field.dataset.shown ?? "";
  }

  ask(message) {
    this.sent += 1;
    this.frame.root.dataset.asked = String(this.sent);
    this.model.send({ ...message, id: this.sent });
  }

  /** The kernel answers: applied, or refused with a reason. */
  hear(message) {
    if (message.kind === "table") this.frame.setTable(message.html);
    if (message.kind === "source") this.code_panel.show(message);
    if (message.kind !== "answer") return;
    const row = this.rows.get(message.name);
    if (row) {
      if (message.ok) row.refused.settle();
      else row.refused.refuse(message.text);
      row.node.dataset.refused = String(!message.ok);
      if (!message.ok && !row.made.busy())
        row.made.show(this.model.get("state").values[message.name]);
    }
    this.code_panel.answered(message.ok);
    if (message.ok || !row) this.say(message.text, message.ok);
    this.frame.root.dataset.answered = String(message.id);
  }

  say(text, ok = true) {
    this.said.textContent = text;
    this.said.dataset.ok = String(ok);
  }

  /** What a knob means, below the list. */
  explain(name) {
    const row = this.rows.get(name);
    if (!row || this.card.dataset.knob === name) return;
    this.card.dataset.knob = name;
    const { knob } = row;
    const facts = [
      ["allowed", knob.kind],
      ["default", knob.default_text],
      ["look at", knob.observable],
      ["also called", knob.aliases.join(", ")],
      [
        "acts",
        knob.made
          ? `acts when ${knob.made} is made; one that exists stays as it is`
          : knob.live
            ? SCOPES[knob.scope][1]
            : `not yet: comes with ${knob.planned_in}`,
      ],
      ["now", nowOf(this.model.get("state"), knob)],
      ["acts in", knob.trial ? `\`${knob.trial.acts_in}\`` : ""],
      ["named in", knob.sources.join("; ")],
    ].filter(([, text]) => text);
    this.card.replaceChildren(
      el("code", { text: knob.name }),
      " ",
      this.sourceButton(name),
      el("p", {}, ...prose(knob.meaning)),
      el(
        "dl",
        {},
        ...facts.flatMap(([label, text]) => [
          el("dt", { text: label }),
          el("dd", {}, ...prose(text)),
        ]),
      ),
      ...(knob.trial ? trial(knob.trial) : []),
    );
    this.card.scrollTop = 0;
  }

  sourceButton(name) {
    const title = `Source: the lines that obey ${name} (O)`;
    const attributes = { type: "button", class: "mx-button mx-button-tiny mx-source-of", title, "aria-label": title };
    return el("button", attributes, icon("code"), "source");
  }

  openSource(name) {
    this.ask({ kind: "source", name });
  }

  /** Copy the whole program of the card in sight, which runs under every value. */
  copyTrial(event) {
    if (event.target.closest(".mx-source-of")) this.openSource(this.card.dataset.knob);
    if (!event.target.closest(".mx-trial-copy")) return;
    const { program } = this.rows.get(this.card.dataset.knob).knob.trial;
    const shown = this.card.querySelector(".mx-trial-code");
    shown.textContent = program;
    getSelection()?.selectAllChildren(shown); // where a page may not copy, Ctrl+C can
    const copied = navigator.clipboard?.writeText(program) ?? Promise.reject();
    copied.then(
      () => this.say("Copied: paste it into a cell."),
      () => this.say("Selected: copy with Ctrl+C."),
    );
  }

  key(event) {
    const press = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (press === "/") this.search.focus();
    else if (press === "a") this.toggleAll();
    else if (press === "c") this.toggleCode();
    else if (press === "r" && this.focused) this.ask({ kind: "reset", names: [this.focused] });
    else if (press === "o" && this.code_panel.refused) this.code_panel.open();
    else if (press === "o" && this.focused) this.openSource(this.focused);
    else if (press === "p" && this.focused) this.ask({ kind: "pin", name: this.focused });
    else if (press === "ArrowDown" || press === "ArrowUp")
      this.walk(press === "ArrowUp" ? -1 : 1);
    else return false;
    return true;
  }

  /** Move the focus to the control of the next visible knob. */
  walk(by) {
    const rows = [...this.frame.root.querySelectorAll(".mx-knob")].filter(
      (row) => row.offsetParent !== null,
    );
    const now = rows.findIndex((row) => row.dataset.knob === this.focused);
    const next = rows[Math.min(rows.length - 1, Math.max(0, now + by))];
    next?.querySelector("input, select")?.focus();
  }
}

/** What the card says before a knob was pointed at. */
/** Whether a knob can act on what runs, for its card. */
function nowOf(state, knob) {
  const why = knob.live ? state.cannot?.[knob.name] : "";
  return why ? `cannot act on this run: ${why}` : "";
}

function welcome() {
  const badges = Object.entries({ ...SCOPES, planned: ["planned", "does not act yet"] });
  return [
    el("p", {
      text: "Point at a knob to read what it does. Its badge says when a change acts:",
    }),
    el(
      "dl",
      {},
      ...badges.flatMap(([scope, [badge, when]]) => [
        el("dt", {}, el("span", { class: "mx-badge", data: { scope }, text: badge })),
        el("dd", { text: when }),
      ]),
    ),
  ];
}

/** What to run to see a knob act, and what it prints under each value. */
function trial({ words, code, prints }) {
  return [
    el(
      "p",
      {},
      words,
      " ",
      el(
        "button",
        {
          type: "button",
          class: "mx-button mx-button-tiny mx-trial-copy",
          title: "Copy it as a program that runs under each of these values",
          "aria-label": "Copy the example",
        },
        icon("copy"),
      ),
    ),
    el("pre", { class: "mx-code mx-trial-code", tabindex: "0", text: code }),
    el("p", { text: "It prints" }),
    el("pre", { class: "mx-code mx-trial-prints", tabindex: "0", text: prints }),
  ];
}

/** Text whose `quoted` parts are code. @param {string} text */
function prose(text) {
  return text.split("`").map((part, i) => (i % 2 ? el("code", { text: part }) : part));
}

export default listeningView(KnobPanel, ["change:state", "msg:custom"]);
