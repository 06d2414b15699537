// The last steps of two sides: memory in use over each other, and their lanes below it.

import { PHASES } from "../data/live.js";
import { bytes, byteTicks, duration, ticks } from "../drawing/scale.js";
import { tipHead, tipRow } from "../page/frame.js";
import { Surface } from "../drawing/surface.js";

const LEFT = 96;
const RIGHT = 8;
const TOP = 20;
const MEMORY = 100;
const LANE = 17;
const AXIS = 20;

/** Draws what ran and how much memory was in use, from the first push on. */
export class LastSteps {
  /**
   * @param {{parent: HTMLElement, frame: any, signal: AbortSignal, ink: () => string[]}} options
   */
  constructor({ parent, frame, signal, ink }) {
    this.frame = frame;
    this.ink = ink;
    /** @type {{side: number, name: string, last: any}[]} */
    this.known = [];
    this.surface = new Surface({
      parent,
      height: 0,
      signal,
      draw: (ctx, width) => this.draw(ctx, width),
    });
    const { node } = this.surface;
    node.addEventListener("pointermove", (event) => this.hover(event), { signal });
    node.addEventListener("pointerleave", () => frame.hideTip(), { signal });
  }

  /** @param {any[]} last @param {any[]} sides */
  show(last, sides) {
    const known = last
      .map((one, side) => ({ side, name: sides[side].name, last: one }))
      .filter((one) => one.last.lanes);
    const lanes = known.reduce((sum, one) => sum + one.last.lanes.length, 0);
    const height = known.length ? TOP + MEMORY + 8 + lanes * LANE + AXIS : 0;
    this.known = known;
    if (height !== this.surface.height) this.surface.resize(height);
    this.surface.invalidate();
  }

  get whole() {
    return Math.max(1, ...this.known.map(({ last }) => last.took));
  }

  /** @param {number} t @param {number} width */
  across(t, width) {
    return LEFT + Math.min(1, Math.max(0, t / this.whole)) * (width - LEFT - RIGHT);
  }

  draw(ctx, width) {
    if (!this.known.length) return;
    const { theme } = this.frame;
    ctx.textBaseline = "alphabetic";
    ctx.textAlign = "left";
    ctx.font = `600 11.5px ${theme.font}`;
    ctx.fillStyle = theme.ink;
    ctx.fillText("The last two steps: memory in use, and what ran", 4, 13);
    this.drawMemory(ctx, width, theme);
    let y = TOP + MEMORY + 8;
    for (const { name, last } of this.known) {
      last.lanes.forEach((lane, number) => {
        this.drawLane(ctx, width, y, `${name} ${lane}`, last, number, theme);
        y += LANE;
      });
    }
    ctx.fillStyle = theme.muted;
    ctx.font = `10.5px ${theme.font}`;
    ctx.textAlign = "center";
    ctx.textBaseline = "top";
    for (const t of ticks(0, this.whole, Math.max(2, (width - LEFT) / 90)))
      ctx.fillText(duration(t), Math.min(this.across(t, width), width - 24), y + 4);
  }

  drawMemory(ctx, width, theme) {
    const most = Math.max(1, ...this.known.flatMap(({ last }) => last.bytes)) * 1.05;
    const down = (/** @type {number} */ used) =>
      TOP + MEMORY - (Math.max(0, used) / most) * MEMORY;
    ctx.font = `10.5px ${theme.font}`;
    ctx.textAlign = "right";
    ctx.textBaseline = "middle";
    ctx.lineWidth = 1;
    for (const tick of byteTicks(most, 4)) {
      const y = Math.round(down(tick)) + 0.5;
      ctx.strokeStyle = theme.line;
      ctx.beginPath();
      ctx.moveTo(LEFT, y);
      ctx.lineTo(width - RIGHT, y);
      ctx.stroke();
      ctx.fillStyle = theme.muted;
      ctx.fillText(bytes(tick), LEFT - 6, y);
    }
    ctx.lineWidth = 1.75;
    for (const { side, last } of this.known) {
      ctx.strokeStyle = this.ink()[side];
      ctx.beginPath();
      last.times.forEach((t, i) => {
        const x = this.across(t, width);
        if (i) ctx.lineTo(x, down(last.bytes[i - 1]));
        ctx.lineTo(x, down(last.bytes[i]));
      });
      ctx.lineTo(this.across(last.took, width), down(last.bytes.at(-1)));
      ctx.stroke();
    }
  }

  drawLane(ctx, width, y, label, last, number, theme) {
    ctx.fillStyle = theme.lane;
    ctx.fillRect(LEFT, y, width - LEFT - RIGHT, LANE - 2);
    for (const [lane, start, end, phase] of last.boxes) {
      if (lane !== number) continue;
      const x = this.across(start, width);
      ctx.fillStyle = theme.phase[phase];
      ctx.fillRect(x, y, Math.max(0.5, this.across(end, width) - x), LANE - 2);
    }
    ctx.fillStyle = theme.muted;
    ctx.font = `10.5px ${theme.font}`;
    ctx.textAlign = "left";
    ctx.textBaseline = "middle";
    ctx.fillText(label, 4, y + LANE / 2 - 1, LEFT - 10);
  }

  /** Say which operation lies under the pointer, or how much memory was in use then. */
  hover(event) {
    const { x, y } = this.surface.place(event);
    const { width } = this.surface;
    const t = ((x - LEFT) / (width - LEFT - RIGHT)) * this.whole;
    if (t < 0 || t > this.whole) return this.frame.hideTip();
    const rows = this.known.flatMap(({ side, name, last }) =>
      last.lanes.map((_, lane) => ({ side, name, last, lane })),
    );
    const row = rows[Math.floor((y - TOP - MEMORY - 8) / LANE)];
    const lines = row ? operation(row, t) : this.memoryAt(t);
    if (lines) this.frame.showTip(x, y, lines, this.surface.node);
    else this.frame.hideTip();
  }

  memoryAt(t) {
    const lines = [tipHead(duration(t))];
    for (const { name, last } of this.known) {
      const place = last.times.findLastIndex((moment) => moment <= t);
      const used = t <= last.took ? last.bytes[Math.max(0, place)] : null;
      lines.push(tipRow(name, used === null ? "had ended" : bytes(used)));
    }
    return lines;
  }
}

function operation({ name, last, lane }, t) {
  const found = last.boxes.find(([on, start, end]) => on === lane && start <= t && t <= end);
  if (!found) return null;
  const [, start, end, phase, what] = found;
  return [
    tipHead(`${name}: ${what}`),
    tipRow("phase", PHASES[phase]),
    tipRow("took", duration(end - start)),
  ];
}
