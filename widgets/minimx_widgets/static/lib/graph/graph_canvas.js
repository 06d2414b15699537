// A graph that can be moved, zoomed and pointed at.

import { Camera, fitted } from "./camera.js";
import { HIGH, WIDE, paintBox, paintLine, pictureOf } from "./graph_paint.js";
import { tipHead, tipRow } from "../page/frame.js";
import { Surface } from "../drawing/surface.js";

const MAP = 92; // the most that the overview is wide, in pixels
const LEGIBLE = 0.6; // a graph that is smaller than this as a whole gets an overview

export class GraphCanvas {
  /**
   * @param {{frame: any, parent: HTMLElement, height: number, signal: AbortSignal,
   *   looks: (index: number) => any, line: (index: number) => any,
   *   click: (index: number) => void, tell?: (index: number) => Node[]}} options
   * `looks` and `line` say how boxes and lines are painted, null for not at all; `tell`
   * gives further lines for the tooltip.
   */
  constructor({ frame, parent, height, signal, looks, line, click, tell }) {
    this.frame = frame;
    this.looks = looks;
    this.line = line;
    this.tell = tell;
    /** @type {import("./graph_paint.js").Picture} */
    this.picture = { boxes: [], lines: [], width: 1, height: 1 };
    this.hovered = -1;
    this.framed = false;
    this.wide = 0; // of the surface when it was framed
    /** @type {any} where the camera was put then */
    this.put = null;
    this.surface = new Surface({
      parent,
      height,
      signal,
      draw: (ctx, width, tall) => this.draw(ctx, width, tall),
      overlay: (ctx, width, tall) => this.drawMap(ctx, width, tall),
    });
    this.camera = new Camera({
      surface: this.surface,
      focus: frame.root,
      signal,
      whole: () => this.whole,
      room: () => ({
        width: this.surface.width - (this.map ? this.map.wide + 24 : 0),
        height: this.surface.height,
      }),
      hover: (x, y) => this.hover(x, y),
      leave: () => this.hover(-1e9, -1e9),
      click: (x, y) => click(this.hit(x, y)),
    });
  }

  get whole() {
    return { left: 0, top: 0, right: this.picture.width, bottom: this.picture.height };
  }

  /** The size of the overview; null where the graph needs none. */
  get map() {
    const { width, height } = this.picture;
    const { surface } = this;
    if (fitted(this.whole, surface.width, surface.height).scale >= LEGIBLE) return null;
    const scale = Math.min(MAP / width, (surface.height - 24) / height);
    return { scale, wide: width * scale, tall: height * scale };
  }

  /** @param {any} message a picture as the kernel sends it */
  show(message) {
    this.picture = pictureOf(message);
    this.hovered = -1;
    this.frame.hideTip();
    this.surface.invalidate();
  }

  /** The box at a point of the picture, -1 for none. */
  hit(x, y) {
    const { boxes } = this.picture;
    for (let i = boxes.length - 1; i >= 0; i -= 1) {
      const box = boxes[i];
      if (
        Math.abs(box.x - x) <= WIDE / 2 &&
        Math.abs(box.y - y) <= HIGH / 2 &&
        this.looks(i) !== null
      )
        return i;
    }
    return -1;
  }

  hover(x, y) {
    const found = this.hit(x, y);
    if (found === this.hovered) return;
    this.hovered = found;
    this.surface.invalidate();
    if (found < 0) this.frame.hideTip();
    else this.showTip(found);
  }

  /** @param {number} index */
  showTip(index) {
    const box = this.picture.boxes[index];
    const [x, y] = this.camera.toScreen(box.x + WIDE / 2, box.y - HIGH / 2);
    const { theme } = this.frame;
    this.frame.showTip(
      x,
      y,
      [
        tipHead(box.what, theme.family[box.family]),
        ...box.facts.map(([label, words]) => tipRow(label, words)),
        ...(this.tell?.(index) ?? []),
      ],
      this.surface.node,
    );
  }

  /** The smallest box around some nodes. @param {number[]} indices */
  around(indices) {
    const boxes = indices.map((index) => this.picture.boxes[index]);
    const xs = boxes.map((box) => box.x);
    const ys = boxes.map((box) => box.y);
    return {
      left: Math.min(...xs) - WIDE,
      right: Math.max(...xs) + WIDE,
      top: Math.min(...ys) - 2 * HIGH,
      bottom: Math.max(...ys) + 2 * HIGH,
    };
  }

