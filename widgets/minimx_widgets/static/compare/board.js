// What two runs differ in: figures, memory along one axis, causes; and knobs to turn for B.

import { LEFT } from "../lib/engine/engine_paint.js";
import { pairOf } from "../lib/engine/pairs.js";
import { button, el } from "../lib/page/dom.js";
import { Frame, tipHead, tipRow } from "../lib/page/frame.js";
import { control } from "../lib/page/knob_controls.js";
import { SOURCES } from "../lib/page/sources.js";
import { stateView } from "../lib/page/state_view.js";
import { bytes, byteTicks, duration, ticks } from "../lib/drawing/scale.js";
import { Surface } from "../lib/drawing/surface.js";

const HELP =
  "Two runs, A and B: their figures, the memory in use along the same time as the timelines " +
  "below, and which decisions made the difference. Turn a knob of B and the record is decided " +
  "again by the same policies in a fraction of a second; nothing runs, and no knob of the program is " +
  "turned. What comes of that is predicted. Run it runs the program under the same knobs and " +
  "puts what was measured beside it. While A is frozen, each turn is compared with the same A; " +
  "otherwise A becomes what B was before.";
/** @type {[string, string][]} */
const KEYS = [
  ["K", "choose a knob to turn for B"],
  ["X", "take all turns of B back"],
  ["S", "swap A and B"],
  ["F", "freeze A, or let it follow B"],
  ["R", "ratio, or difference"],
  ["M", "run it: measure B"],
  ["D", "memory of the next device"],
  ["T", "table"],
];
const HEIGHT = 96;
const TOP = 6;
const BELOW = 18;

class Board {
  constructor({ model, el: host, signal }) {
    this.model = model;
    this.signal = signal;
    this.pair = pairOf(model.get("pair"), "common");
    this.device = 0;
    this.knob = "";
    this.controls = new Map();
    this.sent = 0;
    this.frame = new Frame({
      el: host,
      model,
      title: "A | B",
      name: "compare",
      help: HELP,
      keys: KEYS,
      signal,
      onkey: (event) => this.key(event),
      ontheme: () => this.surface?.invalidate(),
    });
    this.addTools(signal);
    this.build(signal);
    this.pair.moves.addEventListener("move", () => this.surface.invalidate(), { signal });
    model.send({ kind: "hello" });
    this.update();
  }

  get state() {
    return this.model.get("state");
  }

  get inks() {
    return this.frame.theme.layer.slice(0, 2);
  }

  addTools(signal) {
    const tool = (label, title, onclick) =>
      button({ label, title, signal, kind: "solid", onclick });
    this.choice = this.frame.addChoice(
      "B against A",
      ["difference", "ratio"],
      this.model.get("show"),
      (show) => this.showAs(show),
    );
    this.freezing = tool("Freeze A", "Keep A as it is when a knob of B is turned (F)", () => this.freeze());
    this.running = tool("Run it", "", () => this.measure());
    this.frame.addTool(tool("Swap", "Let A be B, and B be A (S)", () => this.ask({ kind: "swap" })));
    this.frame.addTool(this.freezing);
    this.frame.addTool(this.running);
    this.copying = button({
      label: "",
      icon: "copy",
      title: "Copy what is turned for B as code",
      signal,
      onclick: () => {
        this.frame.root.dataset.code = this.state.code;
        this.frame.copy(this.state.code, "What is turned for B, as code");
      },
    });
    this.frame.addTool(this.copying);
  }

