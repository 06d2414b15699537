// The picture of who ran what and when; the views of it differ in what they call lanes.

import { AXIS_KEYS, Axis, drawAxis, drawMarks, markText } from "../drawing/axis.js";
import { busy } from "./engine_data.js";
import { LEFT, paintLanes, paintOps, paintSelected } from "./engine_paint.js";
import { aboutOperation, aboutStretch } from "./engine_text.js";
import { Finder, Ruler, TOOL_KEYS, withPinned } from "./engine_tools.js";
import { GRADIENT_KEYS, GradientTool, arrowLegend, paintGradient } from "./gradient.js";
import { climb, walk } from "./engine_walk.js";
import { explore } from "../drawing/explore.js";
import { CodePanel } from "../page/code_panel.js";
import { Frame, tipHead, tipRow } from "../page/frame.js";
import { Kept } from "../page/kept.js";
import { PHASES } from "../data/live.js";
import { count, duration, percent } from "../drawing/scale.js";
import { sourceOf } from "../page/sources.js";
import { Surface } from "../drawing/surface.js";

export const TOP = 20;
const BELOW = 20;
const FOLD_AFTER = 4e9; // nanoseconds after which an idle lane is not drawn any more
export const LOWEST = 4; // pixels of a lane
const NOTHING = "No operation yet. Train, or run something while the record is on.";
const USUAL = 28; // and of one where there is room
const COLOURS = ["phase", "layer", "operator"];
const SELECT_FIRST = "Select an operation first: click it, or press →.";
/** @type {[string, string][]} */
const KEYS = [
  ...AXIS_KEYS,
  ["← →", "previous, next operation in the lane"],
  ["↑ ↓", "operation at the same time in the lane above, below"],
  ["C", "colour by phase, by layer, by operator"],
  ["Shift+drag", "measure a stretch: busy share and top operators"],
  ...TOOL_KEYS,
  ...GRADIENT_KEYS,
  ["O", "source of the selected operation"],
  ["Esc", "let go of the selection and of the marks"],
  ["T", "table"],
];

/** A lane for the pushing thread and one for every worker; `about` says what it is. */
export class EngineView {
  constructor({ model, el, data, signal }) {
    this.model = model;
    this.data = data;
    /** "auto" is by phase, or by operator where only one phase occurs. */
    this.colouring = model.get("colour") ?? "auto";
    /** Once the record grows, the height is that of the setting, however many lanes. */
    this.fixed = false;
    this.folded = 0;
    this.lanes = [0];
    this.arrange();
    /** @type {[number, number] | null} */
    this.brushed = null;
    this.ruler = new Ruler();
    /** @type {Set<number>} lanes that stay at the top */
    this.pinned = new Set();
    /** Their names: a lane may come later. @type {string[]} */
    this.pins = [];
    this.axis = new Axis(
      data.store,
      () => [data.ops.gone, data.ops.gone + Math.max(1, data.ops.n)],
      () => (Number.isFinite(data.first) ? data.first : 0),
    );
    this.axis.mode = model.get("axis");
    this.frame = new Frame({
      el,
      model,
      ...this.about(),
      keys: KEYS,
      signal,
      onkey: (event) => this.key(event),
      ontheme: () => this.surface?.invalidate(),
    });
    this.colourings = this.frame.addChoice("Colour", COLOURS, this.colour, (value) =>
      this.setColour(value),
    );
    this.axes = this.frame.addChoice("Axis", ["time", "events"], this.axis.mode, (value) =>
      this.setAxis(value),
    );
    this.finder = new Finder({
      data,
      signal,
      focus: this.frame.root,
      select: (row) => this.select(row),
      place: () => data.rowOf(data.store.op),
      changed: () => this.surface?.invalidate(),
    });
    this.frame.picture.append(this.finder.root);
    this.gradient = new GradientTool({ view: this, signal });
    this.code = new CodePanel({
      model,
      frame: this.frame,
      signal,
      title: "Source of the selected operation",
      what: () => (data.store.op ? { op: data.store.op } : SELECT_FIRST),
    });
    this.surface = new Surface({
      parent: this.frame.picture,
      height: this.wantedHeight(),
      signal,
      draw: (ctx, width, height) => this.draw(ctx, width, height),
      overlay: (ctx, width, height) => this.drawOverlay(ctx, width, height),
    });
    explore({
      surface: this.surface,
      axis: this.axis,
      left: LEFT,
      signal,
      focus: this.frame.root,
      hover: (x, y) => this.hover(x, y),
      leave: () => {
        data.store.set({ cursor: null });
        this.frame.hideTip();
      },
      click: (x, y) => this.select(this.hit(x, y)),
      brush: (from, to) => {
        this.brushed = [from, to];
      },
      changed: () => this.redraw(),
    });
    this.addKept(signal);
    data.store.addEventListener(
      "change",
      ({ detail }) => {
        if (detail.every((key) => key === "cursor")) this.surface.invalidateTop();
        else this.redraw();
      },
      { signal },
    );
  }