  /** Bring nodes into sight. @param {number[]} indices @param {boolean} [glide] */
  look(indices, glide = true) {
    if (indices.length > 0) this.camera.look(this.around(indices), glide);
  }

  /** Fit the picture when it is first drawn. Of another width, one that is where it was
   * put is fitted again, and of one that was moved the middle stays in the middle.
   * @param {number} width */
  frameFor(width) {
    const { camera } = this;
    if (!this.picture.boxes.length || (this.framed && width === this.wide)) return;
    const moved = this.framed && camera.place !== this.put;
    if (moved) camera.jump({ ...camera.place, x: camera.place.x + (width - this.wide) / 2 });
    else {
      camera.fit(false);
      if (camera.place.scale < 0.45) camera.look(this.top(), false);
      this.put = camera.place;
    }
    this.framed = true;
    this.wide = width;
  }

  draw(ctx, width, height) {
    this.frameFor(width);
    const { place } = this.camera;
    const { boxes, lines } = this.picture;
    ctx.save();
    ctx.beginPath();
    ctx.rect(0, 0, width, height);
    // All but the small map in the corner.
    const { map } = this;
    if (map) ctx.rect(width - map.wide - 17, 4, map.wide + 13, map.tall + 11);
    ctx.clip("evenodd");
    ctx.translate(place.x, place.y);
    ctx.scale(place.scale, place.scale);
    const near = this.hovered;
    lines.forEach((line, i) => {
      const looks = this.line(i);
      if (!looks) return;
      const lit = near >= 0 && (line.a === near || line.b === near);
      paintLine(ctx, this.picture, line, {
        ...looks,
        ...(lit ? { ink: this.frame.theme.accent, alpha: 1, width: 2 } : {}),
        width: (lit ? 2 : looks.width) / Math.min(1, place.scale * 1.4),
        arrow: place.scale >= 0.4,
      });
    });
    boxes.forEach((box, i) => {
      const x = box.x * place.scale + place.x;
      const y = box.y * place.scale + place.y;
      const [half, tall] = [WIDE * place.scale, HIGH * place.scale];
      if (x < -half || x > width + half || y < -tall || y > height + tall) return;
      const looks = this.looks(i);
      if (looks)
        paintBox(ctx, box, { scale: place.scale, theme: this.frame.theme, ...looks });
    });
    ctx.restore();
  }

  /** The upper end, where reading begins. */
  top() {
    const { width, height } = this.camera.room();
    const scale = 0.75;
    return {
      left: 0,
      right: Math.min(this.picture.width, width / scale),
      top: 0,
      bottom: Math.min(this.picture.height, height / scale),
    };
  }

  /** All of the graph, small, with what is on the screen; only where it is large. */
  drawMap(ctx, width, height) {
    const { picture, camera, frame, map } = this;
    if (!map) return;
    const { scale, wide, tall } = map;
    const [left, top] = camera.toPicture(0, 0);
    const [right, bottom] = camera.toPicture(camera.room().width, height);
    const x = width - wide - 10;
    const y = 10;
    ctx.strokeStyle = frame.theme.line;
    ctx.strokeRect(x - 6.5, y - 4.5, wide + 11, tall + 9);
    picture.boxes.forEach((box, i) => {
      const looks = this.looks(i);
      if (!looks) return;
      const told = looks.edge ?? (looks.state ? frame.theme.state[looks.state] : null);
      ctx.fillStyle = told ?? looks.fill;
      ctx.globalAlpha = told ? 1 : 0.6;
      const high = Math.max(1.5, HIGH * scale);
      ctx.fillRect(
        x + (box.x - WIDE / 2) * scale,
        y + box.y * scale - high / 2,
        WIDE * scale,
        high,
      );
    });
    ctx.globalAlpha = 1;
    ctx.strokeStyle = frame.theme.accent;
    ctx.lineWidth = 1.5;
    const from = [Math.max(0, left), Math.max(0, top)];
    const to = [Math.min(picture.width, right), Math.min(picture.height, bottom)];
    const size = [(to[0] - from[0]) * scale, (to[1] - from[1]) * scale];
    ctx.strokeRect(x + from[0] * scale, y + from[1] * scale, size[0], size[1]);
  }
}
