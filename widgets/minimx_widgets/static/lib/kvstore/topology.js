// The map of a store: places, switches and links as SVG, gradients on their way above.

import { el } from "../page/dom.js";
import { tipHead, tipRow } from "../page/frame.js";
import { bytes, duration, percent } from "../drawing/scale.js";
import { Surface } from "../drawing/surface.js";
import {
  along,
  coloursOf,
  loadColour,
  polyline,
  radius,
  speed,
  thickness,
  trimmed,
} from "./kvstore_data.js";

const SVG = "http://www.w3.org/2000/svg";

/** An SVG element. @param {string} tag @param {Record<string, any>} attributes */
function shape(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  node.append(...children);
  return node;
}

/** The map. `act` is called with the link or place that was clicked. */
export class Topology {
  /** @param {{frame: any, signal: AbortSignal, act: (kind: string, item: any) => void}} options */
  constructor({ frame, signal, act }) {
    this.frame = frame;
    this.act = act;
    /** @type {any} */
    this.step = null;
    this.t = 0;
    this.key = -1;
    this.pointed = -1;
    /** @type {any[]} what can be pointed at: places first, then links */
    this.items = [];
    this.svg = shape("svg", { "aria-hidden": "true" });
    this.node = el("div", {
      class: "mx-kv-map mx-kv-drawn",
      role: "application",
      tabindex: "0",
      "aria-label": "Topology. Arrow keys go through places and links, Enter changes one.",
      signal,
      onkeydown: (event) => this.press(event),
      onblur: () => this.point(-1),
      onpointerover: (event) => this.point(this.itemOf(event.target)),
      onpointerleave: () => this.point(-1),
      onclick: (event) => this.use(this.itemOf(event.target)),
    });
    this.node.append(this.svg);
    this.packets = new Surface({
      parent: this.node,
      height: 226,
      signal,
      draw: (ctx) => this.drawPackets(ctx),
    });
    const observer = new ResizeObserver(() => this.place());
    observer.observe(this.node);
    signal.addEventListener("abort", () => observer.disconnect(), { once: true });
  }

  /** @param {any} step */
  show(step) {
    this.step = step;
    this.place();
    const { pointed } = this; // what the tip says may have changed
    this.pointed = -1;
    this.point(pointed);
  }

  /** Lay everything out for the width that there is. */
  place() {
    const wide = this.node.clientWidth;
    const high = this.node.clientHeight;
    if (!this.step || !wide) return;
    const { facts } = this.step;
    this.at = ([x, y]) => [x * wide, y * high];
    const [above, below] = [0, 1].map(
      (low) => facts.places.filter((one) => one[3] > 0.5 === Boolean(low)).length,
    );
    /** Half the width of a box, of the upper places and of the lower ones. */
    this.halves = [above, below].map((count) => Math.min(31, Math.max(3, (0.43 * wide) / Math.max(4, count))));
    this.half = Math.min(...this.halves);
    const stops = new Set(facts.places.map((one) => `${one[2]},${one[3]}`));
    this.ways = facts.wires.map((wire) => {
      const way = polyline(wire, this.at);
      const out = this.wayOut(way);
      return trimmed(way, wire.points.map((point) => (stops.has(point.join()) ? out : 0)));
    });
    this.routes = facts.routes.map((route) => route.flatMap((wire) => this.ways[wire]));
    this.items = [...facts.places.map((one) => ({ place: one })), ...facts.wires.map((wire) => ({ wire }))];
    const places = facts.places.map((one, k) => this.placeNode(one, k));
    const order = [...facts.wires.keys()].sort(
      (a, b) => facts.wires[a].load - facts.wires[b].load,
    );
    const wires = order.map((k) => this.wireNode(facts.wires[k], k + facts.places.length));
    this.svg.replaceChildren(...wires, ...facts.buses.map((bus) => this.busNode(bus)), ...places);
    this.follow(this.key);
    this.packets.invalidate();
  }

