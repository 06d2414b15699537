import assert from "node:assert/strict";
import { test } from "node:test";

import {
  centred,
  fitted,
  kept,
  snug,
  zoomedAt,
} from "../../../widgets/minimx_widgets/static/lib/graph/camera.js";
import {
  HIGH,
  WIDE,
  pictureOf,
  route,
  stateAt,
} from "../../../widgets/minimx_widgets/static/lib/graph/graph_paint.js";
import {
  neighbour,
  peakStep,
  tensorAt,
  tensorsOf,
} from "../../../widgets/minimx_widgets/static/lib/memory/plan_data.js";
import { scales } from "../../../widgets/minimx_widgets/static/lib/memory/plan_paint.js";

const row = (name, x, y, state = 0, decided = []) => [
  name,
  name,
  "relu",
  3,
  state,
  decided,
  -1,
  x,
  y,
  [],
];

test("a line leaves below one box, bends, and enters the next from above", () => {
  const picture = pictureOf({
    boxes: [row("a", 80, 20), row("b", 80, 120), row("c", 300, 20)],
    lines: [
      [0, 1, 0, [200, 70]],
      [0, 2, 0, []],
      [1, 0, 0, []],
    ],
    size: [400, 150],
  });
  assert.deepEqual(route(picture, picture.lines[0]), [
    [80, 20 + HIGH / 2],
    [200, 70],
    [80, 120 - HIGH / 2],
  ]);
  assert.deepEqual(route(picture, picture.lines[1]), [
    [80 + WIDE / 2, 20],
    [300 - WIDE / 2, 20],
  ]);
  assert.deepEqual(route(picture, picture.lines[2])[0], [80, 120 - HIGH / 2], "upwards");
});

test("what a later decision does has not happened yet", () => {
  const [KEPT, ADDED, REMOVED] = [0, 3, 4];
  const added = { state: ADDED, decided: [2] };
  const removed = { state: REMOVED, decided: [2] };
  assert.equal(stateAt(added, 1, 5), null, "not there yet");
  assert.equal(stateAt(added, 2, 5), ADDED);
  assert.equal(stateAt(removed, 1, 5), KEPT, "still there");
  assert.equal(stateAt(removed, 3, 5), REMOVED);
  assert.equal(stateAt(removed, null, 5), REMOVED, "all at once");
  assert.equal(stateAt({ state: 1, decided: [] }, 4, 5), KEPT);
  assert.equal(stateAt({ state: 1, decided: [] }, 5, 5), 1, "in the end");
});

test("a picture is shown whole, centred, and no larger than life", () => {
  const box = { left: 0, top: 0, right: 100, bottom: 50 };
  assert.deepEqual(fitted(box, 500, 300), { scale: 1, x: 200, y: 125 });
  const small = fitted(box, 78, 300);
  assert.equal(small.scale, 0.5);
  assert.deepEqual(centred(box, 100, 100, 1), { scale: 1, x: 0, y: 25 });
});

test("zooming leaves the point under the pointer where it is", () => {
  const before = { x: 10, y: 20, scale: 1 };
  const after = zoomedAt(before, 2, 110, 70, 0.1, 8);
  assert.equal((110 - after.x) / after.scale, (110 - before.x) / before.scale);
  assert.equal((70 - after.y) / after.scale, (70 - before.y) / before.scale);
  assert.equal(zoomedAt(before, 100, 0, 0, 0.1, 8).scale, 8);
  assert.equal(zoomedAt(before, 1e-9, 0, 0, 0.1, 8).scale, 0.1);
});

test("a picture cannot be lost from the screen", () => {
  const whole = { left: 0, top: 0, right: 100, bottom: 100 };
  const place = kept({ x: 1e6, y: -1e6, scale: 1 }, whole, 300, 300);
  assert.equal(place.x, 200);
  assert.equal(place.y, 0);
  const filled = kept({ x: 50, y: -1e6, scale: 3 }, whole, 100, 100, true);
  assert.deepEqual([filled.x, filled.y], [0, -200], "nothing but the picture is seen");
});

test("what is looked at leaves no more of the screen empty than it must", () => {
  const whole = { left: 0, top: 0, right: 1000, bottom: 50 };
  assert.deepEqual(snug({ x: 300, y: 7, scale: 1 }, whole, 400, 200), {
    scale: 1,
    x: 14,
    y: 75,
  });
  assert.equal(snug({ x: -2000, y: 0, scale: 1 }, whole, 400, 200).x, 400 - 14 - 1000);
  assert.equal(snug({ x: -200, y: 0, scale: 1 }, whole, 400, 200).x, -200);
});

const plan = {
  prefix: "net_",
  tensors: [
    ["net_a", "relu", 0, 0, 2, 0, 100, 0, 0, "new", "", ""],
    ["net_b", "relu", 0, 2, 5, 0, 80, 0, 1, "over a", "", ""],
    ["c", "relu", 1, 1, 3, 128, 64, 1, 0, "new", "", ""],
  ],
};

test("a result that is written over ends where the next one begins", () => {
  const [a, b, c] = tensorsOf(plan);
  assert.equal(a.until, 2);
  assert.equal(b.until, 6);
  assert.equal(c.until, 4);
  assert.deepEqual([a.short, c.short], ["a", "c"]);
});

test("pointing finds the newest result at a place", () => {
  const tensors = tensorsOf(plan);
  assert.equal(tensorAt(tensors, 1.5, 50), 0);
  assert.equal(tensorAt(tensors, 2.5, 50), 1, "b is written over a");
  assert.equal(tensorAt(tensors, 2.5, 90), 0, "b is shorter");
  assert.equal(tensorAt(tensors, 2, 150), 2);
  assert.equal(tensorAt(tensors, 9, 50), -1);
});

test("the arrows walk through a block and stop at its ends", () => {
  const tensors = tensorsOf(plan);
  assert.equal(neighbour(tensors, 0, 1), 1);
  assert.equal(neighbour(tensors, 1, 1), 1);
  assert.equal(neighbour(tensors, 2, -1), 2);
  assert.equal(peakStep([1, 5, 9, 9, 2]), 2);
});

test("pixels and bytes lead back and forth", () => {
  const at = scales({
    width: 800,
    height: 400,
    steps: 20,
    high: 1e6,
    place: { x: -300, y: 40, scale: 3 },
  });
  for (const step of [0, 7, 20]) assert.ok(Math.abs(at.step(at.x(step)) - step) < 1e-9);
  for (const byte of [0, 4e5]) assert.ok(Math.abs(at.byte(at.y(byte)) - byte) < 1e-3);
});
