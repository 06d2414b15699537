import assert from "node:assert/strict";
import { test } from "node:test";

import {
  statesAt,
  stepAtPlace,
  stepOf,
} from "../../../widgets/minimx_widgets/static/lib/graph/tape_paint.js";

const rows = [
  ["record", 1, "", [], [[1, 1], [0, 1]], 8, 0, 0],
  ["begin", 1, "", [1], [[1, 2]], 8, 4, 0],
  ["walk", 1, "", [0], [[0, 2], [1, 4]], 0, 0, 4],
];
const steps = rows.map(stepOf);

test("states add up to a step", () => {
  assert.deepEqual(statesAt(steps, 0, 3, []), [1, 1, 0]);
  assert.deepEqual(statesAt(steps, 2, 3, []), [2, 4, 0]);
});

test("an array from outside comes with its first user", () => {
  assert.deepEqual(statesAt(steps, 0, 3, [[2, 1]]), [1, 1, 1]);
  assert.deepEqual(statesAt(steps, -1, 3, [[2, 1]]), [0, 0, 0]);
});

test("a place of the strip is a step", () => {
  assert.equal(stepAtPlace(10, 574, 62), 0);
  assert.equal(stepAtPlace(10, 574, 561), 9);
  assert.equal(stepAtPlace(10, 574, 20), -1);
  assert.equal(stepAtPlace(10, 574, 570), -1);
});