  /** What of the picture is kept. */
  addKept(signal) {
    const { axis, finder, model, ruler } = this;
    this.kept = new Kept({
      model,
      signal,
      parts: {
        axis: { get: () => axis.mode, set: (mode) => this.setAxis(mode) },
        colour: { get: () => this.colouring, set: (colour) => this.setColour(colour) },
        window: {
          get: () => axis.window,
          set: (window) => {
            axis.window = window;
          },
        },
        pinned: {
          get: () => this.pins,
          set: (pins) => {
            this.pins = pins;
            this.redraw();
          },
        },
        marks: {
          get: () => ruler.at.map(Math.round),
          set: (marks) => {
            ruler.at = [...marks];
            this.redraw();
          },
        },
        find: { get: () => finder.field.value, set: (text) => finder.bring(text) },
      },
    });
  }

  get theme() {
    return this.frame.theme;
  }

  setColour(value) {
    this.colouring = value;
    this.colourings?.show(value);
    this.redraw();
  }

  /** What the colours stand for: phases, layers or operators. */
  get colour() {
    if (this.colouring !== "auto") return this.colouring;
    return this.data.phases.size === 1 ? "operator" : "phase";
  }

  setAxis(value) {
    this.axis.mode = value;
    this.axes?.show(value);
    this.brushed = null;
    this.redraw();
  }

  /** The lanes to draw: the pusher's, and those that were not idle for long. Lanes of an
   * engine that was exchanged fold away, and the idlest where there is no room for all. */
  chooseLanes() {
    const range = this.axis.mode === "time" ? this.axis.range : this.timesOf(this.axis.range);
    const used = busy(this.data, [range[0] - FOLD_AFTER, range[1]]);
    this.pinned = new Set(this.pins.map((name) => this.data.lanes.indexOf(name)));
    this.pinned.delete(-1);
    const wanted = (lane) => lane === 0 || used[lane] > 0 || this.pinned.has(lane);
    const shown = this.data.laneOrder.filter(wanted);
    const lanes = this.fitting(shown.length > 1 ? shown : this.data.laneOrder.slice(0, 4), used);
    this.lanes = withPinned(lanes, this.pinned);
    if (this.data.header.live) this.fixed = true;
    this.arrange();
    const height = this.wantedHeight();
    if (height !== this.surface.height) this.surface.resize(height);
  }

  /** The lanes for which there is room, in their order. */
  fitting(lanes, used) {
    const room = Math.max(2, Math.floor(this.room(lanes) / LOWEST));
    this.folded = Math.max(0, lanes.length - room);
    if (!this.folded) return lanes;
    const first = (lane) => Number(lane === 0 || this.pinned.has(lane));
    const busiest = [...lanes].sort((a, b) => first(b) - first(a) || used[b] - used[a]);
    const kept = new Set(busiest.slice(0, room));
    return lanes.filter((lane) => kept.has(lane));
  }

  /** The height that lanes share. */
  room(_lanes) {
    return this.model.get("height");
  }

  get laneHeight() {
    const each = Math.floor(this.room(this.lanes) / Math.max(2, this.lanes.length));
    return Math.max(LOWEST, Math.min(this.fixed ? 2 * USUAL : USUAL, each));
  }

  /** Where each lane that is drawn begins, and where the last one ends. */
  arrange() {
    const high = this.laneHeight;
    this.tops = new Map(this.lanes.map((lane, i) => [lane, TOP + i * high]));
    this.end = TOP + Math.max(2, this.lanes.length) * high;
  }

  wantedHeight() {
    return (this.fixed ? TOP + this.model.get("height") : this.end) + BELOW;
  }

