import assert from "node:assert/strict";
import { test } from "node:test";

import {
  along,
  loadColour,
  mixed,
  polyline,
  radius,
  Step,
  thickness,
  trimmed,
} from "../../../widgets/minimx_widgets/static/lib/kvstore/kvstore_data.js";

const TYPES = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i4: Int32Array, f8: Float64Array };
const LAYOUT = [
  ["row", "u2"],
  ["kind", "u1"],
  ["key", "u2"],
  ["start", "f8"],
  ["end", "f8"],
  ["route", "i4"],
  ["nbytes", "f8"],
  ["op", "u4"],
];

/** A step of bars in the order of `LAYOUT`. */
function step(rows, facts = {}) {
  const buffers = LAYOUT.map(([, type], i) => {
    const column = new TYPES[type](rows.map((row) => row[i]));
    return new DataView(column.buffer);
  });
  return new Step([{ routes: [[0, 1], [2]], tables: { bars: LAYOUT }, ...facts }, buffers]);
}

const ROWS = [
  [0, 0, 0, 0, 10, -1, 0, 7],
  [0, 3, 0, 10, 30, 0, 64, 8],
  [1, 3, 1, 12, 14, 1, 32, 0],
  [0, 5, 0, 40, 50, 1, 64, 9],
];

test("copies are under way from their start to before their end", () => {
  const one = step(ROWS);
  assert.deepEqual(one.underway(9), []);
  assert.deepEqual(one.underway(12), [1, 2]);
  assert.deepEqual(one.underway(14), [1]);
  assert.deepEqual(one.underway(30), []);
  assert.deepEqual(one.underway(45), [3]);
});

test("a bar is found by row, line and moment, or near it", () => {
  const one = step(ROWS);
  assert.equal(one.barAt(0, 5, [0], 0), 0);
  assert.equal(one.barAt(0, 5, [1], 0), -1);
  assert.equal(one.barAt(0, 32, [1], 3), 1);
  assert.equal(one.barAt(1, 32, [1], 3), -1);
});

test("a key knows its links, bytes and times", () => {
  const one = step(ROWS, { keys: [["dense0", 3, 64]] });
  assert.deepEqual([...one.wiresOf(0)], [0, 1, 2]);
  const { copies, nbytes, spans } = one.account(0);
  assert.deepEqual([copies, nbytes], [2, 128]);
  assert.deepEqual(spans[3], [10, 30]);
  const [name, words] = one.words(0);
  assert.equal(name, "dense0");
  assert.match(words, /^priority 3 · 64 B · 2 copies, 128 B in all · backward 0 ns – 10 ns/);
});

test("bars are walked through, of one key or of all, and found by their operation", () => {
  const one = step(ROWS, { keys: [["dense0", 3, 64]], rows: [["gpu(0)"], ["gpu(1)"]] });
  assert.deepEqual([one.next(-1, 1, -1), one.next(0, 1, -1), one.next(3, 1, -1)], [0, 1, 3]);
  assert.deepEqual([one.next(1, 1, 0), one.next(3, -1, 0), one.next(0, -1, 0)], [3, 1, 0]);
  assert.deepEqual([one.barOf(9), one.barOf(12), one.barOf(0)], [3, -1, -1]);
  assert.equal(one.about(1), "push of dense0 at gpu(0), from 10 ns, took 20 ns");
});

test("a packet goes along its way at one speed", () => {
  const way = [
    [0, 0],
    [0, 10],
    [30, 10],
  ];
  assert.deepEqual(along(way, 0), [0, 0]);
  assert.deepEqual(along(way, 0.125), [0, 5]);
  assert.deepEqual(along(way, 0.5), [10, 10]);
  assert.deepEqual(along(way, 1), [30, 10]);
  assert.deepEqual(trimmed(way, [5, 10]), [[0, 5], [0, 10], [20, 10]]);
  assert.deepEqual(trimmed(way, [30, 10]), way);
});

test("two directions of a link lie side by side", () => {
  const at = ([x, y]) => [100 * x, 100 * y];
  const down = polyline({ points: [[0.5, 0], [0.5, 1]], curved: false }, at);
  const up = polyline({ points: [[0.5, 1], [0.5, 0]], curved: false }, at);
  assert.deepEqual(down, [[46, 0], [46, 100]]);
  assert.deepEqual(up, [[54, 100], [54, 0]]);
  const arc = polyline({ points: [[0, 0.2], [1, 0.2]], curved: true }, at);
  assert.ok(arc[6][1] < 20);
});

test("wide is fast, large is much, red is busy", () => {
  assert.equal(thickness(1e8), 1.5);
  assert.equal(thickness(1e10), 5.5);
  assert.equal(thickness(1e15), 7);
  assert.equal(radius(0), 2.5);
  assert.equal(radius(1e12), 8);
  const stops = ["#000000", "#808080", "#ff0000"];
  assert.equal(loadColour(0, stops), "#000000");
  assert.equal(loadColour(0.5, stops), "#808080");
  assert.equal(loadColour(7, stops), "#ff0000");
  assert.equal(mixed("#000000", "#ff0000", 0.5), "#800000");
});
