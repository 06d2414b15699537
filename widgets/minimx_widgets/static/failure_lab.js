// A training that goes wrong: symptom, evidence, the cause to be named, remedies to be tried.

import { CodePanel } from "./lib/page/code_panel.js";
import { button, el } from "./lib/page/dom.js";
import { Frame, tipHead, tipRow } from "./lib/page/frame.js";
import { stateView } from "./lib/page/state_view.js";

const HELP =
  "A program goes wrong. The curve is what its losses were; a red mark is a loss that is no " +
  "finite number. Ask for evidence: each button runs the same program once more under an " +
  "instrument, and costs points. Before you press it, you may predict the number that its line " +
  "asks for: a right prediction makes the probe free. Then name the cause, and the layer and the step where it asks for them. Any " +
  "remedy may be tried: the program runs with it, and is compared with the same program without " +
  "the fault. In the finite map a layer has a row and a step a column, forward above backward; " +
  "darker is larger, red holds NaN or infinity.";
/** @type {[string, string][]} */
const KEYS = [
  ["1 2 3 4 5 6", "ask for evidence"],
  ["← → ↑ ↓", "move over the map"],
  ["C", "check the answer"],
  ["R", "run with the remedies"],
  ["N", "another case"],
  ["O", "source: where the error is raised, once its message was asked for"],
  ["T", "table of all evidence"],
];
const OPEN_FIRST = "Ask for the message first: which error ended the program is evidence.";
const FAINT = -3;
const STRONG = 9;

/** How dark a magnitude is drawn. @param {number} largest */
export const strength = (largest) =>
  largest > 0
    ? 0.08 + 0.92 * Math.min(1, Math.max(0, (Math.log10(largest) - FAINT) / (STRONG - FAINT)))
    : 0.08;

/** @param {number | null} value */
const said = (value) => (value === null ? "not finite" : Number(value.toPrecision(4)).toString());

class FailureLab {
  constructor({ model, el: host, signal }) {
    this.model = model;
    this.signal = signal;
    this.at = -1; // the cell of the map that is pointed at
    /** @type {Map<string, string>} */
    this.guesses = new Map(); // by probe, what is written and not sent yet
    this.frame = new Frame({
      el: host,
      model,
      title: "Failure lab",
      name: "failures",
      help: HELP,
      keys: KEYS,
      signal,
      onkey: (event) => this.key(event),
    });
    this.build();
    this.source = new CodePanel({
      model,
      frame: this.frame,
      signal,
      title: "Source: where the error of this case is raised",
      what: () => (this.state.open === "message" ? { name: "the error" } : OPEN_FIRST),
    });
    this.update();
  }

  get state() {
    return this.model.get("state");
  }

  build() {
    const { signal } = this;
    this.symptom = el("p", { class: "mx-fail-symptom" });
    this.curve = el("div", { class: "mx-fail-curve" });
    this.probes = el("div", { class: "mx-fail-probes", role: "group", "aria-label": "Evidence" });
    this.evidence = el("div", { class: "mx-fail-evidence", "aria-live": "polite" });
    const onchange = () => this.asks();
    const box = (/** @type {string} */ label) =>
      el("select", { class: "mx-select", "aria-label": label, signal, onchange });
    this.cause = box("Cause");
    this.layer = box("Layer");
    this.step = box("Step");
    this.verdict = el("div", { class: "mx-fail-said", role: "status" });
    this.remedies = el("div", { class: "mx-fail-remedies" });
    this.trial = el("div", { class: "mx-fail-said", role: "status" });
    const check = { label: "Check", title: "Check the answer (C)", kind: "solid" };
    const treat = { label: "Run with these", title: "Run with the remedies (R)", kind: "solid" };
    this.frame.addTool(
      button({
        label: "Another case",
        title: "Another case (N)",
        signal,
        onclick: () => this.ask({ kind: "next" }),
      }),
    );
    this.frame.picture.append(
      el(
        "div",
        { class: "mx-fail" },
        el("div", { class: "mx-fail-left" }, this.symptom, this.curve, this.probes, this.evidence),
        el(
          "div",
          { class: "mx-fail-right" },
          el("b", { text: "What is the cause?" }),
          this.cause,
          el("div", { class: "mx-fail-where" }, this.layer, this.step),
          button({ ...check, signal, onclick: () => this.answer() }),
          this.verdict,
          el("b", { text: "What cures it?" }),
          this.remedies,
          button({ ...treat, signal, onclick: () => this.treat() }),
          this.trial,
        ),
      ),
    );
  }