  laneY(lane) {
    return this.tops.get(lane) ?? -100;
  }

  /** The lane at a height, or undefined. */
  laneAt(y) {
    return this.lanes.find((lane) => y >= this.laneY(lane) && y < this.laneY(lane) + this.laneHeight);
  }

  /** New rows arrived. @param {() => void} [painted] */
  update(painted) {
    this.chooseLanes();
    this.surface.invalidate(painted);
  }

  redraw() {
    this.chooseLanes();
    this.surface.invalidate();
  }

  key(event) {
    const press = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (press === "c") this.setColour(COLOURS[(COLOURS.indexOf(this.colour) + 1) % 3]);
    else if (press === "e") this.setAxis(this.axis.mode === "time" ? "events" : "time");
    else if (press === "/") this.finder.toggle(true);
    else if (press === "n") this.finder.go(event.shiftKey ? -1 : 1);
    else if (press === "m") this.mark();
    else if (press === "p") this.pin();
    else if (press === "g") this.gradient.toggle();
    else if (press === "j") this.gradient.jump();
    else if (press === "Escape") {
      this.brushed = null;
      this.ruler.clear();
      this.select(-1);
    } else if (press === "ArrowLeft" || press === "ArrowRight")
      walk(this, press === "ArrowLeft" ? -1 : 1);
    else if (press === "ArrowUp" || press === "ArrowDown")
      climb(this, press === "ArrowUp" ? -1 : 1);
    else if (!this.axis.key(press)) return false;
    this.redraw();
    return true;
  }

  /** Mark the time under the pointer, else the start of the selected operation, else the
   * middle of what is shown. */
  mark() {
    const { cursor, opTime } = this.data.store;
    const [low, high] = this.axis.mode === "time" ? this.axis.range : this.timesOf(this.axis.range);
    this.ruler.mark(cursor ?? opTime ?? (low + high) / 2);
  }

  /** Pin the lane of the selected operation, or let it go. */
  pin() {
    const row = this.data.rowOf(this.data.store.op);
    const lane = row < 0 ? 0 : this.data.ops.at.lane[row];
    const name = this.data.lanes[lane];
    if (!lane) return;
    this.pins = this.pins.includes(name)
      ? this.pins.filter((one) => one !== name)
      : [...this.pins, name];
  }

  /** The axis position of a row's push, start or end. */
  placeOf(row, edge) {
    if (this.axis.mode === "time") return this.data.ops.at[edge][row];
    return row + this.data.ops.gone + (edge === "end" ? 0.92 : 0);
  }

  /** A function that gives the pixel of a row's push, start or end, for the range that
   * is visible now. Called for every operation, so it must be quick. */
  pixels() {
    const [low, high] = this.axis.range;
    const per = (this.surface.width - LEFT) / (high - low);
    const { at, gone } = this.data.ops;
    if (this.axis.mode === "time") return (row, edge) => LEFT + (at[edge][row] - low) * per;
    return (row, edge) => LEFT + (row + gone + (edge === "end" ? 0.92 : 0) - low) * per;
  }

  xAt(value) {
    const [low, high] = this.axis.range;
    return LEFT + ((value - low) / (high - low)) * (this.surface.width - LEFT);
  }

  /** The operation under a point, or -1. */
  hit(x, y) {
    const lane = this.laneAt(y);
    if (lane === undefined || x < LEFT) return -1;
    const [low, high] = this.axis.range;
    const unit = (high - low) / (this.surface.width - LEFT);
    const order = this.data.orders(this.axis.mode)[lane];
    return order?.nearest(low + (x - LEFT) * unit, 4 * unit) ?? -1;
  }

  hover(x, y) {
    const [low, high] = this.axis.range;
    const value = low + ((x - LEFT) / (this.surface.width - LEFT)) * (high - low);
    if (this.axis.mode === "time" && x >= LEFT) this.data.store.set({ cursor: value });
    if (y < TOP) {
      const mark = this.marksInView().find((m) => Math.abs(m.x - x) < 8)?.mark;
      if (mark)
        return this.frame.showTip(x, y, [
          tipHead("Knob turned", this.theme.mark),
          tipRow(mark.name, `${mark.old} → ${mark.new}`),
        ]);
    }
    const row = this.hit(x, y);
    if (row < 0) return this.frame.hideTip();
    this.frame.showTip(x, y, this.describe(row));
  }

