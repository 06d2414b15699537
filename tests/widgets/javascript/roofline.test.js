// The geometry of the roofline.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  corners,
  decades,
  dots,
  nearest,
  rateWords,
  scaleOf,
} from "../../../widgets/minimx_widgets/static/lib/drawing/roofline.js";

const STATE = {
  roofs: [[100e9, 10e9, "measured"]],
  operators: [
    { flops: 100, ns: 10, intensity: 2, rate: 10e9 },
    { flops: 0, ns: 10, intensity: 0, rate: 0 },
    { flops: 100, ns: 1000, intensity: 50, rate: 0.1e9 },
  ],
};

test("axes reach from power to power", () => {
  assert.deepEqual(decades([2, 50]), [0, 2]);
  assert.deepEqual(decades([1]), [0, 1]);
  assert.deepEqual(decades([0.02, 95]), [-2, 3]);
});

test("the roof has its corner at the ridge", () => {
  assert.deepEqual(corners(100e9, 10e9, [0, 2], [8, 12]), [
    [1, 10e9],
    [10, 100e9],
    [100, 100e9],
  ]);
  // a slope that leaves the plot at its lower edge
  const steep = corners(100e9, 10e9, [-4, 2], [8, 12]);
  assert.deepEqual(steep[0], [0.01, 1e8]);
  // and a plot that begins behind the ridge
  assert.deepEqual(corners(100e9, 10e9, [2, 3], [8, 12]), [
    [100, 100e9],
    [1000, 100e9],
  ]);
});

test("operators without operations have no dot, and the nearest is found", () => {
  const points = dots(STATE, 400, 200);
  assert.deepEqual(
    points.map((each) => each[2]),
    [0, 2],
  );
  const [x, y] = points[1];
  assert.equal(nearest(points, x + 3, y - 3, 10), 2);
  assert.equal(nearest(points, x + 30, y + 30, 10), -1);
  const scale = scaleOf(STATE, 400, 200);
  assert.ok(scale.x(50) > scale.x(2) && scale.y(10e9) < scale.y(0.1e9));
});

test("rates have prefixes", () => {
  assert.deepEqual([2.5e7, 1e12, 12].map(rateWords), ["25 M", "1 T", "12 "]);
});
