// Live bytes over time, stacked by category, with peak, reserve and knob changes.

import { el } from "./lib/page/dom.js";
import { AXIS_KEYS, Axis, drawAxis, drawMarks, markText } from "./lib/drawing/axis.js";
import { explore } from "./lib/drawing/explore.js";
import { Frame, tipHead, tipRow } from "./lib/page/frame.js";
import { Kept } from "./lib/page/kept.js";
import { PHASES, liveView } from "./lib/data/live.js";
import { CodePanel } from "./lib/page/code_panel.js";
import { aboutAllocation, paintBlocks, paintRing, runAt } from "./lib/memory/memory_blocks.js";
import { CATEGORIES, EVENTS, MemoryData, between, columnsOf } from "./lib/memory/memory_data.js";
import {
  LEFT,
  STRIP,
  paintBand,
  paintIdle,
  paintPeak,
  paintReserve,
  paintScale,
  paintStrip,
} from "./lib/memory/memory_paint.js";
import { PEAK, PLANNED, StepChart } from "./lib/memory/memory_steps.js";
import { bytes, duration, roundUp } from "./lib/drawing/scale.js";
import { sourceOf } from "./lib/page/sources.js";
import { Surface } from "./lib/drawing/surface.js";

const BELOW = 20;
const HELP =
  "The bytes that live arrays hold, stacked by what they are for. The dashed line is the " +
  "highest total so far. The strip above is what the pool holds from the driver, reserved, on " +
  "a scale of its own. Below, while a lab trains: the most bytes in use during each step of the " +
  "run, and dashed what the plan of the graph needs. Requested is what operators asked for, rounded what the pool handed out. " +
  "Hover to see who owns what; click to pin; an operation selected in another view is marked. " +
  "Blocks shows each allocation as a shape, the oldest at the bottom: point at one to read who " +
  "asked for it, in which line, who wrote it and who read it last.";
/** @type {[string, string][]} */
const KEYS = [
  ...AXIS_KEYS,
  ["← →", "previous, next pool event (pins it)"],
  ["B", "by category, or each allocation as a block"],
  ["↑ ↓", "of the blocks at this event the one above, below"],
  ["O", "source: the line that asked for the block, the pool that served it"],
  ["M", "requested → rounded → reserved"],
  ["P", "go to the peak"],
  ["Shift+drag", "measure a stretch: bytes and events in it"],
  ["Esc", "let go of what is pinned"],
  ["T", "table"],
];

