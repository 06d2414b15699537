// Which algorithm computes a convolution: time and workspace of each, the chosen one, and why.

import { CodePanel } from "./lib/page/code_panel.js";
import { button, el } from "./lib/page/dom.js";
import { Frame, tipHead, tipRow } from "./lib/page/frame.js";
import { bytes, duration } from "./lib/drawing/scale.js";
import { storeOf } from "./lib/data/store.js";
import { stateView } from "./lib/page/state_view.js";

const HELP =
  "A convolution can be computed in several ways, and its two gradients as well. For each way, " +
  "the upper bar of a row is time and the lower one workspace, the scratch memory that it asks " +
  "for. A star marks the way that is taken. Pale times are guesses, strong ones were measured; " +
  "“Measure” runs every way that may be taken. What may not be taken says which knob, which " +
  "workspace or which shape excludes it. The slider tries another workspace, CPU and GPU choose " +
  "by different knobs. Notes: w Winograd, fft, rp sums of reduced precision, nd not deterministic.";
/** @type {[string, string][]} */
const KEYS = [
  ["↑ ↓", "previous, next algorithm"],
  ["← →", "previous, next direction"],
  ["[ ]", "previous, next layer"],
  ["- +", "half, twice the workspace"],
  ["D", "as on a CPU, as on a GPU"],
  ["M", "measure"],
  ["X", "the layer's own workspace"],
  ["T", "table"],
];

/** The time that counts. @param {any} row */
const timeOf = (row) => row.measured ?? row.guess;

class ConvChooser {
  constructor({ model, el: host, signal }) {
    this.model = model;
    this.signal = signal;
    this.at = [0, -1]; // direction and row that are pointed at
    this.frame = new Frame({
      el: host,
      model,
      title: "Convolution",
      name: "conv",
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
      title: "Source: what chooses an algorithm, and excludes others",
      what: () => ({ name: "the choice" }),
    });
    this.board = el("div", { class: "mx-conv" });
    this.frame.picture.append(this.board);
    this.store = storeOf(model.get("run_id"));
    this.store.addEventListener(
      "change",
      (event) => {
        if (event.detail.includes("op")) this.ask({ kind: "op", op: this.store.op });
      },
      { signal },
    );
    this.update();
  }

  addTools() {
    const { signal } = this;
    this.layers = el("select", {
      class: "mx-select",
      title: "The layer",
      "aria-label": "Layer",
      signal,
      onchange: () => this.ask({ kind: "layer", name: this.layers.value }),
    });
    this.frame.addTool(this.layers);
    this.devices = this.frame.addChoice("Device", ["cpu", "gpu"], "cpu", (name) =>
      this.ask({ kind: "device", name }),
    );
    this.slider = el("input", {
      type: "range",
      min: "-1",
      max: "40",
      step: "1",
      "aria-label": "Workspace",
      signal,
      oninput: () => this.ask({ kind: "workspace", mib: this.mibOf(Number(this.slider.value)) }),
    });
    this.allowed = el("output", { class: "mx-count" });
    this.frame.addTool(
      el(
        "label",
        { class: "mx-trial mx-conv-space", title: "The workspace that is allowed" },
        el("span", { class: "mx-trial-name", text: "workspace" }),
        this.slider,
        this.allowed,
      ),
    );
    this.frame.addTool(
      button({
        label: "Measure",
        title: "Run every algorithm that may be chosen (M)",
        signal,
        onclick: () => this.measure(),
      }),
    );
  }

  get state() {
    return this.model.get("state");
  }

  /** MiB at a place of the slider: -1 is none, then a quarter of a power of two each. */
  mibOf(place) {
    return place < 0 ? 0 : Math.round(2 ** (place / 4));
  }

  ask(message) {
    this.frame.setNote("");
    this.model.send(message);
  }

  measure() {
    this.frame.setNote("Measuring …");
    this.model.send({ kind: "measure" });
  }

  update() {
    const { state, frame } = this;
    frame.setNote("");
    if (this.layers.dataset.names !== state.layers.join()) {
      this.layers.dataset.names = state.layers.join();
      this.layers.replaceChildren(...state.layers.map((name) => el("option", { text: name })));
    }
    this.layers.selectedIndex = state.layer;
    this.devices.show(state.device);
    const place = state.workspace ? Math.round(4 * Math.log2(state.workspace)) : -1;
    if (document.activeElement !== this.slider) this.slider.value = String(place);
    this.allowed.textContent = `${state.workspace} MiB`;
    frame.setNumbers(
      state.directions.map((one) => {
        const star = one.rows.find((row) => row.chosen);
        return [one.name, star ? star.name : "nothing left"];
      }),
    );
    frame.setLegend([
      ["chosen", "var(--mx-accent)"],
      ["allowed", "var(--mx-muted)"],
      ["workspace", "var(--mx-conv-space)"],
    ]);
    this.board.replaceChildren(
      el("div", { class: "mx-conv-shape", text: state.shape }),
      ...state.directions.map((one, k) => this.direction(one, k)),
    );
    Object.assign(frame.root.dataset, {
      layer: state.layers[state.layer],
      device: state.device,
      workspace: String(state.workspace),
      chosen: state.directions
        .map((one) => one.rows.find((row) => row.chosen)?.name ?? "none")
        .join(),
      measured: String(
        state.directions.flatMap((one) => one.rows).filter((row) => row.measured !== null).length,
      ),
      revision: String(state.revision),
    });
    this.point(...this.at);
  }

