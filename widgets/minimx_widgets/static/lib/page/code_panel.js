// The lines of the running package that act on what a view shows, below the view.

import { button, el } from "./dom.js";

/** The message where a view shows nothing of which there is source. */
const NOTHING = "Select something first: click it, or use the arrow keys.";
/** The message where a view has source of refusals alone. */
export const NO_REFUSAL = "Nothing was refused here.";

/** Asks the kernel for source, and shows what it sends until it is closed. */
export class CodePanel {
  /**
   * @param {{model: any, frame: any, signal: AbortSignal, title?: string,
   *   what?: () => object | string | null, refusals?: boolean}} options `what` says what is selected, as the
   *   kernel is asked for it, or in words why there is none; with it the view has a button,
   *   called `title`, and the key O. `refusals` says that there is source of nothing but
   *   refusals: then the button is there after one
   */
  constructor({ model, frame, signal, title = "", what, refusals = false }) {
    this.model = model;
    this.frame = frame;
    this.what = refusals ? () => NO_REFUSAL : what;
    this.refusals = refusals;
    /** Whether something was refused since: the source of that comes first. */
    this.refused = false;
    if (this.what) {
      frame.code = this;
      this.words = `${title} (O)`;
      this.button = button({
        label: "",
        icon: "code",
        title: this.words,
        signal,
        onclick: () => this.open(),
      });
      this.button.hidden = refusals;
      frame.addTool(this.button);
    }
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

  /** Show what the kernel has on the last refusal, else on what is selected. */
  open() {
    if (!this.frame.live) {
      this.show({ name: "nothing", error: this.frame.unasked("Source") });
      return;
    }
    if (this.refused) {
      if (!this.refusals) this.answered(true);
      this.ask({ error: true });
      return;
    }
    const what = this.what?.() ?? NOTHING;
    if (typeof what === "string") this.show({ name: "nothing", error: what });
    else this.ask(what);
  }

  /** The kernel did what was wanted, or refused. @param {boolean} ok */
  answered(ok) {
    this.refused = !ok;
    if (!this.button) return;
    const title = ok ? this.words : "Source of the refusal (O)";
    this.button.title = title;
    this.button.setAttribute("aria-label", title);
    this.button.dataset.refused = String(!ok);
    if (this.refusals) this.button.hidden = ok;
  }

  /** @param {object} what for the kernel */
  ask(what) {
    this.model.send({ kind: "source", ...what });
  }

  /** @param {{name: string, pieces?: any[], error?: string}} message */
  show({ name, pieces = [], error = "" }) {
    this.title.textContent = `Source: ${name}`;
    this.pieces.replaceChildren(
      ...(error ? [el("p", { class: "mx-field-error", text: error })] : []),
      ...pieces.flatMap(piece),
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
