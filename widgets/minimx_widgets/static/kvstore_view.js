// Who sends what to whom: the topology of a store, its timeline, and how it scales.

import { CodePanel } from "./lib/page/code_panel.js";
import { button, el, icon } from "./lib/page/dom.js";
import { Frame } from "./lib/page/frame.js";
import { stateView } from "./lib/page/state_view.js";
import { radioRow } from "./lib/page/switches.js";
import { Trials } from "./lib/page/trials.js";
import { duration, percent } from "./lib/drawing/scale.js";
import { coloursOf, KINDS, Step } from "./lib/kvstore/kvstore_data.js";
import { ScalingChart } from "./lib/kvstore/curve.js";
import { storeOf } from "./lib/data/store.js";
import { Lanes, LINKS, PLACES } from "./lib/kvstore/lanes.js";
import { Topology } from "./lib/kvstore/topology.js";

const HELP =
  "One step of training, from the backward pass to the next forward pass. Above, who is joined " +
  "to whom: a link is as wide as it is fast, and grey, yellow or red as it is idle, half used or " +
  "always in use. Play sends the gradients on their way; the number in one is its priority, 0 " +
  "the most urgent. Below, what each place did and when; hatched is where a worker waits for " +
  "communication that is not hidden. Click a link to slow it to a quarter, again to cut it, " +
  "again to restore it; click a worker to make it twice as slow. The dial changes how much is " +
  "computed for what is sent. The curve is computed beside it, with the one before as dashes. Of a " +
  "step that was measured, a click on a bar marks its operation in all views of the record.";
/** @type {[string, string][]} */
const KEYS = [
  ["Space", "play, pause"],
  ["← →", "earlier, later; Home and End"],
  ["↑ ↓", "previous, next key"],
  ["Esc", "all keys, and no operation marked"],
  [", .", "previous, next store; of a measured step, previous, next bar"],
  ["Enter", "of a measured step: mark the operation of the bar in all views"],
  ["[ ]", "fewer, more workers"],
  ["- +", "less, more computing"],
  ["L", "rows by place, by link"],
  ["R", "repair links and workers"],
  ["X", "all as it was"],
  ["T", "table"],
];
/** What the stores do. @type {Record<string, string>} */
const STORES = {
  local: "gradients are added on the host",
  device: "each key is added on one of the devices",
  tree: "gradients are added along trees of links",
  ring: "pieces go round all workers (horovod, nccl)",
  dist_sync: "parameter servers add what all workers send",
  dist_async: "parameter servers update with what each worker sends",
  p3: "parameter servers, in slices, the most urgent first",
};
const REPAIR = " Click the link again, or press R: all is as it was.";
const SECONDS = 8; // that playing a step takes

class KVStoreView {
  constructor({ model, el: host, signal }) {
    this.model = model;
    this.signal = signal;
    this.t = 0;
    this.key = -1;
    this.playing = 0;
    this.frame = new Frame({
      el: host,
      model,
      title: "KVStore",
      name: "kvstore",
      help: HELP,
      keys: KEYS,
      signal,
      onkey: (event) => this.press(event),
      ontheme: () => {
        if (this.lanes) this.repaint();
      },
    });
    this.addTools();
    this.source = new CodePanel({
      model,
      frame: this.frame,
      signal,
      title: "Source: the plan of this store",
      what: () => ({ name: this.facts.store ?? "store" }),
    });
    this.addChoices();
    const knobs = el("div", { class: "mx-kv-knobs" });
    this.trials = new Trials({ model: this.asking(), frame: this.frame, signal });
    knobs.append(this.trials.node);
    this.frame.picture.append(knobs);
    this.addPictures();
    this.frame.root.addEventListener(
      "mx-kernel",
      (event) => {
        for (const part of [this.choices, knobs]) part.inert = event.detail !== "live";
        this.frame.root.dataset.stale = "false";
      },
      { signal },
    );
    signal.addEventListener("abort", () => this.pause(), { once: true });
    this.join();
    this.update();
    this.showCurve();
    model.send({ kind: "hello" });
  }

