// Where time and memory of a run went, and how near to the roof its operators came.

import { CodePanel } from "./lib/page/code_panel.js";
import { button, el, lookAt } from "./lib/page/dom.js";
import { Frame, tipHead, tipRow } from "./lib/page/frame.js";
import { dots, nearest, rateWords, roofline } from "./lib/drawing/roofline.js";
import { bytes, count, duration, percent } from "./lib/drawing/scale.js";
import { sourceOf } from "./lib/page/sources.js";
import { storeOf } from "./lib/data/store.js";
import { stateView } from "./lib/page/state_view.js";

const HELP =
  "Each bar is a lane of the engine, or a thread of the program, from the first moment of the " +
  "record to the last: work by kind, idleness by cause. Below, every dot is an operator: to the " +
  "right the operations that it does for each byte, upwards those that it did each second. Under " +
  "the slope memory limits it, under the flat part arithmetic; how far it stays below is what could " +
  "be won. A hollow dot is an operator whose time is mostly a share of joined operations. “Measure” " +
  "finds out how fast this machine is. A click marks the longest call in all views of the run.";
/** @type {[string, string][]} */
const KEYS = [
  ["↑ ↓", "previous, next operator"],
  ["[ ]", "previous, next block"],
  ["Enter", "mark its longest call in all views"],
  ["Esc", "mark nothing"],
  ["M", "measure this machine, or stop that"],
  ["R", "look at the record again"],
  ["O", "source of the operator that is pointed at"],
  ["T", "table"],
];
const MOST_LANES = 16; // more are scrolled through
const PHASES = [
  ["forward", "var(--mx-phase-2)"],
  ["backward", "var(--mx-phase-3)"],
  ["other", "var(--mx-phase-0)"],
];
// The categories of memory in the order of the palette.
const CATEGORIES = [
  "parameter",
  "gradient",
  "optimizer state",
  "activation",
  "workspace",
  "data",
  "communication",
  "temporary",
];

class Overview {
  constructor({ model, el: host, signal }) {
    this.model = model;
    this.signal = signal;
    this.at = ["operators", -1]; // what is pointed at, and which of them
    this.busy = false;
    this.frame = new Frame({
      el: host,
      model,
      title: "Overview",
      name: "overview",
      help: HELP,
      keys: KEYS,
      signal,
      onkey: (event) => this.key(event),
    });
    this.addTools();
    this.source = new CodePanel({
      model,
      frame: this.frame,
      signal,
      title: "Source of the operator that is pointed at",
      what: () => {
        const [kind, index] = this.at;
        return kind === "operators" && index >= 0 ? { name: this.state.operators[index].name } : null;
      },
    });
    this.board = el("div", { class: "mx-over" });
    this.frame.picture.append(this.board);
    this.store = storeOf(model.get("run_id"));
    this.store.addEventListener(
      "change",
      (event) => {
        if (event.detail.includes("op") && this.store.op !== this.state.selected.op)
          model.send({ kind: "op", op: this.store.op });
      },
      { signal },
    );
    this.update();
  }

  addTools() {
    const { signal } = this;
    this.measuring = button({
      label: "Measure",
      title: "Find out how fast this machine is (M)",
      signal,
      onclick: () => this.measure(),
    });
    this.frame.addTool(this.measuring);
    this.frame.addTool(
      button({
        label: "",
        icon: "reset",
        title: "Look at the record again (R)",
        signal,
        onclick: () => this.refresh(),
      }),
    );
  }

  get state() {
    return this.model.get("state");
  }

  measure() {
    if (!this.frame.live) return;
    this.model.send({ kind: this.busy ? "cancel" : "measure" });
    this.setBusy(!this.busy);
  }

  setBusy(on) {
    this.busy = on;
    this.measuring.lastChild.textContent = on ? "Stop" : "Measure";
    const asked = this.board?.querySelector(".mx-over-ask");
    if (asked) asked.hidden = on;
    this.frame.setNote(on ? "Measuring how fast this machine is …" : "");
  }

  refresh() {
    this.model.send({ kind: "refresh" });
  }

