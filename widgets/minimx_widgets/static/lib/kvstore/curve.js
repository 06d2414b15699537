// How a store scales: efficiency and the time of a step over the number of workers.

import { tipHead, tipRow } from "../page/frame.js";
import { duration, logTicks, percent } from "../drawing/scale.js";
import { Surface } from "../drawing/surface.js";

const LEFT = 40;
const RIGHT = 14;
const FOOT = 18;
const LAST = 12; // 2 ** 12 workers

/** The chart. `choose` gets the number of workers that was clicked. */
export class ScalingChart {
  /** @param {{parent: HTMLElement, frame: any, signal: AbortSignal,
   *   choose: (workers: number) => void}} options */
  constructor({ parent, frame, signal, choose }) {
    this.frame = frame;
    /** @type {any} */
    this.curve = {};
    this.workers = 1;
    this.surface = new Surface({
      parent,
      height: 206,
      signal,
      draw: (ctx, width, height) => this.draw(ctx, width, height),
    });
    const { node } = this.surface;
    node.style.cursor = "pointer";
    node.addEventListener("pointermove", (event) => this.move(event), { signal });
    node.addEventListener("pointerleave", () => frame.hideTip(), { signal });
    node.addEventListener("click", (event) => choose(2 ** this.nearest(event)), { signal });
  }

  /** @param {any} curve @param {number} workers those of the picture */
  show(curve, workers) {
    this.curve = curve;
    this.workers = workers;
    this.surface.invalidate();
  }

  x(workers) {
    return LEFT + (Math.log2(workers) / LAST) * (this.surface.width - LEFT - RIGHT);
  }

  nearest(event) {
    const { x } = this.surface.place(event);
    const share = (x - LEFT) / (this.surface.width - LEFT - RIGHT);
    return Math.min(LAST, Math.max(0, Math.round(share * LAST)));
  }

  draw(ctx, width, height) {
    const { theme } = this.frame;
    const { curve } = this;
    const middle = Math.round((height - FOOT) * 0.56);
    const upper = { top: 10, bottom: middle };
    const lower = { top: middle + 16, bottom: height - FOOT };
    ctx.font = `10px ${theme.font}`;
    this.drawGrid(ctx, width, height, theme);
    const share = (value) => upper.bottom - Math.min(1, Math.max(0, value)) * (upper.bottom - upper.top);
    this.rules(ctx, width, [0, 0.5, 1].map((v) => [share(v), `${100 * v} %`]), theme);
    const times = [...(curve.step ?? []), ...(curve.ghost?.step ?? [])].filter((v) => v > 0);
    const low = Math.min(...times) * 0.9;
    const high = Math.max(...times) * 1.1;
    const at = (ns) =>
      lower.bottom - (Math.log(ns / low) / Math.log(high / low)) * (lower.bottom - lower.top);
    if (times.length)
      this.rules(ctx, width, logTicks(low, high, 3).map((v) => [at(v), duration(v)]), theme);
    this.caption(ctx, "efficiency", upper.top - 3, theme);
    this.caption(ctx, "time of a step", lower.top - 3, theme);
    if (curve.ghost) {
      this.line(ctx, curve.ghost.workers, curve.ghost.efficiency.map(share), theme.muted, true);
      this.line(ctx, curve.ghost.workers, curve.ghost.step.map(at), theme.muted, true);
    }
    if (!curve.workers?.length) return;
    this.line(ctx, curve.workers, curve.efficiency.map(share), theme.accent, false);
    this.line(ctx, curve.workers, curve.step.map(at), theme.accent, false);
  }

  drawGrid(ctx, width, height, theme) {
    ctx.textAlign = "center";
    ctx.textBaseline = "top";
    for (const power of [0, 3, 6, 9, 12]) {
      const x = this.x(2 ** power);
      ctx.fillStyle = theme.muted;
      ctx.fillText((2 ** power).toLocaleString("en"), Math.min(x, width - 14), height - FOOT + 5);
    }
    ctx.fillStyle = theme.mark;
    ctx.globalAlpha = 0.5;
    ctx.fillRect(this.x(this.workers) - 0.75, 8, 1.5, height - FOOT - 8);
    ctx.globalAlpha = 1;
  }

  rules(ctx, width, marks, theme) {
    ctx.textAlign = "right";
    ctx.textBaseline = "middle";
    for (const [y, text] of marks) {
      ctx.fillStyle = theme.line;
      ctx.fillRect(LEFT, Math.round(y), width - LEFT - RIGHT, 1);
      ctx.fillStyle = theme.muted;
      ctx.fillText(text, LEFT - 4, y);
    }
  }

  caption(ctx, text, y, theme) {
    ctx.textAlign = "right";
    ctx.textBaseline = "middle";
    ctx.fillStyle = theme.muted;
    ctx.fillText(text, this.surface.width - RIGHT, y);
  }

  line(ctx, workers, ys, ink, ghost) {
    ctx.strokeStyle = ink;
    ctx.fillStyle = ink;
    ctx.lineWidth = ghost ? 1.2 : 1.8;
    ctx.setLineDash(ghost ? [4, 3] : []);
    ctx.beginPath();
    ys.forEach((y, k) => ctx.lineTo(this.x(workers[k]), y));
    ctx.stroke();
    ctx.setLineDash([]);
    if (ghost) return;
    ys.forEach((y, k) => {
      ctx.beginPath();
      ctx.arc(this.x(workers[k]), y, 2.4, 0, 2 * Math.PI);
      ctx.fill();
    });
  }

  move(event) {
    const workers = 2 ** this.nearest(event);
    const { curve } = this;
    const lines = [tipHead(`${workers.toLocaleString("en")} workers`)];
    for (const [one, name] of [
      [curve, "now"],
      [curve.ghost, "before"],
    ]) {
      const k = one?.workers?.indexOf(workers) ?? -1;
      if (k < 0) continue;
      lines.push(tipRow(`efficiency ${name}`, percent(one.efficiency[k])));
      lines.push(tipRow(`step ${name}`, duration(one.step[k])));
    }
    if (lines.length === 1) lines.push(tipRow("", "not computed"));
    this.frame.showTip(this.x(workers), 30, lines, this.surface.node);
  }
}