  /** Take part in the selection of the run whose record is shown. */
  join() {
    const id = this.model.get("run_id");
    if (id === this.joined) return;
    this.leaving?.abort();
    const leaving = new AbortController();
    this.joined = id;
    this.leaving = leaving;
    this.signal.addEventListener("abort", () => leaving.abort(), { once: true, signal: leaving.signal });
    this.store = id ? storeOf(id) : null;
    const changed = (event) => {
      if (event.detail.includes("op")) this.markOperation();
    };
    this.store?.addEventListener("change", changed, { signal: leaving.signal });
  }

  /** The model for the row of knobs: what it sends makes the picture stale. */
  asking() {
    return { get: (name) => this.model.get(name), send: (message) => this.ask(message) };
  }

  get facts() {
    return this.step.facts;
  }

  /** Whether the bars are recorded operations. */
  get measured() {
    return this.facts.source === "measured" && this.store !== null;
  }

  addTools() {
    const { signal, frame } = this;
    this.sources = radioRow({
      label: "Source",
      choices: [
        ["modelled", "modelled", "what the simulation predicts"],
        ["measured", "measured", "what the record holds"],
      ],
      signal,
      onchange: (value) => this.set("source", value),
    });
    frame.addTool(this.sources.node);
    this.rowsBy = radioRow({
      label: "Rows",
      choices: [
        [PLACES, "places", "a row for each worker, server and host"],
        [LINKS, "links", "a row for each link that was used"],
      ],
      signal,
      onchange: (value) => this.showBy(value),
    });
    frame.addTool(this.rowsBy.node);
    this.mend = button({
      label: "Repair",
      icon: "reset",
      title: "All links and workers as they were (R)",
      signal,
      onclick: () => this.ask({ kind: "repair" }),
    });
    frame.addTool(this.mend);
    frame.addTool(
      button({
        label: "Measure",
        title: "Measure the copies of this machine, and predict with them",
        signal,
        onclick: () => {
          this.frame.setNote("Measuring how fast this machine copies and adds …");
          this.model.send({ kind: "measure" });
        },
      }),
    );
  }

  addChoices() {
    const { signal } = this;
    this.stores = radioRow({
      label: "Store",
      choices: Object.entries(STORES).map(([name, meaning]) => [name, name, meaning]),
      signal,
      onchange: (value) => this.set("store", value),
    });
    const select = (name, label) =>
      el("select", {
        class: "mx-select",
        title: label,
        "aria-label": label,
        signal,
        onchange: (event) => this.set(name, event.target.value),
      });
    this.clusters = select("cluster", "Cluster");
    this.workloads = select("workload", "Workload");
    const slider = (label, max, oninput) =>
      el("input", { type: "range", min: "0", max: String(max), step: "1", "aria-label": label, signal, oninput });
    this.workers = slider("Workers", 23, () => {
      const count = this.facts.offered[Number(this.workers.value)];
      this.said.workers.textContent = count.toLocaleString("en");
      this.set("workers", count);
    });
    this.dial = slider("Computing, times that of the workload", 32, () => {
      const factor = 2 ** (Number(this.dial.value) / 4 - 4);
      this.said.dial.textContent = factorText(factor);
      this.set("dial", factor);
    });
    this.said = { workers: el("output", {}), dial: el("output", {}) };
    const labelled = (text, title, ...nodes) =>
      el("label", { class: "mx-kv-choice", title }, el("span", { text }), ...nodes);
    this.choices = el(
      "div",
      { class: "mx-kv-choices", role: "group", "aria-label": "What is simulated" },
      this.stores.node,
      labelled("on", "What joins the workers", this.clusters),
      labelled("training", "What each worker computes and shares", this.workloads),
      labelled("workers", "How many workers share gradients", this.workers, this.said.workers),
      labelled(
        "computing",
        "Compute times, times those of the workload: to the left communication decides, to the " +
          "right computing does",
        this.dial,
        this.said.dial,
      ),
    );
    this.frame.picture.append(this.choices);
  }