  update() {
    const { state, frame } = this;
    this.setBusy(false);
    frame.setSource(sourceOf(state));
    frame.setNumbers([
      ["operations", count(state.count)],
      ["time", duration(state.span)],
      ["busy", duration(state.busy)],
      ["memory", bytes(state.memory.nbytes)],
    ]);
    this.board.replaceChildren(
      this.lanes(),
      this.roof(),
      this.operators(),
      this.blocks(),
      this.memory(),
      el("div", { class: "mx-over-notes" }, ...state.notes.map((text) => el("p", { text }))),
    );
    Object.assign(frame.root.dataset, {
      operators: String(state.operators.length),
      lanes: String(state.lanes.length),
      roofs: String(state.roofs.length),
      selected: String(state.selected.op),
      revision: String(state.revision),
    });
    this.mark();
    this.point(...this.at, false);
  }

  part(name, words, ...children) {
    return el(
      "div",
      { class: `mx-over-part mx-over-${name}` },
      el("div", { class: "mx-over-head" }, el("b", { text: words[0] }), el("small", { text: words[1] })),
      ...children,
    );
  }

  lanes() {
    const { state } = this;
    const rows = state.lanes.map(([name, ns]) => {
      const values = ns.map((value, i) => [state.buckets[i], value, `var(--mx-bucket-${i})`]);
      return el(
        "div",
        { class: "mx-over-lane" },
        el("span", { text: name, title: name }),
        this.stack(values, name, duration),
      );
    });
    if (!rows.length) rows.push(el("p", { class: "mx-empty", text: "No operation was recorded." }));
    const many = rows.length > MOST_LANES ? { tabindex: "0", role: "group", "aria-label": "Lanes" } : {};
    const box = el("div", { class: "mx-over-lane-box", ...many }, ...rows);
    const used = state.buckets.map((name, i) => [name, `var(--mx-bucket-${i})`]);
    const shown = used.filter((_, i) => state.lanes.some(([, ns]) => ns[i]));
    const said = many.role ? `${count(rows.length)} lanes` : "";
    return this.part("lanes", ["Where time went", said], box, names(shown));
  }

  /** A bar of parts that add up. */
  stack(values, title, words, width = 1) {
    const whole = values.reduce((sum, [, value]) => sum + value, 0) || 1;
    const bar = el("span", { class: "mx-over-bar" });
    bar.style.width = `${100 * width}%`;
    for (const [name, value, colour] of values) {
      if (!value) continue;
      const piece = el("i", {
        signal: this.signal,
        data: { name },
        onpointermove: (event) => {
          const box = this.frame.picture.getBoundingClientRect();
          this.frame.showTip(event.clientX - box.left, event.clientY - box.top, [
            tipHead(title),
            tipRow(name, `${words(value)}, ${percent(value / whole)}`),
          ]);
        },
        onpointerleave: () => this.frame.hideTip(),
      });
      piece.style.flexGrow = String(value / whole);
      piece.style.background = colour;
      bar.append(piece);
    }
    return bar;
  }

  roof() {
    const { state, signal } = this;
    this.plot = roofline(state, 460, 270);
    this.shown = dots(state, 460, 270);
    const svg = this.plot;
    const place = (event) => {
      const box = svg.getBoundingClientRect();
      const scale = 460 / box.width;
      return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
    };
    const found = (event) => nearest(this.shown, ...place(event), 14);
    svg.addEventListener("pointermove", (event) => this.point("operators", found(event)), { signal });
    svg.addEventListener("pointerleave", () => this.point("operators", -1), { signal });
    svg.addEventListener("click", (event) => this.choose("operators", found(event)), { signal });
    const said = state.roofs.map((one) => one[2]).join("; ");
    const blank = state.roofs.length + this.shown.length === 0; // not even a dot
    const ask = state.roofs.length ? null : this.ask();
    return this.part("roof", ["Under the roof", said], ask, blank ? null : svg);
  }

