import assert from "node:assert/strict";
import { test } from "node:test";

import {
  EngineData,
  busy,
  layOut,
} from "../../../widgets/minimx_widgets/static/lib/engine/engine_data.js";
import { longest } from "../../../widgets/minimx_widgets/static/lib/engine/engine_text.js";
import {
  extremes,
  scaleOf,
  stepAfter,
} from "../../../widgets/minimx_widgets/static/lib/memory/memory_steps.js";
import {
  Allocations,
  runAt,
} from "../../../widgets/minimx_widgets/static/lib/memory/memory_blocks.js";
import {
  MemoryData,
  between,
  columnsOf,
} from "../../../widgets/minimx_widgets/static/lib/memory/memory_data.js";
import {
  numberOf,
  sliderScale,
} from "../../../widgets/minimx_widgets/static/lib/page/knob_controls.js";

const model = (run) => ({ get: () => run });
const head = (strings, more = {}) => ({
  full: true,
  live: true,
  strings,
  strings_from: 0,
  knobs: [],
  ...more,
});

function mem(rows) {
  const names = [
    "t",
    "device",
    "event",
    "category",
    "phase",
    "owner",
    "layer",
    "op",
    "block",
    "requested",
    "rounded",
    "reserved",
  ];
  return {
    mem: Object.fromEntries(names.map((name) => [name, rows.map((row) => row[name] ?? 0)])),
  };
}

test("memory totals follow the changes, by category", () => {
  const data = new MemoryData(model("m1"));
  data.take(
    head(["cpu(0)"]),
    mem([
      { t: 1, category: 0, requested: 100, rounded: 128, reserved: 128 },
      { t: 2, category: 3, requested: 50, rounded: 64, reserved: 64 },
      { t: 3, category: 0, event: 2, requested: -100, rounded: -128 },
    ]),
  );
  const series = data.devices.get("cpu(0)");
  assert.equal(series.total("requested"), 50);
  assert.equal(series.total("reserved"), 192);
  assert.equal(series.peak.requested.bytes, 150);
  assert.deepEqual(series.stack("requested", 1), [100, 0, 0, 50, 0, 0, 0, 0]);
});

test("a pixel that many events share shows the highest of them", () => {
  const data = new MemoryData(model("m2"));
  const rows = Array.from({ length: 1000 }, (_, i) => ({
    t: i,
    requested: i === 500 ? 1000 : i === 501 ? -1000 : 0,
  }));
  data.take(head(["cpu(0)"]), mem(rows));
  const picks = columnsOf(data.devices.get("cpu(0)"), {
    mode: "time",
    range: [0, 1000],
    width: 10,
    measure: "requested",
  });
  assert.ok([...picks].includes(500));
});

test("what the last event left behind is as wide as that of any other", () => {
  const data = new MemoryData(model("m4"));
  data.take(head(["cpu(0)"]), mem([0, 1, 2].map((t) => ({ t, requested: 8 }))));
  const picks = columnsOf(data.devices.get("cpu(0)"), {
    mode: "events",
    range: [0, 6],
    width: 60,
    measure: "requested",
  });
  const wide = (row) => picks.filter((pick) => pick === row).length;
  assert.ok(Math.abs(wide(2) - wide(1)) <= 2);
  assert.ok(wide(-1) > 25, "and nothing is known of what comes later");
});

test("devices are kept apart, and a full frame begins again", () => {
  const data = new MemoryData(model("m3"));
  data.take(
    head(["cpu(0)", "gpu(0)"]),
    mem([
      { t: 1, requested: 8 },
      { t: 2, device: 1, requested: 16 },
    ]),
  );
  assert.equal(data.devices.get("gpu(0)").total("requested"), 16);
  data.take(head(["cpu(0)"]), mem([{ t: 5, requested: 4 }]));
  assert.equal(data.devices.size, 1);
  assert.equal(data.devices.get("cpu(0)").total("requested"), 4);
});

function ops(rows) {
  const names = [
    "op",
    "name",
    "layer",
    "phase",
    "worker",
    "failed",
    "holds",
    "push",
    "ready",
    "start",
    "end",
    "forward",
    "priority",
  ];
  return Object.fromEntries(names.map((name) => [name, rows.map((row) => row[name] ?? 0)]));
}

test("lanes are named after workers, numbers in order, the pusher first", () => {
  const data = new EngineData(model("e1"));
  data.take(head(["cpu/10", "cpu/2", "python"]), {
    ops: ops([
      { op: 1, worker: 0, start: 0, end: 10 },
      { op: 2, worker: 1, start: 5, end: 10 },
    ]),
  });
  assert.deepEqual(
    data.laneOrder.map((lane) => data.lanes[lane]),
    ["python", "cpu/2", "cpu/10"],
  );
  assert.deepEqual([...busy(data, [0, 8])].sort(), [0, 3, 8]);
});

