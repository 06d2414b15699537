// Rows of what each place, or each link, did and when, on one axis of time.

import { el } from "../page/dom.js";
import { tipHead, tipRow } from "../page/frame.js";
import { bytes, duration, percent, ticks } from "../drawing/scale.js";
import { Surface } from "../drawing/surface.js";
import { coloursOf, KINDS, LINE_OF } from "./kvstore_data.js";

const TOP = 4;
const AXIS = 18;
export const PLACES = "places";
export const LINKS = "links";

/** The rows. `choose` gets a moment and a bar, or -1, that were clicked. */
export class Lanes {
  /** @param {{parent: HTMLElement, frame: any, signal: AbortSignal,
   *   choose: (t: number, bar: number) => void, hover: (key: number) => void}} options */
  constructor({ parent, frame, signal, choose, hover }) {
    this.frame = frame;
    this.choose = choose;
    this.hovered = hover;
    /** @type {any} */
    this.step = null;
    this.by = PLACES;
    this.t = 0;
    this.key = -1;
    /** The bars that are marked and pointed at with keys; -1 for none. */
    this.rings = { marked: -1, pointed: -1 };
    /** @type {any[]} rows with their heights */
    this.rows = [];
    const rows = el("div", { class: "mx-kv-rows" });
    parent.append(rows);
    this.surface = new Surface({
      parent: rows,
      height: 100,
      signal,
      draw: (ctx, width) => this.draw(ctx, width),
      overlay: (ctx) => {
        this.drawRings(ctx);
        this.drawHead(ctx);
      },
    });
    // Below the rows, so that it stays where they are scrolled.
    this.axis = new Surface({
      parent,
      height: AXIS,
      signal,
      draw: (ctx, width) => this.drawAxis(ctx, width),
    });
    const { node } = this.surface;
    node.addEventListener("pointermove", (event) => this.move(event), { signal });
    node.addEventListener("pointerleave", () => this.leave(), { signal });
    node.addEventListener("click", (event) => this.click(event), { signal });
  }

  /** @param {any} step */
  show(step) {
    this.step = step;
    this.rings = { marked: -1, pointed: -1 };
    this.arrange();
  }

  /** @param {string} by places or links */
  showBy(by) {
    this.by = by;
    this.arrange();
  }

  arrange() {
    const { facts } = this.step;
    const many = facts.rows.length > 10;
    let y = TOP;
    this.rows = [];
    const add = (label, key, lines) => {
      const tall = lines.map((line) => (line === 0 ? (many ? 9 : 12) : many ? 4 : 5));
      const high = Math.max(many ? 12 : 13, tall.reduce((sum, one) => sum + one, 0));
      this.rows.push({ label, key, lines, tall, y, high });
      y += high + (many ? 3 : 5);
    };
    if (this.by === PLACES) facts.rows.forEach(([label, , lines], k) => add(label, k, lines));
    else
      facts.wires.forEach((wire, k) => {
        if (wire.nbytes) add(wire.name, k, [1]);
      });
    this.bottom = y;
    this.surface.resize(y);
    this.axis.invalidate();
  }

  get left() {
    return this.by === LINKS ? 136 : 112;
  }

  scale(width = this.surface.width) {
    return (width - this.left - 12) / (this.step?.facts.span || 1);
  }

  draw(ctx, width) {
    if (!this.step) return;
    const { theme } = this.frame;
    const scale = this.scale(width);
    ctx.font = `11px ${theme.font}`;
    ctx.textAlign = "left";
    ctx.textBaseline = "middle";
    for (const row of this.rows) {
      ctx.fillStyle = theme.lane;
      ctx.fillRect(this.left, row.y, width - this.left - 12, row.high);
      ctx.fillStyle = theme.muted;
      ctx.fillText(this.cut(ctx, row.label), 2, row.y + row.high / 2);
    }
    ctx.fillStyle = theme.edge;
    for (const value of this.marks()) ctx.fillRect(this.left + value * scale, 0, 1, this.bottom);
    if (this.by === PLACES) this.drawWaits(ctx, scale, theme);
    this.drawBars(ctx, scale, theme);
  }

