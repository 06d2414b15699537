// The inside of a pool at one moment, and the whole record below it with a play head.

import { CodePanel } from "./lib/page/code_panel.js";
import { el } from "./lib/page/dom.js";
import { Frame } from "./lib/page/frame.js";
import { Kept } from "./lib/page/kept.js";
import { liveView } from "./lib/data/live.js";
import { EVENT, PoolData } from "./lib/memory/pool_data.js";
import {
  LEFT,
  addressAt,
  chartFrame,
  classAt,
  paintAddresses,
  paintChart,
  paintClasses,
  paintLives,
} from "./lib/memory/pool_paint.js";
import { aboutBlock, aboutClass, aboutEvent, headNumbers, legend } from "./lib/memory/pool_text.js";
import { Surface } from "./lib/drawing/surface.js";
import { Trials } from "./lib/page/trials.js";

const HELP =
  "A pool keeps the blocks that come back, and lends each again to requests of its own rounded " +
  "size only. On the left are its size classes: what was asked for in colours, what rounding " +
  "wastes in red, cached blocks pale, and hatched what is stranded: idle, and never asked for " +
  "again before it goes back. On the right " +
  "lies the device's memory, line after line; empty places are holes. Below is the whole record: " +
  "drag the play head through it. The controls serve the same requests by other settings, and the " +
  "ghost, outlined, by another pool; no knob is turned. Click a size for the lives of its blocks.";
/** @type {[string, string][]} */
const KEYS = [
  ["← →", "previous, next event"],
  ["D", "next driver call"],
  ["F", "next flush"],
  ["P", "the moment when the pool holds most"],
  ["Home End", "first, last event"],
  ["↑ ↓", "choose a size class: its lifetimes"],
  ["G", "another ghost"],
  ["B", "the next block of the device's memory; Shift+B the one before"],
  ["O", "source: who asked for it, and the lines of the pool that decided"],
  ["E", "axis: events or time"],
  ["X", "back to the settings of the record"],
  ["Esc", "let go of what is chosen"],
  ["T", "table"],
];
const GHOSTS = ["", "recorded", "Naive", "Round", "Unpooled"];

class PoolView {
  constructor({ model, el: host, data, signal }) {
    this.model = model;
    this.data = data;
    this.signal = signal;
    this.axis = model.get("axis");
    /** The step of the play head; -1 stays where the pool holds most. */
    this.step = model.get("at");
    this.chosen = 0;
    this.hovered = { size: 0, address: -1 };
    this.frame = new Frame({
      el: host,
      model,
      title: "Pool",
      name: "pool",
      help: HELP,
      keys: KEYS,
      signal,
      onkey: (event) => this.key(event),
      ontheme: () => this.redraw(),
    });
    this.addTools(signal);
    this.source = new CodePanel({
      model,
      frame: this.frame,
      signal,
      title: "Source: who asked for this memory, and the pool that decided",
      what: () => this.asked(),
    });
    /** What the kernel told of blocks, by number. @type {Map<number, [string, string][]>} */
    this.facts = new Map();
    this.addTrials();
    const high = model.get("height");
    const upper = Math.round(high * 0.6);
    const beside = el("div", { class: "mx-beside mx-beside-even" });
    this.frame.picture.append(beside);
    this.classes = this.surface(beside, upper, (ctx, w, h) => this.drawClasses(ctx, w, h));
    this.map = this.surface(beside, upper, (ctx, w, h) => this.drawMap(ctx, w, h));
    const below = el("div", {});
    this.frame.picture.append(below);
    this.chart = new Surface({
      parent: below,
      height: high - upper,
      signal,
      draw: (ctx, w, h) => this.drawChart(ctx, w, h),
      overlay: (ctx, w, h) => this.drawHead(ctx, w, h),
    });
    this.listen(signal);
    this.kept = new Kept({
      model,
      signal,
      parts: {
        axis: { get: () => this.axis, set: (axis) => this.setAxis(axis) },
        at: { get: () => this.step, set: (step) => this.moveTo(step) },
        size: { get: () => this.chosen, set: (size) => this.choose(size) },
      },
    });
    data.store.addEventListener("change", () => this.redraw(), { signal });
  }

