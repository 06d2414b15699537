// Bytes to the pixels of a canvas: images, and weights whose sign is a colour.

/** The code of a weight that is zero, and of one that is not finite. */
export const ZERO = 127;
export const LOST = 255;
/** What numbers of a layer are looked at. */
export const KINDS = ["weights", "outputs", "gradients"];

/**
 * The pixels of an image, grey or coloured, as a canvas wants them.
 * @param {Uint8Array} bytes @param {number} channels 1 or 3
 */
export function imagePixels(bytes, channels) {
  const out = new Uint8ClampedArray((bytes.length / channels) * 4);
  for (let i = 0, at = 0; i < bytes.length; i += channels, at += 4) {
    out[at] = bytes[i];
    out[at + 1] = bytes[i + (channels > 1 ? 1 : 0)];
    out[at + 2] = bytes[i + (channels > 1 ? 2 : 0)];
    out[at + 3] = 255;
  }
  return out;
}

/**
 * The pixels of weights: from `low` over `paper` (zero) to `high`; of three channels the
 * codes are red, green and blue themselves. What is not finite gets the colour `lost`.
 * @param {Uint8Array} codes @param {number} channels 1 or 3
 * @param {{low: number[], high: number[], paper: number[], lost: number[]}} colours
 */
export function weightPixels(codes, channels, { low, high, paper, lost }) {
  const out = new Uint8ClampedArray((codes.length / channels) * 4);
  for (let i = 0, at = 0; i < codes.length; i += channels, at += 4) {
    const own = codes.subarray(i, i + channels);
    const part = (own[0] - ZERO) / ZERO;
    const end = part < 0 ? low : high;
    for (let k = 0; k < 3; k += 1) {
      if (own.includes(LOST)) out[at + k] = lost[k];
      else if (channels === 3) out[at + k] = own[k];
      else out[at + k] = paper[k] + Math.abs(part) * (end[k] - paper[k]);
    }
    out[at + 3] = 255;
  }
  return out;
}

/** Red, green and blue of a colour such as "#3367c9".
 * @param {string} hex @returns {number[]} */
export function rgb(hex) {
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
}

/** Red, green and blue of any opaque colour that CSS knows. @param {string} text */
export function colourOf(text) {
  const ctx = /** @type {CanvasRenderingContext2D} */ (
    document.createElement("canvas").getContext("2d")
  );
  ctx.fillStyle = text; // a canvas gives opaque colours back as #rrggbb
  return rgb(String(ctx.fillStyle));
}

/**
 * A canvas of its own size in pixels, which CSS enlarges.
 * @param {Uint8ClampedArray} pixels @param {number} wide @param {number} high
 */
export function canvasOf(pixels, wide, high) {
  const canvas = document.createElement("canvas");
  canvas.width = wide;
  canvas.height = high;
  const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  ctx.putImageData(new ImageData(/** @type {any} */ (pixels), wide, high), 0, 0);
  return canvas;
}
