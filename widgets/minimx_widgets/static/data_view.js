// What the network sees: test images with its answers, its mistakes, its first filters.

import { el } from "./lib/page/dom.js";
import { Frame, tipHead } from "./lib/page/frame.js";
import { Kept } from "./lib/page/kept.js";
import { KINDS, canvasOf, colourOf, imagePixels, weightPixels } from "./lib/drawing/pixels.js";
import { count, percent } from "./lib/drawing/scale.js";

const PARTS = ["strip", "all"];
const HELP =
  "Test images, always the same, with what the network says of them now and how sure it is: " +
  "✓ is right, ✗ is wrong. It is asked about a sample of the test set between two steps, at most " +
  "once a second, in predict mode, so training goes on as without a look. Under “all”: the " +
  "mistakes of which it is surest; how often a class (row) is taken for another (column), for the " +
  "twelve most confused classes; the weights of the first layer as images, blue below zero and " +
  "orange above; and for every layer whether its numbers say something: NaN, ∞ or all 0 is what " +
  "too little precision, or too much clipping, leaves. Point at anything to read about it.";
/** @type {[string, string][]} */
const KEYS = [
  ["← →", "point at the previous, next"],
  ["↑ ↓", "previous, next part"],
  ["D", "strip, all"],
  ["T", "table"],
];

class DataPage {
  constructor({ model, el: host, signal }) {
    this.model = model;
    this.parts = model.get("parts");
    this.revision = 0;
    /** The parts that can be pointed at, each a row of nodes. @type {HTMLElement[][]} */
    this.groups = [];
    /** @type {[number, number] | null} part and place that is pointed at */
    this.pointed = null;
    this.frame = new Frame({
      el: host,
      model,
      title: "What the network sees",
      name: "data",
      help: HELP,
      keys: KEYS,
      signal,
      onkey: (event) => this.key(event),
      ontheme: () => this.show(),
    });
    this.choice = this.frame.addChoice("Show", PARTS, this.parts, (parts) => this.choose(parts));
    this.strip = el("div", { class: "mx-seen-strip" });
    this.more = el("div", { class: "mx-seen-more" });
    this.empty = el("p", { class: "mx-empty", text: "Nothing was asked yet. Press Train." });
    this.frame.picture.append(this.empty, this.strip, this.more);
    const { picture } = this.frame;
    picture.addEventListener("pointermove", (event) => this.hover(event), { signal });
    picture.addEventListener("pointerleave", () => this.point(null), { signal });
    const change = () => this.show();
    this.kept = new Kept({
      model,
      signal,
      parts: { parts: { get: () => this.parts, set: (parts) => this.choose(parts) } },
    });
    const hear = (message) => {
      if (message.kind === "table") this.frame.setTable(message.html);
    };
    model.on("change:frozen", change);
    model.on("msg:custom", hear);
    signal.addEventListener(
      "abort",
      () => {
        model.off("change:frozen", change);
        model.off("msg:custom", hear);
      },
      { once: true },
    );
    model.send({ kind: "hello" }); // from now on a page shows it
    this.show();
  }

  choose(parts) {
    this.parts = parts;
    this.choice.show(parts);
    this.show();
  }

  key(event) {
    const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    if (event.key.toLowerCase() === "d") this.choose(this.parts === "all" ? "strip" : "all");
    else if (event.key === "Escape" && this.pointed) this.point(null);
    else if (event.key in steps) this.walk(...steps[event.key]);
    else return false;
    return true;
  }

  walk(down, along) {
    if (this.groups.length === 0) return;
    const [group, place] = this.pointed ?? [0, -along];
    const next = Math.min(this.groups.length - 1, Math.max(0, group + down));
    const last = this.groups[next].length - 1;
    const start = down && next !== group ? 0 : place + along;
    this.point([next, Math.min(last, Math.max(0, start))]);
  }

  hover(event) {
    const node = event.target.closest?.("[data-say]");
    const group = this.groups.findIndex((nodes) => nodes.includes(node));
    this.point(group < 0 ? null : [group, this.groups[group].indexOf(node)]);
  }

  /** Explain something, or nothing. @param {[number, number] | null} where */
  point(where) {
    for (const node of this.frame.picture.querySelectorAll("[data-pointed]"))
      node.removeAttribute("data-pointed");
    const node = where && this.groups[where[0]]?.[where[1]];
    this.pointed = node ? where : null;
    this.frame.root.dataset.pointed = node ? node.dataset.say : "";
    if (!node) return this.frame.hideTip();
    node.dataset.pointed = "true";
    const room = this.frame.picture.getBoundingClientRect();
    const own = node.getBoundingClientRect();
    const [head, ...rest] = node.dataset.say.split("\n");
    const lines = [tipHead(head), ...rest.map((text) => el("div", { text }))];
    this.frame.showTip(own.left - room.left + own.width / 2, own.bottom - room.top - 8, lines);
    return undefined;
  }

