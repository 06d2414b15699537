// Stands for anywidget and the kernel, so that a view's module can be shown on an empty page.

/**
 * Show a view. `buffers` are base64 texts: the record that is frozen into its state.
 * @param {{esm: string, css: string, traits: Record<string, any>, buffers: string[] | null}} setting
 */
window.stand = async ({ esm, css, traits, buffers }) => {
  const style = document.createElement("style");
  style.textContent = css;
  document.head.append(style);
  if (buffers) traits.frozen = [traits.header, buffers.map(viewOf)];
  const sent = [];
  let listeners = [];
  const call = (/** @type {string} */ wanted, ...values) => {
    for (const [name, told] of [...listeners]) if (name === wanted) told(...values);
  };
  // The kernel as JupyterLab tells of it: signals, of which a view listens to some.
  const status = signal();
  const kernel = { statusChanged: status, connectionStatusChanged: signal(), disposed: signal() };
  const model = {
    widget_manager: { kernel },
    get: (name) => traits[name],
    on: (name, call) => listeners.push([name, call]),
    off: (name, told) => {
      listeners = listeners.filter(([known, one]) => known !== name || (told && one !== told));
    },
    set: (name, value) => {
      traits[name] = value;
      call(`change:${name}`);
    },
    save_changes: () => {
      window.stage.saved += 1;
    },
    send: (message) => sent.push(message),
  };
  window.stage = { saved: 0 };
  const blob = new Blob([esm], { type: "text/javascript" });
  const module = await import(URL.createObjectURL(blob));
  const made = typeof module.default === "function" ? module.default() : module.default;
  const host = document.createElement("div");
  document.body.append(host);
  const leave = made.initialize?.({ model });
  const clean = made.render({ model, el: host });
  Object.assign(window.stage, {
    sent,
    traits,
    tell: (message) => call("msg:custom", message, []),
    // New values of traits; how many milliseconds pass until they are painted.
    change: async (values) => {
      const began = performance.now();
      Object.assign(traits, values);
      for (const name of Object.keys(values)) call(`change:${name}`);
      await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
      return performance.now() - began;
    },
    host,
    kernel: (/** @type {string} */ state) => status.emit(state),
    listening: () => listeners.length,
    close: () => {
      clean();
      leave?.();
    },
  });
};

/** What listeners connect to, and `emit` calls. */
function signal() {
  /** @type {Set<(sender: any, value: any) => void>} */
  const listeners = new Set();
  return {
    connect: (listen) => listeners.add(listen),
    disconnect: (listen) => listeners.delete(listen),
    emit: (value) => {
      for (const listen of [...listeners]) listen(null, value);
    },
  };
}

/** @param {string} text base64 */
function viewOf(text) {
  return new DataView(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
}

/** Count the listeners that wait for their signal; name one that has none. */
window.countListeners = () => {
  window.held = 0;
  window.unbound = null;
  const { addEventListener } = EventTarget.prototype;
  EventTarget.prototype.addEventListener = function add(name, call, options) {
    const signal = options?.signal;
    if (signal) {
      window.held += 1;
      const ended = () => {
        window.held -= 1;
      };
      addEventListener.call(signal, "abort", ended, { once: true });
    } else if (!(this instanceof AbortSignal)) {
      window.unbound = `${name} on ${this}`;
    }
    return addEventListener.call(this, name, call, options);
  };
};