  surface(parent, height, draw) {
    const holder = el("div", { class: "mx-stage" });
    parent.append(holder);
    const made = new Surface({ parent: holder, height, signal: this.signal, draw });
    made.node.style.cursor = "pointer";
    return made;
  }

  addTools(signal) {
    const choose = (kind, title) =>
      el("select", {
        class: "mx-select",
        title,
        "aria-label": title,
        signal,
        onchange: (event) => this.model.send({ kind, name: event.target.value }),
      });
    this.devices = choose("device", "Device");
    this.ghosts = choose("ghost", "Ghost: another pool serves the same requests");
    this.ghosts.append(
      ...GHOSTS.map((name) =>
        el("option", { value: name, text: name ? `ghost: ${name}` : "no ghost" }),
      ),
    );
    this.ghosts.value = this.model.get("ghost");
    this.frame.addTool(this.devices);
    this.frame.addTool(this.ghosts);
    this.axes = this.frame.addChoice("Axis", ["events", "time"], this.axis, (value) =>
      this.setAxis(value),
    );
  }

  addTrials() {
    this.trials?.node.remove();
    const { model, frame, signal } = this;
    this.trials = new Trials({ model, frame, signal });
    this.frame.picture.prepend(this.trials.node);
    this.knobs = JSON.stringify(model.get("declared").map((knob) => knob.name));
  }

  listen(signal) {
    let dragging = false;
    const to = (/** @type {PointerEvent} */ event) =>
      this.goTo(this.stepAt(this.chart.place(event).x));
    const on = (surface, name, call) => surface.node.addEventListener(name, call, { signal });
    on(this.chart, "pointerdown", (event) => {
      if (event.button !== 0) return;
      dragging = true;
      this.chart.node.setPointerCapture(event.pointerId);
      this.frame.root.focus({ preventScroll: true });
      to(event);
    });
    on(this.chart, "pointermove", (event) => {
      if (dragging) to(event);
      else this.overChart(this.chart.place(event));
    });
    for (const name of ["pointerup", "pointercancel"])
      on(this.chart, name, () => {
        dragging = false;
        this.frame.hideTip();
      });
    on(this.classes, "pointermove", (event) => this.overClasses(this.classes.place(event)));
    on(this.classes, "click", (event) =>
      this.choose(classAt(this.layout, this.classes.place(event).y)),
    );
    on(this.map, "pointermove", (event) => this.overMap(this.map.place(event)));
    on(this.map, "click", (event) => this.clickMap(this.map.place(event)));
    for (const surface of [this.chart, this.classes, this.map])
      on(surface, "pointerleave", () => this.leave());
  }

  // What is looked at

  get theme() {
    return this.frame.theme;
  }

  get history() {
    return this.data.shown;
  }

  /** The event of a history at the play head. @param {any} history */
  rowOf(history) {
    if (!history?.n) return -1;
    if (this.step >= 0) return history.rowAt(this.step);
    const { shown, header } = this.data;
    if (header.live) return history.n - 1;
    return history.rowAt(shown.at.step[shown.highest]);
  }

  get now() {
    return this.rowOf(this.history);
  }

  stepAt(x) {
    const { history, axis } = this;
    if (!history?.n) return -1;
    const value = chartFrame(this.data, axis, this.chart.width).value(x);
    if (axis === "events") return Math.min(history.steps - 1, Math.max(0, Math.floor(value)));
    let row = 0;
    while (row + 1 < history.n && history.at.t[row + 1] <= value) row += 1;
    return history.at.step[row];
  }

  /** Show another step, -1 for the moment when the pool holds most. @param {number} step */
  moveTo(step) {
    this.step = step;
    this.redraw();
  }