  build(signal) {
    this.chooser = el("select", {
      class: "mx-select",
      "aria-label": "Knob to turn for B",
      signal,
      onchange: () => this.choose(this.chooser.value),
    });
    this.place = el("span", { class: "mx-ab-control" });
    this.turned = el("span", { class: "mx-ab-turned", role: "list", "aria-label": "Turned for B" });
    const turning = el(
      "div",
      { class: "mx-ab-turning", role: "group", "aria-label": "Turn knobs of B" },
      el("label", { class: "mx-trial-name", text: "Turn for B" }),
      this.chooser,
      this.place,
      this.turned,
    );
    this.figures = el("table", { class: "mx-ab-figures" });
    this.legend = el("div", { class: "mx-ab-memory" });
    this.why = el("div", { class: "mx-ab-why", role: "status" });
    this.unknown = el("details", { class: "mx-ab-unknown" });
    this.frame.picture.append(turning, this.figures, this.why, this.legend);
    this.surface = new Surface({
      parent: this.frame.picture,
      height: TOP + HEIGHT + BELOW,
      signal,
      draw: (ctx, width) => this.draw(ctx, width),
    });
    const { node } = this.surface;
    node.addEventListener("pointermove", (event) => this.hover(event), { signal });
    node.addEventListener("pointerleave", () => this.frame.hideTip(), { signal });
    this.frame.picture.append(this.unknown);
  }

  /** Everything of a state; the picture says when it is painted. */
  update() {
    const { state, frame } = this;
    if (!state.rows) return;
    this.choice.show(this.model.get("show"));
    this.freezing.setAttribute("aria-pressed", String(state.frozen));
    this.copying.disabled = !Object.keys(state.turned).length;
    this.allowRun();
    this.offer();
    this.showTurned();
    this.showFigures();
    this.showWhy();
    this.unknown.hidden = !state.unknown.length;
    const open = this.unknown.open;
    this.unknown.replaceChildren(
      el("summary", { text: `What the replay cannot know: ${state.unknown.length}` }),
      ...state.unknown.map((text) => el("p", { text })),
    );
    this.unknown.open = open;
    this.legend.replaceChildren(el("b", { text: this.deviceName ? `Memory in use, ${this.deviceName}` : "No memory was recorded" }), ...this.sideNames());
    frame.setNumbers([]);
    this.surface.invalidate(() => {
      frame.root.dataset.revision = String(state.revision);
    });
    Object.assign(frame.root.dataset, {
      frozen: String(state.frozen),
      predicted: state.predicted.join(),
      timelines: state.timelines.join(),
      turned: Object.keys(state.turned).join("|"),
      show: this.model.get("show"),
      device: this.deviceName,
      sides: state.names.join("|"),
    });
  }

  get deviceName() {
    const { devices } = this.state;
    return devices.length ? devices[this.device % devices.length] : "";
  }

  sideNames() {
    return this.state.names.map((name, side) => {
      const letter = "AB"[side];
      const swatch = el("i", { class: "mx-swatch mx-swatch-line" });
      swatch.style.setProperty("--swatch", `var(--mx-layer-${side})`);
      const said = name === letter ? letter : `${letter}: ${name}`;
      return el("span", {}, swatch, said, this.state.predicted[side] ? predicted() : null);
    });
  }

  allowRun() {
    const { program, predicted: by } = this.state;
    const why = !program
      ? "there is no program at hand; give what was recorded: ABCompare(record, program=f)"
      : !by[1]
        ? "B is measured already; turn a knob of B first"
        : "";
    this.running.disabled = why !== "" || this.busy === true;
    const title = `Run the program under the knobs of B and measure it (M)${why ? `: ${why}` : ""}`;
    this.running.title = title;
    this.running.setAttribute("aria-label", title);
  }

  /** The knobs to choose from, and the control of the chosen one. */
  offer() {
    const names = this.model.get("declared").map(({ name }) => name);
    const listed = names.join("|");
    if (this.chooser.dataset.names !== listed) {
      this.chooser.dataset.names = listed;
      this.controls.clear();
      this.place.replaceChildren();
      this.knob = "";
      this.chooser.replaceChildren(...names.map((name) => el("option", { value: name, text: name })));
    }
    const turned = Object.keys(this.state.turned).filter((name) => names.includes(name));
    this.choose(names.includes(this.knob) ? this.knob : (turned.at(-1) ?? names[0] ?? ""));
    const made = this.controls.get(this.knob);
    if (made && !made.busy()) made.show(this.state.values[this.knob]);
  }

