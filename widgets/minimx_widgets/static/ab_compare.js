// One of the two timelines that are compared: their times move together, if that is wanted.

import { EngineData } from "./lib/engine/engine_data.js";
import { EngineView } from "./lib/engine/engine_view.js";
import { tipRow } from "./lib/page/frame.js";
import { liveView } from "./lib/data/live.js";
import { duration } from "./lib/drawing/scale.js";

const HELP =
  "Two records, each from its first push on. With common times both pictures show the same " +
  "stretch: what is longer took longer, and moving or zooming one moves the other. With its " +
  "own times each fills its picture. A box is one operation; what stays grey is idle.";
const PAIRS = Symbol.for("minimx.pairs");

/**
 * What the timelines of a pair share on this page.
 * @param {string} name @param {string} times
 * @returns {{times: string, moving: boolean, views: Set<any>}}
 */
function pairOf(name, times) {
  const pairs = (globalThis[PAIRS] ??= new Map());
  if (!pairs.has(name)) pairs.set(name, { times, moving: false, views: new Set() });
  return pairs.get(name);
}

class ComparedData extends EngineData {
  /** @param {any} model */
  constructor(model) {
    super(model);
    this.zero = model.get("zero");
    this.whole = Math.max(1, model.get("whole"));
    this.pair = pairOf(model.get("pair"), model.get("times"));
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
    model.on("change:times", asked);
    signal.addEventListener("abort", () => model.off("change:times", asked), { once: true });
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
  }

  describe(row) {
    const started = tipRow("started at", duration(this.data.ops.at.start[row] - this.data.zero));
    const same = (line) => line.firstChild?.textContent === started.firstChild?.textContent;
    return super.describe(row).map((line) => (same(line) ? started : line));
  }

  tell(shares, used, painted) {
    super.tell(shares, used, painted);
    const [low, high] = this.axis.range;
    const from = this.axis.mode === "time" ? this.data.zero : 0;
    Object.assign(this.frame.root.dataset, {
      times: this.pair.times,
      low: String(low - from),
      high: String(high - from),
    });
  }
}

export default liveView(ComparedData, ComparedView);
