// The order of operations in a lane against looking at all of them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Lane, Sorted } from "../../../widgets/minimx_widgets/static/lib/engine/engine_index.js";

/** Numbers that look random, the same every time. */
function dice(seed) {
  let state = seed;
  return (most) => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return Math.floor((state / 2147483648) * most);
  };
}

/** A lane of `n` operations, one after the other, that come in pieces out of order. */
function lane(n, seed) {
  const roll = dice(seed);
  const start = [];
  const end = [];
  for (let i = 0, now = 0; i < n; i += 1) {
    now += roll(30);
    start.push(now);
    now += roll(20);
    end.push(now);
  }
  const made = new Lane(
    (row) => start[row],
    (row) => end[row],
  );
  for (let from = 0; from < n; ) {
    const piece = [];
    for (let k = roll(40) + 1; k > 0 && from < n; k -= 1) piece.push(from++);
    for (let k = 0; k < 3; k += 1) {
      const [a, b] = [roll(piece.length), roll(piece.length)];
      [piece[a], piece[b]] = [piece[b], piece[a]];
    }
    made.add(piece);
  }
  return { made, start, end, last: end[n - 1] ?? 0, roll };
}

for (const n of [1, 7, 8, 9, 64, 65, 1000, 5000]) {
  test(`sums over ${n} operations are those of every single one`, () => {
    const { made, start, end, last, roll } = lane(n, n);
    assert.equal(made.n, n);
    for (let i = 0; i < 40; i += 1) {
      const [low, high] = [roll(last + 10) - 5, roll(last + 10)].sort((a, b) => a - b);
      let wanted = 0;
      for (let row = 0; row < n; row += 1)
        wanted += Math.max(0, Math.min(end[row], high) - Math.max(start[row], low));
      assert.equal(made.busy(low, high), wanted);
    }
  });

  test(`what is seen of ${n} operations is all of them, and few things`, () => {
    const { made, start, end, last, roll } = lane(n, 3 * n);
    for (const fine of [0, 10, 100, 1000]) {
      const [low, high] = [roll(last), last];
      let [seen, things] = [0, 0];
      made.visit(
        low,
        high,
        fine,
        (row) => {
          assert.ok(end[row] >= low && start[row] <= high);
          seen += end[row] - start[row];
          things += 1;
        },
        (from, to, filled, longest) => {
          assert.ok(to - from < fine && start[longest] >= from && end[longest] <= to);
          seen += filled;
          things += 1;
        },
      );
      let [least, most] = [0, 0];
      for (let row = 0; row < n; row += 1) {
        if (end[row] >= low && start[row] <= high) least += end[row] - start[row];
        if (end[row] >= low - fine) most += end[row] - start[row];
      }
      assert.ok(seen >= least && seen <= most, `${least} ${seen} ${most}`);
      if (fine) assert.ok(things <= 16 * ((high - low) / fine + 1) + 16, `${things}`);
    }
  });

  test(`the nearest of ${n} operations is found`, () => {
    const { made, start, end, last, roll } = lane(n, 7 * n);
    const away = (row, x) => Math.max(0, start[row] - x, x - end[row]);
    for (let i = 0; i < 40; i += 1) {
      const x = roll(last + 50);
      const found = made.nearest(x, 12);
      const least = Math.min(...start.map((_, row) => away(row, x)));
      if (least < 12) assert.equal(away(found, x), least);
      else assert.ok(found < 0 || away(found, x) === 12);
    }
  });
}

test("numbers that come in pieces are in order", () => {
  const roll = dice(5);
  const sorted = new Sorted();
  const all = [];
  for (let i = 0; i < 30; i += 1) {
    const fresh = Float64Array.from({ length: roll(20) }, () => roll(500));
    all.push(...fresh);
    sorted.add(fresh);
  }
  all.sort((a, b) => a - b);
  assert.deepEqual([...sorted.at.subarray(0, sorted.n)], all);
  for (const x of [-1, 0, 77, 250, 600])
    assert.equal(sorted.upTo(x), all.filter((value) => value <= x).length);
});