  show() {
    this.kept?.note();
    if (!this.empty) return; // the theme arrives before there is a page
    const [facts, buffers] = this.model.get("frozen") ?? [];
    this.empty.hidden = Boolean(facts);
    this.strip.hidden = !facts;
    this.more.hidden = !facts || this.parts === "strip" || facts.asked === 0;
    this.revision += 1;
    this.tell(facts);
    if (!facts) return;
    const [high, wide, channels] = facts.shape;
    const bytes = bytesOf(buffers[0]);
    const size = high * wide * channels;
    const images = [...facts.strip, ...facts.wrong].map((one, i) =>
      imageNode(one, imagePixels(bytes.subarray(i * size, (i + 1) * size), channels), wide, high),
    );
    const strip = images.slice(0, facts.strip.length);
    const wrong = images.slice(facts.strip.length);
    this.strip.replaceChildren(...strip);
    this.groups = [strip];
    if (!this.more.hidden) this.fill(facts, wrong, bytes.subarray(images.length * size));
    if (this.pointed) this.point(this.pointed);
  }

  /** What “all” shows besides the strip. */
  fill(facts, wrong, codes) {
    const tiles = this.tiles(facts.filters, codes);
    const cells = confusionNodes(facts);
    const layers = layerNodes(facts.health);
    const surest = wrong.length ? "Wrong, and how sure" : "No image of the sample is wrong";
    this.more.replaceChildren(
      box(surest, "mx-seen-wrong", wrong),
      box(confusionTitle(facts), "mx-seen-confusion", [cells.table]),
      box(filtersTitle(facts.filters), "mx-seen-filters", tiles),
      box("Do its numbers say something?", "mx-seen-layers", [layers.table]),
    );
    this.groups.push(...[wrong, cells.said, tiles, layers.said].filter((one) => one.length));
  }

  tiles(filters, codes) {
    if (!filters) return [];
    const [many, high, wide, channels] = filters.shape;
    const { theme } = this.frame;
    const colours = {
      low: colourOf(theme.category[0]),
      high: colourOf(theme.category[1]),
      paper: colourOf(theme.paper),
      lost: colourOf(theme.mark),
    };
    const size = high * wide * channels;
    return Array.from({ length: many }, (_, i) => {
      const own = codes.subarray(i * size, (i + 1) * size);
      const pixels = weightPixels(own, channels, colours);
      const far = `−${filters.largest.toPrecision(2)} to ${filters.largest.toPrecision(2)}`;
      const say = `${filters.name}[${i}]\n${filters.kind}, ${high} × ${wide}; colours go from ${far}`;
      const node = el("span", { class: "mx-seen-tile", data: { say } });
      node.append(canvasOf(pixels, wide, high));
      return node;
    });
  }

  /** Numbers of the head, what is broken, and data attributes for tests. */
  tell(facts) {
    const { frame } = this;
    const asked = facts?.asked ?? 0;
    const worst = facts ? mostConfused(facts) : null;
    /** @type {[string, string][]} */
    const numbers = asked
      ? [
          ["after step", count(facts.step)],
          ["right", `${facts.right} of ${asked} (${((100 * facts.right) / asked).toFixed(1)} %)`],
        ]
      : [];
    if (worst) numbers.push(["most confused", `${worst[0]} → ${worst[1]}, ${worst[2]} ×`]);
    frame.setNumbers(numbers);
    frame.setSource(asked ? "measured" : "");
    const sick = (facts?.health ?? []).filter(([, , word]) => word);
    const said = facts?.problem || sickWords(sick);
    frame.setNote(said, facts?.problem ? "info" : "error");
    Object.assign(frame.root.dataset, {
      revision: this.revision,
      step: facts?.step ?? "",
      right: facts?.right ?? "",
      asked,
      parts: this.parts,
      sick: sick.map(([layer, kind, word]) => `${layer} ${kind} ${word}`).join("|"),
      confused: worst ? worst.join(" ") : "",
    });
  }
}

/** @param {any} one @param {Uint8ClampedArray} pixels @param {number} wide @param {number} high */
function imageNode(one, pixels, wide, high) {
  const state = !one.asked ? "unasked" : one.right ? "right" : "wrong";
  const sure = one.chances.length ? percent(one.chances[0][1]) : "";
  const node = el(
    "figure",
    { class: "mx-seen", data: { state, say: explained(one) } },
    el("b", { text: one.asked ? `${one.guess} ${one.right ? "✓" : "✗"}` : one.label }),
    el("small", {
      // Figures and their units stay together where a caption takes two lines.
      text: [sure, one.asked && !one.right && `is ${one.label}`]
        .filter(Boolean)
        .map((words) => words.replaceAll(" ", "\u202f"))
        .join(" "),
    }),
  );
  const canvas = canvasOf(pixels, wide, high);
  canvas.style.aspectRatio = `${wide} / ${high}`;
  node.prepend(canvas);
  return node;
}