  ask(message) {
    this.model.send(message);
  }

  /** Ask for evidence, with the prediction if one is written. @param {string} name */
  probe(name) {
    const predict = (this.guesses.get(name) ?? "").trim();
    this.ask(predict ? { kind: "probe", name, predict } : { kind: "probe", name });
  }

  /** A probe: its button, its question, and what was predicted. */
  probeRow([name, label, what, done, cost, question, came], k) {
    const { state, signal } = this;
    const press = button({
      label: done ? label : `${label} · ${cost}`,
      title: `${label}: ${what} (${k + 1}); points: ${cost}`,
      kind: "solid",
      signal,
      onclick: () => this.probe(name),
    });
    press.setAttribute("aria-pressed", String(state.open === name));
    press.dataset.done = String(done);
    const row = el("div", { class: "mx-fail-probe" }, press);
    if (done) {
      const good = came ? String(came.startsWith("✔")) : "";
      row.append(el("span", { class: "mx-fail-came", text: came || question, data: { good } }));
      return row;
    }
    const guess = el("input", {
      class: "mx-entry mx-fail-guess",
      type: "text",
      "aria-label": `Your prediction: ${question}`,
      placeholder: "predict",
      signal,
      oninput: () => this.guesses.set(name, guess.value),
      onkeydown: (/** @type {KeyboardEvent} */ event) => {
        if (event.key === "Enter") this.probe(name);
      },
    });
    guess.value = this.guesses.get(name) ?? "";
    row.append(guess, el("span", { class: "mx-fail-came", text: question }));
    return row;
  }

  answer() {
    if (!this.cause.value) return;
    const step = this.step.hidden || this.step.value === "" ? null : Number(this.step.value);
    const layer = this.layer.hidden ? "" : this.layer.value;
    this.ask({ kind: "answer", cause: this.cause.value, layer, step });
  }

  treat() {
    const chosen = [...this.remedies.querySelectorAll("input:checked")];
    this.ask({ kind: "treat", remedies: chosen.map((one) => one.value) });
  }

  /** Show the questions that the chosen cause asks. */
  asks() {
    const asked = this.state.causes.find(([name]) => name === this.cause.value)?.[2] ?? [];
    this.layer.hidden = !asked.includes("layer");
    this.step.hidden = !asked.includes("step");
  }

  update() {
    const { state, frame } = this;
    this.renew();
    this.symptom.textContent = state.symptom;
    this.curve.replaceChildren(curve(state.losses, state.steps));
    this.probes.replaceChildren(...state.probes.map((probe, k) => this.probeRow(probe, k)));
    this.at = -1;
    frame.hideTip();
    this.evidence.replaceChildren(...this.shown(state.evidence));
    for (const [node, what] of [
      [this.verdict, state.verdict],
      [this.trial, state.trial],
    ]) {
      node.textContent = what?.words ?? "";
      node.dataset.good = String(what?.good ?? "");
    }
    const used = state.probes.filter((one) => one[3]).length;
    frame.setNumbers([
      ["case", String(state.case)],
      ["probes", `${used} of ${state.probes.length}`],
      ["points", String(state.cost)],
      ["", state.solved ? "solved" : ""],
    ]);
    const map = [
      ["forward", "var(--mx-phase-2)"],
      ["backward", "var(--mx-phase-3)"],
      ["NaN or infinite", "var(--mx-alert)"],
    ];
    frame.setLegend(state.evidence?.kind === "map" ? map : []);
    if (!state.busy && this.source) this.source.answered(!state.note);
    frame.setNote(state.busy || state.note, state.note ? "alert" : "info");
    for (const node of frame.root.querySelectorAll(".mx-fail button"))
      node.disabled = Boolean(state.busy);
    Object.assign(frame.root.dataset, {
      case: String(state.case),
      open: state.open,
      busy: String(Boolean(state.busy)),
      verdict: String(state.verdict?.good ?? ""),
      trial: String(state.trial?.good ?? ""),
      revision: String(state.revision),
    });
  }

