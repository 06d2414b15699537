// One of the two timelines that are compared: their times move together, if that is wanted.

import { EngineData } from "./lib/engine/engine_data.js";
import { EngineView } from "./lib/engine/engine_view.js";
import { moveTo, pairOf } from "./lib/engine/pairs.js";
import { tipRow } from "./lib/page/frame.js";
import { liveView } from "./lib/data/live.js";
import { duration } from "./lib/drawing/scale.js";

const HELP =
  "Two records, each from its first push on. With common times both pictures show the same " +
  "stretch: what is longer took longer, and moving or zooming one moves the other. With its " +
  "own times each fills its picture. A box is one operation; what stays grey is idle.";
// What changes when another pair is compared.
const COMPARED = ["change:title", "change:whole", "change:zero"];

class ComparedData extends EngineData {
  /** @param {any} model */
  constructor(model) {
    super(model);
    this.model = model;
    this.measure();
    this.pair = pairOf(model.get("pair"), model.get("times"));
  }

  /** How long the pair takes, and when this one begins. */
  measure() {
    this.zero = this.model.get("zero");
    this.whole = Math.max(1, this.model.get("whole"));
  }

  take(header, tables) {
    this.measure();
    super.take(header, tables);
  }

  fit() {
    if (this.pair.times === "own") {
      super.fit();
      return;
    }
    const margin = this.whole * 0.01;
    const range = [this.zero - margin, this.zero + this.whole + margin];
    this.store.set({ follow: false, range });
  }
}

class ComparedView extends EngineView {
  constructor(options) {
    super(options);
    const { model, data, signal } = options;
    const { axis, pair } = this;
    axis.zero = data.zero;
    axis.bounds = () => (pair.times === "common" ? [data.zero, data.zero + data.whole] : null);
    this.choice = this.frame.addChoice("Times", ["common", "own"], pair.times, (times) => {
      this.setTimes(times);
      model.send({ kind: "times", times });
    });
    pair.views.add(this);
    signal.addEventListener("abort", () => pair.views.delete(this), { once: true });
    const asked = () => this.setTimes(model.get("times"));
    const compared = () => this.name();
    model.on("change:times", asked);
    for (const name of COMPARED) model.on(name, compared);
    signal.addEventListener(
      "abort",
      () => {
        model.off("change:times", asked);
        for (const name of COMPARED) model.off(name, compared);
      },
      { once: true },
    );
    this.name();
    data.store.addEventListener(
      "change",
      ({ detail }) => {
        if (detail.includes("range")) this.lead();
      },
      { signal },
    );
  }

  get pair() {
    return this.data.pair;
  }

  /** What it is called now, and along which times it lies: the other side may have changed. */
  name() {
    const { data, frame, model } = this;
    const [before, zero] = [data.whole, data.zero];
    data.measure();
    this.axis.zero = data.zero;
    frame.root.querySelector(".mx-title").textContent = model.get("title");
    if (before !== data.whole || zero !== data.zero) {
      data.fit();
      this.redraw();
    }
  }

  about() {
    return { title: this.model.get("title"), name: "compared", help: HELP };
  }

  numbers(total, workers, mean) {
    return [["took", duration(this.model.get("took"))], ...super.numbers(total, workers, mean)];
  }

  /** Common times for both, or its own for each. @param {string} times */
  setTimes(times) {
    const { pair } = this;
    if (pair.times === times) return;
    pair.times = times;
    pair.moving = true;
    for (const view of pair.views) {
      view.choice.show(times);
      view.data.fit();
      view.redraw();
    }
    pair.moving = false;
    const { data } = this;
    moveTo(pair, times === "common" ? data.store.range.map((t) => t - data.zero) : null);
  }

  /** The other one shows the same stretch. */
  lead() {
    const { data, pair } = this;
    if (pair.times !== "common" || pair.moving) return;
    pair.moving = true;
    const [low, high] = data.store.range;
    for (const other of pair.views) {
      const by = other.data.zero - data.zero;
      if (other.data.store !== data.store)
        other.data.store.set({ follow: false, range: [low + by, high + by] });
    }
    pair.moving = false;
    moveTo(pair, [low - data.zero, high - data.zero]);
  }

  describe(row) {
    const started = tipRow("started at", duration(this.data.ops.at.start[row] - this.data.zero));
    const same = (line) => line.firstChild?.textContent === started.firstChild?.textContent;
    return super.describe(row).map((line) => (same(line) ? started : line));
  }

  get source() {
    return this.model.get("predicted") ? "predicted" : super.source;
  }

  tell(shares, used, painted) {
    super.tell(shares, used, painted);
    const [low, high] = this.axis.range;
    const from = this.axis.mode === "time" ? this.data.zero : 0;
    Object.assign(this.frame.root.dataset, {
      drawn: String(this.data.header.revision ?? ""),
      times: this.pair.times,
      low: String(low - from),
      high: String(high - from),
    });
  }
}

export default liveView(ComparedData, ComparedView);
