// A sharp canvas that redraws at most once per animation frame.

/**
 * A picture and an overlay above it (cross-hair, hover), both as wide as their parent.
 */
export class Surface {
  /**
   * @param {{parent: HTMLElement, height: number, signal: AbortSignal,
   *   draw: (ctx: CanvasRenderingContext2D, width: number, height: number) => void,
   *   overlay?: (ctx: CanvasRenderingContext2D, width: number, height: number) => void}} options
   */
  constructor({ parent, height, signal, draw, overlay }) {
    this.draw = draw;
    this.overlay = overlay;
    this.width = 0;
    this.height = height;
    this.node = document.createElement("div");
    this.node.className = "mx-surface";
    this.base = document.createElement("canvas");
    this.top = document.createElement("canvas");
    this.node.append(this.base, this.top);
    parent.append(this.node);
    this.frame = 0;
    this.stale = { base: true, top: true };
    /** @type {(() => void)[]} */
    this.painted = [];
    const observer = new ResizeObserver(() => this.fit());
    observer.observe(this.node);
    signal.addEventListener(
      "abort",
      () => {
        observer.disconnect();
        cancelAnimationFrame(this.frame);
      },
      { once: true },
    );
    this.resize(height);
  }

  /** @param {number} height */
  resize(height) {
    this.height = height;
    this.node.style.height = `${height}px`;
    this.fit();
  }

  fit() {
    const width = this.node.clientWidth;
    const dense = window.devicePixelRatio || 1;
    if (width === 0) return;
    this.width = width;
    for (const canvas of [this.base, this.top]) {
      const wide = Math.round(width * dense);
      const high = Math.round(this.height * dense);
      if (canvas.width === wide && canvas.height === high) continue;
      canvas.width = wide;
      canvas.height = high;
      canvas.style.width = `${width}px`;
      canvas.style.height = `${this.height}px`;
    }
    this.invalidate();
  }

  /** Redraw picture and overlay soon; `after` is called once that happened.
   * @param {() => void} [after] */
  invalidate(after) {
    this.stale.base = true;
    if (after) this.painted.push(after);
    this.invalidateTop();
  }

  /** Redraw only the overlay soon. */
  invalidateTop() {
    this.stale.top = true;
    if (!this.frame) this.frame = requestAnimationFrame(() => this.paint());
  }

  paint() {
    this.frame = 0;
    if (this.width > 0) {
      const { base, top } = this.stale;
      this.stale = { base: false, top: false }; // what is drawn may ask for another picture
      if (base) this.paintOne(this.base, this.draw);
      if (top && this.overlay) this.paintOne(this.top, this.overlay);
    }
    for (const after of this.painted.splice(0)) after();
  }

  /**
   * @param {HTMLCanvasElement} canvas
   * @param {(ctx: CanvasRenderingContext2D, width: number, height: number) => void} draw
   */
  paintOne(canvas, draw) {
    const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    const dense = window.devicePixelRatio || 1;
    ctx.setTransform(dense, 0, 0, dense, 0, 0);
    ctx.clearRect(0, 0, this.width, this.height);
    draw(ctx, this.width, this.height);
  }

  /** The pointer's place on the picture. @param {MouseEvent} event */
  place(event) {
    const box = this.node.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }
}
