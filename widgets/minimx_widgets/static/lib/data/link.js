// Whether the kernel that holds a view's numbers is still there, and what to say if not.
//
// A kernel that restarts takes its widgets along, and nothing brings them back: a new one
// has other widgets, which running the cell makes. A broken connection may come back.

export const LIVE = "live";
export const AWAY = "away";
export const GONE = "gone";

/** What is said in a state. @type {Record<string, string>} */
export const WORDS = {
  [LIVE]: "",
  [AWAY]: "No connection to the kernel. It may still train; the page tries to find it again.",
  [GONE]: "The kernel is gone, and the training with it. Run the cell again.",
};

// What JupyterLab calls the states of a kernel, and of the connection to it.
const ENDED = ["restarting", "autorestarting", "terminating", "dead"];
/** @type {Record<string, string>} */
const CONNECTION = { connected: LIVE, connecting: AWAY, disconnected: AWAY };

/**
 * Call `changed` with every new state of the kernel behind `model`. Messages to one that
 * is not there are dropped; JupyterLab would throw.
 * @param {any} model as anywidget hands it to `render` @param {AbortSignal} signal
 * @param {(state: string) => void} changed
 */
export function watchKernel(model, signal, changed) {
  let state = LIVE;
  const send = model.send;
  model.send = (/** @type {any[]} */ ...message) => {
    if (state !== LIVE) return;
    try {
      send(...message);
    } catch (error) {
      // A restart closes the channel to a widget before the kernel's status tells of it.
      if (!(error instanceof Error) || error.message !== "Cannot send") throw error;
      become(GONE);
    }
  };
  const save = model.save_changes;
  model.save_changes = () => state === LIVE && save?.();
  const become = (/** @type {string | undefined} */ next) => {
    if (!next || next === state || state === GONE) return;
    state = next;
    changed(state);
  };
  const kernel = model.widget_manager?.kernel;
  if (!kernel) return; // a page without JupyterLab
  /** @type {[any, (sender: any, value: any) => void][]} */
  const listeners = [
    [kernel.statusChanged, (_, status) => become(ENDED.includes(status) ? GONE : undefined)],
    [kernel.connectionStatusChanged, (_, status) => become(CONNECTION[status])],
    [kernel.disposed, () => become(GONE)],
  ];
  for (const [event, listen] of listeners) event?.connect(listen);
  signal.addEventListener("abort", () => {
    for (const [event, listen] of listeners) event?.disconnect(listen);
  });
}