  /** What to do where it is not known yet how fast this machine is. */
  ask() {
    const words = "How fast could these operators run here? Measure this machine: it takes seconds.";
    return el(
      "div",
      { class: "mx-over-ask" },
      el("span", { text: words }),
      button({
        label: "Measure",
        title: "Find out how fast this machine is (M)",
        signal: this.signal,
        kind: "solid",
        onclick: () => this.measure(),
      }),
    );
  }

  /** A row that can be pointed at and chosen. */
  row(kind, index, ...cells) {
    return el(
      "div",
      {
        class: "mx-over-row",
        role: "option",
        signal: this.signal,
        data: { kind, index: String(index) },
        onpointerenter: () => this.point(kind, index),
        onpointerleave: () => this.point(kind, -1),
        onclick: () => this.choose(kind, index),
      },
      ...cells,
    );
  }

  operators() {
    const { state } = this;
    const longest = Math.max(1, ...state.operators.map((each) => each.ns));
    const rows = state.operators.map((each, i) => {
      const colour = `var(--mx-bucket-${state.buckets.indexOf(each.kind)})`;
      return this.row(
        "operators",
        i,
        el("span", { text: each.name }),
        el("span", {}, this.stack([[each.name, each.ns, colour]], each.name, duration, each.ns / longest)),
        el("small", { text: percent(each.ns / (state.busy || 1)) }),
        el("small", { text: each.fraction === null ? "" : percent(each.fraction) }),
        el("small", { text: each.bound }),
      );
    });
    const said = ["Operators", "share of busy time, of the roof, bound by"];
    return this.part("operators", said, listbox("Operators", rows));
  }

  blocks() {
    const { state } = this;
    const rows = state.blocks.map((each, i) => {
      const name = el("span", { text: each.name, title: each.path });
      name.style.paddingLeft = `${9 * each.depth}px`;
      const values = [each.forward, each.backward, each.ns - each.forward - each.backward];
      const parts = PHASES.map(([phase, colour], k) => [phase, values[k], colour]);
      const share = each.ns / (state.busy || 1);
      return this.row(
        "blocks",
        i,
        name,
        el("span", {}, this.stack(parts, each.path || each.name, duration, share)),
        el("small", { text: percent(share) }),
        el("small", { text: each.parameters ? bytes(each.parameters) : "" }),
      );
    });
    const said = ["Blocks", "share of busy time, bytes of parameters"];
    return this.part("blocks", said, names(PHASES), listbox("Blocks", rows));
  }

  memory() {
    const { memory } = this.state;
    const colours = [
      (name) => `var(--mx-cat-${CATEGORIES.indexOf(name)})`,
      (_, i) => `var(--mx-layer-${i % 8})`,
    ];
    const parts = [memory.categories, memory.layers].flatMap((values, k) => {
      const coloured = values.map(([name, value], i) => [
        name || "no block",
        value,
        colours[k](name, i),
      ]);
      return [
        this.stack(coloured, k ? "by block" : "by category", bytes),
        names(coloured.slice(0, 8).map(([name, value, colour]) => [name, colour, bytes(value)])),
      ];
    });
    const when = memory.nbytes ? `${bytes(memory.nbytes)} after ${duration(memory.t)}` : "0 B";
    return this.part("memory", ["Memory at its peak", when], ...parts);
  }

  /** Say all about an operator or a block; -1 for none. */
  point(kind, index, tip = true) {
    this.at = [kind, index];
    const one = this.state[kind][index];
    for (const node of this.board.querySelectorAll("[data-index]"))
      node.dataset.pointed = String(node.dataset.kind === kind && node.dataset.index === String(index));
    this.frame.root.dataset.pointed = one ? one.name : "";
    for (const list of this.board.querySelectorAll(".mx-over-list"))
      lookAt(list, list.querySelector('[data-pointed="true"]'));
    if (!one || !tip) return this.frame.hideTip();
    const node = this.board.querySelector('.mx-over-row[data-pointed="true"]');
    this.frame.showTip(node.offsetWidth / 2, node.offsetHeight, this.words(kind, one), node);
  }