  /** Pixels from the middle of a place's box to its border, in the direction of a way. */
  wayOut([[ax, ay], [bx, by]]) {
    const long = Math.hypot(bx - ax, by - ay) || 1;
    const across = Math.abs(bx - ax) / long;
    const down = Math.abs(by - ay) / long;
    return 1 + Math.min(this.half / Math.max(across, 1e-3), 11 / Math.max(down, 1e-3));
  }

  wireNode(wire, item) {
    const { theme } = this.frame;
    const way = this.ways[item - this.step.facts.places.length];
    const points = way.map((point) => point.map((v) => v.toFixed(1)).join()).join(" ");
    const cut = wire.state === "cut";
    const stops = [theme.edge, theme.category[4], theme.alert];
    const thin = wire.curved ? 0.55 : 1;
    const line = shape("polyline", {
      class: "mx-kv-wire",
      points,
      stroke: cut ? theme.alert : loadColour(wire.load, stops),
      "stroke-width": cut ? 1.5 : thin * thickness(wire.bandwidth),
      ...(cut ? { "stroke-dasharray": "2 5" } : {}),
      ...(wire.state === "slow" ? { "stroke-dasharray": "7 3" } : {}),
    });
    const group = shape("g", { class: "mx-kv-item" }, line, shape("polyline", { class: "mx-kv-hit", points }));
    if (cut) {
      const [x, y] = along(way, 0.5);
      const cross = shape("text", { class: "mx-kv-cut", x, y });
      cross.textContent = "✕";
      group.append(cross);
    }
    group.dataset.item = String(item);
    group.dataset.wire = wire.name;
    return group;
  }

  busNode([name, left, right, y]) {
    const [x0, middle] = this.at([left, y]);
    const [x1] = this.at([right, y]);
    const text = shape("text", { class: "mx-kv-bus-name", x: x0 + 8, y: middle + 0.5 });
    text.textContent = name;
    return shape(
      "g",
      {},
      shape("rect", { class: "mx-kv-bus", x: x0, y: middle - 7, width: x1 - x0, height: 14, rx: 5 }),
      text,
    );
  }

  placeNode([name, kind, x, y, count, factor], item) {
    const [cx, cy] = this.at([x, y]);
    const half = this.halves[Number(y > 0.5)];
    const number = /\d+/.exec(name)?.[0] ?? name;
    const short = half > 27 ? name : number;
    const text = shape("text", { x: cx, y: cy + 3.7 });
    const fits = half > 9; // else every tenth has its number
    text.textContent = count > 1 ? `${count} ×` : fits || Number(number) % 10 === 0 ? short : "";
    const round = kind === "worker" ? Math.min(5, half) : 2;
    const box = { x: cx - half, y: cy - 11, width: 2 * half, height: 22, rx: round };
    const group = shape("g", { class: "mx-kv-place" }, shape("rect", box), text);
    Object.assign(group.dataset, {
      item,
      place: name,
      slow: factor > 1,
      fixed: !this.changeable(name),
    });
    return group;
  }

  /** Whether a place can be made slower. @param {string} name */
  changeable(name) {
    return this.step.facts.source === "modelled" && /^worker \d+$/.test(name);
  }

  /** Where packets are at a moment. @param {number} t */
  seek(t) {
    this.t = t;
    this.packets.invalidate();
  }

  /** Mark what a key takes; -1 for none. @param {number} key */
  follow(key) {
    this.key = key;
    const wires = key < 0 || !this.step ? new Set() : this.step.wiresOf(key);
    this.node.dataset.following = String(wires.size > 0);
    const first = this.step ? this.step.facts.places.length : 0;
    for (const node of this.svg.querySelectorAll(".mx-kv-item"))
      node.dataset.route = String(wires.has(Number(node.dataset.item) - first));
    this.packets.invalidate();
  }

