import assert from "node:assert/strict";
import { test } from "node:test";

import { Axis, markText, placeLabels } from "../../../widgets/minimx_widgets/static/lib/drawing/axis.js";
import { storeOf } from "../../../widgets/minimx_widgets/static/lib/data/store.js";

function axisOf(name) {
  const store = storeOf(name);
  return {
    store,
    axis: new Axis(
      store,
      () => [100, 1100],
      () => 0,
    ),
  };
}

test("views of one run share one store, others do not", () => {
  assert.equal(storeOf("a"), storeOf("a"));
  assert.notEqual(storeOf("a"), storeOf("b"));
});

test("a change is told once, with the keys that changed", () => {
  const store = storeOf("told");
  const told = [];
  store.addEventListener("change", (event) => told.push(event.detail));
  store.set({ op: 7 });
  store.set({ op: 7 });
  assert.deepEqual(told, [["op"]]);
});

test("a following axis keeps its right edge at the newest event", () => {
  const { store, axis } = axisOf("following");
  store.advance(5e9);
  assert.ok(axis.following);
  assert.equal(axis.range[1], 5e9);
  axis.key("w");
  assert.ok(axis.following, "zooming in does not stop following");
  store.advance(6e9);
  assert.equal(axis.range[1], 6e9);
  axis.key("a");
  assert.ok(!axis.following, "moving away does");
  const range = axis.range;
  store.advance(7e9);
  assert.deepEqual(axis.range, range);
  axis.key("l");
  assert.equal(axis.range[1], 7e9);
});

test("an axis never leaves what is known by more than its margin", () => {
  const { store, axis } = axisOf("bounded");
  store.advance(5e9);
  for (let i = 0; i < 40; i += 1) axis.key("d");
  assert.ok(axis.range[1] <= 5e9 * 1.05 + 1);
  for (let i = 0; i < 80; i += 1) axis.key("w");
  assert.ok(axis.range[1] - axis.range[0] >= 200);
  for (let i = 0; i < 80; i += 1) axis.key("s");
  assert.ok(axis.range[1] - axis.range[0] <= 5e9 * 1.1);
});

test("the events axis has a range of its own", () => {
  const { axis } = axisOf("events");
  axis.mode = "events";
  assert.deepEqual(axis.range, [600, 1100]);
  axis.fit();
  assert.ok(axis.range[0] <= 100 && axis.range[1] >= 1100);
});

test("a short record fills the events axis", () => {
  const axis = new Axis(
    storeOf("short"),
    () => [0, 30],
    () => 0,
  );
  axis.mode = "events";
  const [low, high] = axis.range;
  assert.equal(high, 30);
  assert.ok(low > -1 && low <= 0);
});

test("a turned knob stays in sight for ten seconds, then the window narrows again", () => {
  const { store } = axisOf("held");
  let clock = 0;
  store.clock = () => clock;
  store.advance(20e9);
  store.hold(19.9e9);
  assert.ok(store.range[0] < 19.9e9 && store.range[1] === 20e9);
  for (let second = 1; second < 10; second += 1) {
    clock = 1000 * second;
    store.advance((20 + second) * 1e9);
    assert.ok(store.range[0] < 19.9e9, `after ${second} s the mark is in sight`);
    assert.equal(store.range[1], (20 + second) * 1e9);
  }
  clock = 10_001;
  let width = store.range[1] - store.range[0];
  for (let i = 1; i < 40; i += 1) {
    store.advance(29e9 + i * 80e6);
    assert.ok(store.range[1] - store.range[0] <= width);
    width = store.range[1] - store.range[0];
  }
  assert.equal(width, 1e9);
});

test("no window is wasted on the time before a record began", () => {
  const { store } = axisOf("young");
  store.advance(1500);
  assert.deepEqual(store.range, [0, 1500]);
  store.advance(3e8);
  assert.deepEqual(store.range, [0, 3e8]);
  store.advance(4e9);
  assert.deepEqual(store.range, [3e9, 4e9]);
});

test("a window that the reader chose is not widened", () => {
  const { store, axis } = axisOf("chosen");
  store.advance(5e9);
  axis.key("w");
  const width = axis.range[1] - axis.range[0];
  store.hold(4.99e9);
  store.advance(7e9);
  assert.ok(Math.abs(axis.range[1] - axis.range[0] - width) < 1);
  axis.key("a");
  const range = axis.range;
  store.hold(7e9);
  store.advance(8e9);
  assert.deepEqual(axis.range, range);
  axis.key("l");
  store.hold(8e9);
  store.advance(12e9);
  assert.ok(axis.range[0] < 8e9, "following live again, it is");
});

test("zooming while a mark is held gives what was asked for", () => {
  const { store, axis } = axisOf("zooming");
  store.advance(5e9);
  store.hold(5e9);
  store.advance(9e9);
  axis.show([6e9, 7e9]);
  store.advance(10e9);
  assert.deepEqual(axis.range, [6e9, 7e9]);
});

test("of labels that would overlap the newest is shown", () => {
  const placed = placeLabels([10, 30, 90], [40, 40, 40], 0, 200);
  assert.deepEqual(
    placed.map(({ i, start }) => [i, start]),
    [
      [2, 90],
      [1, 30],
    ],
  );
  assert.deepEqual(placeLabels([190], [40], 0, 200), [{ i: 0, start: 150 }]);
});

test("a knob change is named without its prefix", () => {
  assert.equal(
    markText({ name: "MXNET_ENGINE_TYPE", new: "NaiveEngine" }),
    "ENGINE_TYPE=NaiveEngine",
  );
  assert.equal(markText({ name: "OMP_NUM_THREADS", new: "" }), "OMP_NUM_THREADS=default");
});
