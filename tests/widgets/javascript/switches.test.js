import assert from "node:assert/strict";
import { test } from "node:test";

import { placeAfter } from "../../../widgets/minimx_widgets/static/lib/page/switches.js";

test("arrows walk round a row of choices", () => {
  assert.equal(placeAfter("ArrowRight", 0, 3), 1);
  assert.equal(placeAfter("ArrowDown", 2, 3), 0);
  assert.equal(placeAfter("ArrowLeft", 0, 3), 2);
  assert.equal(placeAfter("ArrowUp", 2, 3), 1);
});

test("Home and End lead to the ends, other keys nowhere", () => {
  assert.equal(placeAfter("Home", 2, 3), 0);
  assert.equal(placeAfter("End", 0, 3), 2);
  for (const key of [" ", "Enter", "Tab", "a"]) assert.equal(placeAfter(key, 1, 3), null);
});
