// The parts of the scheduler's picture: program, queues, ready set, lanes, memory.

import { el } from "../page/dom.js";

export const STARTING = "start";
export const DONE = 4;

/** A moment as the kernel sends it. @param {any[]} row */
export function momentOf(row) {
  const [time, kind, op, worker, text, states, queues, ready, workers, live] = row;
  return { time, kind, op, worker, text, states, queues, ready, workers, live };
}

/**
 * Round numbers from 0 to a bound, about `count` of them.
 * @param {number} high @param {number} count
 */
export function ticks(high, count) {
  const power = 10 ** Math.floor(Math.log10(Math.max(high, 1) / count));
  const step = [1, 2, 5, 10].map((m) => m * power).find((one) => one * count >= high) ?? high;
  const whole = Math.max(step, 1);
  return Array.from({ length: Math.floor(high / whole) + 1 }, (_, k) => k * whole);
}

/** A name that fits: of a long one the beginning and the end, which tells it from others.
 * @param {string} name @param {number} [most] letters */
export function short(name, most = 18) {
  const end = most >> 1;
  return name.length > most ? `${name.slice(0, most - 1 - end)}…${name.slice(-end)}` : name;
}

/** An operation as an assignment. @param {string} name @param {string[]} reads
 * @param {string[]} writes */
function call(name, reads, writes) {
  const [to, from] = [writes, reads].map((names) => names.map((one) => short(one, 12)).join(", "));
  return `${to}${to ? " ← " : ""}${short(name, 12)}(${from})`;
}

export class Parts {
  /** @param {{signal: AbortSignal, select: (op: number) => any,
   *   start: (op: number, worker?: number) => any, go: (step: number) => any}} options */
  constructor({ signal, select, start, go }) {
    this.signal = signal;
    this.calls = { select, start, go };
    this.list = el("div", { class: "mx-sch-list", role: "group", "aria-label": "Program" });
    this.queues = el("div", { class: "mx-sch-queues", role: "group", "aria-label": "Queues" });
    this.ready = el("div", { class: "mx-sch-ready", role: "group", "aria-label": "Ready" });
    this.lanes = el("div", { class: "mx-sch-lanes" });
    this.memory = el("div", { class: "mx-sch-memory" });
    const part = (title, node) => el("section", { class: "mx-sch-part" }, el("h4", { text: title }), node);
    this.roots = [
      el(
        "div",
        { class: "mx-sch-beside" },
        part("Program, in the order of pushes", this.list),
        part("Queues of the variables: R reads, W writes", this.queues),
      ),
      this.ready,
      this.lanes,
      this.memory,
    ];
  }

  /** Another line, or a longer one. */
  show(state, moments, breaks) {
    this.state = state;
    this.moments = moments;
    this.breaks = breaks;
    this.end = Math.max(1, ...state.lines.map((one) => one[1]));
    this.most = Math.max(1, ...moments.map((one) => one.live));
    const { signal } = this;
    this.list.replaceChildren(
      ...state.operations.map(([name, reads, writes, cost, priority], op) =>
        el(
          "button",
          {
            type: "button",
            class: "mx-sch-op",
            signal,
            data: { op: name },
            title: `${name} reads ${reads.join(", ") || "nothing"}, writes ${writes.join(", ") || "nothing"}, takes ${cost} µs`,
            onclick: () => this.calls.select(op),
            ondblclick: () => this.calls.start(op),
          },
          el("i", { class: "mx-sch-dot" }),
          el("code", { text: call(name, reads, writes) }),
          el("small", { text: priority ? `${cost} µs, priority ${priority}` : `${cost} µs` }),
        ),
      ),
    );
    this.addLanes();
    this.drawMemory();
  }

  addLanes() {
    const { state, signal } = this;
    const place = (start, end) => `left:${(100 * start) / this.end}%;width:${(100 * (end - start)) / this.end}%`;
    const lanes = this.moments[0].workers.map((_, worker) => {
      const bars = state.bars
        .filter((bar) => bar[1] === worker)
        .map(([op, , start, end]) =>
          el("i", {
            class: "mx-sch-bar",
            style: place(start, end),
            text: short(state.operations[op][0]),
            title: `${state.operations[op][0]}: ${start} to ${end} µs`,
            data: { op, start },
          }),
        );
      const name = state.workers ? `worker ${worker + 1}` : "main thread";
      const lane = el(
        "div",
        {
          class: "mx-sch-lane",
          signal,
          data: { worker },
          title: `${name}: drop a ready operation here`,
          ondragover: (event) => {
            event.preventDefault();
            lane.dataset.over = "true";
          },
          ondragleave: () => delete lane.dataset.over,
          ondrop: (event) => {
            event.preventDefault();
            delete lane.dataset.over;
            const op = event.dataTransfer?.getData("text/plain");
            if (op) this.calls.start(Number(op), worker);
          },
        },
        el("span", { text: name }),
        el("span", { class: "mx-sch-track" }, ...bars),
      );
      // The name is the first span; the track must not take its place.
      lane.children[1].style.cssText = "position:relative;left:0;top:0;width:100%;display:block";
      return lane;
    });
    this.clock = el("div", { class: "mx-sch-clock" });
    const axis = el(
      "div",
      { class: "mx-sch-axis", "aria-hidden": "true" },
      ...ticks(this.end, this.end < 1e5 ? 8 : 4).map((tick) =>
        el("span", {
          style: `left:${(100 * tick) / this.end}%`,
          text: `${tick.toLocaleString("en")} µs`,
          data: { last: tick > 0.96 * this.end },
        }),
      ),
    );
    this.lanes.replaceChildren(...lanes, axis, this.clock);
  }