class MemoryView {
  constructor({ model, el: host, data, signal }) {
    this.model = model;
    this.data = data;
    this.measure = model.get("measure");
    this.device = "";
    /** The device that was asked for; "" for the busiest. */
    this.wanted = model.get("device");
    /** @type {number | null} an event number, pinned by click or arrow keys */
    this.pinned = null;
    /** @type {[number, number] | null} */
    this.brushed = null;
    this.shown = model.get("show") ?? "categories";
    /** @type {import("./lib/memory/memory_blocks.js").Allocation | null} */
    this.chosen = null;
    /** @type {import("./lib/memory/memory_blocks.js").Allocation | null} pointed at */
    this.pointed = null;
    /** @type {number | null} the event at which one goes up and down */
    this.moment = null;
    /** What the kernel told of allocations, by number. @type {Map<number, [string, string][]>} */
    this.facts = new Map();
    /** @type {import("./lib/memory/memory_blocks.js").Run[]} */
    this.runs = [];
    this.axis = new Axis(
      data.store,
      () => [this.series?.gone ?? 0, (this.series?.gone ?? 0) + (this.series?.n ?? 1)],
      () => this.series?.at.t[0] ?? 0,
    );
    this.axis.mode = model.get("axis");
    this.frame = new Frame({
      el: host,
      model,
      title: "Memory",
      name: "memory",
      help: HELP,
      keys: KEYS,
      signal,
      onkey: (event) => this.key(event),
      ontheme: () => this.redraw(),
    });
    this.addTools(signal);
    this.panel = new CodePanel({
      model,
      frame: this.frame,
      signal,
      title: "Source: who asked for this memory, and the pool that served it",
      what: () => this.asked(),
    });
    this.surface = new Surface({
      parent: this.frame.picture,
      height: model.get("height"),
      signal,
      draw: (ctx, width, height) => this.draw(ctx, width, height),
      overlay: (ctx, width, height) => this.drawOverlay(ctx, width, height),
    });
    this.steps = new StepChart({ parent: this.frame.picture, data, frame: this.frame, signal });
    explore({
      surface: this.surface,
      axis: this.axis,
      left: LEFT,
      signal,
      focus: this.frame.root,
      hover: (x, y) => this.hover(x, y),
      leave: () => this.leave(),
      click: (x, y) => this.click(x, y),
      brush: (from, to) => {
        this.brushed = [from, to];
      },
      changed: () => this.redraw(),
    });
    this.kept = new Kept({
      model,
      signal,
      parts: {
        axis: { get: () => this.axis.mode, set: (mode) => this.setAxis(mode) },
        measure: { get: () => this.measure, set: (measure) => this.setMeasure(measure) },
        show: { get: () => this.shown, set: (shown) => this.setShown(shown) },
        device: {
          get: () => this.wanted,
          set: (device) => {
            [this.wanted, this.device] = [device, ""];
            this.update();
          },
        },
        window: {
          get: () => this.axis.window,
          set: (window) => {
            this.axis.window = window;
          },
        },
        pinned: {
          get: () => this.pinned ?? -1,
          set: (event) => {
            this.pinned = event < 0 ? null : event;
            this.redraw();
          },
        },
      },
    });
    data.store.addEventListener(
      "change",
      ({ detail }) => {
        if (detail.every((key) => key === "cursor")) this.surface.invalidateTop();
        else this.redraw();
      },
      { signal },
    );
  }

  addTools(signal) {
    this.devices = el("select", {
      class: "mx-select",
      title: "Device",
      "aria-label": "Device",
      signal,
      hidden: true,
      onchange: (event) => {
        this.device = this.wanted = event.target.value;
        this.pinned = null;
        this.chosen = null;
        this.redraw();
      },
    });
    this.frame.addTool(this.devices);
    this.measures = this.frame.addChoice(
      "Bytes",
      ["requested", "rounded", "reserved"],
      this.measure,
      (value) => this.setMeasure(value),
    );
    this.shows = this.frame.addChoice("Show", ["categories", "blocks"], this.shown, (value) =>
      this.setShown(value),
    );
    this.axes = this.frame.addChoice("Axis", ["time", "events"], this.axis.mode, (value) =>
      this.setAxis(value),
    );
  }

  get series() {
    return this.data.devices.get(this.device);
  }

  setMeasure(value) {
    this.measure = value;
    this.measures?.show(value);
    this.redraw();
  }

  setShown(value) {
    this.shown = value;
    this.shows?.show(value);
    this.choose(null);
  }

  setAxis(value) {
    this.axis.mode = value;
    this.axes?.show(value);
    this.brushed = null;
    this.redraw();
  }

  get theme() {
    return this.frame.theme;
  }

  /** New rows arrived. @param {() => void} [painted] */
  update(painted) {
    this.chooseDevice();
    this.steps.invalidate();
    this.surface.invalidate(painted);
  }

  redraw() {
    this.steps?.invalidate();
    this.surface?.invalidate();
  }

  chooseDevice() {
    const names = [...this.data.devices.keys()].sort();
    if (names.join() !== this.devices.dataset.names) {
      this.devices.dataset.names = names.join();
      this.devices.replaceChildren(...names.map((name) => el("option", { text: name })));
      this.devices.hidden = names.length < 2;
    }
    if (!this.data.devices.has(this.device)) {
      const { wanted } = this;
      this.device = names.includes(wanted) ? wanted : (busiest(this.data.devices) ?? "");
    }
    this.devices.value = this.device;
  }

