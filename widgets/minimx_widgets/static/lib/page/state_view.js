// The kernel's side of a view that is drawn from a widget's state: changes, answers,
// tables.

/**
 * A view of a state, as anywidget wants it.
 * @param {new (options: {model: any, el: HTMLElement, signal: AbortSignal}) => any} View
 * with `frame`
 * @param {object} more `names` of changes that call `changed`; `answers` to messages, by
 * kind, besides tables
 */
export function stateView(
  View,
  { names = ["change:state"], changed = (view) => view.update(), answers = {} } = {},
) {
  return {
    /** @param {{model: any, el: HTMLElement}} options */
    render({ model, el }) {
      const ending = new AbortController();
      const view = new View({ model, el, signal: ending.signal });
      const update = () => changed(view);
      const hear = (message) => {
        if (message.kind === "table") view.frame.setTable(message.html);
        if (message.kind === "source") view.frame.code?.show(message);
        if (message.kind === "answer") view.frame.code?.answered(message.ok);
        answers[message.kind]?.(view, message);
      };
      for (const name of names) model.on(name, update);
      model.on("msg:custom", hear);
      return () => {
        for (const name of names) model.off(name, update);
        model.off("msg:custom", hear);
        ending.abort();
        el.replaceChildren();
      };
    },
  };
}

/**
 * A view of a plan: its answers go to its `trials`.
 * @param {new (options: {model: any, el: HTMLElement, signal: AbortSignal}) => any} View
 */
export function plannedView(View) {
  return stateView(View, { answers: { answer: (view, message) => view.trials.hear(message) } });
}

/**
 * A view that listens to its model itself, under these names, until the page goes.
 * @param {new (options: {model: any, el: HTMLElement, signal: AbortSignal}) => any} View
 * @param {string[]} names
 */
export function listeningView(View, names) {
  return {
    /** @param {{model: any, el: HTMLElement}} options */
    render({ model, el }) {
      const ending = new AbortController();
      new View({ model, el, signal: ending.signal });
      return () => {
        for (const name of names) model.off(name);
        ending.abort();
        el.replaceChildren();
      };
    },
  };
}