  addPictures() {
    const { signal, frame } = this;
    this.topology = new Topology({ frame, signal, act: (kind, item) => this.change(kind, item) });
    const curve = el("div", { class: "mx-kv-curve" });
    this.curveHead = el("div", { class: "mx-kv-curve-head" });
    curve.append(this.curveHead);
    this.upper = el("div", { class: "mx-kv-upper" }, this.topology.node, curve);
    this.chart = new ScalingChart({
      parent: curve,
      frame,
      signal,
      choose: (workers) => this.set("workers", workers),
    });
    this.curveBox = curve;
    this.lesson = el("p", { class: "mx-kv-lesson", role: "status", hidden: true });
    this.share = el("div", { class: "mx-kv-share mx-kv-drawn" });
    this.below = el("div", { class: "mx-kv-lanes mx-kv-drawn" });
    this.said.key = el("p", { class: "mx-kv-key", role: "status" });
    this.played = this.player();
    frame.picture.append(this.upper, this.lesson, this.played, this.share, this.below, this.said.key);
    this.lanes = new Lanes({
      parent: this.below,
      frame,
      signal,
      choose: (t, bar) => {
        this.seek(t);
        const key = bar < 0 ? -1 : this.step.bars.key[bar];
        if (this.measured) this.select(bar);
        this.follow(!this.measured && key === this.key ? -1 : key);
      },
      hover: (key) => this.mark(key < 0 ? this.key : key),
    });
  }

  player() {
    const { signal } = this;
    this.playButton = button({
      label: "",
      icon: "play",
      title: "Play (Space)",
      signal,
      onclick: () => this.toggle(),
    });
    this.scrubber = el("input", {
      type: "range",
      min: "0",
      max: "1000",
      step: "1",
      value: "0",
      "aria-label": "Moment of the step",
      signal,
      oninput: () => {
        this.pause();
        this.seek((Number(this.scrubber.value) / 1000) * this.facts.span);
      },
    });
    this.said.moment = el("output", {});
    this.keys = el("select", {
      class: "mx-select",
      title: "Follow one key",
      "aria-label": "Key",
      signal,
      onchange: () => this.follow(Number(this.keys.value)),
    });
    return el("div", { class: "mx-kv-play" }, this.playButton, this.scrubber, this.said.moment, this.keys);
  }

  // -- asking

  ask(message) {
    if ((this.frame.root.dataset.kernel ?? "live") === "live") this.frame.root.dataset.stale = "true";
    this.model.send(message);
  }

  set(name, text) {
    this.frame.setNote("");
    this.ask({ kind: "set", name, text });
  }

  /** A link or a worker was clicked. */
  change(kind, item) {
    this.frame.setNote("");
    this.ask(kind === "link" ? { kind, name: item } : { kind, number: item });
  }

  /** What the kernel says to a wish. */
  hear(message) {
    this.frame.root.dataset.stale = "false";
    if (message.ok && !message.text) return;
    this.trials.hear({ ...message, text: message.text ?? "" });
    if (message.ok && message.text) this.frame.setNote(message.text);
    if (!message.ok) this.update(); // controls show again what is true
  }

  // -- showing

  /** Something came from the kernel. */
  refresh() {
    this.join();
    if (this.model.get("frozen") !== this.shown) this.update();
    this.showCurve();
  }

  update() {
    this.shown = this.model.get("frozen");
    this.step = new Step(this.shown);
    const { facts, frame } = this;
    const known = facts.keys.map((one) => one[0]).join("\n");
    if (known !== this.known) {
      this.known = known;
      this.key = -1;
      this.keys.replaceChildren(
        el("option", { value: "-1", text: "all keys" }),
        ...facts.keys.map(([name], k) => el("option", { value: String(k), text: name })),
      );
    }
    this.t = this.source === facts.source ? Math.min(this.t, facts.span) : 0;
    this.source = facts.source;
    this.updateChoices();
    this.topology.show(this.step);
    this.lanes.show(this.step);
    this.upper.hidden = !facts.places.length;
    this.below.hidden = !facts.rows.length;
    this.lesson.hidden = !facts.lesson;
    this.lesson.textContent = facts.lesson + (facts.faults.length ? REPAIR : "");
    for (const part of [this.played, this.said.key]) part.hidden = Boolean(facts.lesson);
    this.updateNumbers();
    this.seek(this.t);
    this.follow(this.key);
    this.markOperation();
    frame.root.dataset.stale = "false";
    Object.assign(frame.root.dataset, {
      store: facts.store,
      cluster: facts.cluster,
      workers: String(facts.workers),
      bars: String(this.step.n),
      faults: facts.faults.join("|"),
      lesson: facts.lesson,
      rows: this.lanes.rows.map((row) => row.label).join("|"),
      revision: String(facts.revision),
    });
    clearTimeout(this.later);
    if (facts.live && facts.source === "measured")
      this.later = setTimeout(() => this.model.send({ kind: "refresh" }), 1000);
  }