  key(event) {
    const press = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const order = ["requested", "rounded", "reserved"];
    if (press === "m") this.setMeasure(order[(order.indexOf(this.measure) + 1) % 3]);
    else if (press === "e") this.setAxis(this.axis.mode === "time" ? "events" : "time");
    else if (press === "p") this.goToPeak();
    else if (press === "b") this.setShown(this.shown === "blocks" ? "categories" : "blocks");
    else if (this.shown === "blocks" && (press === "ArrowUp" || press === "ArrowDown"))
      this.climb(press === "ArrowUp" ? 1 : -1);
    else if (press === "ArrowLeft" || press === "ArrowRight")
      this.walk(press === "ArrowLeft" ? -1 : 1);
    else if (press === "Escape") {
      this.pinned = null;
      this.brushed = null;
      this.moment = null;
      this.choose(null);
      this.frame.hideTip();
    } else if (!this.axis.key(press)) return false;
    this.redraw();
    return true;
  }

  goToPeak() {
    if (!this.series) return;
    const { t } = this.series.peak[this.measure];
    const row = this.series.rowAt("time", t);
    if (row < 0) return;
    this.pinned = row + this.series.gone;
    const centre = this.axis.mode === "time" ? t : this.pinned;
    const half = (this.axis.range[1] - this.axis.range[0]) / 2;
    this.axis.show([centre - half, centre + half]);
    this.showRow(row);
  }

  walk(by) {
    const { series } = this;
    if (!series?.n) return;
    const now =
      this.pinned === null
        ? series.rowAt(this.axis.mode, this.axis.range[1])
        : this.pinned - series.gone + by;
    const row = Math.min(series.n - 1, Math.max(0, now));
    this.pinned = row + series.gone;
    const place = this.axis.mode === "time" ? series.at.t[row] : this.pinned;
    const [low, high] = this.axis.range;
    if (place < low || place > high)
      this.axis.show([place - (high - low) / 2, place + (high - low) / 2]);
    if (this.shown === "blocks") this.chooseOf(row);
    else this.showRow(row);
  }

  // Blocks

  /** Choose the allocation that an event begins, or ends. @param {number} row */
  chooseOf(row) {
    const { series } = this;
    const number = series.at.block[row];
    this.moment = row + series.gone - (series.at.delta[row] < 0 ? 1 : 0); // while it lives
    const one = series.blocks.all.findLast(({ block }) => block === number && number > 0);
    this.choose(one ?? null);
    if (!one) this.showRow(row);
  }

  /** Of what lives at the moment that is looked at, the next one above or below. @param {number} by */
  climb(by) {
    const { series } = this;
    if (!series?.n) return;
    this.moment ??= series.rowAt(this.axis.mode, this.axis.range[1]) + series.gone;
    const living = series.blocks.at(this.moment);
    const now = this.chosen ? living.indexOf(this.chosen) : -1;
    const next = now < 0 ? (by > 0 ? 0 : living.length - 1) : now + by;
    this.choose(living[Math.min(living.length - 1, Math.max(0, next))] ?? null);
  }

  /** Mark an allocation, select its operation in all views, and tell what is known of it. */
  choose(one) {
    this.chosen = one;
    if (one) {
      this.showFacts(one, ...this.placeOf(one));
      if (one.op) {
        this.data.store.set({ op: one.op, opTime: one.born });
        this.model.send({ kind: "select", op: one.op });
      }
    } else this.frame.hideTip();
    this.redraw();
  }

  /** Where the tooltip of an allocation goes. @returns {[number, number]} */
  placeOf(one) {
    const mine = this.runs.filter((run) => run.one === one);
    if (!mine.length || !this.scaleY) return [LEFT + 20, 20];
    const wanted = this.pinned === null ? LEFT : this.xOf(this.axis.mode === "time" ? this.series.at.t[this.pinned - this.series.gone] : this.pinned);
    const run = mine.find(({ x0, x1 }) => LEFT + x0 <= wanted && wanted <= LEFT + x1) ?? mine[0];
    return [LEFT + Math.min(run.x1, Math.max(run.x0, wanted - LEFT)), this.scaleY((run.low + run.high) / 2)];
  }