  /** Bytes in use over time, for the whole line. */
  drawMemory() {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", "0 0 1000 100");
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("aria-hidden", "true");
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    const x = (time) => (1000 * time) / this.end;
    const y = (live) => 98 - (92 * live) / this.most;
    let way = "M0,98";
    let last = 0;
    for (const { time, live } of this.moments) {
      way += `L${x(time)},${y(last)}L${x(time)},${y(live)}`;
      last = live;
    }
    path.setAttribute("d", `${way}L${x(this.moments.at(-1).time)},98Z`);
    svg.append(path);
    this.memory.replaceChildren(el("span", { text: "memory" }), svg);
  }

  /** @param {number} step @param {number} selected */
  draw(step, selected) {
    const { state, moments } = this;
    const now = moments[step];
    [...this.list.children].forEach((row, op) => {
      row.dataset.state = String(now.states[op]);
      row.dataset.now = String(op === now.op);
      row.setAttribute("aria-pressed", String(op === selected));
      row.children[0].dataset.state = String(now.states[op]);
      row.children[0].title = state.states[now.states[op]];
      const stop = this.breaks.has(op);
      row.dataset.break = String(stop);
      row.children[0].textContent = stop ? "●" : "";
    });
    const about = now.op < 0 ? [] : [...state.operations[now.op][1], ...state.operations[now.op][2]];
    this.queues.replaceChildren(
      ...state.variables.map((name, k) => this.queue(name, now, k, about.includes(name))),
    );
    this.ready.replaceChildren(
      el("span", { text: now.ready.length ? "Ready:" : "Ready: none" }),
      ...now.ready.map((op) => this.readyChip(op, op === selected)),
    );
    for (const bar of this.lanes.querySelectorAll(".mx-sch-bar")) {
      const state_ = now.states[Number(bar.dataset.op)];
      bar.dataset.state = String(state_);
      bar.dataset.later = String(state_ < 3 || Number(bar.dataset.start) > now.time);
    }
    const share = now.time / this.end;
    this.clock.style.left = `calc(92px + (100% - 92px) * ${share})`;
  }

  queue(name, now, k, about) {
    const [version, entries, granted] = now.queues[k];
    const { state, signal } = this;
    return el(
      "div",
      { class: "mx-sch-queue", data: { var: name, now: about } },
      el("b", { text: short(name, 14), title: `${name}, ${state.sizes[k].toLocaleString("en")} bytes` }),
      el("small", { text: `v${version}`, title: `${version} writes are done` }),
      el(
        "span",
        { class: "mx-sch-chips" },
        ...entries.map(([op, writes], place) => {
          const has = place < granted;
          const word = state.operations[op][0];
          return el(
            "button",
            {
              type: "button",
              class: "mx-sch-chip",
              tabindex: "-1",
              signal,
              title: `${word} ${writes ? "writes" : "reads"} ${name}: ${has ? "granted" : "waits"}`,
              data: { granted: has, state: now.states[op], op: word },
              onclick: () => this.calls.select(op),
            },
            el("i", { text: writes ? "W" : "R" }),
            short(word),
          );
        }),
      ),
    );
  }

  readyChip(op, selected) {
    const { signal, state } = this;
    const node = el("button", {
      type: "button",
      class: "mx-sch-chip",
      draggable: "true",
      "aria-pressed": String(selected),
      title: `${state.operations[op][0]}: drag it to a worker, or select it and press the worker's number`,
      text: short(state.operations[op][0]),
      signal,
      data: { op: state.operations[op][0], state: 2 },
      onclick: () => this.calls.select(op),
      ondblclick: () => this.calls.start(op),
      ondragstart: (event) => event.dataTransfer?.setData("text/plain", String(op)),
    });
    return node;
  }
}
