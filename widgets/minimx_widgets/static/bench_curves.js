// Images per second over the batch size: measured points, their law, the document's machines.

import { el } from "./lib/page/dom.js";
import { cross, curve, paintAxes, scales } from "./lib/drawing/bench_paint.js";
import { Frame, tipHead, tipRow } from "./lib/page/frame.js";
import { bytes, percent } from "./lib/drawing/scale.js";
import { Surface } from "./lib/drawing/surface.js";
import { stateView } from "./lib/page/state_view.js";

const HELP =
  "How many images a network handles in a second, at growing batch sizes. Dots were measured on " +
  "this machine. The dashed line is the law t(b) = t0 + b · t1 that fits them: t0 is what every " +
  "batch pays, t1 what an image costs, so the speed saturates at 1 / t1. Pale lines are the " +
  "machines of MXNet's document. A cross marks a batch that the device had no memory for. Both " +
  "axes count by factors.";
/** @type {[string, string][]} */
const KEYS = [
  ["↑ ↓", "previous, next network"],
  ["← →", "smaller, larger batch"],
  ["T", "table"],
];

/** Images per second in three digits. @param {number} speed */
const said = (speed) =>
  speed < 100 ? `${Number(speed.toPrecision(3))}` : speed < 1e7 ? speed.toFixed(0) : speed.toExponential(2);
/** A time in words. @param {number} seconds */
const millis = (seconds) => `${Number((1e3 * seconds).toPrecision(3))} ms`;

class BenchCurves {
  constructor({ model, el: host, signal }) {
    this.model = model;
    this.batch = -1;
    this.frame = new Frame({
      el: host,
      model,
      title: "Images per second",
      name: "bench",
      help: HELP,
      keys: KEYS,
      signal,
      onkey: (event) => this.key(event),
      ontheme: () => {
        if (this.surface) this.update();
      },
    });
    this.choice = el("select", {
      class: "mx-select",
      title: "The network that is drawn",
      "aria-label": "Network",
      signal,
      onchange: () => this.choose(this.choice.selectedIndex),
    });
    this.frame.addTool(this.choice);
    this.surface = new Surface({
      parent: this.frame.picture,
      height: model.get("height"),
      signal,
      draw: (ctx, width, height) => this.draw(ctx, width, height),
    });
    this.surface.node.addEventListener("pointermove", (event) => this.hover(event), { signal });
    this.surface.node.addEventListener("pointerleave", () => this.point(-1), { signal });
    this.read();
  }

  /** What the kernel knows, and which network it shows. */
  read() {
    const { models } = this.model.get("state");
    this.models = models;
    this.shown = Math.max(
      0,
      models.findIndex((one) => one.model === this.model.get("model")),
    );
    this.choice.replaceChildren(...models.map((one) => el("option", { text: one.name })));
    this.update();
  }

  get network() {
    return this.models[this.shown];
  }

  /** @param {number} index */
  choose(index) {
    this.shown = Math.min(this.models.length - 1, Math.max(0, index));
    this.batch = -1;
    this.frame.hideTip();
    this.model.send({ kind: "show", model: this.network.model });
    this.update();
  }

  update() {
    const { network } = this;
    const { theme } = this.frame;
    this.choice.selectedIndex = this.shown;
    const speeds = network.cells.map((cell) => cell[1] ?? 0);
    const full = network.cells.filter((cell) => cell[2] === "oom");
    const best = Math.max(...speeds);
    this.frame.setNumbers([
      ["best", best ? `${said(best)} images/s` : "–"],
      ...(network.law
        ? [
            ["t0", millis(network.law[0])],
            ["t1", millis(network.law[1])],
            ["peak", `${said(1 / network.law[1])} images/s`],
            ["90 % from batch", said(network.law[2])],
            ["law off by", percent(network.law[3])],
          ]
        : []),
      ...(full.length ? [["OOM from batch", `${full[0][0]}`]] : []),
    ]);
    this.frame.setLegend([
      ["measured", theme.accent],
      ...(network.law ? [["t(b) = t0 + b · t1", theme.accent, "dash"]] : []),
      ["MXNet's document", theme.muted, "line"],
      ...(full.length ? [["✕ out of memory", theme.alert]] : []),
    ]);
    Object.assign(this.frame.root.dataset, {
      network: network.model,
      points: String(speeds.filter((speed) => speed > 0).length),
      oom: full.map((cell) => cell[0]).join(),
      machines: network.document.map((column) => column[0]).join(),
      batch: "",
      revision: "1",
    });
    this.frame.root.title = "";
    this.surface.invalidate();
  }