  showFacts(one, x, y) {
    const known = this.facts.get(one.block);
    this.frame.showTip(x, y, aboutAllocation(this, one, known));
    this.frame.root.dataset.facts = known ? String(one.block) : "";
    clearTimeout(this.asking);
    this.waiting = { one, x, y };
    if (known && !this.data.header.live) return;
    // Not for each block that the pointer flies over.
    this.asking = setTimeout(() => this.model.send({ kind: "block", block: one.block }), 60);
  }

  /** The kernel tells of an allocation. @param {{block: number, rows: [string, string][]}} message */
  hearBlock({ block, rows }) {
    this.facts.set(block, rows);
    if (this.waiting?.one.block !== block || this.frame.tip.hidden) return;
    const { one, x, y } = this.waiting;
    this.frame.showTip(x, y, aboutAllocation(this, one, rows));
    this.frame.root.dataset.facts = String(block);
  }

  /** What the source is asked for. @returns {object | string} */
  asked() {
    const { series } = this;
    const one = this.pointed ?? this.chosen;
    if (one) return { block: one.block, name: `allocation #${one.block}` };
    if (series?.n && this.pinned !== null) {
      const row = this.pinned - series.gone;
      const event = EVENTS[series.at.event[row]];
      return { block: series.at.block[row], event, name: `event #${this.pinned}` };
    }
    return "Point at a block, or pin an event first: click, or press ←.";
  }

  /** The block under a point of the picture, if blocks are shown. */
  blockAt(x, y) {
    if (this.shown !== "blocks" || !this.byteAt || x < LEFT) return null;
    return runAt(this.runs, x - LEFT, this.byteAt(y))?.one ?? null;
  }

  point(one) {
    if (one === this.pointed) return;
    this.pointed = one;
    this.surface.invalidateTop();
  }

  valueAt(x) {
    const [low, high] = this.axis.range;
    return low + ((x - LEFT) / (this.surface.width - LEFT)) * (high - low);
  }

  xOf(value) {
    const [low, high] = this.axis.range;
    return LEFT + ((value - low) / (high - low)) * (this.surface.width - LEFT);
  }

  hover(x, y) {
    const { series } = this;
    if (!series?.n || x < LEFT) return this.leave();
    const value = this.valueAt(x);
    if (this.axis.mode === "time") this.data.store.set({ cursor: value });
    const mark = this.markNear(x, y);
    if (mark)
      return this.frame.showTip(x, y, [
        tipHead("Knob turned", this.theme.mark),
        tipRow(mark.name, `${mark.old} → ${mark.new}`),
      ]);
    const one = this.blockAt(x, y);
    this.point(one);
    if (one) return this.showFacts(one, x, y);
    const row = series.rowAt(this.axis.mode, value);
    if (row < 0) return this.frame.hideTip();
    this.frame.showTip(x, y, this.describe(row));
  }

  markNear(x, y) {
    if (y > 40) return null;
    return this.marksInView().find((mark) => Math.abs(mark.x - x) < 6)?.mark ?? null;
  }

  leave() {
    this.data.store.set({ cursor: null });
    this.point(null);
    if (this.pinned === null && !this.chosen) this.frame.hideTip();
  }

  click(x, y) {
    const one = this.blockAt(x, y);
    if (one || this.chosen) {
      this.pinned = null;
      this.moment = this.series.rowAt(this.axis.mode, this.valueAt(x)) + this.series.gone;
      this.choose(one === this.chosen ? null : one);
      if (one) return;
    }
    const row = this.series?.rowAt(this.axis.mode, this.valueAt(x)) ?? -1;
    const same = row >= 0 && this.pinned === row + (this.series?.gone ?? 0);
    this.pinned = row < 0 || same ? null : row + this.series.gone;
    this.brushed = null;
    if (this.pinned !== null) {
      this.showRow(row);
      const op = this.series.at.op[row];
      if (op) {
        this.data.store.set({ op, opTime: this.series.at.t[row] });
        this.model.send({ kind: "select", op });
      }
    } else this.frame.hideTip();
    this.redraw();
  }