  /** What pointing at an operation says. @returns {Node[]} */
  describe(row) {
    return aboutOperation(this, row);
  }

  /** Select a row in all views of this run, or nothing. */
  select(row) {
    const { at } = this.data.ops;
    const op = row < 0 ? 0 : at.op[row];
    this.data.store.set({ op, opTime: row < 0 ? null : at.start[row] });
    this.model.send({ kind: "select", op });
    if (row >= 0) this.reveal(row);
  }

  /** Scroll so that a row can be seen. */
  reveal(row) {
    const [low, high] = this.axis.range;
    const place = this.placeOf(row, "start");
    if (this.axis.following) this.axis.show([low, high]);
    if (place < low || place > high)
      this.axis.show([place - (high - low) / 2, place + (high - low) / 2]);
  }

  get colours() {
    return this.colour === "phase" ? this.theme.phase : this.theme.layer;
  }

  /** The colours, and behind them a pale one for what is not looked for. */
  get palette() {
    return this.finder?.active ? [...this.colours, this.theme.line] : this.colours;
  }

  colourOf(row) {
    if (!this.finder?.active) return this.plainColourOf(row);
    const many = this.colours.length;
    return this.finder.matches(row) ? this.plainColourOf(row) % many : many;
  }

  plainColourOf(row) {
    const { at } = this.data.ops;
    if (this.colour === "phase") return at.phase[row];
    return (this.colour === "layer" ? this.layerNumber(at.layer[row]) : this.operatorNumber(at.name[row]));
  }

  /** Layers and operators take colours in the order in which they appear. */
  layerNumber(string) {
    return this.data.layerNumber.get(string) ?? 0;
  }

  operatorNumber(string) {
    return this.data.operatorNumber.get(string) ?? 0;
  }

  marksInView() {
    const { at, n, gone } = this.data.ops;
    return this.data.marks.map((mark) => {
      let value = mark.t;
      if (this.axis.mode === "events") {
        value = gone;
        for (let i = 0; i < n && at.end[i] < mark.t; i += 1) value = i + gone + 1;
      }
      return { x: this.xAt(value), text: markText(mark), mark };
    });
  }

  draw(ctx, width, height) {
    const { data, theme } = this;
    const bottom = height - BELOW;
    const range = this.axis.range;
    const time = this.axis.mode === "time" ? range : this.timesOf(range);
    const used = busy(data, time);
    // Of what can be seen, so that picture and number are about the same stretch.
    const span = Math.max(1, Math.min(time[1], data.store.now) - Math.max(time[0], 0));
    const shares = used.map((ns) => ns / span);
    const view = {
      data,
      lanes: this.lanes,
      theme,
      width,
      shares,
      active: used,
      laneHeight: this.laneHeight,
      laneY: (lane) => this.laneY(lane),
      mode: this.axis.mode,
      low: range[0],
      per: (width - LEFT) / (range[1] - range[0]),
      xOf: this.pixels(),
      palette: this.palette,
      colourOf: (row) => this.colourOf(row),
    };
    paintLanes(ctx, view);
    drawAxis(ctx, { axis: this.axis, left: LEFT, right: width, top: TOP, bottom, theme });
    if (!data.ops.n) {
      ctx.fillStyle = theme.muted;
      ctx.font = `12px ${theme.font}`;
      ctx.textAlign = "center";
      ctx.textBaseline = "middle";
      ctx.fillText(NOTHING, (LEFT + width) / 2, (TOP + bottom) / 2, width - LEFT);
    }
    const painted = paintOps(ctx, view);
    drawMarks(ctx, {
      marks: this.marksInView(),
      left: LEFT,
      right: width,
      top: 1,
      bottom,
      theme,
    });
    this.tell(shares, used, painted);
  }

  /** The time that a range of event numbers covers. @returns {[number, number]} */
  timesOf([low, high]) {
    const { at, n, gone } = this.data.ops;
    if (!n) return [0, 1];
    const first = Math.min(n - 1, Math.max(0, Math.floor(low - gone)));
    const last = Math.min(n - 1, Math.max(0, Math.floor(high - gone)));
    return [at.start[first], Math.max(at.end[last], at.start[first] + 1)];
  }