  updateChoices() {
    const { facts } = this;
    const fill = (select, names, value) => {
      if (select.dataset.names !== names.join()) {
        select.dataset.names = names.join();
        select.replaceChildren(...names.map((name) => el("option", { value: name, text: name })));
      }
      select.value = value;
    };
    const modelled = facts.source === "modelled";
    this.stores.show(facts.store);
    fill(this.clusters, [...new Set([...facts.clusters, facts.cluster])], facts.cluster);
    fill(this.workloads, facts.workloads, facts.workload);
    if (document.activeElement !== this.workers || !this.workers.matches(":active")) {
      this.workers.value = String(nearest(facts.offered, facts.workers));
      this.said.workers.textContent = facts.workers.toLocaleString("en");
    }
    if (!this.dial.matches(":active")) this.dial.value = String(Math.round(4 * (Math.log2(facts.dial) + 4)));
    this.said.dial.textContent = factorText(facts.dial);
    this.sources.node.hidden = facts.sources.length < 2;
    this.sources.show(facts.source);
    this.mend.hidden = !facts.faults.length || !modelled;
    this.mend.title = `${facts.faults.join("; ")}: all as it was (R)`;
    this.trials.show({ ...facts, live: modelled });
    for (const [name, { root }] of this.trials.controls) root.dataset.acts = String(facts.acts[name]);
    this.choices.hidden = !modelled;
    this.curveBox.hidden = !modelled;
    this.upper.style.gridTemplateColumns = modelled ? "" : "minmax(0, 1fr)";
  }

  updateNumbers() {
    const { facts, frame } = this;
    frame.setSource(facts.source);
    const found = facts.numbers;
    this.share.hidden = !found;
    if (!found) {
      frame.setNumbers([["", facts.lesson ? "no step" : "nothing yet"]]);
      return;
    }
    frame.setNumbers([
      ["step", duration(found.step)],
      ["computing", duration(found.compute)],
      ["hidden", percent(found.overlap)],
      ["waits", duration(found.exposed)],
      ...(found.efficiency === null ? [] : [["efficiency", percent(found.efficiency)]]),
    ]);
    const { theme } = frame;
    const part = (text, share, colour) => {
      const said = `${text} ${percent(share)}`;
      const node = el("span", { text: share > 0.2 ? said : "", title: said });
      node.style.setProperty("--swatch", colour);
      node.style.flexGrow = String(Math.max(share, 0.001));
      return node;
    };
    const split = el(
      "div",
      { class: "mx-split" },
      part("hidden behind computing", found.overlap, theme.category[3]),
      part("exposed: workers wait", 1 - found.overlap, theme.alert),
    );
    const exposed = `${percent(found.overlap)} of communication is hidden`;
    this.share.replaceChildren(
      el("span", { text: `communication ${duration(found.communication)}`, title: exposed }),
      split,
    );
    const colours = coloursOf(theme);
    frame.setLegend([
      ...KINDS.slice(0, 6).map((name, kind) => [name, colours[kind]]),
      ["waits", theme.alert, "dash"],
      ["idle link", theme.edge, "line"],
      ["half used", theme.category[4], "line"],
      ["always in use", theme.alert, "line"],
    ]);
  }