  showRow(row) {
    const place = this.axis.mode === "time" ? this.series.at.t[row] : row + this.series.gone;
    this.frame.showTip(this.xOf(place), 8, this.describe(row));
  }

  /** What the tooltip says about a pool event and the bytes after it. */
  describe(row) {
    const { series, data } = this;
    const at = series.at;
    const stack = series.stack(this.measure, row);
    const total = stack.reduce((a, b) => a + b, 0);
    const who = data.strings[at.owner[row]] || "unknown";
    const layer = data.strings[at.layer[row]];
    const held = at.reserved[row] - (row > 0 ? at.reserved[row - 1] : 0);
    const size = bytes(Math.abs(at.delta[row] || held));
    const lines = [
      tipHead(
        `${EVENTS[at.event[row]]} ${size} · ${who}`,
        this.theme.category[at.category[row]],
      ),
      tipRow("layer", layer || "none"),
      tipRow("phase", PHASES[at.phase[row]]),
      tipRow("at", `${duration(at.t[row])}, event #${row + series.gone}`),
      tipRow("total", `${bytes(total)} of ${bytes(at.reserved[row])} reserved`),
    ];
    stack
      .map((size, i) => [size, i])
      .filter(([size]) => size > 0)
      .sort((a, b) => b[0] - a[0])
      .slice(0, 5)
      .forEach(([size, i]) => lines.push(tipRow(CATEGORIES[i], bytes(size))));
    return lines;
  }

  marksInView() {
    const { series } = this;
    return this.data.marks.map((mark) => {
      const value =
        this.axis.mode === "time"
          ? mark.t
          : series
            ? series.rowAt("time", mark.t) + series.gone + 1
            : 0;
      return { x: this.xOf(value), text: markText(mark), mark };
    });
  }

  draw(ctx, width, height) {
    const { series, theme } = this;
    const bottom = height - BELOW;
    const wide = Math.max(1, Math.floor(width - LEFT));
    this.tell();
    if (!series?.n) {
      ctx.fillStyle = theme.muted;
      ctx.font = `12px ${theme.font}`;
      ctx.textAlign = "center";
      ctx.fillText(
        "No pool events yet. Train, or run something while the record is on.",
        width / 2,
        height / 2,
      );
      return;
    }
    const picks = columnsOf(series, {
      mode: this.axis.mode,
      range: this.axis.range,
      width: wide,
      measure: this.measure,
    });
    const { layers, tops, reserve } = this.pile(picks, wide);
    const apart = this.measure !== "reserved"; // the reserve does not press the bands flat
    const highest = Math.max(1024, ...tops[tops.length - 1], ...(apart ? [] : reserve));
    const high = roundUp(highest * 1.04);
    const top = apart ? STRIP.below : 18;
    const y = (/** @type {number} */ value) => bottom - (value / high) * (bottom - top);
    paintScale(ctx, { high, y, top, width, theme });
    drawAxis(ctx, { axis: this.axis, left: LEFT, right: width, top, bottom, theme });
    this.scaleY = y;
    this.byteAt = (place) => ((bottom - place) / (bottom - top)) * high;
    const blocks = this.shown === "blocks";
    this.runs = blocks
      ? series.blocks.runs(picks, series.gone, this.measure === "requested" ? "requested" : "rounded")
      : [];
    if (blocks) {
      // What is too low to be seen alone is seen together.
      paintBand(ctx, { low: null, high: tops[tops.length - 1], y, fill: theme.edge });
      const painted = paintBlocks(ctx, { runs: this.runs, y, theme, names: this.data.strings });
      this.frame.root.dataset.blocks = String(painted);
    } else
      layers.forEach((category, k) => {
        paintBand(ctx, {
          low: k ? tops[k - 1] : null,
          high: tops[k],
          y,
          fill: theme.category[category],
        });
      });
    if (apart) paintStrip(ctx, { line: reserve, width, theme });
    else {
      paintIdle(ctx, { low: tops[tops.length - 1], high: reserve, y, theme });
      paintReserve(ctx, { line: reserve, y, theme });
    }
    const words = this.steps.peaks ? "most so far" : "peak";
    paintPeak(ctx, { peak: series.peak[this.measure], words, y, high, width, theme });
    drawMarks(ctx, {
      marks: this.marksInView(),
      left: LEFT,
      right: width,
      top: 1,
      bottom,
      theme,
    });
  }