/** @param {any} one */
function explained(one) {
  const head = `Image ${one.number} of the test set is ${one.label}`;
  if (!one.asked) return `${head}\nThe network was not asked yet.`;
  if (one.broken) return `${head}\nThe answer holds NaN or ∞, so it says nothing: ✗ wrong.`;
  const said = one.chances.map(([name, chance]) => `${name} with ${percent(chance)}`);
  return `${head}\nThe network says ${said.join(", then ")}.\n${one.right ? "✓ Right." : "✗ Wrong."}`;
}

function confusionTitle({ classes, of, broken }) {
  const some = classes.length < of ? `, the ${classes.length} most confused of ${of}` : "";
  const lost = broken ? `; ${broken} answers are not finite` : "";
  return `Label (row) taken for (column)${some}${lost}`;
}

function filtersTitle(filters) {
  if (!filters) return "The first layer has no weights";
  const [many] = filters.shape;
  const some = many < filters.many ? `${many} of ${filters.many}` : many;
  return `${filters.name}: ${some}`;
}

/** The table of who is taken for whom, and its cells that hold something. */
function confusionNodes({ classes, confusion, totals }) {
  /** @type {HTMLElement[]} */
  const said = [];
  const rows = confusion.map((row, i) => {
    const total = totals[i];
    const cells = row.map((times, j) => {
      const node = el("td", { text: times || "" });
      if (!times) return node;
      node.dataset.right = String(i === j);
      node.style.setProperty("--share", (12 + (38 * times) / total).toFixed(0) + "%");
      const how = i === j ? "recognised" : `taken for ${classes[j]}`;
      node.dataset.say = `${classes[i]} ${how}: ${times} of ${total}`;
      said.push(node);
      return node;
    });
    return el("tr", {}, el("th", { text: classes[i], title: classes[i], scope: "row" }), ...cells);
  });
  const head = el("tr", {}, el("td"), ...classes.map((name) => el("th", { text: name, title: name })));
  return { table: el("table", {}, el("thead", {}, head), el("tbody", {}, ...rows)), said };
}

/** A row for each layer: weights, outputs, gradients. */
function layerNodes(health) {
  /** @type {HTMLElement[]} */
  const said = [];
  const layers = new Map();
  for (const [layer, kind, word, sentence] of health) {
    if (!layers.has(layer)) layers.set(layer, {});
    layers.get(layer)[kind] = { word, sentence };
  }
  const rows = [...layers].map(([layer, kinds]) => {
    const cells = KINDS.map((kind) => {
      const one = kinds[kind];
      const node = el("td", { text: one ? one.word || "✓" : "–" });
      if (!one) return node;
      node.dataset.sick = String(Boolean(one.word));
      node.dataset.say = one.sentence;
      said.push(node);
      return node;
    });
    const name = layer.replace(/^[^/]*\//, "");
    return el("tr", {}, el("th", { text: name, title: layer, scope: "row" }), ...cells);
  });
  const head = el("tr", {}, el("td"), ...KINDS.map((kind) => el("th", { text: kind })));
  return { table: el("table", {}, el("thead", {}, head), el("tbody", {}, ...rows)), said };
}

/** The mistake that is made most often: label, taken for, times. */
function mostConfused({ classes, confusion }) {
  let worst = null;
  confusion.forEach((row, i) =>
    row.forEach((times, j) => {
      if (i !== j && times > (worst?.[2] ?? 0)) worst = [classes[i], classes[j], times];
    }),
  );
  return worst;
}

/** What is broken, kind by kind. @param {[string, string, string, string][]} sick */
function sickWords(sick) {
  const groups = new Map();
  for (const [layer, kind, word] of sick) {
    const key = `${word} in the ${kind} of`;
    groups.set(key, [...(groups.get(key) ?? []), layer.replace(/^[^/]*\//, "")]);
  }
  return [...groups]
    .map(([key, layers]) => {
      const more = layers.length > 4 ? ` and ${layers.length - 3} more` : "";
      return `${key} ${layers.slice(0, more ? 3 : 4).join(", ")}${more}`;
    })
    .join(" · ");
}

/** @param {string} title @param {string} kind @param {Node[]} nodes */
function box(title, kind, nodes) {
  return el(
    "div",
    { class: `mx-seen-box ${kind}` },
    el("div", { class: "mx-seen-title", text: title }),
    el("div", { class: "mx-seen-row" }, ...nodes),
  );
}

/** @param {DataView} view */
function bytesOf(view) {
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}

export default {
  /** @param {{model: any, el: HTMLElement}} options */
  render({ model, el: host }) {
    const ending = new AbortController();
    const page = new DataPage({ model, el: host, signal: ending.signal });
    return () => {
      ending.abort();
      page.frame.root.remove();
    };
  },
};
