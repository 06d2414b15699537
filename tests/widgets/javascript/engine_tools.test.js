import assert from "node:assert/strict";
import { test } from "node:test";

import { Lane } from "../../../widgets/minimx_widgets/static/lib/engine/engine_index.js";
import { Ruler, idleCauses, withPinned } from "../../../widgets/minimx_widgets/static/lib/engine/engine_tools.js";

// Rows: [push, ready, start, end], all on lane 1.
function dataOf(rows) {
  const column = (k) => Float64Array.from(rows, (row) => row[k]);
  const at = { push: column(0), ready: column(1), start: column(2), end: column(3) };
  const lane = new Lane((row) => at.start[row], (row) => at.end[row]);
  lane.add(rows.map((_, row) => row));
  return { ops: { at, n: rows.length }, byTime: [undefined, lane] };
}

test("idle time has the cause of the operation that came next", () => {
  const data = dataOf([
    [0, 0, 10, 20], // ready at once, started at 10: 10 late
    [25, 30, 40, 50], // pushed 5 after, then waited 5, then 10 late
  ]);
  assert.deepEqual(idleCauses(data, [1], [0, 60]), { unpushed: 5, waiting: 5, late: 20, rest: 10 });
});

test("a stretch cuts what begins before it and ends after it", () => {
  const data = dataOf([
    [0, 0, 0, 30],
    [10, 60, 60, 90],
  ]);
  assert.deepEqual(idleCauses(data, [1], [20, 50]), { unpushed: 0, waiting: 0, late: 0, rest: 20 });
  assert.deepEqual(idleCauses(data, [1], [20, 70]), { unpushed: 0, waiting: 30, late: 0, rest: 0 });
});

test("causes and busy time fill the stretch", () => {
  const rows = Array.from({ length: 50 }, (_, k) => [20 * k, 20 * k + 3, 20 * k + 7, 20 * k + 15]);
  const data = dataOf(rows);
  const { unpushed, waiting, late, rest } = idleCauses(data, [0, 1], [33, 777]);
  const busy = data.byTime[1].busy(33, 777);
  assert.equal(unpushed + waiting + late + rest + busy, 777 - 33);
});

test("two marks measure, a third begins anew", () => {
  const ruler = new Ruler();
  ruler.mark(30);
  assert.equal(ruler.measured, null);
  ruler.mark(10);
  assert.equal(ruler.measured, 20);
  ruler.mark(50);
  assert.deepEqual(ruler.at, [50]);
  ruler.clear();
  assert.equal(ruler.measured, null);
});

test("pinned lanes come first, behind that of the pushing thread", () => {
  assert.deepEqual(withPinned([0, 1, 2, 3], new Set([3])), [0, 3, 1, 2]);
  assert.deepEqual(withPinned([0, 1, 2], new Set()), [0, 1, 2]);
});