  showCurve() {
    const curve = this.model.get("curve");
    this.chart.show(curve, this.facts.workers);
    const last = curve.workers?.length ? curve.workers.length - 1 : -1;
    const said = curve.lesson
      ? "no way to all workers"
      : last < 0
        ? "computing …"
        : `${curve.workers[last].toLocaleString("en")}: ${percent(curve.efficiency[last])}`;
    this.curveHead.replaceChildren(
      el("b", { text: "1 … 4,096 workers" }),
      el("span", { text: curve.done || last < 0 ? said : `${said} …` }),
    );
    this.curveHead.title = curve.ghost ? `dashed: ${curve.ghost.title}` : "";
    Object.assign(this.frame.root.dataset, {
      curve: String(curve.workers?.length ?? 0),
      curveDone: String(Boolean(curve.done)),
      curveOf: curve.title ?? "",
      ghost: curve.ghost?.title ?? "",
    });
  }

  repaint() {
    this.topology.place();
    this.lanes.surface.invalidate();
    this.lanes.axis.invalidate();
    this.chart.surface.invalidate();
    this.updateNumbers();
  }

  showBy(by) {
    this.rowsBy.show(by);
    this.lanes.showBy(by);
    this.frame.root.dataset.rows = this.lanes.rows.map((row) => row.label).join("|");
    this.frame.root.dataset.by = by;
  }

  // -- time

  seek(t) {
    const { span } = this.facts;
    this.t = Math.min(Math.max(t, 0), span);
    this.scrubber.value = String(Math.round((1000 * this.t) / span));
    this.said.moment.textContent = this.facts.numbers ? `${duration(this.t)} of ${duration(span)}` : "";
    this.topology.seek(this.t);
    this.lanes.seek(this.t);
    this.frame.root.dataset.moment = String(Math.round(this.t));
  }

  toggle() {
    if (this.playing) {
      this.pause();
      return;
    }
    if (!this.facts.numbers) return;
    if (this.t >= this.facts.span) this.t = 0;
    let before = performance.now();
    const go = (now) => {
      this.seek(this.t + ((now - before) / (1000 * SECONDS)) * this.facts.span);
      before = now;
      if (this.t >= this.facts.span) this.pause();
      else this.playing = requestAnimationFrame(go);
    };
    this.playing = requestAnimationFrame(go);
    this.showPlaying();
  }

  pause() {
    cancelAnimationFrame(this.playing);
    this.playing = 0;
    clearTimeout(this.later);
    this.showPlaying();
  }

  showPlaying() {
    const title = this.playing ? "Pause (Space)" : "Play (Space)";
    this.playButton.replaceChildren(icon(this.playing ? "pause" : "play"));
    this.playButton.title = title;
    this.playButton.setAttribute("aria-label", title);
    this.frame.root.dataset.playing = String(Boolean(this.playing));
  }

  // -- keys of the store

  /** Keep to one key; -1 for all. @param {number} key */
  follow(key) {
    this.key = key < this.facts.keys.length ? key : -1;
    this.keys.value = String(this.key);
    this.frame.root.dataset.key = this.key < 0 ? "" : this.facts.keys[this.key][0];
    this.mark(this.key);
  }

  /** Show a key for now. @param {number} key */
  mark(key) {
    if (key === this.marked && this.step === this.markedIn) return;
    this.marked = key;
    this.markedIn = this.step;
    this.topology.follow(key);
    this.lanes.follow(key);
    this.say();
  }

  /** Below the rows: the bar that is pointed at or marked, and the key. */
  say() {
    const { marked, pointed } = this.lanes.rings;
    const parts = [];
    if (pointed >= 0 && pointed !== marked) parts.push(`${this.step.about(pointed)}. `);
    else if (marked >= 0) parts.push(el("b", { text: "marked: " }), `${this.step.about(marked)}. `);
    if (this.marked >= 0) {
      const [name, words] = this.step.words(this.marked);
      parts.push(el("b", { text: name }), ` ${words}`);
    }
    const hint = "Point at a bar, or go through the keys with ↑ ↓, to see the way of one.";
    this.said.key.replaceChildren(...(parts.length ? parts : [el("small", { text: hint })]));
  }

  // -- the operations of a measured step