test("a nanosecond of a lane counts once, whatever ran inside of what", () => {
  const data = new EngineData(model("e4"));
  data.take(head(["cpu", "bulk", "relu"]), {
    ops: ops([
      { op: 2, name: 2, start: 10, end: 40 },
      { op: 3, name: 2, start: 50, end: 90 },
      { op: 1, name: 1, start: 0, end: 100, holds: 1 },
      { op: 4, name: 2, start: 30, end: 60 },
    ]),
  });
  const lane = data.lanes.indexOf("cpu");
  assert.equal(busy(data, [0, 100])[lane], 80);
  assert.equal(busy(data, [20, 55])[lane], 35);
  assert.deepEqual(longest(data, [0, 100]), [["relu", 100]]);
  assert.equal(data.ops.at.op[data.holderOf(0)], 1);
  assert.equal(data.holderOf(2), -1);
});

test("what overlaps in a lane of many rows is its union at every zoom", () => {
  const data = new EngineData(model("e5"));
  const rows = Array.from({ length: 1000 }, (_, i) => ({ op: i + 1, start: 10 * i, end: 10 * i + 25 }));
  data.take(head(["cpu"]), { ops: ops(rows.filter((_, i) => i % 2)) });
  data.take({ ...head([]), full: false }, { ops: ops(rows.filter((_, i) => i % 2 === 0)) });
  const lane = data.lanes.indexOf("cpu");
  assert.equal(busy(data, [0, 1e5])[lane], 10_015);
  assert.equal(busy(data, [105, 9005])[lane], 8900);
});

test("the peaks of steps keep their extremes on every pixel, and the last one goes on", () => {
  const at = { step: [1, 2, 3, 4], t: [10, 20, 30, 40], value: [5, 9, 2, 7] };
  const { low, high } = extremes({ at, n: 4 }, [0.5, 4.5], 2);
  assert.deepEqual([...low], [5, 2]);
  assert.deepEqual([...high], [9, 7]);
  const wide = extremes({ at, n: 4 }, [0.5, 4.5], 8);
  assert.deepEqual([...wide.high].slice(1), [5, 5, 9, 9, 2, 2, 7]);
  assert.ok(Number.isNaN(wide.high[0]));
  assert.equal(stepAfter({ at, n: 4 }, 25), 2.5);
  assert.equal(stepAfter({ at, n: 4 }, 99), 4.5);
});

test("a scale begins at zero unless the values are far from it", () => {
  assert.equal(scaleOf(10, 100)[0], 0);
  const [low, high] = scaleOf(95, 100);
  assert.ok(low > 80 && low < 95 && high > 100);
});

test("short operations become shades whose strength is their share of the pixel", () => {
  const data = new EngineData(model("e2"));
  const rows = Array.from({ length: 100 }, (_, i) => ({
    op: i + 1,
    worker: 0,
    start: 10 * i,
    end: 10 * i + 5,
  }));
  data.take(head(["cpu"]), { ops: ops(rows) });
  const { boxes, shade } = layOut(data, {
    mode: "time",
    low: 0,
    per: 1 / 100,
    width: 10,
    colour: () => 0,
    colours: 1,
  });
  assert.equal(boxes.length, 0);
  const lane = data.lanes.indexOf("cpu");
  for (let x = 0; x < 10; x += 1) assert.ok(Math.abs(shade[lane * 10 + x] - 0.5) < 0.06);
});

test("arrows lead to what an operation waited for and to what waited for it", () => {
  const data = new EngineData(model("e3"));
  data.take(head(["cpu"]), {
    ops: ops([1, 2, 3].map((op) => ({ op, start: op, end: op + 1 }))),
    deps: { src: [1, 2, 9], dst: [2, 3, 2], kind: [0, 1, 0] },
  });
  const arrows = data.arrowsOf(2);
  assert.deepEqual(arrows, [
    { from: 0, to: 1, kind: 0 },
    { from: 1, to: 2, kind: 1 },
  ]);
  assert.equal(data.rowOf(99), -1);
});

test("a slider goes one by one in small ranges and by powers of two in wide ones", () => {
  const small = sliderScale({ type: "int", low: 1, high: 8 });
  assert.deepEqual(
    [small.stops, small.text(0), small.text(7), small.stop("3")],
    [7, "1", "8", 2],
  );
  const wide = sliderScale({ type: "size", low: 0, high: 2 ** 30 });
  assert.equal(wide.text(0), "0B");
  assert.equal(wide.text(wide.stops), "1GiB");
  assert.equal(wide.text(wide.stop("64MiB")), "64MiB");
  assert.equal(sliderScale({ type: "int", low: 0, high: null }), null);
});

test("sizes are read with and without units", () => {
  assert.equal(numberOf("64MiB"), 64 * 2 ** 20);
  assert.equal(numberOf("12"), 12);
  assert.equal(numberOf("twelve"), null);
});