  choose(name) {
    if (!name || name === this.knob) return;
    this.knob = name;
    this.chooser.value = name;
    const knob = this.model.get("declared").find((one) => one.name === name);
    if (!this.controls.has(name))
      this.controls.set(
        name,
        control({ ...knob, live: true }, this.signal, (text) => this.ask({ kind: "set", name, text })),
      );
    const made = this.controls.get(name);
    this.place.replaceChildren(made.node);
    this.place.title = knob.meaning.replaceAll("`", "");
    made.show(this.state.values[name]);
  }

  showTurned() {
    const { turned } = this.state;
    const { signal } = this;
    const chips = Object.entries(turned).map(([name, text]) => {
      const title = `Take ${name}=${text} back`;
      return el(
        "span",
        { role: "listitem" },
        el("button", {
          type: "button",
          class: "mx-pass",
          title,
          "aria-label": title,
          signal,
          text: `${name}=${text} ×`,
          onclick: () => this.ask({ kind: "drop", name }),
        }),
      );
    });
    const words = JSON.stringify(turned);
    if (this.turned.dataset.words === words) return;
    this.turned.dataset.words = words;
    this.turned.replaceChildren(...chips);
  }

  showFigures() {
    const { rows, predicted: by } = this.state;
    const show = this.model.get("show");
    const trial = rows.some(({ measured }) => measured);
    const head = (text, flag) => el("th", { scope: "col" }, text, flag ? predicted() : null);
    const heads = [head("", false), head("A", by[0]), head("B", by[1])];
    if (trial) heads.push(el("th", { scope: "col", text: "B, measured", title: SOURCES.measured }));
    heads.push(el("th", { scope: "col", text: show === "ratio" ? "B / A" : "B − A" }));
    const cells = rows.map((row) =>
      el(
        "tr",
        { data: { figure: row.name, direction: row.direction } },
        el("th", { scope: "row", text: row.label }),
        el("td", { text: row.before }),
        el("td", { text: row.after }),
        trial ? el("td", { class: "mx-ab-measured", text: row.measured || "–" }) : null,
        el("td", { class: "mx-ab-change", text: row[show] }),
      ),
    );
    this.figures.replaceChildren(el("thead", {}, el("tr", {}, ...heads)), el("tbody", {}, ...cells));
  }

  showWhy() {
    const { revision, text } = this.model.get("why");
    const known = revision === this.state.revision;
    const [first, ...rest] = (known ? text : "Looking for what made the difference…")
      .split("\n")
      .map((line) => line.replace(/^predicted: /, ""));
    this.why.dataset.known = String(known);
    this.why.replaceChildren(
      el("p", {}, el("b", { text: "Why: " }), first),
      ...rest.map((line) => el("p", { class: line.startsWith(" ") ? "mx-ab-more" : "", text: line.trim() })),
    );
    this.frame.root.dataset.why = known ? first : "";
  }

  // Memory

  /** The nanoseconds in sight, from the first push on. @returns {[number, number]} */
  get range() {
    const { whole } = this.state;
    return this.pair.range ?? [-0.01 * whole, 1.01 * whole];
  }

  lineOf(side) {
    return this.model.get("lines")[side]?.[this.deviceName] ?? [[], []];
  }

  xAt(t, width) {
    const [low, high] = this.range;
    return LEFT + ((t - low) / (high - low)) * (width - LEFT);
  }