  drawPackets(ctx) {
    if (!this.step || !this.routes) return;
    const { bars, facts } = this.step;
    const { theme } = this.frame;
    const colours = coloursOf(theme);
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    ctx.font = `600 9px ${theme.font}`;
    const found = this.step.underway(this.t);
    this.frame.root.dataset.packets = String(found.length);
    for (const i of found) {
      const way = this.routes[bars.route[i]];
      if (!way?.length) continue;
      const share = (this.t - bars.start[i]) / (bars.end[i] - bars.start[i]);
      const [x, y] = along(way, share);
      const size = radius(bars.nbytes[i]);
      ctx.globalAlpha = this.key < 0 || bars.key[i] === this.key ? 1 : 0.18;
      ctx.beginPath();
      ctx.arc(x, y, size, 0, 2 * Math.PI);
      ctx.fillStyle = colours[bars.kind[i]];
      ctx.fill();
      ctx.lineWidth = 1.5;
      ctx.strokeStyle = theme.paper;
      ctx.stroke();
      if (size < 6) continue;
      ctx.fillStyle = theme.paper;
      ctx.fillText(String(facts.keys[bars.key[i]][1]), x, y + 0.5);
    }
    ctx.globalAlpha = 1;
  }

  itemOf(target) {
    const node = target.closest?.("[data-item]");
    return node ? Number(node.dataset.item) : -1;
  }

  /** Say all about a place or a link; -1 for none. @param {number} item */
  point(item) {
    if (item === this.pointed) return;
    this.pointed = item;
    for (const node of this.svg.querySelectorAll("[data-item]"))
      node.dataset.pointed = String(Number(node.dataset.item) === item);
    const one = this.items[item];
    this.frame.root.dataset.item = one ? (one.wire?.name ?? one.place[0]) : "";
    if (!one) {
      this.frame.hideTip();
      return;
    }
    const [x, y] = one.place
      ? this.at([one.place[2], one.place[3]])
      : along(this.ways[item - this.step.facts.places.length], 0.5);
    const lines = one.place ? this.placeTip(one.place) : this.wireTip(one.wire);
    this.node.setAttribute("aria-label", lines.map((line) => line.textContent).join(", "));
    this.frame.showTip(x, y, lines, this.node);
  }

  wireTip(wire) {
    const modelled = this.step.facts.source === "modelled";
    const next = { "": "click: a quarter of the speed", slow: "click: cut it", cut: "click: restore it" };
    const lines = [tipHead(wire.name), tipRow("speed", speed(wire.bandwidth))];
    if (wire.state) lines.push(tipRow("state", wire.state === "slow" ? "slowed" : "cut"));
    lines.push(tipRow("carried", bytes(wire.nbytes)));
    lines.push(tipRow("in use", `${duration(wire.busy)}, ${percent(wire.load)}`));
    if (modelled) lines.push(el("div", { class: "mx-tip-note", text: next[wire.state] }));
    return lines;
  }

  placeTip([name, kind, , , count, factor]) {
    const lines = [tipHead(name)];
    if (kind === "worker") lines.push(tipRow("computes", factor > 1 ? `×${factor} slower` : "as usual"));
    if (count > 1) lines.push(tipRow("stands for", `${count} that do the same`));
    if (this.changeable(name)) {
      const text = factor > 1 ? "click: as usual again" : "click: twice as slow";
      lines.push(el("div", { class: "mx-tip-note", text }));
    }
    return lines;
  }

  use(item) {
    const one = this.items[item];
    if (!one || this.step.facts.source !== "modelled") return;
    if (one.wire) this.act("link", one.wire.name);
    else if (this.changeable(one.place[0])) this.act("worker", Number(one.place[0].slice(7)));
  }

  /** Keys of the map itself. */
  press(event) {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const count = this.items.length;
    if (step && count) this.point(this.pointed < 0 && step < 0 ? count - 1 : (this.pointed + step + count) % count);
    else if ((event.key === "Enter" || event.key === " ") && this.pointed >= 0) this.use(this.pointed);
    else if (event.key === "Escape") this.point(-1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
