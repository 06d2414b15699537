// Zooming by hand, for all pictures: the wheel, a pinch on a trackpad, two fingers.

const WHEEL = 400; // pixels of the wheel that change the scale by the factor e
const PINCH = 100; // the same of a pinch on a trackpad, which tells of fewer pixels
const MOST = 60; // pixels that one event counts at most of a pinch: Ctrl and a mouse's wheel
const LINE = 16; // pixels of a line, for browsers that count the wheel in lines
const NEAR = 16; // fingers that are nearer to each other count as so far apart

/**
 * By which factor more is to be seen after an event of the wheel: below 1 for nearer. A
 * pinch on a trackpad comes as a wheel with the Ctrl key.
 * @param {{deltaY: number, deltaMode: number, ctrlKey: boolean}} event
 */
export function wheelFactor({ deltaY, deltaMode, ctrlKey }) {
  const by = deltaMode === 1 ? deltaY * LINE : deltaY;
  if (!ctrlKey) return Math.exp(by / WHEEL);
  return Math.exp(Math.min(Math.max(by, -MOST), MOST) / PINCH);
}

/**
 * Follow two fingers on a picture.
 * @param {{surface: any, signal: AbortSignal, began: () => void,
 *   moved: (factor: number, from: {x: number, y: number}, to: {x: number, y: number}) => void}} options
 * `began` is called when the second finger comes, so that what the first began is dropped;
 * `moved` with each move: by which factor more is to be seen, and where what was between
 * the fingers at `from` lies now
 * @returns {() => boolean} whether more than one finger is there
 */
export function twoFingers({ surface, signal, began, moved }) {
  /** @type {Map<number, {x: number, y: number}>} by pointer: where it is */
  const fingers = new Map();
  const read = () => {
    const [a, b] = fingers.values();
    const apart = Math.max(NEAR, Math.hypot(a.x - b.x, a.y - b.y));
    return { apart, middle: { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 } };
  };
  const on = (/** @type {string} */ name, /** @type {(event: PointerEvent) => void} */ call) =>
    surface.node.addEventListener(name, call, { signal });
  on("pointerdown", (event) => {
    if (event.pointerType !== "touch") return;
    fingers.set(event.pointerId, surface.place(event));
    if (fingers.size === 2) began();
  });
  on("pointermove", (event) => {
    if (!fingers.has(event.pointerId)) return;
    const before = fingers.size === 2 ? read() : null;
    fingers.set(event.pointerId, surface.place(event));
    if (!before) return;
    const now = read();
    moved(before.apart / now.apart, before.middle, now.middle);
  });
  for (const name of ["pointerup", "pointercancel"])
    on(name, (event) => fingers.delete(event.pointerId));
  return () => fingers.size > 1;
}
