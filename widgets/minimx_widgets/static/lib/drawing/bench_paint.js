// Curves of speed over batch size on a canvas; both axes count by factors.

const LEFT = 62;
const RIGHT = 92;
const TOP = 14;
const BELOW = 44;

/**
 * Places of batch sizes and speeds: wide enough for all that a network has.
 * @param {any} network @param {number} width @param {number} height
 */
export function scales(network, width, height) {
  const theirs = network.document.flatMap((column) => column[2]);
  const sizes = [...network.cells, ...theirs].map((point) => point[0]);
  const batches = [...new Set(sizes)].sort((a, b) => a - b);
  const speeds = [...network.cells, ...theirs].map((point) => point[1]).filter((s) => s > 0);
  const low = 10 ** Math.floor(Math.log10(speeds.length ? Math.min(...speeds) : 1));
  const high = 10 ** Math.ceil(Math.log10((speeds.length ? Math.max(...speeds) : 10) * 1.01));
  const [right, bottom] = [width - RIGHT, height - BELOW];
  const wide = Math.max(Math.log2(batches[batches.length - 1] / batches[0]), 1);
  const tall = Math.log(high / low);
  return {
    batches,
    low,
    high,
    left: LEFT,
    right,
    bottom,
    x: (batch) => LEFT + (Math.log2(batch / batches[0]) / wide) * (right - LEFT),
    y: (speed) => bottom - (Math.log(Math.max(speed, low) / low) / tall) * (bottom - TOP),
  };
}

/**
 * Lines at powers of ten, a label for each batch size, a line at the one pointed at.
 * @param {CanvasRenderingContext2D} ctx @param {ReturnType<typeof scales>} at
 * @param {any} theme @param {number} pointed
 */
export function paintAxes(ctx, at, theme, pointed) {
  ctx.font = `10.5px ${theme.font}`;
  ctx.lineWidth = 1;
  ctx.textBaseline = "middle";
  for (let level = at.low; level <= at.high * 1.001; level *= 10) {
    ctx.strokeStyle = theme.line;
    segment(ctx, at.left, at.y(level), at.right, at.y(level));
    ctx.fillStyle = theme.muted;
    ctx.textAlign = "right";
    const text = level < 1e7 ? `${Number(level.toPrecision(3))}` : level.toExponential(0);
    ctx.fillText(text, at.left - 7, at.y(level));
  }
  ctx.textAlign = "center";
  let free = -Infinity; // from where on the next label has room
  for (const batch of at.batches) {
    if (batch === pointed) {
      ctx.strokeStyle = theme.muted;
      segment(ctx, at.x(batch), TOP, at.x(batch), at.bottom);
    }
    ctx.fillStyle = theme.muted;
    const half = ctx.measureText(`${batch}`).width / 2;
    if (at.x(batch) - half < free) continue;
    ctx.fillText(`${batch}`, at.x(batch), at.bottom + 13);
    free = at.x(batch) + half + 4;
  }
  ctx.fillText("batch size", (at.left + at.right) / 2, at.bottom + 30);
}

/**
 * A line through [batch size, speed].
 * @param {CanvasRenderingContext2D} ctx @param {ReturnType<typeof scales>} at
 * @param {number[][]} points
 * @param {{ink: string, width: number, dash?: number[], alpha?: number}} look
 */
export function curve(ctx, at, points, { ink, width, dash = [], alpha = 1 }) {
  ctx.strokeStyle = ink;
  ctx.globalAlpha = alpha;
  ctx.lineWidth = width;
  ctx.setLineDash(dash);
  ctx.beginPath();
  for (const [batch, speed] of points) ctx.lineTo(at.x(batch), at.y(speed));
  ctx.stroke();
  ctx.setLineDash([]);
  ctx.globalAlpha = 1;
}

/**
 * The mark of a batch that did not fit.
 * @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} y
 * @param {string} ink @param {string} font @param {string} [words]
 */
export function cross(ctx, x, y, ink, font, words = "") {
  ctx.strokeStyle = ink;
  ctx.lineWidth = 1.8;
  segment(ctx, x - 4, y - 4, x + 4, y + 4);
  segment(ctx, x - 4, y + 4, x + 4, y - 4);
  if (!words) return;
  ctx.fillStyle = ink;
  ctx.font = `600 10.5px ${font}`;
  ctx.textAlign = "center";
  ctx.textBaseline = "alphabetic";
  ctx.fillText(words, x, y - 9);
}

/** @param {CanvasRenderingContext2D} ctx */
function segment(ctx, x0, y0, x1, y1) {
  ctx.beginPath();
  ctx.moveTo(x0, y0);
  ctx.lineTo(x1, y1);
  ctx.stroke();
}
