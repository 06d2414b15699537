// Live bytes over time, stacked by category, with peak, reserve and knob changes.

import { el } from "./lib/page/dom.js";
import { AXIS_KEYS, Axis, drawAxis, drawMarks, markText } from "./lib/drawing/axis.js";
import { explore } from "./lib/drawing/explore.js";
import { Frame, tipHead, tipRow } from "./lib/page/frame.js";
import { Kept } from "./lib/page/kept.js";
import { PHASES, liveView } from "./lib/data/live.js";
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
  "Hover to see who owns what; click to pin; an operation selected in another view is marked.";
/** @type {[string, string][]} */
const KEYS = [
  ...AXIS_KEYS,
  ["← →", "previous, next pool event (pins it)"],
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
      click: (x) => this.click(x),
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
    else if (press === "ArrowLeft" || press === "ArrowRight")
      this.walk(press === "ArrowLeft" ? -1 : 1);
    else if (press === "Escape") {
      this.pinned = null;
      this.brushed = null;
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
    this.showRow(row);
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
    if (this.pinned === null) this.frame.hideTip();
  }

  click(x) {
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
      ["reserved", theme.ink, "line"],
      [this.steps.peaks ? "most so far" : "peak", theme.alert, "dash"],
      ...(planned === null ? [] : [["planned", theme.accent, "dash"]]),
      ["knob turned", theme.mark, "dash"],
    ]);
    Object.assign(this.frame.root.dataset, {
      device: this.device,
      measure: this.measure,
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
