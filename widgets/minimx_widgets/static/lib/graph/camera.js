// What part of a large picture is on the screen: moving, zooming, going to a place.

import { twoFingers, wheelFactor } from "../drawing/pinch.js";

const GLIDE = 180; // milliseconds

/**
 * @typedef {{x: number, y: number, scale: number}} Place where the picture's origin lies on
 *   the screen, and how many pixels one of its units takes
 * @typedef {{left: number, top: number, right: number, bottom: number}} Box
 */

/** The place at which a box fills a screen, but no larger than life.
 * @param {Box} box @param {number} width @param {number} height
 * @param {number} [largest] @returns {Place} */
export function fitted(box, width, height, largest = 1) {
  const margin = 14;
  const scale = Math.min(
    largest,
    (width - 2 * margin) / Math.max(1, box.right - box.left),
    (height - 2 * margin) / Math.max(1, box.bottom - box.top),
  );
  return centred(box, width, height, scale);
}

/** @param {Box} box @param {number} width @param {number} height @param {number} scale */
export function centred(box, width, height, scale) {
  return {
    scale,
    x: width / 2 - ((box.left + box.right) / 2) * scale,
    y: height / 2 - ((box.top + box.bottom) / 2) * scale,
  };
}

/** Zoomed about a point of the screen. @param {Place} place @param {number} factor
 * @param {number} x @param {number} y @param {number} least @param {number} most
 * @returns {Place} */
export function zoomedAt(place, factor, x, y, least, most) {
  const scale = Math.min(most, Math.max(least, place.scale * factor));
  const by = scale / place.scale;
  return { scale, x: x - (x - place.x) * by, y: y - (y - place.y) * by };
}

/** Moved so that some of the picture always stays on the screen.
 * @param {Place} place @param {Box} whole @param {number} width @param {number} height
 * @param {boolean} [filled] whether nothing but the picture may be on the screen */
export function kept(place, whole, width, height, filled = false) {
  const inside = (at, low, high, size) => {
    const edge = filled ? size : Math.min(size / 3, 120);
    return Math.min(Math.max(at, edge - high * place.scale), size - edge - low * place.scale);
  };
  return {
    scale: place.scale,
    x: inside(place.x, whole.left, whole.right, width),
    y: inside(place.y, whole.top, whole.bottom, height),
  };
}

/** Moved so that no more of the screen stays empty than a margin; what is smaller than the
 * screen is centred.
 * @param {Place} place @param {Box} whole @param {number} width @param {number} height */
export function snug(place, whole, width, height) {
  const { scale } = place;
  const along = (at, low, high, size) => {
    const margin = 14;
    if ((high - low) * scale + 2 * margin <= size) return (size - (low + high) * scale) / 2;
    return Math.min(Math.max(at, size - margin - high * scale), margin - low * scale);
  };
  return {
    scale,
    x: along(place.x, whole.left, whole.right, width),
    y: along(place.y, whole.top, whole.bottom, height),
  };
}

export class Camera {
  /**
   * @param {{surface: any, focus: HTMLElement, signal: AbortSignal, whole: () => Box,
   *   room?: () => {width: number, height: number}, nearest?: number, filled?: boolean,
   *   hover: (x: number, y: number) => void, leave: () => void,
   *   click: (x: number, y: number) => void}} options
   * `hover` and `click` get places of the picture; `room` is the part of the surface that
   * the picture has, all of it by default. A `filled` picture is as large as the surface at
   * a scale of one, and never smaller.
   */
  constructor({
    surface,
    focus,
    signal,
    whole,
    room,
    nearest = 2,
    filled = false,
    hover,
    leave,
    click,
  }) {
    this.surface = surface;
    this.nearest = nearest;
    this.filled = filled;
    this.room = room ?? (() => surface);
    this.focus = focus;
    this.whole = whole;
    /** @type {Place} */
    this.place = { x: 0, y: 0, scale: 1 };
    this.gliding = 0;
    this.listen(signal, hover, leave, click);
    signal.addEventListener("abort", () => cancelAnimationFrame(this.gliding), { once: true });
  }

  /** A point of the screen as one of the picture. @returns {[number, number]} */
  toPicture(x, y) {
    const { place } = this;
    return [(x - place.x) / place.scale, (y - place.y) / place.scale];
  }

  /** @returns {[number, number]} */
  toScreen(x, y) {
    const { place } = this;
    return [x * place.scale + place.x, y * place.scale + place.y];
  }

  get least() {
    const { width, height } = this.room();
    return this.filled ? 1 : Math.min(0.5, 0.8 * fitted(this.whole(), width, height).scale);
  }

  /** Go somewhere at once. @param {Place} place */
  jump(place) {
    cancelAnimationFrame(this.gliding);
    const { width, height } = this.room();
    this.place = kept(place, this.whole(), width, height, this.filled);
    this.focus.dataset.scale = this.place.scale.toFixed(4);
    this.surface.invalidate();
  }