  /** Move the play head. @param {number} step */
  goTo(step) {
    this.step = step;
    const row = this.now;
    if (row >= 0) this.data.store.set({ cursor: this.history.at.t[row] });
    this.redraw();
    this.tellMoment();
  }

  /** The next event of a kind after the play head, in a direction. */
  seek(wanted, by = 1) {
    const { history } = this;
    for (let row = this.now + by; row >= 0 && row < history.n; row += by)
      if (wanted(row)) return this.goTo(history.at.step[row]);
    return undefined;
  }

  choose(size) {
    this.chosen = size === this.chosen ? 0 : size;
    this.redraw();
  }

  // From the kernel

  /** @param {() => void} [painted] */
  update(painted) {
    const { header } = this.data;
    const declared = JSON.stringify(this.model.get("declared").map((knob) => knob.name));
    if (declared !== this.knobs) this.addTrials();
    if (header.values) {
      this.trials.show({ ...header, live: true, said: "as recorded" });
      const names = header.devices.join();
      if (this.devices.dataset.names !== names) {
        this.devices.dataset.names = names;
        this.devices.replaceChildren(...header.devices.map((name) => el("option", { text: name })));
        this.devices.hidden = header.devices.length < 2;
      }
      this.devices.value = header.device;
      this.ghosts.value = header.ghost;
    }
    this.redraw(painted);
  }

  /** An answer to a wish. @param {any} message */
  hear(message) {
    this.trials.hear(message);
  }

  redraw(painted) {
    if (!this.chart) return;
    this.scene = null;
    this.classes.invalidate();
    this.map.invalidate();
    this.chart.invalidate(painted);
  }

  /** Blocks of both histories at the play head, made once a moment. */
  get held() {
    if (!this.scene) {
      const { shown, ghost } = this.data;
      this.scene = {
        mine: shown ? shown.regions(this.now) : [],
        ghost: ghost ? ghost.regions(this.rowOf(ghost)) : [],
      };
    }
    return this.scene;
  }

  // Drawing

  drawClasses(ctx, width, height) {
    this.tell();
    if (this.history?.n) this.kept.note();
    const { history, theme } = this;
    if (!history?.n) {
      ctx.fillStyle = theme.muted;
      ctx.font = `12px ${theme.font}`;
      ctx.fillText("No pool events in this record yet.", 12, 40);
      return;
    }
    this.layout = paintClasses(ctx, {
      scene: this.held.mine,
      ghost: this.held.ghost,
      category: history.at.category,
      width,
      height,
      theme,
      chosen: this.chosen,
      hovered: this.hovered.size,
    });
  }

  drawMap(ctx, width, height) {
    const { history, theme, chosen } = this;
    if (!history?.n) return;
    if (chosen) {
      const step = history.at.step[this.now] ?? 0;
      paintLives(ctx, { history, size: chosen, step, width, height, theme });
      return;
    }
    const { ghost, header } = this.data;
    const top = Math.max(history.top(), ghost?.top() ?? 0, 1);
    this.places = paintAddresses(ctx, {
      scene: this.held.mine,
      ghost: this.held.ghost,
      at: history.at,
      span: Math.min(top, header.capacity || top),
      capacity: header.capacity || top,
      width,
      height,
      theme,
      chosen: this.hovered.size,
      op: this.data.store.op,
      hovered: this.hovered.address,
    });
  }

  drawChart(ctx, width, height) {
    if (!this.history?.n) return;
    this.laid = paintChart(ctx, {
      data: this.data,
      axis: this.axis,
      width,
      height,
      theme: this.theme,
    });
    this.markSelected(ctx);
  }

