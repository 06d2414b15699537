import assert from "node:assert/strict";
import { test } from "node:test";

import {
  aligned,
  along,
  frontFrame,
  pointAt,
  stepAt,
} from "../../../widgets/minimx_widgets/static/lib/graph/mirror_paint.js";

const state = {
  policy: "b",
  peak: 60,
  keeping: 100,
  extra: 0.1,
  curve: [
    ["x", 0, 10],
    ["x_mirror", 2, 20],
    ["y", 1, 30],
  ],
  base: [
    ["x", 0, 50],
    ["gone", 0, 70],
    ["y", 1, 60],
  ],
  points: [
    ["c", 4, 40, 0.3, 0, 1],
    ["b", 2, 60, 0.1, 1, 1],
    ["worse", 3, 80, 0.2, 0, 0],
    ["none", 0, 100, 0, 0, 1],
  ],
  measured: [],
};

test("the base lies at the steps of the same names", () => {
  assert.deepEqual(aligned(state.curve, state.base), [
    [0, 50],
    [2, 60],
  ]);
});

test("the arrows lead along the front, past what is beaten, and stop at its ends", () => {
  assert.equal(along(state, 1), 0);
  assert.equal(along(state, -1), 3);
  assert.equal(along({ ...state, policy: "none" }, -1), 3);
  assert.equal(along({ ...state, policy: "by hand", extra: 0.28, peak: 41 }, 0), 0);
  assert.equal(along({ ...state, points: [] }, 1), -1, "nothing to walk along");
});

test("pointing finds the dot that is painted there", () => {
  const at = frontFrame(state, 500, 200);
  state.points.forEach(([, , peak, extra], i) => {
    assert.equal(pointAt(state, 500, 200, at.x(extra) + 3, at.y(peak) - 3), i);
  });
  assert.equal(pointAt(state, 500, 200, 5, 5), -1);
});

test("pointing finds the step", () => {
  assert.equal(stepAt(state, 500, 70), 0);
  assert.equal(stepAt(state, 500, 480), 2);
  assert.equal(stepAt(state, 500, 10), -1);
});

test("what was measured lies inside the chart, however far the plan was off", () => {
  const measured = [["b", 150, 0.7]];
  const at = frontFrame({ ...state, measured }, 500, 200);
  const before = frontFrame(state, 500, 200);
  assert.ok(at.x(0.7) <= at.right && at.y(150) >= 0);
  assert.ok(before.x(0.7) > before.right && before.y(150) < at.y(150));
});