  direction(one, index) {
    const left = one.rows.filter((row) => !row.excluded);
    const slowest = Math.max(...left.map(timeOf), 1);
    const largest = Math.max(...left.map((row) => row.workspace), 1);
    return el(
      "div",
      { class: "mx-conv-part", role: "list", "aria-label": one.name },
      el("b", { text: one.name }),
      el("p", { class: "mx-conv-why", text: one.why }),
      ...one.rows.map((row, k) => this.row(row, [index, k], slowest, largest)),
    );
  }

  row(row, place, slowest, largest) {
    const { signal } = this;
    const name = `${row.chosen ? "★ " : ""}${row.name}`;
    const said = row.excluded
      ? el("span", { class: "mx-conv-excluded", text: row.excluded })
      : el(
          "span",
          { class: "mx-conv-bars" },
          bar("time", timeOf(row) / slowest, words(row)),
          bar("space", row.workspace / largest, bytes(row.workspace)),
        );
    return el(
      "div",
      {
        class: "mx-conv-row",
        role: "listitem",
        signal,
        data: {
          chosen: String(row.chosen),
          excluded: String(Boolean(row.excluded)),
          known: String(row.measured !== null),
          place: place.join(),
        },
        onpointerenter: () => this.point(...place),
        onpointerleave: () => this.point(place[0], -1),
      },
      el("span", { class: "mx-conv-name" }, name, el("small", { text: ` ${row.number}` })),
      said,
    );
  }

  /** Say all about a row; -1 for none. @param {number} direction @param {number} index */
  point(direction, index) {
    this.at = [direction, index];
    const row = this.state.directions[direction]?.rows[index];
    for (const node of this.board.querySelectorAll(".mx-conv-row"))
      node.dataset.pointed = String(node.dataset.place === this.at.join());
    this.frame.root.dataset.pointed = row ? row.name : "";
    if (!row) return this.frame.hideTip();
    const node = this.board.querySelector('[data-pointed="true"]');
    const lines = [
      tipHead(`${row.name}, algorithm ${row.number}`),
      tipRow("guess", duration(row.guess)),
      ...(row.measured === null ? [] : [tipRow("measured", duration(row.measured))]),
      tipRow("workspace", bytes(row.workspace)),
      tipRow("error", `at most ${Number(row.error.toPrecision(3))} × the plain sum's`),
      ...(row.notes.length ? [tipRow("notes", row.notes.join(", "))] : []),
      ...(row.excluded ? [tipRow("excluded", row.excluded)] : []),
    ];
    this.frame.showTip(node.offsetWidth / 2, node.offsetHeight, lines, node);
  }

  key(event) {
    const { state } = this;
    const [direction, index] = this.at;
    const step = { ArrowDown: 1, ArrowRight: 1, "]": 1, "+": 1, "=": 1 }[event.key] ?? -1;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const most = state.directions[direction].rows.length - 1;
      this.point(direction, Math.min(most, Math.max(0, index + step)));
    } else if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
      const next = Math.min(state.directions.length - 1, Math.max(0, direction + step));
      this.point(next, Math.max(0, Math.min(index, state.directions[next].rows.length - 1)));
    } else if (event.key === "[" || event.key === "]") {
      const next = Math.min(state.layers.length - 1, Math.max(0, state.layer + step));
      this.ask({ kind: "layer", name: state.layers[next] });
    } else if (["+", "=", "-"].includes(event.key)) {
      const next = step > 0 ? 2 * state.workspace || 1 : Math.floor(state.workspace / 2);
      this.ask({ kind: "workspace", mib: Math.min(state.most, next) });
    } else if (event.key.toLowerCase() === "d")
      this.ask({ kind: "device", name: state.device === "cpu" ? "gpu" : "cpu" });
    else if (event.key.toLowerCase() === "m") this.measure();
    else if (event.key.toLowerCase() === "x") this.ask({ kind: "workspace", mib: null });
    else return false;
    return true;
  }
}

/** @param {string} kind @param {number} share @param {string} text */
function bar(kind, share, text) {
  const line = el("i", { class: `mx-conv-bar mx-conv-${kind}` });
  // What stands beside the longest bar is as long as "≈ 1023 MiB".
  line.style.width = `max(1px, calc((100% - 68px) * ${Math.min(1, share)}))`;
  return el("span", {}, line, el("small", { text }));
}

/** A time, guessed or measured. @param {any} row */
const words = (row) => `${row.measured === null ? "≈ " : ""}${duration(timeOf(row))}`;

export default stateView(ConvChooser, {
  answers: {
    answer: (view, message) => view.frame.setNote(message.text, "alert"),
    select: (view, message) => view.store.set({ op: message.op, opTime: message.t ?? null }),
  },
});
