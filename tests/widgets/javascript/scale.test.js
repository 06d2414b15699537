import assert from "node:assert/strict";
import { test } from "node:test";

import {
  SCALES,
  byteTicks,
  bytes,
  duration,
  logTicks,
  lowerBound,
  moment,
  nineTicks,
  nines,
  percent,
  roundUp,
  ticks,
} from "../../../widgets/minimx_widgets/static/lib/drawing/scale.js";

test("ticks are round and lie within the range", () => {
  assert.deepEqual(ticks(0, 10, 5), [0, 2, 4, 6, 8, 10]);
  assert.deepEqual(ticks(0.13, 0.19, 3), [0.14, 0.16, 0.18]);
  assert.deepEqual(ticks(5, 5, 4), []);
  for (const value of ticks(-3.7, 12.2, 6)) assert.ok(value >= -3.7 && value <= 12.2);
});

test("byte ticks are multiples of a power of two", () => {
  assert.deepEqual(byteTicks(1000, 5), [0, 256, 512, 768]);
  assert.deepEqual(byteTicks(0, 5), []);
});

test("numbers become words with their unit", () => {
  assert.equal(bytes(0), "0 B");
  assert.equal(bytes(131072), "128 KiB");
  assert.equal(bytes(1.5 * 2 ** 20), "1.50 MiB");
  assert.equal(duration(1500), "1.50 µs");
  assert.equal(duration(2.5e9), "2.50 s");
  assert.equal(percent(0.034), "3.4 %");
  assert.equal(moment(2e9, 1e9), "2 s");
  assert.equal(moment(1.25e9, 5e7), "1.25 s");
});

test("an axis end is round and not below its value", () => {
  for (const value of [1, 3, 1000, 1025, 123456]) {
    assert.ok(roundUp(value) >= value);
    assert.ok(roundUp(value) <= 1.3 * value);
  }
});

test("lowerBound finds the first value that is not below", () => {
  const values = [1, 3, 3, 7];
  assert.equal(lowerBound(values, 4, 0), 0);
  assert.equal(lowerBound(values, 4, 3), 1);
  assert.equal(lowerBound(values, 4, 4), 3);
  assert.equal(lowerBound(values, 4, 8), 4);
});

test("on a scale of nines 90, 99 and 99.9 % are equally far apart", () => {
  const apart = nines(0.99) - nines(0.9);
  assert.ok(Math.abs(nines(0.999) - nines(0.99) - apart) < 1e-9);
  assert.ok(nines(0.99) - nines(0.98) > 0.15 * nines(0.99));
  assert.ok(Number.isFinite(nines(1)));
  assert.deepEqual(nineTicks(0, 0.992, 5), [0, 0.5, 0.9, 0.98, 0.99]);
  assert.deepEqual(nineTicks(0, 0.9, 2), [0, 0.9]);
});

test("a logarithmic axis has round values", () => {
  assert.deepEqual(logTicks(0.3, 3, 4), [0.5, 1, 2]);
  assert.deepEqual(logTicks(0.02, 3, 4), [0.1, 1]);
  assert.deepEqual(logTicks(0, 3, 4), []);
  assert.ok(logTicks(1e-9, 1e3, 4).length <= 4);
});

test("every scale leads back", () => {
  for (const { to, from } of Object.values(SCALES))
    assert.ok(Math.abs(from(to(0.73)) - 0.73) < 1e-9);
  assert.ok(Number.isNaN(SCALES.log.to(0)));
});