  cut(ctx, text) {
    let short = text;
    while (short.length > 3 && ctx.measureText(short).width > this.left - 8)
      short = `${short.slice(0, -2)}…`;
    return short;
  }

  /** Round times on the axis. */
  marks() {
    if (!this.rows.length) return [];
    return ticks(0, this.step.facts.span, Math.max(2, (this.surface.width - this.left) / 110));
  }

  drawAxis(ctx, width) {
    if (!this.step) return;
    const { theme } = this.frame;
    const scale = this.scale();
    ctx.font = `11px ${theme.font}`;
    ctx.textAlign = "center";
    ctx.textBaseline = "top";
    ctx.fillStyle = theme.muted;
    for (const value of this.marks())
      ctx.fillText(value ? duration(value) : "0", Math.min(this.left + value * scale, width - 24), 3);
  }

  drawWaits(ctx, scale, theme) {
    ctx.strokeStyle = theme.alert;
    ctx.lineWidth = 1;
    ctx.save();
    for (const [key, start, end] of this.step.facts.waits) {
      const row = this.rows[key];
      const x = this.left + start * scale;
      const wide = (end - start) * scale;
      if (!row || wide < 1) continue;
      ctx.save();
      ctx.beginPath();
      ctx.rect(x, row.y, wide, row.tall[0]);
      ctx.clip();
      ctx.globalAlpha = 0.55;
      ctx.beginPath();
      for (let at = x - row.tall[0]; at < x + wide; at += 5) {
        ctx.moveTo(at, row.y + row.tall[0]);
        ctx.lineTo(at + row.tall[0], row.y);
      }
      ctx.stroke();
      ctx.restore();
    }
    ctx.restore();
  }

  drawBars(ctx, scale, theme) {
    const { bars, n } = this.step;
    const colours = coloursOf(theme);
    const places = this.places();
    for (let i = 0; i < n; i += 1) {
      const x = this.left + bars.start[i] * scale;
      const wide = Math.max(0.7, (bars.end[i] - bars.start[i]) * scale);
      ctx.fillStyle = colours[bars.kind[i]];
      ctx.globalAlpha = this.key < 0 || bars.key[i] === this.key ? 1 : 0.16;
      for (const [y, high] of this.heights(i, places))
        ctx.fillRect(x, y, wide > 3 ? wide - 0.6 : wide, high);
    }
    ctx.globalAlpha = 1;
  }

  /** The rows by the place, or the link, that they are of. */
  places() {
    return new Map(this.rows.map((row) => [row.key, row]));
  }

  /** Where a bar lies, from top down: y and height, once for each link that it is over.
   * @param {number} i @param {Map<number, any>} places @returns {[number, number][]} */
  heights(i, places) {
    const { bars, facts } = this.step;
    if (this.by === PLACES) {
      const row = places.get(bars.row[i]);
      const line = row ? row.lines.indexOf(LINE_OF[bars.kind[i]]) : -1;
      if (line < 0) return [];
      let { y } = row;
      for (let k = 0; k < line; k += 1) y += row.tall[k];
      return [[y, row.tall[line] - 1]];
    }
    if (bars.route[i] < 0) return [];
    return facts.routes[bars.route[i]]
      .map((wire) => places.get(wire))
      .filter(Boolean)
      .map((row) => [row.y + 1, row.high - 2]);
  }

  /** Rings round the bars that are marked and pointed at. */
  drawRings(ctx) {
    if (!this.step) return;
    const { theme } = this.frame;
    const { bars } = this.step;
    const places = this.places();
    const { marked, pointed } = this.rings;
    for (const [i, colour, line] of [[marked, theme.ink, 2.5], [pointed, theme.accent, 1.5]]) {
      if (i < 0) continue;
      const scale = this.scale();
      const x = this.left + bars.start[i] * scale;
      const wide = Math.max(3, (bars.end[i] - bars.start[i]) * scale);
      ctx.strokeStyle = colour;
      ctx.lineWidth = line;
      for (const [y, high] of this.heights(i, places)) ctx.strokeRect(x - 1, y - 1, wide + 1.5, high + 2);
    }
  }