  /** New choices for a new case; what was chosen stays while the case does. */
  renew() {
    const { state, signal } = this;
    const key = `${state.case} ${state.layers} ${state.steps}`;
    if (this.frame.root.dataset.key === key) return;
    this.frame.root.dataset.key = key;
    this.guesses.clear();
    const option = (/** @type {string} */ value, text = value) => el("option", { value, text });
    this.cause.replaceChildren(
      option("", "choose a cause …"),
      ...state.causes.map(([name, words]) => option(name, words)),
    );
    this.layer.replaceChildren(option("", "layer …"), ...state.layers.map((name) => option(name)));
    const steps = Array.from({ length: state.steps }, (_, k) => option(String(k), `step ${k}`));
    this.step.replaceChildren(option("", "step …"), ...steps);
    this.remedies.replaceChildren(
      ...state.remedies.map(([value, words]) =>
        el("label", {}, el("input", { type: "checkbox", value, signal }), el("span", { text: words })),
      ),
    );
    this.asks();
  }

  /** The evidence that is open. @param {any} evidence @returns {Node[]} */
  shown(evidence) {
    if (!evidence) return [el("p", { text: "Ask for evidence: it runs the program again." })];
    const kind = evidence.kind === "message" ? "pre" : "p";
    const lines = (evidence.lines ?? []).map((text) => el(kind, { text }));
    if (evidence.kind === "map") return [...lines, this.map(evidence)];
    if (evidence.kind === "norms") return [...lines, normsOf(evidence.rows)];
    if (evidence.kind === "parameters") return [...lines, parametersOf(evidence.rows)];
    if (evidence.heads?.length) return [...lines, grid(evidence.heads, evidence.body)];
    if (evidence.kind === "timeline")
      return [...lines, el("p", { text: "The whole record is below, at that operation." })];
    return lines;
  }

  map(evidence) {
    const { signal } = this;
    this.cells = evidence.cells;
    const bad = evidence.cells.filter((cell) => cell.bad > 0).length;
    const said = `Finite map: ${bad} of ${evidence.cells.length} cells are not finite`;
    const grid = el("div", { class: "mx-fail-map", role: "img", "aria-label": said });
    grid.style.gridTemplateColumns = `92px repeat(${evidence.steps}, minmax(8px, 1fr))`;
    grid.style.gridTemplateRows = `repeat(${2 * evidence.layers.length}, 10px) auto`;
    for (const [k, name] of evidence.layers.entries()) {
      const label = el("span", { class: "mx-fail-name", text: name });
      label.style.gridRow = `${2 * k + 1} / span 2`;
      grid.append(label);
    }
    for (const [k, cell] of evidence.cells.entries()) {
      const node = el("i", {
        class: `mx-fail-cell mx-fail-${cell.phase}`,
        signal,
        data: { cell: String(k), bad: String(cell.bad > 0) },
        onpointerenter: () => this.point(k),
        onpointerleave: () => this.point(-1),
      });
      node.style.gridColumn = String(cell.step + 2);
      const row = 2 * evidence.layers.indexOf(cell.layer);
      node.style.gridRow = String(row + (cell.phase === "forward" ? 1 : 2));
      node.style.opacity = cell.bad ? "1" : String(strength(cell.largest));
      grid.append(node);
    }
    for (let step = 0; step < evidence.steps; step += 2) {
      const label = el("small", { text: String(step) });
      label.style.gridColumn = String(step + 2);
      label.style.gridRow = String(2 * evidence.layers.length + 1);
      grid.append(label);
    }
    const head = el("small", { class: "mx-fail-name", text: "step" });
    head.style.gridRow = String(2 * evidence.layers.length + 1);
    grid.append(head);
    return grid;
  }

  /** Say all about a cell; -1 for none. @param {number} index */
  point(index) {
    this.at = index;
    const cell = this.state.evidence?.kind === "map" ? this.cells[index] : undefined;
    for (const node of this.evidence.querySelectorAll(".mx-fail-cell"))
      node.dataset.pointed = String(node.dataset.cell === String(index));
    this.frame.root.dataset.pointed = cell ? `${cell.layer} ${cell.phase} ${cell.step}` : "";
    if (!cell) return this.frame.hideTip();
    const node = this.evidence.querySelector('[data-pointed="true"]');
    const lines = [
      tipHead(`${cell.layer}, ${cell.phase} of step ${cell.step}`),
      tipRow("operations", String(cell.calls)),
      tipRow("not finite", String(cell.bad)),
      tipRow("largest", said(cell.largest)),
    ];
    this.frame.showTip(node.offsetWidth / 2, node.offsetHeight, lines, node);
  }

