// A view knows whether its kernel is there, and sends nothing to one that is not.

import assert from "node:assert/strict";
import { test } from "node:test";

import { AWAY, GONE, LIVE, watchKernel } from "../../../widgets/minimx_widgets/static/lib/data/link.js";

class Signal {
  listeners = new Set();
  connect(listen) {
    this.listeners.add(listen);
  }
  disconnect(listen) {
    this.listeners.delete(listen);
  }
  emit(value) {
    for (const listen of [...this.listeners]) listen(this, value);
  }
}

function watched() {
  const sent = [];
  const states = [];
  const kernel = {
    statusChanged: new Signal(),
    connectionStatusChanged: new Signal(),
    disposed: new Signal(),
  };
  const model = { send: (...message) => sent.push(message), widget_manager: { kernel } };
  const ending = new AbortController();
  watchKernel(model, ending.signal, (state) => states.push(state));
  return { kernel, model, sent, states, ending };
}

test("a kernel that restarts, dies or is shut down is gone for good", () => {
  for (const status of ["restarting", "autorestarting", "terminating", "dead"]) {
    const { kernel, states } = watched();
    for (const usual of ["busy", "idle", status, "starting", "idle"])
      kernel.statusChanged.emit(usual);
    kernel.connectionStatusChanged.emit("connected");
    assert.deepEqual(states, [GONE], status);
  }
  const { kernel, states } = watched();
  kernel.disposed.emit();
  assert.deepEqual(states, [GONE]);
});

test("a connection that breaks may come back", () => {
  const { kernel, states, model, sent } = watched();
  for (const status of ["connected", "connecting", "connecting", "connected"]) {
    kernel.connectionStatusChanged.emit(status);
    model.send({ status });
  }
  assert.deepEqual(states, [AWAY, LIVE]);
  assert.deepEqual(sent, [[{ status: "connected" }], [{ status: "connected" }]]);
});

test("a message keeps all its parts, and one to a kernel that is gone is dropped", () => {
  const { kernel, model, sent } = watched();
  model.send({ kind: "ack" }, undefined, ["buffer"]);
  kernel.statusChanged.emit("dead");
  model.send({ kind: "ack" });
  assert.deepEqual(sent, [[{ kind: "ack" }, undefined, ["buffer"]]]);
});

test("a view that is taken away listens no more", () => {
  const { kernel, ending } = watched();
  ending.abort();
  assert.equal(kernel.statusChanged.listeners.size, 0);
  assert.equal(kernel.connectionStatusChanged.listeners.size, 0);
  assert.equal(kernel.disposed.listeners.size, 0);
});

test("a page without JupyterLab has no kernel to watch", () => {
  const sent = [];
  const model = { send: (message) => sent.push(message) };
  watchKernel(model, new AbortController().signal, () => assert.fail());
  model.send("hello");
  assert.deepEqual(sent, ["hello"]);
});
