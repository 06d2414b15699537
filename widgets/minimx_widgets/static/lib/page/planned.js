// The kernel's side of a view of graphs: one state at a time, answers, tables.

/**
 * A view of a plan, as anywidget wants it.
 * @param {new (options: {model: any, el: HTMLElement, signal: AbortSignal}) => any} View
 * with `update()` for a new state, `frame`, and `trials`
 */
export function plannedView(View) {
  return {
    /** @param {{model: any, el: HTMLElement}} options */
    render({ model, el }) {
      const ending = new AbortController();
      const view = new View({ model, el, signal: ending.signal });
      const update = () => view.update();
      const hear = (message) => {
        if (message.kind === "table") view.frame.setTable(message.html);
        else if (message.kind === "answer") view.trials.hear(message);
      };
      model.on("change:state", update);
      model.on("msg:custom", hear);
      view.update();
      return () => {
        model.off("change:state", update);
        model.off("msg:custom", hear);
        ending.abort();
        el.replaceChildren();
      };
    },
  };
}
