import assert from "node:assert/strict";
import { test } from "node:test";

import {
  LOST,
  ZERO,
  imagePixels,
  rgb,
  weightPixels,
} from "../../../widgets/minimx_widgets/static/lib/drawing/pixels.js";

const COLOURS = { low: [0, 0, 200], high: [200, 100, 0], paper: [255, 255, 255], lost: [9, 8, 7] };

test("an image is grey or coloured, and opaque", () => {
  assert.deepEqual([...imagePixels(Uint8Array.of(7, 200), 1)], [7, 7, 7, 255, 200, 200, 200, 255]);
  assert.deepEqual([...imagePixels(Uint8Array.of(1, 2, 3), 3)], [1, 2, 3, 255]);
});

test("a weight's sign is its hue, its size the strength", () => {
  const codes = Uint8Array.of(0, ZERO, 254, LOST);
  const [low, zero, high, lost] = chunks(weightPixels(codes, 1, COLOURS));
  assert.deepEqual(low, [...COLOURS.low, 255]);
  assert.deepEqual(zero, [...COLOURS.paper, 255]);
  assert.deepEqual(high, [...COLOURS.high, 255]);
  assert.deepEqual(lost, [...COLOURS.lost, 255]);
});

test("of three channels one lost number spoils the pixel", () => {
  const pixels = weightPixels(Uint8Array.of(10, 20, 30, 10, LOST, 30), 3, COLOURS);
  assert.deepEqual(chunks(pixels), [
    [10, 20, 30, 255],
    [...COLOURS.lost, 255],
  ]);
});

test("colours have three parts", () => {
  assert.deepEqual(rgb("#3367c9"), [0x33, 0x67, 0xc9]);
});

function chunks(pixels) {
  return Array.from({ length: pixels.length / 4 }, (_, i) => [...pixels.slice(4 * i, 4 * i + 4)]);
}