test("a measured stretch counts its events and bytes, and nothing outside of it", () => {
  const data = new MemoryData(model("m4"));
  data.take(
    head(["cpu(0)"]),
    mem([
      { t: 1, event: 2, requested: 100 },
      { t: 2, event: 3, requested: 50 },
      { t: 3, event: 4, requested: -100 },
      { t: 4, event: 2, requested: 7 },
    ]),
  );
  const series = data.devices.get("cpu(0)");
  const sums = between(series, { mode: "time", from: 1.5, to: 3, measure: "requested" });
  assert.deepEqual([sums.rows, sums.taken, sums.given, sums.most], [2, 50, 100, 150]);
  assert.deepEqual([sums.alloc, sums.hit, sums.free], [0, 1, 1]);
});

test("an allocation is as high as it is large and as wide as it lives", () => {
  const data = new Allocations();
  const one = (block, from, requested, category = 3) => ({
    block, from, to: Infinity, born: 10 * from, died: null, requested, rounded: 2 * requested,
    category, phase: 2, owner: 1, layer: 2, op: block, event: 2,
  }); // prettier-ignore
  data.take(one(1, 0, 100));
  data.take(one(2, 1, 50));
  data.take(one(1, 2, -100));
  data.take(one(3, 3, 30));
  assert.deepEqual(data.all.map(({ block, to, died }) => [block, to, died]), [
    [1, 2, 20],
    [2, Infinity, null],
    [3, Infinity, null],
  ]);
  assert.deepEqual(data.at(1).map(({ block }) => block), [1, 2]);
  assert.deepEqual(data.at(2).map(({ block }) => block), [2]);

  // Two pixels for each event: what lies above one that ends comes down.
  const picks = Int32Array.from([-1, 0, 0, 1, 1, 2, 2, 3, 3]);
  const runs = data.runs(picks, 0, "requested");
  const shown = runs.map(({ one: { block }, x0, x1, low, high }) => [block, x0, x1, low, high]);
  assert.deepEqual(shown.sort((a, b) => a[0] - b[0] || a[1] - b[1]), [
    [1, 1, 5, 0, 100],
    [2, 3, 5, 100, 150],
    [2, 5, 9, 0, 50],
    [3, 7, 9, 50, 80],
  ]);
  for (const x of [1, 3, 5, 8]) {
    const total = runs.filter(({ x0, x1 }) => x0 <= x && x < x1);
    const sum = total.reduce((most, { high }) => Math.max(most, high), 0);
    const living = data.at(picks[x]).reduce((all, { requested }) => all + requested, 0);
    assert.equal(sum, living, `pixel ${x}`);
  }
  assert.equal(runAt(runs, 4, 120).one.block, 2);
  assert.equal(runAt(runs, 6, 20).one.block, 2);
  assert.equal(runAt(runs, 6, 60), undefined);
  assert.equal(data.runs(picks, 0, "rounded").at(-1).high, 160);
  data.forget(2);
  assert.deepEqual(data.all.map(({ block }) => block), [2, 3]);
});

test("what was allocated before anything that is kept shrinks as it is freed", () => {
  const data = new Allocations();
  const row = { phase: 0, owner: 0, layer: 0, op: 0, event: 0, to: Infinity, died: null };
  data.take({ ...row, block: 0, from: 0, born: 0, category: 1, requested: 100, rounded: 128 });
  data.take({ ...row, block: 77, from: 4, born: 9, category: 1, requested: -40, rounded: -64 });
  assert.deepEqual(data.all.map(({ from, to, requested, rounded }) => [from, to, requested, rounded]), [
    [0, 4, 100, 128],
    [4, Infinity, 60, 64],
  ]);
  data.take({ ...row, block: 78, from: 6, born: 9, category: 1, requested: -60, rounded: -64 });
  assert.deepEqual(data.at(6), []);
});

test("a forward operation knows those of its gradient, and they know it", () => {
  const data = new EngineData(model("gradient"));
  const n = 5;
  const column = (values) => Float64Array.from(values);
  const ops = {
    op: Uint32Array.from([1, 2, 3, 4, 5]),
    name: new Uint32Array(n), layer: new Uint32Array(n), phase: new Uint8Array(n),
    worker: new Uint32Array(n), failed: new Uint8Array(n),
    holds: Uint8Array.from([0, 0, 0, 0, 1]),
    push: column([0, 1, 2, 3, 2]), ready: column([0, 1, 2, 3, 2]), start: column([0, 1, 2, 3, 2]),
    end: column([1, 2, 3, 4, 4]), forward: Uint32Array.from([0, 0, 1, 1, 1]),
    priority: new Int32Array(n),
  }; // prettier-ignore
  data.take(head(["w"]), { ops });
  assert.deepEqual(data.gradientOf(1), [2, 3], "the joined operation that holds them is none");
  assert.deepEqual(data.gradientOf(3), [0]);
  assert.deepEqual(data.gradientOf(2), []);
  assert.deepEqual(data.gradientOf(5), []);
  assert.deepEqual(data.gradientOf(99), []);
});