  draw(ctx, width, height) {
    const { network } = this;
    const { theme } = this.frame;
    const at = scales(network, width, height);
    paintAxes(ctx, at, theme, this.batch);
    this.drawDocument(ctx, at, theme);
    if (network.law) {
      const [t0, t1] = network.law;
      const known = network.cells.filter((cell) => cell[1]).map((cell) => cell[0]);
      const last = Math.min(at.batches[at.batches.length - 1], 4 * Math.max(...known));
      const points = Array.from({ length: 61 }, (_, k) => {
        const batch = known[0] * (last / known[0]) ** (k / 60);
        return [batch, batch / (t0 + batch * t1)];
      });
      curve(ctx, at, points, { ink: theme.accent, width: 1.8, dash: [6, 4] });
    }
    for (const [batch, speed, status] of network.cells) {
      if (speed) {
        ctx.fillStyle = theme.accent;
        ctx.beginPath();
        ctx.arc(at.x(batch), at.y(speed), batch === this.batch ? 6 : 4, 0, 2 * Math.PI);
        ctx.fill();
      } else if (status === "oom")
        cross(ctx, at.x(batch), at.bottom - 12, theme.alert, theme.font, "OOM");
    }
  }

  drawDocument(ctx, at, theme) {
    const labels = [];
    for (const [label, , speeds] of this.network.document) {
      const known = speeds.filter(([, speed]) => speed !== null);
      curve(ctx, at, known, { ink: theme.muted, width: 1.2, alpha: 0.5 });
      const [batch, speed] = known[known.length - 1];
      for (const [size, missing] of speeds)
        if (missing === null) cross(ctx, at.x(size), at.y(speed), theme.muted, theme.font);
      labels.push([at.y(speed), at.x(batch), label]);
    }
    ctx.font = `10.5px ${theme.font}`;
    ctx.textAlign = "left";
    ctx.textBaseline = "middle";
    ctx.fillStyle = theme.muted;
    ctx.strokeStyle = theme.paper;
    ctx.lineWidth = 4;
    const lowest = new Map(); // of the labels at one end
    for (const [y, x, label] of labels.sort((a, b) => b[0] - a[0])) {
      const place = Math.min(y, (lowest.get(x) ?? Infinity) - 12);
      lowest.set(x, place);
      ctx.strokeText(label, x + 9, place);
      ctx.fillText(label, x + 9, place);
    }
  }

  hover(event) {
    const at = scales(this.network, this.surface.width, this.surface.height);
    const { x } = this.surface.place(event);
    const far = (batch) => Math.abs(at.x(batch) - x);
    this.point(at.batches.reduce((a, b) => (far(b) < far(a) ? b : a)));
  }

  /** Say all that is known about a batch size; -1 for none. @param {number} batch */
  point(batch) {
    if (batch === this.batch) return;
    this.batch = batch;
    this.frame.root.dataset.batch = batch < 0 ? "" : String(batch);
    this.surface.invalidate();
    if (batch < 0) return this.frame.hideTip();
    const { network } = this;
    const at = scales(network, this.surface.width, this.surface.height);
    const cell = network.cells.find((one) => one[0] === batch);
    const lines = [tipHead(`batch ${batch}`, this.frame.theme.accent)];
    if (cell) {
      const [, speed, status, peak] = cell;
      lines.push(tipRow("here", speed ? `${said(speed)} images/s` : status));
      if (peak) lines.push(tipRow("memory", bytes(peak)));
    }
    if (network.law) {
      const [t0, t1] = network.law;
      lines.push(tipRow("law", `${said(batch / (t0 + batch * t1))} images/s`));
    }
    for (const [label, , speeds] of network.document) {
      const found = speeds.find(([size]) => size === batch);
      if (found) lines.push(tipRow(label, found[1] === null ? "OOM" : said(found[1])));
    }
    this.frame.showTip(at.x(batch), 20, lines, this.surface.node);
  }

  key(event) {
    const { batches } = scales(this.network, this.surface.width, this.surface.height);
    if (event.key === "ArrowDown" || event.key === "ArrowUp")
      this.choose(this.shown + (event.key === "ArrowDown" ? 1 : -1));
    else if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
      const step = event.key === "ArrowRight" ? 1 : -1;
      const next = batches.indexOf(this.batch) + step;
      this.point(batches[Math.min(batches.length - 1, Math.max(0, next))]);
    } else return false;
    return true;
  }
}

export default stateView(BenchCurves, {
  names: ["change:state", "change:model"],
  changed: (view) => view.read(),
});
