// Pointer handling of both timelines: hover, click, drag to move, shift-drag to measure,
// and zooming about the pointer, by the wheel or two fingers.

import { twoFingers, wheelFactor } from "./pinch.js";

/**
 * @param {{surface: any, axis: any, left: number, signal: AbortSignal,
 *   focus: HTMLElement,
 *   hover: (x: number, y: number) => void, leave: () => void,
 *   click: (x: number, y: number) => void,
 *   brush: (from: number, to: number) => void, changed: () => void}} options
 * `left` is where the axis begins; `brush` gets values of the axis.
 */
export function explore({
  surface,
  axis,
  left,
  signal,
  focus,
  hover,
  leave,
  click,
  brush,
  changed,
}) {
  /** @type {{x: number, y: number, range: [number, number], shift: boolean, moved: boolean} | null} */
  let grip = null;
  const wide = () => surface.width - left;
  const valueAt = (/** @type {number} */ x) => {
    const [low, high] = axis.range;
    return low + ((x - left) / wide()) * (high - low);
  };

  const together = twoFingers({
    surface,
    signal,
    began: () => {
      grip = null;
    },
    moved: (factor, from, to) => {
      const [low, high] = axis.range;
      const width = (high - low) * factor;
      const start = valueAt(from.x) - ((to.x - left) / wide()) * width;
      axis.show([start, start + width]);
      changed();
    },
  });

  surface.node.addEventListener(
    "pointerdown",
    (event) => {
      if (event.button !== 0 || together()) return;
      focus.focus({ preventScroll: true });
      const { x, y } = surface.place(event);
      grip = { x, y, range: axis.range, shift: event.shiftKey, moved: false };
      surface.node.setPointerCapture(event.pointerId);
    },
    { signal },
  );

  surface.node.addEventListener(
    "pointermove",
    (event) => {
      const { x, y } = surface.place(event);
      if (!grip) {
        if (!together()) hover(x, y);
        return;
      }
      if (Math.abs(x - grip.x) > 3) grip.moved = true;
      if (!grip.moved) return;
      if (grip.shift) brush(valueAt(Math.min(grip.x, x)), valueAt(Math.max(grip.x, x)));
      else {
        const by = ((grip.x - x) / wide()) * (grip.range[1] - grip.range[0]);
        axis.show([grip.range[0] + by, grip.range[1] + by]);
      }
      changed();
    },
    { signal },
  );

  surface.node.addEventListener(
    "pointerup",
    (event) => {
      if (!grip) return;
      const { x, y } = surface.place(event);
      const { moved } = grip;
      grip = null;
      if (!moved) click(x, y);
    },
    { signal },
  );

  surface.node.addEventListener(
    "pointercancel",
    () => {
      grip = null;
    },
    { signal },
  );
  surface.node.addEventListener(
    "pointerleave",
    () => {
      if (!grip) leave();
    },
    { signal },
  );
  surface.node.addEventListener(
    "dblclick",
    () => {
      axis.fit();
      changed();
    },
    { signal },
  );

  // The wheel scrolls the page until the view was clicked; then it zooms. A pinch, which
  // is a wheel with Ctrl, always does.
  surface.node.addEventListener(
    "wheel",
    (event) => {
      if (!focus.contains(document.activeElement) && !event.ctrlKey) return;
      event.preventDefault();
      const { x } = surface.place(event);
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) axis.pan(event.deltaX / wide());
      else
        axis.zoom(wheelFactor(event), Math.min(1, Math.max(0, (x - left) / wide())));
      changed();
    },
    { signal, passive: false },
  );
}
