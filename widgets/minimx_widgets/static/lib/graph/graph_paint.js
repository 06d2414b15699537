// Boxes and lines of a graph on a canvas. Places come from the kernel's layout.

/** The size of a box, as the layout knows it. */
export const WIDE = 148;
export const HIGH = 34;
/** What a pass did to a node; boxes and lines hold the numbers. */
export const STATES = ["kept", "rewired", "changed", "added", "removed"];
const KEPT = 0;
const ADDED = 3;
const REMOVED = 4;

/**
 * @typedef {{name: string, short: string, what: string, family: number, state: number,
 *   decided: number[], storage: number, x: number, y: number, facts: [string, string][]}} Box
 * @typedef {{a: number, b: number, state: number, bends: number[]}} Line
 * @typedef {{boxes: Box[], lines: Line[], width: number, height: number}} Picture
 */

/** A picture from its message. @param {any} message @returns {Picture} */
export function pictureOf(message) {
  return {
    boxes: message.boxes.map(
      ([name, short, what, family, state, decided, storage, x, y, facts]) => ({
        name,
        short,
        what,
        family,
        state,
        decided,
        storage,
        x,
        y,
        facts,
      }),
    ),
    lines: message.lines.map(([a, b, state, bends]) => ({ a, b, state, bends })),
    width: message.size[0],
    height: message.size[1],
  };
}

/**
 * The state in which a box is after the first decisions of a pass: what is decided later
 * has not happened yet. Null for what is not there yet.
 * @param {Box} box @param {number | null} step the newest decision; null for all
 * @param {number} last the number of the last decision
 */
export function stateAt(box, step, last) {
  if (step === null || step >= last) return box.state;
  const done = box.decided.length > 0 && box.decided[0] <= step;
  if (done) return box.state;
  return box.state === ADDED ? null : KEPT;
}

/** The points of a line: out of one box, through its bends, into the other.
 * @param {Picture} picture @param {Line} line @returns {[number, number][]} */
export function route(picture, { a, b, bends }) {
  const from = picture.boxes[a];
  const to = picture.boxes[b];
  if (from.y === to.y) {
    const step = to.x > from.x ? WIDE / 2 : -WIDE / 2;
    return [
      [from.x + step, from.y],
      [to.x - step, to.y],
    ];
  }
  const step = to.y > from.y ? HIGH / 2 : -HIGH / 2;
  /** @type {[number, number][]} */
  const points = [[from.x, from.y + step]];
  for (let i = 0; i < bends.length; i += 2) points.push([bends[i], bends[i + 1]]);
  points.push([to.x, to.y - step]);
  return points;
}

/**
 * @param {CanvasRenderingContext2D} ctx in the picture's own coordinates
 * @param {Picture} picture
 * @param {Line} line
 * @param {{ink: string, alpha: number, width: number, dash: boolean, arrow: boolean}} looks
 */
export function paintLine(ctx, picture, line, { ink, alpha, width, dash, arrow }) {
  const points = route(picture, line);
  ctx.strokeStyle = ink;
  ctx.fillStyle = ink;
  ctx.globalAlpha = alpha;
  ctx.lineWidth = width;
  if (dash) ctx.setLineDash([4, 3]);
  ctx.beginPath();
  ctx.moveTo(...points[0]);
  const beside = points.length === 2 && points[0][1] === points[1][1];
  for (let i = 1; i < points.length; i += 1) {
    const [u, v] = points[i - 1];
    const [x, y] = points[i];
    if (beside) ctx.lineTo(x, y);
    else ctx.bezierCurveTo(u, (v + y) / 2, x, (v + y) / 2, x, y);
  }
  ctx.stroke();
  ctx.setLineDash([]);
  if (arrow) {
    const [x, y] = points[points.length - 1];
    const [u, v] = points[points.length - 2];
    arrowhead(ctx, x, y, beside ? Math.sign(x - u) : 0, beside ? 0 : Math.sign(y - v));
  }
  ctx.globalAlpha = 1;
}

