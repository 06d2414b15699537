import assert from "node:assert/strict";
import { test } from "node:test";

import { Axis, markText } from "../../../widgets/minimx_widgets/static/lib/axis.js";
import { storeOf } from "../../../widgets/minimx_widgets/static/lib/store.js";

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

test("a knob change is named without its prefix", () => {
  assert.equal(
    markText({ name: "MXNET_ENGINE_TYPE", new: "NaiveEngine" }),
    "ENGINE_TYPE=NaiveEngine",
  );
  assert.equal(markText({ name: "OMP_NUM_THREADS", new: "" }), "OMP_NUM_THREADS=default");
});
