// The lines of the running package that act on what a view shows, below the view.

import { button, el } from "./dom.js";

/** Asks the kernel for source, and shows what it sends until it is closed. */
export class CodePanel {
  /** @param {{model: any, frame: any, signal: AbortSignal}} options */
  constructor({ model, frame, signal }) {
    this.model = model;
    this.frame = frame;
    this.title = el("b", {});
    this.pieces = el("div", { class: "mx-lines", tabindex: "0" });
    this.root = el(
      "section",
      {
        class: "mx-code-panel",
        hidden: true,
        signal,
        "aria-label": "Source",
        onkeydown: (event) => {
          if (event.key === "Escape") this.close();
        },
      },
      el(
        "div",
        { class: "mx-help-head" },
        this.title,
        button({ label: "Close", title: "Close the source (Esc)", signal, onclick: () => this.close() }),
      ),
      this.pieces,
    );
    frame.root.append(this.root);
  }

  /** @param {object} what for the kernel */
  ask(what) {
    this.model.send({ kind: "source", ...what });
  }

  /** @param {{name: string, pieces?: any[], error?: string}} message */
  show({ name, pieces = [], error = "" }) {
    this.title.textContent = `Source: ${name}`;
    this.pieces.replaceChildren(
      ...(error ? [el("p", { class: "mx-field-error", text: error })] : pieces.flatMap(piece)),
    );
    this.root.hidden = false;
    this.frame.root.dataset.source_of = name;
    const mark = this.pieces.querySelector("mark");
    const down = mark ? mark.offsetTop - this.pieces.offsetTop : 0;
    this.pieces.scrollTop = down > this.pieces.clientHeight - 60 ? down - 60 : 0;
    this.pieces.focus({ preventScroll: true });
    this.root.scrollIntoView({ block: "nearest" });
  }

  close() {
    if (this.root.hidden) return;
    this.root.hidden = true;
    this.frame.root.dataset.source_of = "";
    this.frame.root.focus({ preventScroll: true });
  }
}

/** One stretch of a file: where it is, why it is shown, and its lines. */
function piece({ place, why, lines }) {
  return [
    el("p", {}, el("code", { text: place }), ` ${why}`),
    el(
      "pre",
      {},
      ...lines.map(([number, text, marked]) =>
        el(
          marked ? "mark" : "span",
          { class: "mx-line" },
          el("i", { text: String(number), "aria-hidden": "true" }),
          `${text}\n`,
        ),
      ),
    ),
  ];
}
