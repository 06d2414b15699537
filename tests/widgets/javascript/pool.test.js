import assert from "node:assert/strict";
import { test } from "node:test";

import {
  EVENT,
  History,
  PoolData,
  holes,
  merged,
  sizeClasses,
} from "../../../widgets/minimx_widgets/static/lib/memory/pool_data.js";
import {
  addressAt,
  boxesOf,
  classAt,
  countWords,
  layAddresses,
  layClasses,
} from "../../../widgets/minimx_widgets/static/lib/memory/pool_paint.js";

const USED_AGAIN = 1;
const GIVEN_BACK = 2;
const IDLE_AT_END = 3;
// event, step, address, size, requested, fate
const ROWS = [
  ["alloc", 0, 0, 4096, 100, 0],
  ["alloc", 1, 4096, 8192, 5000, 0],
  ["free", 2, 0, 4096, 100, USED_AGAIN],
  ["hit", 3, 0, 4096, 60, 0],
  ["free", 4, 4096, 8192, 5000, GIVEN_BACK],
  ["flush", 5, 0, 8192, 0, 0],
  ["alloc", 5, 4096, 4096, 1, 0],
  ["free", 6, 4096, 4096, 1, IDLE_AT_END],
];

function columns(rows) {
  const at = (k) => rows.map((row) => row[k]);
  return {
    event: rows.map(([word]) => EVENT[word]),
    step: at(1),
    address: at(2),
    size: at(3),
    requested: at(4),
    fate: at(5),
    t: at(1).map((step) => 10 * step),
    category: rows.map(() => 0),
  };
}

test("totals follow the events", () => {
  const history = new History(columns(ROWS), true);
  assert.deepEqual([...history.reserved.slice(0, 6)], [4096, 12288, 12288, 12288, 12288, 4096]);
  assert.deepEqual([...history.asked.slice(0, 4)], [100, 5100, 5000, 5060]);
  assert.deepEqual(
    [history.peak, history.highest, history.steps, history.after("alloc", 7)],
    [12288, 1, 7, 3],
  );
  assert.deepEqual([-1, 0, 5, 99].map((step) => history.rowAt(step)), [-1, 0, 6, 7]);
});

test("a moment has blocks in use, cached and stranded", () => {
  const history = new History(columns(ROWS), true);
  const states = (row) => history.regions(row).map(({ address, state }) => [address, state]);
  assert.deepEqual(states(-1), []);
  assert.deepEqual(states(2), [
    [0, 1],
    [4096, 0],
  ]);
  assert.deepEqual(states(4), [
    [0, 0],
    [4096, 2],
  ]);
  assert.deepEqual(states(5), [[0, 0]]);
  assert.deepEqual(states(7)[1], [4096, 2]);
  const going = new History(columns(ROWS), false);
  assert.equal(going.regions(7)[1].state, 1, "it may be asked for yet");
});

test("blocks by size, free ranges, neighbours as one", () => {
  const history = new History(columns(ROWS), true);
  const [large, small] = sizeClasses(history.regions(3));
  assert.deepEqual([large.size, ...large.counts, large.requested], [8192, 1, 0, 0, 5000]);
  assert.deepEqual([small.size, ...small.counts, small.requested], [4096, 1, 0, 0, 60]);
  assert.deepEqual(holes(history.regions(3), 20480), [[12288, 8192]]);
  assert.deepEqual(merged(history.regions(3)), [{ address: 0, size: 12288 }]);
});

test("the lives of one size end where the next begins, or at a flush", () => {
  const history = new History(columns(ROWS), true);
  const [line] = history.lives(8192);
  assert.deepEqual(
    line.parts.map(({ from, to, state }) => [from, to, state]),
    [
      [1, 4, 0],
      [4, 5, 2],
    ],
  );
  const both = history.lives(4096).map((one) => one.parts.map(({ from, to }) => [from, to]));
  assert.deepEqual(both, [
    [
      [0, 2],
      [2, 3],
      [3, 7],
    ],
    [
      [5, 6],
      [6, 7],
    ],
  ]);
});

test("places of the pictures and back", () => {
  const layout = layAddresses(1400, 712, 320);
  const [[x, y, wide], second] = boxesOf(layout, 50, 100);
  assert.deepEqual([x, wide, second[2]], [356, 350, 350]);
  assert.equal(Math.round(addressAt(layout, x + 7, y + 1)), 51);
  assert.equal(addressAt(layout, 2, 5), -1);
  const sizes = [1, 2, 3].map((size) => ({ size, nbytes: size === 2 ? 1 : 10 * size }));
  const classes = layClasses(sizes, [], 22 + 4 + 30);
  assert.deepEqual([classes.sizes, classes.left], [[3, 1], 1]);
  assert.deepEqual([classAt(classes, 24), classAt(classes, 500)], [3, 0]);
});

test("a frame without histories keeps those that are known", () => {
  const data = new PoolData({ get: () => "p1" });
  const head = { full: true, live: false, strings: [], strings_from: 0, knobs: [] };
  data.take(head, { shown: columns(ROWS) });
  data.take({ ...head, full: false }, {});
  assert.equal(data.shown.n, ROWS.length);
  assert.equal(data.ghost, null);
  assert.equal(data.store.now, 60);
});

test("blocks of a size are counted in words", () => {
  assert.equal(countWords([3, 0, 0]), "3 in use");
  assert.equal(countWords([0, 2, 1]), "2 cached, 1 stranded");
  assert.equal(countWords(), "none");
});