  /** Mark the pool events of the operation that is selected in some view. */
  markSelected(ctx) {
    const { op } = this.data.store;
    const { history } = this;
    if (!op) return;
    ctx.fillStyle = this.theme.accent;
    for (let row = 0; row < history.n; row += 1) {
      if (history.at.op[row] !== op) continue;
      const x = this.laid.frame.x(this.laid.frame.at(history, row));
      ctx.beginPath();
      ctx.moveTo(x, this.laid.bottom - 6);
      ctx.lineTo(x - 4, this.laid.bottom + 2);
      ctx.lineTo(x + 4, this.laid.bottom + 2);
      ctx.fill();
    }
  }

  drawHead(ctx, width, height) {
    const { history, theme, laid } = this;
    if (!history?.n || !laid) return;
    const row = this.now;
    const half = this.axis === "events" ? 0.5 : 0;
    const x = laid.frame.x(laid.frame.at(history, Math.max(row, 0)) + half);
    ctx.strokeStyle = theme.accent;
    ctx.fillStyle = theme.accent;
    ctx.lineWidth = 1.4;
    ctx.beginPath();
    ctx.moveTo(x, 6);
    ctx.lineTo(x, height - 18);
    ctx.stroke();
    ctx.beginPath();
    ctx.arc(x, 6, 4.5, 0, 7);
    ctx.fill();
  }

  // Pointing

  leave() {
    this.hovered = { size: 0, address: -1 };
    this.waiting = null;
    this.frame.hideTip();
    this.redraw();
  }

  overClasses({ x, y }) {
    const size = this.layout ? classAt(this.layout, y) : 0;
    if (size !== this.hovered.size) {
      this.hovered = { size, address: -1 };
      this.redraw();
    }
    if (!size) return this.frame.hideTip();
    return this.frame.showTip(x, y, aboutClass(this, size), this.classes.node);
  }

  blockAt({ x, y }) {
    if (this.chosen || !this.places) return null;
    const address = addressAt(this.places, x, y);
    return (
      this.held.mine.find((b) => b.address <= address && address < b.address + b.size) ?? null
    );
  }

  /** What the source is asked for: of the block that is pointed at, else of the event. */
  asked() {
    const { history, now } = this;
    const block = this.held.mine.find(({ address }) => address === this.hovered.address);
    const row = block?.row ?? now;
    if (!history?.n || row < 0) return "There is no pool event yet.";
    const { event, block: number } = history.at;
    const word = Object.keys(EVENT).find((name) => EVENT[name] === event[row]);
    return { block: number[row], event: word, name: word };
  }

  /** Mark the next block by address, or the one before, and tell of it. @param {number} by */
  nextBlock(by) {
    const blocks = this.held.mine;
    if (!blocks.length || this.chosen) return;
    const at = blocks.findIndex(({ address }) => address === this.hovered.address);
    const block = blocks[at < 0 ? 0 : (at + by + blocks.length) % blocks.length];
    this.hovered = { size: 0, address: block.address };
    this.redraw();
    this.tellBlock({ x: 12, y: 12 }, block);
  }

  /** @param {{x: number, y: number}} place @param {any} block */
  tellBlock(place, block) {
    const number = this.history.at.block[block.row];
    const lines = () => aboutBlock(this, block, this.facts.get(number));
    const show = () => this.frame.showTip(place.x, place.y, lines(), this.map.node);
    show();
    this.waiting = { number, show };
    clearTimeout(this.asking);
    if (number && (this.data.header.live || !this.facts.has(number)))
      this.asking = setTimeout(() => this.model.send({ kind: "block", block: number }), 60);
  }

  /** The kernel tells of an allocation. @param {{block: number, rows: [string, string][]}} message */
  hearBlock({ block, rows }) {
    this.facts.set(block, rows);
    this.frame.root.dataset.facts = String(block);
    if (this.waiting?.number === block && !this.frame.tip.hidden) this.waiting.show();
  }

  overMap(place) {
    const block = this.blockAt(place);
    if ((block?.address ?? -1) !== this.hovered.address) {
      this.hovered = { size: 0, address: block?.address ?? -1 };
      this.redraw();
    }
    if (!block) return this.frame.hideTip();
    return this.tellBlock(place, block);
  }