  /** Stack the categories that occur: their tops per pixel, and the reserve. */
  pile(picks, wide) {
    const { series } = this;
    const kind = this.measure === "requested" ? "requested" : "rounded";
    const layers = CATEGORIES.map((_, i) => i).filter((c) => {
      const column = series.at[`${kind}${c}`];
      return picks.some((row) => row >= 0 && column[row] > 0);
    });
    const tops = [];
    let below = new Float64Array(wide);
    for (const c of layers) {
      const column = series.at[`${kind}${c}`];
      const top = new Float64Array(wide);
      for (let x = 0; x < wide; x += 1)
        top[x] = below[x] + (picks[x] < 0 ? 0 : column[picks[x]]);
      tops.push(top);
      below = top;
    }
    if (tops.length === 0) tops.push(below);
    const reserve = Float64Array.from(picks, (row) => (row < 0 ? 0 : series.at.reserved[row]));
    return { layers, tops, reserve };
  }

  drawOverlay(ctx, width, height) {
    const { series, theme } = this;
    const bottom = height - BELOW;
    const line = (/** @type {number} */ x, /** @type {string} */ colour) => {
      if (x < LEFT || x > width) return;
      ctx.strokeStyle = colour;
      ctx.lineWidth = 1;
      ctx.beginPath();
      ctx.moveTo(Math.round(x) + 0.5, 0);
      ctx.lineTo(Math.round(x) + 0.5, bottom);
      ctx.stroke();
    };
    const { cursor, op } = this.data.store;
    if (cursor !== null && this.axis.mode === "time") line(this.xOf(cursor), theme.muted);
    if (!series?.n) return;
    if (op) this.drawSelected(ctx, op, bottom, width);
    for (const [one, wide] of [[this.pointed, 1.25], [this.chosen, 2.25]])
      if (one && this.scaleY)
        paintRing(ctx, { runs: this.runs, block: one.block, y: this.scaleY, colour: theme.ink, wide });
    if (this.pinned !== null) {
      const row = this.pinned - series.gone;
      line(this.xOf(this.axis.mode === "time" ? series.at.t[row] : this.pinned), theme.accent);
    }
    if (this.brushed) this.drawBrush(ctx, bottom);
  }

  /** Mark the pool events of the operation that is selected in some view. */
  drawSelected(ctx, op, bottom, width) {
    const { at, n, gone } = this.series;
    ctx.fillStyle = this.theme.accent;
    for (let i = 0; i < n; i += 1) {
      if (at.op[i] !== op) continue;
      const x = this.xOf(this.axis.mode === "time" ? at.t[i] : i + gone);
      if (x < LEFT || x > width) continue;
      ctx.globalAlpha = 0.25;
      ctx.fillRect(x - 2, 0, 4, bottom);
      ctx.globalAlpha = 1;
      ctx.beginPath();
      ctx.moveTo(x, bottom);
      ctx.lineTo(x - 5, bottom + 7);
      ctx.lineTo(x + 5, bottom + 7);
      ctx.fill();
    }
  }