  /** An operation was marked here or in another view of the run. */
  markOperation() {
    const marked = this.measured ? this.step.barOf(this.store.op) : -1;
    this.lanes.ring({ marked });
    this.say();
    Object.assign(this.frame.root.dataset, {
      selected: String(this.store?.op ?? 0),
      marked: marked < 0 ? "" : this.step.about(marked),
    });
  }

  /** Mark the operation of a bar in all views; without one, mark none. @param {number} bar */
  select(bar) {
    const op = bar < 0 ? 0 : this.step.bars.op[bar];
    this.lanes.ring({ pointed: -1 });
    this.store.set({ op, opTime: op ? this.facts.begins + this.step.bars.start[bar] : null });
    this.model.send({ kind: "select", op });
    this.say();
  }

  /** Point at the next bar of the key that is followed. @param {number} by 1 or -1 */
  walk(by) {
    const { pointed, marked } = this.lanes.rings;
    const from = pointed >= 0 ? pointed : marked >= 0 ? marked : this.step.after(this.t) - (by > 0 ? 1 : 0);
    const next = this.step.next(from, by, this.key);
    if (next < 0 || next >= this.step.n || (next === from && pointed !== from)) return;
    this.pause();
    this.lanes.ring({ pointed: next });
    this.seek(this.step.bars.start[next]);
    this.say();
    this.frame.root.dataset.pointed = this.step.about(next);
  }

  /** Keys of a measured step. @param {KeyboardEvent} event @param {string} press */
  pressMeasured(event, press) {
    if (press === "." || press === ",") this.walk(press === "." ? 1 : -1);
    else if (press === "Enter") {
      const { pointed } = this.lanes.rings;
      if (pointed < 0 || /** @type {Element} */ (event.target).closest("button")) return false;
      this.select(pointed);
    } else return false;
    return true;
  }

  press(event) {
    const { facts } = this;
    const press = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const step = { ArrowRight: 1, ArrowDown: 1, "]": 1, "+": 1, "=": 1, ".": 1 }[press] ?? -1;
    const modelled = facts.source === "modelled";
    if (press === " ") this.toggle();
    else if (press === "ArrowLeft" || press === "ArrowRight") {
      this.pause();
      this.seek(this.t + (step * facts.span) / 100);
    } else if (press === "Home" || press === "End") this.seek(press === "Home" ? 0 : facts.span);
    else if (press === "ArrowUp" || press === "ArrowDown") {
      const count = facts.keys.length;
      if (count) this.follow(this.key < 0 ? (step > 0 ? 0 : count - 1) : (this.key + step + count) % count);
    } else if (press === "Escape") {
      if (this.measured) this.select(-1);
      this.follow(-1);
    }
    else if (press === "l") this.showBy(this.lanes.by === PLACES ? LINKS : PLACES);
    else if (!modelled) return this.measured && this.pressMeasured(event, press);
    else if (press === "r") this.ask({ kind: "repair" });
    else if (press === "x") this.ask({ kind: "reset" });
    else if (press === "[" || press === "]") {
      const next = nearest(facts.offered, facts.workers) + step;
      this.set("workers", facts.offered[Math.min(facts.offered.length - 1, Math.max(0, next))]);
    } else if (press === "," || press === ".") {
      const next = facts.stores.indexOf(facts.store) + step;
      this.set("store", facts.stores[(next + facts.stores.length) % facts.stores.length]);
    } else if ("-+=".includes(press)) {
      this.set("dial", Math.min(16, Math.max(1 / 16, facts.dial * 2 ** (step / 2))));
    } else return false;
    return true;
  }
}

/** The position of the number that is nearest. @param {number[]} values @param {number} wanted */
function nearest(values, wanted) {
  let best = 0;
  for (const [k, value] of values.entries())
    if (Math.abs(value - wanted) < Math.abs(values[best] - wanted)) best = k;
  return best;
}

/** @param {number} factor */
const factorText = (factor) => `×${Number(factor.toPrecision(2))}`;

export default stateView(KVStoreView, {
  names: ["change:frozen", "change:curve", "change:run_id"],
  changed: (view) => view.refresh(),
  answers: {
    answer: (view, message) => view.hear(message),
    select: (view, message) => view.store?.set({ op: message.op, opTime: message.t ?? null }),
  },
});