  /** Move over the map. @param {number} right @param {number} down */
  move(right, down) {
    const { evidence } = this.state;
    const from = this.cells[Math.max(0, this.at)];
    if (this.at < 0) return this.point(0);
    const half = (cell) =>
      2 * evidence.layers.indexOf(cell.layer) + (cell.phase === "forward" ? 0 : 1);
    const ahead = this.cells
      .map((cell, k) => [k, cell.step - from.step, half(cell) - half(from)])
      .filter(([, x, y]) => (right ? y === 0 && x * right > 0 : x === 0 && y * down > 0))
      .sort((a, b) => Math.abs(a[1]) + Math.abs(a[2]) - Math.abs(b[1]) - Math.abs(b[2]));
    if (ahead.length) this.point(ahead[0][0]);
  }

  key(event) {
    const { state } = this;
    const moves = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
    const press = event.key.toLowerCase();
    if (state.busy) return false;
    if (event.key in moves && state.evidence?.kind === "map") {
      const [right, down] = moves[event.key];
      this.move(right, down);
    } else if (state.probes[Number(press) - 1])
      this.probe(state.probes[Number(press) - 1][0]);
    else if (press === "c") this.answer();
    else if (press === "r") this.treat();
    else if (press === "n") this.ask({ kind: "next" });
    else return false;
    return true;
  }
}

/** The losses as a line, with marks for those that are not finite. */
function curve(losses, steps) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 520 74");
  svg.setAttribute("role", "img");
  const most = Math.max(...losses.map(([, loss]) => loss ?? 0), 1e-9);
  svg.setAttribute("aria-label", `Losses of ${losses.length} steps, up to ${said(most)}`);
  const x = (step) => 64 + (446 * step) / Math.max(1, steps - 1);
  const y = (loss) => 56 - (48 * loss) / most;
  const add = (name, attributes, text = "") => {
    const node = document.createElementNS(space, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.textContent = text;
    svg.append(node);
  };
  add("line", { x1: 64, x2: 510, y1: 56, y2: 56, class: "mx-fail-axis" });
  add("text", { x: 2, y: 14 }, "loss");
  add("text", { x: 58, y: 14, "text-anchor": "end" }, said(Number(most.toPrecision(2))));
  add("text", { x: 58, y: 60, "text-anchor": "end" }, "0");
  for (let step = 0; step < steps; step += 4)
    add("text", { x: x(step), y: 71, "text-anchor": "middle" }, String(step));
  const finite = losses.filter(([, loss]) => loss !== null);
  const points = finite.map(([step, loss]) => `${x(step)},${y(loss)}`).join(" ");
  add("polyline", { points, class: "mx-fail-line" });
  for (const [step, loss] of losses)
    if (loss === null) add("circle", { cx: x(step), cy: 56, r: 4, class: "mx-fail-mark" });
  return svg;
}

/** Three numbers a step, with a bar of the logarithm. @param {any[]} rows */
function normsOf(rows) {
  const heads = ["step", "gradient norm", "loss scale", "weights moved by"];
  const bar = (/** @type {number | null} */ value) => {
    const line = el("i", { class: "mx-fail-bar", data: { bad: String(value === null) } });
    const share = value === null ? 1 : (Math.log10(Math.max(value, 1e-9)) + 9) / 18;
    line.style.width = `${Math.max(1, 70 * Math.min(1, Math.max(0, share)))}px`;
    return line;
  };
  return grid(
    heads,
    rows.map((row) => [
      String(row.step),
      ...["gradient", "scale", "moved"].map((key) =>
        el("span", { class: "mx-fail-number" }, bar(row[key]), said(row[key])),
      ),
    ]),
  );
}

/** @param {any[]} rows */
function parametersOf(rows) {
  const yes = (/** @type {boolean} */ on) =>
    el("span", { text: on ? "yes" : "no", data: { bad: String(!on) } });
  return grid(
    ["parameter", "grad_req", "type", "fresh gradient", "moved", "finite"],
    rows.map((row) => [
      row.name,
      row.grad_req,
      row.dtype,
      yes(row.fresh),
      yes(row.moved),
      yes(row.finite),
    ]),
  );
}

/** @param {string[]} heads @param {(string | Node)[][]} rows */
function grid(heads, rows) {
  const line = (/** @type {string} */ tag, /** @type {(string | Node)[]} */ cells) =>
    el("tr", {}, ...cells.map((cell) => el(tag, {}, cell)));
  return el(
    "div",
    { class: "mx-table mx-fail-table" },
    el("table", {}, el("thead", {}, line("th", heads)), el("tbody", {}, ...rows.map((row) => line("td", row)))),
  );
}

export default stateView(FailureLab);
