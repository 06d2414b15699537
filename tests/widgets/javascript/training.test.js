import assert from "node:assert/strict";
import { test } from "node:test";

import { groupMarks } from "../../../widgets/minimx_widgets/static/lib/drawing/chart.js";
import {
  BATCHES,
  KEPT,
  STEADY,
  Smoother,
  TrainingData,
  median,
} from "../../../widgets/minimx_widgets/static/lib/training/training_data.js";
import {
  boxes,
  chartsHigh,
} from "../../../widgets/minimx_widgets/static/lib/training/training_paint.js";

const NAMES = ["loss", "samples/s", "batch accuracy", "skipped"];
const model = (run) => ({ get: () => run });
const head = (more = {}) => ({
  full: true,
  live: true,
  strings: NAMES,
  strings_from: 0,
  knobs: [],
  ...more,
});

/** A table of metrics: rows of name, step, value. */
function table(rows) {
  return {
    t: rows.map((_, i) => i * 1e6),
    name: rows.map(([name]) => name),
    step: rows.map(([, step]) => step),
    value: rows.map(([, , value]) => value),
  };
}

function smoothed(name, values) {
  const one = new Smoother(name);
  return values.map((value) => one.next(value));
}

test("the mean of the loss begins at the first value and follows", () => {
  const out = smoothed("loss", [1, 1, 1, 5]);
  assert.equal(out[0], 1);
  assert.ok(out[3] > 1 && out[3] < 5);
  const [, broken, after] = smoothed("loss", [1, Infinity, 1]);
  assert.ok(Number.isNaN(broken));
  assert.equal(after, 1);
});

test("the throughput is a median, which one slow step does not move", () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 2, 3]), 2.5);
  const values = Array(30).fill(100);
  values[20] = 1;
  assert.ok(smoothed("samples/s", values).every((value) => value === 100));
  const risen = smoothed("samples/s", [...Array(STEADY).fill(1), ...Array(STEADY).fill(9)]);
  assert.equal(risen.at(-1), 9);
});

test("the accuracy of batches is a mean over a window that knows no epochs", () => {
  const out = smoothed("batch accuracy", Array(3 * BATCHES).fill(0.5));
  assert.ok(out.every((value) => Math.abs(value - 0.5) < 1e-12));
});

test("what was observed first is followed by what is new", () => {
  const data = new TrainingData(model("a"));
  data.take(head(), { metrics: table([[0, 1, 2], [0, 2, 1], [2, 2, 0.25]]) });
  assert.equal(data.series.get("loss").n, 2);
  assert.equal(data.last("loss"), 1);
  assert.equal(data.trainName, "batch accuracy");
});

test("the run before is a shadow until another one ends", () => {
  const data = new TrainingData(model("b"));
  const before = table([[KEPT.indexOf("loss"), 1, 3], [KEPT.indexOf("loss"), 2, 2]]);
  data.take(head(), { metrics: table([]), shadow: before });
  assert.deepEqual([...data.shadow.get("loss").at.value.slice(0, 2)], [3, 2]);
  assert.equal(data.series.size, 0);
  data.take(head(), { metrics: table([]) });
  assert.equal(data.shadow.size, 0);
});

test("steps were skipped where their total rises", () => {
  const data = new TrainingData(model("c"));
  const totals = [0, 1, 1, 2, 2];
  data.take(head(), { metrics: table(totals.map((total, i) => [3, i, total])) });
  assert.deepEqual(data.skippedSteps, [1, 3]);
});

test("a loss scale of one is none", () => {
  const data = new TrainingData(model("d"));
  const strings = ["loss scale"];
  data.take(head({ strings }), { metrics: table([[0, 1, 1], [0, 2, 1]]) });
  assert.equal(data.scaled, false);
  data.take(head({ strings, full: false }), { metrics: table([[0, 3, 1024]]) });
  assert.equal(data.scaled, true);
});

test("marks near each other become one with their number", () => {
  const marks = [0, 1, 2, 50, 100].map((at) => ({ at, text: `m${at}` }));
  const groups = groupMarks(marks, (value) => value, 8);
  assert.deepEqual(
    groups.map(({ x, text }) => [x, text]),
    [
      [0, "3 turns"],
      [50, "m50"],
      [100, "m100"],
    ],
  );
  const many = Array.from({ length: 200 }, (_, i) => ({ at: i, text: "" }));
  assert.ok(groupMarks(many, (value) => value, 200 / 12).length <= 12);
  assert.deepEqual(
    groupMarks([{ at: NaN, text: "before the first step" }], (v) => v, 8),
    [],
  );
});

test("charts stand side by side, and one below the other where it is narrow", () => {
  assert.ok(boxes(900, 100).every(({ y }) => y === 0));
  assert.deepEqual(boxes(400, 100).map(({ y, width }) => [y, width]), [[0, 400], [100, 400], [200, 400]]);
  assert.equal(chartsHigh(400, 100), 300);
});
