// The kernel's side of a view: frames in, acknowledgements out, one data set per model.

import { unpack } from "./columns.js";
import { watchKernel } from "./link.js";
import { storeOf } from "./store.js";

/** The phases of training; columns hold their numbers. */
export const PHASES = ["other", "data", "forward", "backward", "update", "evaluate"];

/**
 * What every view's data has: the string table, the marks of knob changes, the store.
 */
export class RunData {
  /** @param {any} model */
  constructor(model) {
    this.store = storeOf(model.get("run_id"));
    this.reset();
  }

  reset() {
    /** @type {string[]} */
    this.strings = [];
    /** @type {{t: number, name: string, old: string, new: string, scope: string}[]} */
    this.marks = [];
    this.header = { clock: "wall", live: false };
    /** How much of a long record has come, 0 to 1. */
    this.loaded = 1;
    /** @type {[number, number] | null} what was shown of a record that is still coming */
    this.fitted = null;
  }

  /**
   * A message of new rows. Views are notified once of what changed. Subclasses take their tables from `tables`.
   * @param {any} header
   * @param {Record<string, Record<string, any>>} tables
   */
  take(header, tables) {
    this.store.together(() => this.takeIn(header, tables));
  }

  /** @param {any} header @param {Record<string, Record<string, any>>} tables */
  takeIn(header, tables) {
    if (header.full) {
      this.reset();
      this.store.restart();
    }
    this.header = header;
    header.strings.forEach((text, i) => {
      this.strings[header.strings_from + i] = text;
    });
    this.marks.push(...header.knobs);
    this.loaded = header.loaded ?? 1;
    this.add(tables, header);
    if (header.live && !header.full) for (const mark of header.knobs) this.store.hold(mark.t);
    // Nothing more will come: show all of it, unless somebody is looking at a part.
    const short = this.store.follow && !this.store.own && this.store.range[0] <= 0;
    const range = this.store.range;
    const still = this.fitted !== null && this.fitted.every((value, i) => value === range[i]);
    if (!header.live && (header.full || short || still)) {
      this.fit();
      this.fitted = this.loaded < 1 ? [...this.store.range] : null;
    }
  }

  /** @param {Record<string, Record<string, any>>} _tables @param {any} _header */
  add(_tables, _header) {}

  /** Show everything that is known; for records that do not grow any more. */
  fit() {}
}

/**
 * A view fed by the kernel, as anywidget wants it: one data set per model, any number of
 * pictures of it.
 * @param {new (model: any) => any} Data
 * @param {new (options: {model: any, el: HTMLElement, data: any, signal: AbortSignal}) => any} View
 */
export function liveView(Data, View) {
  return () => {
    /** @type {Set<any>} */
    const views = new Set();
    /** @type {any} */
    let data;
    return {
      /** @param {{model: any}} options */
      initialize({ model }) {
        const ending = new AbortController();
        watchKernel(model, ending.signal, () => {}); // what is painted late is not sent
        data = new Data(model);
        const listen = (message, buffers) => receive(model, data, views, message, buffers);
        model.on("msg:custom", listen);
        const frozen = model.get("frozen");
        if (frozen?.length) listen(frozen[0], frozen[1]);
        else model.send({ kind: "hello" });
        return () => {
          model.off("msg:custom", listen);
          ending.abort();
        };
      },
      /** @param {{model: any, el: HTMLElement}} options */
      render({ model, el }) {
        const ending = new AbortController();
        const view = new View({ model, el, data, signal: ending.signal });
        views.add(view);
        view.update();
        return () => {
          views.delete(view);
          ending.abort();
          el.replaceChildren();
        };
      },
    };
  };
}

/**
 * @param {any} model @param {RunData} data @param {Set<any>} views
 * @param {any} message @param {DataView[]} buffers
 */
function receive(model, data, views, message, buffers) {
  if (message.kind === "frame") {
    const tables = {};
    let next = 0;
    for (const [name, layout] of Object.entries(message.tables)) {
      tables[name] = unpack(layout, buffers.slice(next, next + layout.length));
      next += layout.length;
    }
    data.take(message, tables);
    // Acknowledge what was painted, so that a slow or hidden page gets fewer frames.
    let painted = false;
    const acknowledge = () => {
      if (painted) return;
      painted = true;
      model.send({ kind: "ack", seq: message.seq });
    };
    for (const view of views) view.update(acknowledge);
  } else if (message.kind === "select") {
    data.store.set({ op: message.op, opTime: message.t });
  } else if (message.kind === "table") {
    for (const view of views) view.frame.setTable(message.html);
  } else if (message.kind === "source") {
    for (const view of views) view.frame.code?.show(message);
  } else if (message.kind === "block") {
    for (const view of views) view.hearBlock(message);
  } else if (message.kind === "answer") {
    for (const view of views) {
      view.hear(message);
      view.frame.code?.answered(message.ok);
    }
  }
}