  words(kind, one) {
    if (kind === "blocks")
      return [
        tipHead(one.path || one.name),
        tipRow("forward", duration(one.forward)),
        tipRow("backward", duration(one.backward)),
        tipRow("all", duration(one.ns)),
        tipRow("operations", count(one.flops)),
        tipRow("bytes", bytes(one.nbytes)),
        tipRow("parameters", bytes(one.parameters)),
      ];
    const known = one.flops || one.nbytes;
    return [
      tipHead(`${one.name}, ${one.dtype || "no type"} on ${one.device}`),
      tipRow("calls", count(one.calls)),
      tipRow("time", duration(one.ns)),
      ...(one.guessed ? [tipRow("of it shared", duration(one.guessed))] : []),
      tipRow("operations", known ? count(one.flops) : "not declared"),
      tipRow("bytes", known ? bytes(one.nbytes) : "not declared"),
      tipRow("rate", `${rateWords(one.rate)}FLOP/s, ${rateWords(one.bandwidth)}B/s`),
      tipRow("per byte", `${Number(one.intensity.toPrecision(3))} operations`),
      ...(one.fraction === null
        ? []
        : [tipRow("of the roof", `${percent(one.fraction)}, ${one.bound}`)]),
    ];
  }

  /** Mark the longest call of an operator or a block in all views. */
  choose(kind, index) {
    const one = this.state[kind][index];
    this.select(one ? one.op : 0);
  }

  select(op) {
    this.store.set({ op });
    if (op === this.state.selected.op) this.model.send({ kind: "op", op });
  }

  /** Show which operator and block the marked operation belongs to. */
  mark() {
    const { operator, path, op } = this.state.selected;
    const block = op ? this.state.blocks.findLastIndex((each) => each.path === path) : -1;
    for (const node of this.board.querySelectorAll("[data-index]")) {
      const mine = node.dataset.kind === "blocks" ? block : operator;
      node.dataset.marked = String(node.dataset.index === String(mine));
      if (node.matches(".mx-over-row")) node.setAttribute("aria-selected", node.dataset.marked);
    }
  }

  key(event) {
    const [kind, index] = this.at;
    const { state } = this;
    const press = event.key.toLowerCase();
    const list = event.target.closest(".mx-over-blocks") ? "blocks" : "operators";
    const steps = { arrowdown: [list, 1], arrowup: [list, -1] };
    const step = { ...steps, "]": ["blocks", 1], "[": ["blocks", -1] }[press];
    if (step) {
      const from = kind === step[0] ? index : -1;
      const next = Math.max(0, Math.min(state[step[0]].length - 1, from + step[1]));
      this.board
        .querySelector(`.mx-over-row[data-kind="${step[0]}"][data-index="${next}"]`)
        ?.scrollIntoView({ block: "nearest" });
      this.point(step[0], next);
    } else if (press === "enter" && index >= 0) this.choose(kind, index);
    else if (press === "escape") this.select(0);
    else if (press === "m") this.measure();
    else if (press === "r") this.refresh();
    else return false;
    return true;
  }
}

/** Rows of which one is pointed at. @param {string} name @param {HTMLElement[]} rows */
function listbox(name, rows) {
  const role = rows.length ? "listbox" : "group"; // a listbox without options is none
  return el("div", { class: "mx-over-list", role, tabindex: "0", "aria-label": name }, ...rows);
}

/** Coloured names in a row, each with what it amounts to. @param {string[][]} entries */
function names(entries) {
  const parts = entries.map(([name, colour, amount]) => {
    const swatch = el("i", { class: "mx-swatch mx-swatch-fill" });
    swatch.style.setProperty("--swatch", colour);
    return el("span", {}, swatch, `${name} `, amount ? el("small", { text: amount }) : null);
  });
  return el("div", { class: "mx-over-names" }, ...parts);
}

export default stateView(Overview, {
  answers: {
    answer: (view, message) => {
      view.setBusy(false);
      view.frame.setNote(message.text, "alert");
    },
    select: (view, message) => view.store.set({ op: message.op, opTime: message.t ?? null }),
  },
});