  clickMap(place) {
    const block = this.blockAt(place);
    const op = block ? this.history.at.op[block.row] : 0;
    if (!op) return;
    this.data.store.set({ op, opTime: this.history.at.t[block.row] });
    this.model.send({ kind: "select", op });
  }

  overChart({ x }) {
    if (!this.history?.n || x < LEFT) return this.frame.hideTip();
    const row = this.history.rowAt(this.stepAt(x));
    return this.frame.showTip(x, 6, aboutEvent(this, row), this.chart.node);
  }

  tellMoment() {
    const row = this.now;
    if (row < 0 || !this.laid) return;
    const x = this.laid.frame.x(this.laid.frame.at(this.history, row));
    this.frame.showTip(x, 6, aboutEvent(this, row), this.chart.node);
  }

  // Keys

  setAxis(value) {
    this.axis = value;
    this.axes?.show(value);
    this.redraw();
  }

  key(event) {
    const press = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const { history } = this;
    const is = (name) => (row) => history.at.event[row] === EVENT[name];
    if (press === "e") this.setAxis(this.axis === "events" ? "time" : "events");
    else if (press === "g") this.nextGhost();
    else if (press === "x") this.trials.reset();
    else if (press === "Escape") {
      this.chosen = 0;
      this.leave();
    } else if (!history?.n) return false;
    else if (press === "ArrowRight" || press === "ArrowLeft") {
      const here = history.at.step[Math.max(this.now, 0)];
      this.seek((row) => history.at.step[row] !== here, press === "ArrowRight" ? 1 : -1);
    } else if (press === "b") this.nextBlock(event.shiftKey ? -1 : 1);
    else if (press === "d") this.seek(is("alloc"));
    else if (press === "f") this.seek(is("flush"));
    else if (press === "p") this.goTo(history.at.step[history.highest]);
    else if (press === "Home") this.goTo(0);
    else if (press === "End") this.goTo(history.steps - 1);
    else if (press === "ArrowDown" || press === "ArrowUp") this.walk(press === "ArrowDown" ? 1 : -1);
    else return false;
    return true;
  }

  walk(by) {
    const sizes = this.layout?.sizes ?? [];
    const now = sizes.indexOf(this.chosen);
    const next = now < 0 ? (by > 0 ? 0 : sizes.length - 1) : now + by;
    this.chosen = sizes[Math.min(sizes.length - 1, Math.max(0, next))] ?? 0;
    this.redraw();
  }

  nextGhost() {
    const next = GHOSTS[(GHOSTS.indexOf(this.ghosts.value) + 1) % GHOSTS.length];
    this.model.send({ kind: "ghost", name: next });
  }

  /** Numbers in the head, the legend, and data attributes for tests. */
  tell() {
    const { history, theme } = this;
    const { ghost, header } = this.data;
    if (!history) return;
    const row = this.now;
    const refused = history.after("oom", history.n - 1);
    this.frame.setNumbers(headNumbers(this));
    const tried = header.tried?.length > 0;
    const ghostly = header.ghost && header.ghost !== "recorded" ? ", ghost modelled" : "";
    this.frame.setSource((tried ? "modelled" : "measured") + ghostly);
    this.frame.setLegend(legend(history, header.ghost, theme));
    Object.assign(this.frame.root.dataset, {
      device: header.device ?? "",
      pool: header.pool ?? "",
      step: row < 0 ? -1 : history.at.step[row],
      peak: history.peak,
      calls: history.after("alloc", history.n - 1),
      hits: history.after("hit", history.n - 1),
      flushes: history.after("flush", history.n - 1),
      refused,
      reserved: history.after("reserved", row),
      ghost: header.ghost ?? "",
      ghostpeak: ghost?.peak ?? 0,
      tried: (header.tried ?? []).join(),
      chosen: this.chosen,
      events: history.n,
      selected: this.data.store.op,
      axis: this.axis,
    });
  }
}

export default liveView(PoolData, PoolView);