  drawBrush(ctx, bottom) {
    const [from, to] = this.brushed;
    const left = Math.max(LEFT, this.xOf(from));
    ctx.fillStyle = this.theme.accent;
    ctx.globalAlpha = 0.16;
    ctx.fillRect(left, 0, this.xOf(to) - left, bottom);
    ctx.globalAlpha = 1;
    this.frame.showTip(this.xOf(to), 10, this.sumUp(from, to));
  }

  /** The events and bytes between two positions of the axis. */
  sumUp(from, to) {
    const { mode } = this.axis;
    const sums = between(this.series, { mode, from, to, measure: this.measure });
    const reuse = sums.alloc + sums.hit ? sums.hit / (sums.alloc + sums.hit) : 0;
    return [
      tipHead(
        mode === "time" ? duration(to - from) : `${sums.rows} events`,
        this.theme.accent,
      ),
      tipRow("requested", bytes(sums.taken)),
      tipRow("freed", bytes(sums.given)),
      tipRow("from driver", `${sums.alloc}`),
      tipRow("reused", `${sums.hit} (${Math.round(100 * reuse)} %)`),
      tipRow("highest", bytes(sums.most)),
    ];
  }

  /** The key numbers: of the newest step where steps are known, else of all.
   * @returns {[string, string][]} */
  numbers(measured) {
    const { series } = this;
    const step = this.data.last(PEAK);
    const planned = this.data.last(PLANNED);
    const most = bytes(series.peak[this.measure].bytes);
    const now = bytes(series.total(measured));
    const reserved = bytes(series.live.reserved);
    if (step === null)
      return [
        ["peak", most],
        ["now", now],
        ["reserved", reserved],
      ];
    return [
      ["now", now],
      ["peak of a step", bytes(step)],
      ...(planned === null ? [] : [["planned", bytes(planned)]]),
      ["reserved", reserved],
      ["most so far", most],
    ];
  }

  /** Numbers in the head, in the legend, and for tests in data attributes. */
  tell() {
    const { series, theme } = this;
    if (!series) return;
    const measured = this.measure === "reserved" ? "rounded" : this.measure;
    this.frame.setNumbers(this.numbers(measured));
    const times = sourceOf(this.data.header);
    this.frame.setSource(times === "measured" ? times : `bytes measured, ${times}`);
    const planned = this.data.last(PLANNED);
    this.frame.setLegend([
      ...CATEGORIES.map((name, i) => [name, theme.category[i]]).filter(
        (_, i) =>
          series.live[measured][i] > 0 ||
          series.at[`${measured}${i}`].subarray(0, series.n).some((v) => v > 0),
      ),
      ...(this.shown === "blocks" ? [["lower than half a pixel", theme.edge]] : []),
      ["reserved", theme.ink, "line"],
      [this.steps.peaks ? "most so far" : "peak", theme.alert, "dash"],
      ...(planned === null ? [] : [["planned", theme.accent, "dash"]]),
      ["knob turned", theme.mark, "dash"],
    ]);
    Object.assign(this.frame.root.dataset, {
      device: this.device,
      measure: this.measure,
      show: this.shown,
      block: this.chosen?.block ?? "",
      blocks: "", // until they are painted
      axis: this.axis.mode,
      reserved: series.live.reserved,
      peak: series.peak[this.measure].bytes,
      visible: ((this.axis.range[1] - this.axis.range[0]) / 1e9).toFixed(3), // seconds
      visiblemarks: this.marksInView().filter(({ x }) => x >= LEFT && x <= this.surface.width).length,
      steppeak: this.data.last(PEAK) ?? "",
      planned: planned ?? "",
      events: series.n + series.gone,
      marks: this.data.marks.length,
      selected: this.data.store.op,
    });
    if (this.data.loaded >= 1) this.kept.note();
  }
}

/** @param {Map<string, any>} devices */
function busiest(devices) {
  return [...devices].sort((a, b) => b[1].n - a[1].n)[0]?.[0];
}

export default liveView(MemoryData, MemoryView);
