// What is set on a page is kept in traits of the view: a page that is loaded anew finds it
// there, and the state string is written from it, also without a kernel.

const WAIT = 300; // milliseconds in which several changes become one message

/** The pictures of each model. @type {WeakMap<object, Set<Kept>>} */
const pictures = new WeakMap();

/** The traits in which a picture keeps what is set on it. */
export class Kept {
  /**
   * @param {{model: any, signal: AbortSignal,
   *   parts: Record<string, {get: () => any, set: (value: any) => void}>}} options
   * `get` says how a part is shown, `set` shows it otherwise; by name of the trait
   */
  constructor({ model, signal, parts }) {
    this.model = model;
    this.parts = parts;
    /** How each part was when trait and picture last agreed. @type {Record<string, string>} */
    this.agreed = {};
    /** What was changed here and is not sent yet. @type {Set<string>} */
    this.unsent = new Set();
    this.ready = false;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.saving = undefined;
    for (const name of Object.keys(parts)) {
      const changed = () => {
        if (!this.ready) return;
        // The kernel repeats what it was sent. What was set since then counts.
        if (!this.unsent.has(name)) return this.show(name);
        const ours = parts[name].get();
        if (JSON.stringify(model.get(name)) !== JSON.stringify(ours)) model.set(name, ours);
      };
      model.on(`change:${name}`, changed);
      signal.addEventListener("abort", () => model.off(`change:${name}`, changed), { once: true });
    }
    const all = pictures.get(model) ?? new Set();
    pictures.set(model, all.add(this));
    const end = () => {
      clearTimeout(this.saving);
      all.delete(this);
    };
    signal.addEventListener("abort", end, { once: true });
  }

  /** Something was drawn: the first time, bring back what the traits say; later, keep what
   * was changed. */
  note() {
    if (!this.ready) {
      this.ready = true;
      for (const name of Object.keys(this.parts)) this.show(name);
      return;
    }
    for (const [name, part] of Object.entries(this.parts)) {
      const value = part.get();
      const text = JSON.stringify(value);
      if (text === this.agreed[name]) continue;
      this.agreed[name] = text;
      if (text === JSON.stringify(this.model.get(name))) continue;
      this.unsent.add(name);
      this.model.set(name, value);
      this.saving ??= setTimeout(() => {
        this.saving = undefined;
        this.unsent.clear();
        this.model.save_changes();
      }, WAIT);
    }
  }

  /** Show a part as its trait says. @param {string} name */
  show(name) {
    const part = this.parts[name];
    const wanted = this.model.get(name);
    // A page that was stored by another version may lack the trait.
    if (wanted !== undefined && JSON.stringify(part.get()) !== JSON.stringify(wanted))
      part.set(wanted);
    this.agreed[name] = JSON.stringify(part.get());
  }
}

const UNSAFE = /[%&\s\u0000-\u001f\u007f]/g;

/** A value as text, as `saving/state_text.py` writes it. @param {any} value */
function written(value) {
  let text = JSON.stringify(value);
  if (typeof value === "string") {
    try {
      JSON.parse(value);
    } catch {
      text = value;
    }
  }
  return text.replace(UNSAFE, (one) => encodeURIComponent(one));
}

/** What is set in a view, as one short string. @param {any} model */
export function stateString(model) {
  // What was set a moment ago may not be drawn yet.
  for (const one of pictures.get(model) ?? []) if (one.ready) one.note();
  const { view, version, usual, more } = model.get("keeps");
  const parts = Object.entries(usual)
    .map(([name, value]) => [name, model.get(name), value])
    .filter(([, now, value]) => JSON.stringify(now) !== JSON.stringify(value))
    .map(([name, now]) => [name, now]);
  const pairs = [...parts, ...Object.entries(more)].map(
    ([name, value]) => `${name}=${written(value)}`,
  );
  return `${view}:${version}${pairs.length ? "?" : ""}${pairs.join("&")}`;
}