  /** Go somewhere so that the eye can follow. @param {Place} target */
  glide(target) {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.jump(target);
      return;
    }
    const from = this.place;
    const began = performance.now();
    const step = () => {
      const share = Math.min(1, (performance.now() - began) / GLIDE);
      const ease = share * (2 - share);
      const mix = (a, b) => a + (b - a) * ease;
      this.jump({
        x: mix(from.x, target.x),
        y: mix(from.y, target.y),
        scale: mix(from.scale, target.scale),
      });
      if (share < 1) this.gliding = requestAnimationFrame(step);
    };
    step();
  }

  /** Show all of it. @param {boolean} [glide] */
  fit(glide = true) {
    const { width, height } = this.room();
    const place = this.filled
      ? { x: 0, y: 0, scale: 1 }
      : fitted(this.whole(), width, height);
    if (glide) this.glide(place);
    else this.jump(place);
  }

  /** Bring a box into sight, at a size at which words can be read.
   * @param {Box} box @param {boolean} [glide] */
  look(box, glide = true) {
    const { width, height } = this.room();
    const scale = Math.min(
      Math.max(this.place.scale, 0.75),
      Math.max(fitted(box, width, height).scale, 0.45),
    );
    const place = snug(centred(box, width, height, scale), this.whole(), width, height);
    if (glide) this.glide(place);
    else this.jump(place);
  }

  zoom(factor) {
    const { width, height } = this.room();
    this.jump(zoomedAt(this.place, factor, width / 2, height / 2, this.least, this.nearest));
  }

  /** The keys that all zoomable pictures understand; true if `key` was one.
   * @param {string} key */
  key(key) {
    const { width, height } = this.room();
    const { place } = this;
    const actions = {
      w: () => this.zoom(1.3),
      "+": () => this.zoom(1.3),
      "=": () => this.zoom(1.3),
      s: () => this.zoom(1 / 1.3),
      "-": () => this.zoom(1 / 1.3),
      a: () => this.jump({ ...place, x: place.x + width / 5 }),
      d: () => this.jump({ ...place, x: place.x - width / 5 }),
      PageUp: () => this.jump({ ...place, y: place.y + height / 2 }),
      PageDown: () => this.jump({ ...place, y: place.y - height / 2 }),
      f: () => this.fit(),
    };
    const action = actions[key];
    action?.();
    return Boolean(action);
  }

  listen(signal, hover, leave, click) {
    const { node } = this.surface;
    /** @type {{x: number, y: number, place: Place, moved: boolean} | null} */
    let grip = null;
    const on = (name, call, options = {}) =>
      node.addEventListener(name, call, { signal, ...options });
    const together = twoFingers({
      surface: this.surface,
      signal,
      began: () => {
        grip = null;
      },
      moved: (factor, from, to) => {
        const { place, least, nearest } = this;
        const near = zoomedAt(place, 1 / factor, from.x, from.y, least, nearest);
        this.jump({ ...near, x: near.x + to.x - from.x, y: near.y + to.y - from.y });
      },
    });
    on("pointerdown", (event) => {
      if (event.button !== 0 || together()) return;
      this.focus.focus({ preventScroll: true });
      grip = { ...this.surface.place(event), place: this.place, moved: false };
      node.setPointerCapture(event.pointerId);
    });
    on("pointermove", (event) => {
      const { x, y } = this.surface.place(event);
      if (!grip) {
        if (!together()) hover(...this.toPicture(x, y));
        return;
      }
      if (Math.hypot(x - grip.x, y - grip.y) > 3) grip.moved = true;
      if (grip.moved)
        this.jump({ ...grip.place, x: grip.place.x + x - grip.x, y: grip.place.y + y - grip.y });
    });
    on("pointerup", (event) => {
      const { x, y } = this.surface.place(event);
      if (grip && !grip.moved) click(...this.toPicture(x, y));
      grip = null;
    });
    on("pointercancel", () => {
      grip = null;
    });
    on("pointerleave", () => {
      if (!grip) leave();
    });
    on("dblclick", () => this.fit());
    // The wheel scrolls the page until the view was clicked; then it zooms.
    on(
      "wheel",
      (event) => {
        if (!this.focus.contains(document.activeElement) && !event.ctrlKey) return;
        event.preventDefault();
        const { x, y } = this.surface.place(event);
        this.jump(zoomedAt(this.place, 1 / wheelFactor(event), x, y, this.least, this.nearest));
      },
      { passive: false },
    );
  }
}

/** The keys of `Camera.key`, for the help card. @type {[string, string][]} */
export const CAMERA_KEYS = [
  ["W S", "zoom in, zoom out; also + −, a pinch, and the wheel once the view is clicked"],
  ["A D", "move left, right; PageUp and PageDown: up, down; or drag"],
  ["F", "fit the whole picture; also by double-click"],
];