  /** Put rings round bars, and bring the one that is pointed at into sight.
   * @param {{marked?: number, pointed?: number}} rings */
  ring(rings) {
    Object.assign(this.rings, rings);
    this.surface.invalidateTop();
    const { pointed = -1 } = rings;
    if (pointed < 0) return;
    const [found] = this.heights(pointed, this.places());
    const box = this.surface.node.parentElement;
    if (!found || !box) return;
    const [y, high] = found;
    if (y < box.scrollTop) box.scrollTop = y - TOP;
    else if (y + high > box.scrollTop + box.clientHeight) box.scrollTop = y + high - box.clientHeight + TOP;
  }

  drawHead(ctx) {
    if (!this.step || !this.rows.length) return;
    const { theme } = this.frame;
    const x = this.left + this.t * this.scale();
    ctx.fillStyle = theme.ink;
    ctx.fillRect(Math.round(x) - 0.5, 0, 1.5, this.bottom);
    ctx.beginPath();
    ctx.moveTo(x - 4.5, 0);
    ctx.lineTo(x + 5, 0);
    ctx.lineTo(x + 0.25, 6);
    ctx.fill();
  }

  /** @param {number} t */
  seek(t) {
    this.t = t;
    this.surface.invalidateTop();
  }

  /** @param {number} key */
  follow(key) {
    if (key === this.key) return;
    this.key = key;
    this.surface.invalidate();
  }

  /** The moment and the bar at a point. @param {MouseEvent} event */
  at(event) {
    const { x, y } = this.surface.place(event);
    const scale = this.scale();
    const t = Math.min(Math.max((x - this.left) / scale, 0), this.step.facts.span);
    const row = this.rows.find((one) => y >= one.y - 2 && y < one.y + one.high + 3);
    if (!row || x < this.left - 4) return { t, row, bar: -1, x, y };
    const slack = 3 / scale;
    if (this.by === LINKS) return { t, row, bar: this.copyAt(row.key, t, slack), x, y };
    let from = row.y;
    let line = row.lines[row.lines.length - 1];
    for (const [k, tall] of row.tall.entries()) {
      if (y < from + tall) {
        line = row.lines[k];
        break;
      }
      from += tall;
    }
    return { t, row, bar: this.step.barAt(row.key, t, [line], slack), x, y };
  }

  copyAt(wire, t, slack) {
    const { bars, facts } = this.step;
    for (const i of this.step.underway(t)) if (facts.routes[bars.route[i]].includes(wire)) return i;
    for (const i of this.step.underway(t + slack))
      if (facts.routes[bars.route[i]].includes(wire)) return i;
    return -1;
  }

  move(event) {
    if (!this.step) return;
    const { bar, row, x, y } = this.at(event);
    const { bars, facts } = this.step;
    this.frame.root.dataset.bar = String(bar);
    this.hovered(bar < 0 ? -1 : bars.key[bar]);
    if (bar < 0) {
      this.frame.hideTip();
      return;
    }
    const [name, priority] = facts.keys[bars.key[bar]];
    const lines = [
      tipHead(`${KINDS[bars.kind[bar]]} of ${name}`, coloursOf(this.frame.theme)[bars.kind[bar]]),
      tipRow("at", row.label),
      tipRow("from", duration(bars.start[bar])),
      tipRow("took", duration(bars.end[bar] - bars.start[bar])),
      tipRow("priority", String(priority)),
    ];
    if (bars.nbytes[bar]) lines.push(tipRow("bytes", bytes(bars.nbytes[bar])));
    if (bars.route[bar] >= 0) {
      const wires = facts.routes[bars.route[bar]].map((wire) => facts.wires[wire].name);
      lines.push(tipRow("over", wires.join(", ")));
      const busiest = Math.max(...facts.routes[bars.route[bar]].map((w) => facts.wires[w].load));
      lines.push(tipRow("busiest link", percent(busiest)));
    }
    if (bars.op[bar])
      lines.push(el("div", { class: "mx-tip-note", text: "click: mark its operation in all views" }));
    this.frame.showTip(x, y, lines, this.surface.node);
  }

  leave() {
    this.hovered(-1);
    this.frame.hideTip();
  }

  click(event) {
    if (!this.step) return;
    const { t, bar } = this.at(event);
    this.choose(t, bar);
  }
}