  drawOverlay(ctx, width, height) {
    const { data, theme } = this;
    const bottom = height - BELOW;
    const { cursor, op } = data.store;
    if (cursor !== null && this.axis.mode === "time" && this.xAt(cursor) > LEFT) {
      ctx.strokeStyle = theme.muted;
      ctx.beginPath();
      ctx.moveTo(Math.round(this.xAt(cursor)) + 0.5, TOP);
      ctx.lineTo(Math.round(this.xAt(cursor)) + 0.5, bottom);
      ctx.stroke();
    }
    if (op) {
      const row = data.rowOf(op);
      if (row >= 0) {
        const view = {
          data,
          row,
          arrows: data.arrowsOf(op),
          laneHeight: this.laneHeight,
          theme,
          width,
          laneY: (lane) => this.laneY(lane),
          xOf: this.pixels(),
        };
        paintSelected(ctx, view);
        paintGradient(ctx, { ...view, rows: this.gradient.rows() });
      }
    }
    if (this.brushed) this.drawBrush(ctx, bottom);
    if (this.axis.mode === "time") {
      const xAt = (value) => this.xAt(value);
      this.ruler.draw(ctx, { xAt, top: TOP, bottom, left: LEFT, right: width, theme });
    }
  }

  drawBrush(ctx, bottom) {
    const [from, to] = this.brushed;
    const left = Math.max(LEFT, this.xAt(from));
    ctx.fillStyle = this.theme.accent;
    ctx.globalAlpha = 0.16;
    ctx.fillRect(left, TOP, this.xAt(to) - left, bottom - TOP);
    ctx.globalAlpha = 1;
    this.frame.showTip(
      this.xAt(to),
      TOP,
      aboutStretch(this, this.axis.mode === "time" ? [from, to] : this.timesOf([from, to])),
    );
  }

  /** The key numbers. @returns {[string, string][]} */
  numbers(total, workers, mean) {
    const { failures } = this.data;
    return [
      ["operations", count(total)],
      ["lanes", this.folded ? `${workers.length} of ${workers.length + this.folded}` : `${workers.length}`],
      ["busy", percent(mean)],
      ...(failures ? [["failed", count(failures)]] : []),
      ...(this.ruler.measured === null ? [] : [["between marks", duration(this.ruler.measured)]]),
      ...(this.data.loaded < 1 ? [["loading", percent(this.data.loaded)]] : []),
    ];
  }

  /** Where they come from, in a word of `SOURCES`. */
  get source() {
    return sourceOf(this.data.header);
  }

  /** Numbers in the head, in the legend, and for tests in data attributes. */
  tell(shares, used, painted) {
    const { data, theme } = this;
    const workers = this.lanes.filter((lane) => used[lane] > 0);
    const mean = workers.length
      ? workers.reduce((sum, lane) => sum + Math.min(1, shares[lane]), 0) / workers.length
      : 0;
    const total = data.ops.n + data.ops.gone + data.skipped;
    this.frame.setNumbers(this.numbers(total, workers, mean));
    const { colour } = this;
    this.frame.setSource(this.source);
    this.colourings.show(colour);
    const numbers = colour === "layer" ? data.layerNumber : data.operatorNumber;
    const names =
      colour === "phase"
        ? PHASES.map((name, i) => [name, theme.phase[i]])
        : [...numbers]
            .slice(0, 12)
            .map(([string, i]) => [
              data.strings[string] || `no ${colour}`,
              theme.layer[i % theme.layer.length],
            ]);
    this.frame.setLegend([...names, ...arrowLegend(this), ["knob turned", theme.mark, "dash"]]);
    Object.assign(this.frame.root.dataset, {
      lanes: this.lanes.map((lane) => data.lanes[lane]).join("|"),
      activeLanes: workers.map((lane) => data.lanes[lane]).join("|"),
      axis: this.axis.mode,
      colour,
      folded: this.folded,
      operations: total,
      selected: data.store.op,
      boxes: painted.boxes,
      shades: painted.shades,
      marks: data.marks.length,
      loaded: data.loaded,
      found: this.finder.active ? this.finder.total() : "",
      measured: this.ruler.measured ?? "",
      gradient: this.gradient.on ? this.gradient.rows().map((row) => data.ops.at.op[row]).join() : "off",
      pinned: [...this.pinned].map((lane) => data.lanes[lane]).join("|"),
    });
    if (data.loaded >= 1 && (total || data.header.live)) this.kept.note();
  }
}
