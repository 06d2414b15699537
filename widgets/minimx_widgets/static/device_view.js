// What every device did: its workers, streams and copies, and what crossed which link.

import { Columns } from "./lib/data/columns.js";
import { CAPACITY, EngineData, OPS } from "./lib/engine/engine_data.js";
import { EngineView, TOP } from "./lib/engine/engine_view.js";
import { tipHead, tipRow } from "./lib/page/frame.js";
import { liveView } from "./lib/data/live.js";
import { bytes, count, duration, percent } from "./lib/drawing/scale.js";

const HEAD = 17; // pixels of a device's name above its lanes
const LANE = 9; // pixels of a lane where there is no room for all
const HELP =
  "The lanes of every device, and below them the links between devices. A GPU has workers, " +
  "each with a stream of its own, and lanes for copies; a copy keeps its link busy for as " +
  "long as its bytes need. The per cent is the busy share of the visible stretch. Click a " +
  "copy or its bar on the link: both are one operation. A link that is busy all the time is " +
  "what the devices wait for.";

class DeviceData extends EngineData {
  reset() {
    super.reset();
    this.ops = new Columns({ ...OPS, bytes: "f8" }, CAPACITY);
    /** @type {string[]} lanes in the order in which they are drawn */
    this.order = [];
    /** @type {Map<string, [string, string]>} lane -> its device and what it is called */
    this.places = new Map();
    /** How many rows are stretches of a link, and the bytes that they brought. */
    this.crossings = 0;
    this.sent = 0;
  }

  add({ ops, deps, links }, header) {
    for (const [lane, group, label] of header.places ?? []) {
      if (!this.places.has(lane)) this.order = header.places.map((place) => place[0]);
      this.places.set(lane, [group, label]);
    }
    if (links?.op.length) this.cross(links);
    if (ops) ops.bytes = new Float64Array(ops.op.length);
    super.add({ ops, deps }, header);
  }

  /** Stretches of links, as rows that belong to the operations of their copies. */
  cross(links) {
    const n = links.op.length;
    this.crossings += n;
    this.sent += links.bytes.reduce((sum, more) => sum + more, 0);
    const lane = Uint16Array.from(links.src, (src, i) =>
      this.laneNamed(`${this.strings[src]} → ${this.strings[links.dst[i]]}`),
    );
    const none = new Float64Array(n).fill(Number.NaN); // no tick in the push lane
    this.addOps({
      ...links,
      lane,
      failed: new Uint8Array(n),
      holds: new Uint8Array(n),
      push: none,
      ready: links.start,
      forward: new Uint32Array(n),
      priority: new Int32Array(n),
    });
  }

  compare(a, b) {
    return this.order.indexOf(this.lanes[a]) - this.order.indexOf(this.lanes[b]);
  }

  label(lane) {
    return this.places.get(this.lanes[lane])?.[1] ?? this.lanes[lane];
  }

  group(lane) {
    return this.places.get(this.lanes[lane])?.[0] ?? "";
  }
}

class DeviceView extends EngineView {
  about() {
    return { title: "Devices", name: "devices", help: HELP };
  }

  arrange() {
    const high = this.laneHeight;
    this.tops = new Map();
    /** @type {[string, number][]} */
    this.heads = [];
    let y = TOP;
    let before = "";
    for (const lane of this.lanes) {
      const group = this.data.group(lane);
      if (group !== before && lane !== 0) {
        this.heads.push([group, y]);
        y += HEAD;
      }
      before = group;
      this.tops.set(lane, y);
      y += high;
    }
    this.end = Math.max(y, TOP + 2 * high);
  }

  /** Without the names of the devices, which have lines of their own. */
  room(lanes) {
    const groups = lanes.map((lane) => this.data.group(lane));
    const heads = groups.filter((group, i) => lanes[i] !== 0 && group !== groups[i - 1]).length;
    return Math.max(HEAD, super.room(lanes) - HEAD * heads);
  }

  /** The lanes for which there is room: of each device the busiest first, then of each the
   * next. The name of a device takes room as well. */
  fitting(lanes, used) {
    const first = (lane) => lane === 0 || this.pinned.has(lane);
    const place = new Map(); // which of its device a lane is, by how busy they are
    const seen = new Map();
    for (const lane of [...lanes].sort((a, b) => used[b] - used[a])) {
      const group = this.data.group(lane);
      place.set(lane, first(lane) ? -1 : (seen.get(group) ?? 0));
      seen.set(group, (seen.get(group) ?? 0) + 1);
    }
    const kept = new Set();
    const groups = new Set();
    let room = super.room(lanes);
    for (const lane of [...lanes].sort((a, b) => place.get(a) - place.get(b))) {
      const group = this.data.group(lane);
      room -= LANE + (lane === 0 || groups.has(group) ? 0 : HEAD);
      if (room < 0 && !first(lane)) break;
      groups.add(group);
      kept.add(lane);
    }
    this.folded = lanes.length - kept.size;
    return lanes.filter((lane) => kept.has(lane));
  }

  draw(ctx, width, height) {
    super.draw(ctx, width, height);
    ctx.font = `600 11px ${this.theme.font}`;
    ctx.textAlign = "left";
    ctx.textBaseline = "middle";
    ctx.fillStyle = this.theme.muted;
    for (const [group, y] of this.heads) ctx.fillText(group, 2, y + HEAD / 2 - 1);
  }

  isLink(row) {
    return this.data.ops.at.bytes[row] > 0;
  }

  describe(row) {
    if (!this.isLink(row)) return super.describe(row);
    const { at } = this.data.ops;
    const took = at.end[row] - at.start[row];
    return [
      tipHead(this.data.lanes[at.lane[row]], this.palette[this.colourOf(row) % this.palette.length]),
      tipRow("sent", bytes(at.bytes[row])),
      tipRow("took", duration(took)),
      tipRow("speed", `${(at.bytes[row] / took).toPrecision(3)} GB/s`),
      tipRow("operation", `#${at.op[row]}`),
    ];
  }

  numbers(total, workers, mean) {
    const { data } = this;
    const grouped = (lanes) => {
      const found = new Set(lanes.map((lane) => data.group(lane)));
      for (const other of ["links", "program", ""]) found.delete(other);
      return found.size;
    };
    const all = grouped([...data.lanes.keys()]);
    const shown = grouped(workers);
    Object.assign(this.frame.root.dataset, {
      groups: this.heads.map(([group]) => group).join("|"),
      crossings: data.crossings,
    });
    return [
      ["operations", count(total - data.crossings)],
      ["devices", this.folded && shown < all ? `${shown} of ${all}` : `${shown}`],
      ["busy", percent(mean)],
      ["sent", bytes(data.sent)],
    ];
  }
}

export default liveView(DeviceData, DeviceView);