  draw(ctx, width) {
    const { theme } = this.frame;
    const most = Math.max(1, ...[0, 1].flatMap((side) => this.lineOf(side)[1])) * 1.05;
    const down = (used) => TOP + HEIGHT - (used / most) * HEIGHT;
    ctx.font = `10.5px ${theme.font}`;
    ctx.textBaseline = "middle";
    ctx.lineWidth = 1;
    ctx.strokeStyle = theme.line;
    ctx.fillStyle = theme.muted;
    ctx.textAlign = "right";
    for (const value of byteTicks(most, 4)) {
      const y = Math.round(down(value)) + 0.5;
      ctx.beginPath();
      ctx.moveTo(LEFT, y);
      ctx.lineTo(width, y);
      ctx.stroke();
      ctx.fillText(bytes(value), LEFT - 6, y);
    }
    ctx.textAlign = "center";
    ctx.textBaseline = "top";
    for (const t of ticks(...this.range, Math.max(2, (width - LEFT) / 90))) {
      const x = this.xAt(t, width);
      const half = ctx.measureText(duration(t)).width / 2;
      if (x - half >= LEFT && x + half <= width) ctx.fillText(duration(t), x, TOP + HEIGHT + 5);
    }
    ctx.save();
    ctx.beginPath();
    ctx.rect(LEFT, 0, width - LEFT, TOP + HEIGHT + 2);
    ctx.clip();
    for (const side of [0, 1]) this.drawLine(ctx, side, width, down);
    ctx.restore();
  }

  drawLine(ctx, side, width, down) {
    const [times, used] = this.lineOf(side);
    if (!times.length) return;
    ctx.strokeStyle = this.inks[side];
    ctx.lineWidth = 1.75;
    ctx.setLineDash(this.state.predicted[side] ? [5, 3] : []);
    ctx.beginPath();
    ctx.moveTo(this.xAt(times[0], width), down(used[0]));
    for (let i = 1; i < times.length; i += 1) {
      const x = this.xAt(times[i], width);
      ctx.lineTo(x, down(used[i - 1]));
      ctx.lineTo(x, down(used[i]));
    }
    const end = Math.max(this.state.took[side], times.at(-1));
    ctx.lineTo(this.xAt(end, width), down(used.at(-1)));
    ctx.stroke();
    ctx.setLineDash([]);
  }

  hover(event) {
    const { x, y } = this.surface.place(event);
    const [low, high] = this.range;
    const t = low + ((x - LEFT) / (this.surface.width - LEFT)) * (high - low);
    if (x < LEFT || !this.deviceName) return this.frame.hideTip();
    const lines = [0, 1].map((side) => {
      const [times, used] = this.lineOf(side);
      const place = times.findLastIndex((moment) => moment <= t);
      const over = t > Math.max(this.state.took[side], times.at(-1) ?? 0);
      const said = place < 0 ? "not yet" : over ? "had ended" : bytes(used[place]);
      return tipRow("AB"[side], said);
    });
    this.frame.showTip(x, y, [tipHead(duration(t)), ...lines], this.surface.node);
  }

  // Asking

  ask(message) {
    this.sent += 1;
    this.frame.root.dataset.asked = String(this.sent);
    this.model.send({ ...message, id: this.sent });
  }

  hear(message) {
    this.frame.setNote(message.ok ? "" : message.text, "error");
    this.busy = false;
    this.running.lastChild.textContent = "Run it";
    this.allowRun();
    this.frame.root.dataset.answered = String(message.id);
    if (!message.ok) this.offer();
  }

  measure() {
    if (this.running.disabled || !this.frame.live) return;
    this.busy = true;
    this.running.lastChild.textContent = "Running…";
    this.allowRun();
    this.ask({ kind: "measure" });
  }

  freeze() {
    this.ask({ kind: "freeze", on: !this.state.frozen });
  }

  showAs(show) {
    this.model.set("show", show);
    this.model.send({ kind: "show", show });
    this.update();
  }

  key(event) {
    const press = event.key.toLowerCase();
    if (press === "k") this.chooser.focus();
    else if (press === "x") this.ask({ kind: "reset" });
    else if (press === "s") this.ask({ kind: "swap" });
    else if (press === "f") this.freeze();
    else if (press === "r") this.showAs(this.model.get("show") === "ratio" ? "difference" : "ratio");
    else if (press === "m") this.measure();
    else if (press === "d") {
      this.device += 1;
      this.update();
    } else return false;
    return true;
  }
}

/** The mark of a figure that was not measured. */
function predicted() {
  return el("span", { class: "mx-ab-predicted", text: "predicted", title: SOURCES.predicted });
}

export default stateView(Board, {
  names: ["change:state", "change:why", "change:show"],
  answers: { answer: (view, message) => view.hear(message) },
});