function arrowhead(ctx, x, y, dx, dy) {
  ctx.beginPath();
  ctx.moveTo(x, y);
  ctx.lineTo(x - 7 * dx - 3.5 * dy, y - 7 * dy - 3.5 * dx);
  ctx.lineTo(x - 7 * dx + 3.5 * dy, y - 7 * dy + 3.5 * dx);
  ctx.fill();
}

/**
 * @param {CanvasRenderingContext2D} ctx in the picture's own coordinates
 * @param {Box} box
 * @param {{state: number, fill: string, badge: string, scale: number, ring: string | null,
 *   theme: any, tint?: number, edge?: string | null,
 *   dashed?: boolean}} looks `scale` says how large it comes out on the screen
 */
export function paintBox(ctx, box, looks) {
  const { state, fill, badge, scale, ring, theme, tint = 0, edge = null, dashed } = looks;
  const left = box.x - WIDE / 2;
  const top = box.y - HIGH / 2;
  const ghost = state === REMOVED;
  ctx.globalAlpha = ghost ? 0.55 : 1;
  ctx.fillStyle = theme.paper;
  rounded(ctx, left, top, WIDE, HIGH, 5);
  ctx.fill();
  ctx.fillStyle = fill;
  ctx.globalAlpha = (ghost ? 0.5 : 1) * (scale < 0.45 ? 0.75 : 0.1 + tint);
  ctx.fill();
  ctx.globalAlpha = ghost ? 0.55 : 1;
  rounded(ctx, left, top, 6, HIGH, 3);
  ctx.fill();
  ctx.strokeStyle = edge ?? (state === KEPT ? theme.edge : theme.state[state]);
  ctx.lineWidth = (state === KEPT && !edge ? 1 : 2) / Math.min(1, scale * 1.4);
  if (dashed ?? ghost) ctx.setLineDash([4, 3]);
  rounded(ctx, left, top, WIDE, HIGH, 5);
  ctx.stroke();
  ctx.setLineDash([]);
  if (ring) {
    ctx.strokeStyle = ring;
    ctx.lineWidth = 3 / Math.min(1, scale * 1.4);
    rounded(ctx, left - 3, top - 3, WIDE + 6, HIGH + 6, 7);
    ctx.stroke();
  }
  if (scale >= 0.45) paintWords(ctx, box, badge, ghost, theme);
  ctx.globalAlpha = 1;
}

function paintWords(ctx, box, badge, ghost, theme) {
  const left = box.x - WIDE / 2 + 13;
  let room = WIDE - 20;
  ctx.textBaseline = "alphabetic";
  if (badge) {
    ctx.font = `600 10px ${theme.font}`;
    ctx.textAlign = "right";
    ctx.fillStyle = theme.muted;
    ctx.fillText(badge, box.x + WIDE / 2 - 6, box.y - 3);
    room -= ctx.measureText(badge).width + 6;
  }
  ctx.textAlign = "left";
  ctx.font = `600 11.5px ${theme.font}`;
  ctx.fillStyle = ghost ? theme.muted : theme.ink;
  ctx.fillText(clipped(ctx, box.what, room), left, box.y - 3);
  ctx.font = `10px ${theme.font}`;
  ctx.fillStyle = theme.muted;
  ctx.fillText(clipped(ctx, box.short, WIDE - 20), left, box.y + 11);
}

/** The words, cut in the middle until they fit: ends of names tell most.
 * @param {CanvasRenderingContext2D} ctx @param {string} words @param {number} room */
export function clipped(ctx, words, room) {
  if (ctx.measureText(words).width <= room) return words;
  let keep = words.length - 1;
  const cut = () => {
    const head = Math.ceil(keep * 0.45);
    return `${words.slice(0, head)}…${words.slice(words.length - (keep - head))}`;
  };
  while (keep > 2 && ctx.measureText(cut()).width > room) keep -= 1;
  return cut();
}

/** @param {CanvasRenderingContext2D} ctx */
function rounded(ctx, x, y, width, height, radius) {
  ctx.beginPath();
  ctx.roundRect(x, y, width, height, radius);
}
