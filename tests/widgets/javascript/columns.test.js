import assert from "node:assert/strict";
import { test } from "node:test";

import { Columns, unpack } from "../../../widgets/minimx_widgets/static/lib/data/columns.js";

test("columns keep the newest rows and count those that left", () => {
  const columns = new Columns({ t: "f8" }, 10);
  for (let i = 0; i < 25; i += 1) columns.append({ t: [i] });
  assert.ok(columns.n <= 10);
  assert.equal(columns.n + columns.gone, 25);
  assert.equal(columns.at.t[columns.n - 1], 24);
  assert.equal(columns.at.t[0], columns.gone);
});

test("columns grow past their first room", () => {
  const columns = new Columns({ a: "u4", b: "f4" }, 100_000);
  const a = Uint32Array.from({ length: 5000 }, (_, i) => i);
  columns.append({ a, b: Float32Array.from(a) });
  assert.equal(columns.n, 5000);
  assert.equal(columns.at.a[4999], 4999);
});

test("buffers at odd offsets are read all the same", () => {
  const buffer = new ArrayBuffer(21);
  new DataView(buffer).setFloat64(3, 1.5, true);
  new DataView(buffer).setFloat64(11, -2, true);
  const out = unpack([["t", "f8"]], [new DataView(buffer, 3, 16)]);
  assert.deepEqual([...out.t], [1.5, -2]);
});
