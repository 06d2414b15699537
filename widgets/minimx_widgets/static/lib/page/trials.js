// The controls of a view that tries settings: a row of knobs that are not turned.

import { button, el } from "./dom.js";
import { control } from "./knob_controls.js";

/** Knobs in few words. @type {Record<string, string>} */
const SHORT = {
  MXNET_NODE_ELIMINATION: "drop no-ops",
  MXNET_ELIMINATE_COMMON_EXPR: "merge equals",
  MXNET_USE_FUSION: "fuse",
  MXNET_BACKWARD_DO_MIRROR: "mirror",
  MXNET_BACKWARD_MIRROR_STEP: "mirror step",
  MINIMX_MIRROR: "mirror by",
  NNVM_EXEC_MATCH_RANGE: "match range",
  NNVM_AUTO_SEARCH_MATCH_RANGE: "search range",
  MXNET_EXEC_ENABLE_INPLACE: "in place",
  NNVM_EXEC_NUM_TEMP: "colours",
  MXNET_MEMORY_OPT: "memory opt",
  MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_FWD: "join forward",
  MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_BWD: "join backward",
  MINIMX_SIM_GPU_MEMORY: "capacity",
  MXNET_KVSTORE_BIGARRAY_BOUND: "big array",
  MXNET_KVSTORE_TREE_ARRAY_BOUND: "tree slices",
  MXNET_KVSTORE_SLICE_THRESHOLD: "p3 slice",
  MXNET_KVSTORE_REDUCE_BUCKET_SIZE: "bucket KiB",
  MXNET_KVSTORE_REDUCTION_NTHREADS: "sum threads",
  MXNET_UPDATE_ON_KVSTORE: "update in store",
};
for (const device of ["CPU", "GPU", "CPU_PINNED"]) {
  SHORT[`MXNET_${device}_MEM_POOL_TYPE`] = "pool";
  SHORT[`MXNET_${device}_MEM_POOL_PAGE_SIZE`] = "page";
  SHORT[`MXNET_${device}_MEM_POOL_RESERVE`] = "reserve %";
  SHORT[`MXNET_${device}_MEM_LARGE_ALLOC_ROUND_SIZE`] = "large rounding";
  SHORT[`MXNET_${device}_MEM_POOL_ROUND_LINEAR_CUTOFF`] = "cutoff";
}

/** A row of controls that sends what is tried, shows what is in force, and why not. */
export class Trials {
  /**
   * @param {{model: any, frame: any, signal: AbortSignal}} options
   */
  constructor({ model, frame, signal }) {
    this.model = model;
    this.frame = frame;
    this.controls = new Map();
    this.node = el("div", { class: "mx-trials", role: "group", "aria-label": "What if" });
    for (const knob of model.get("declared")) this.add(knob, signal);
    this.back = button({
      label: "",
      icon: "reset",
      title: "Back to the knobs in force (X)",
      signal,
      onclick: () => this.reset(),
    });
    this.code = "";
    this.copy = button({
      label: "",
      icon: "copy",
      title: "Copy what is tried as code",
      signal,
      onclick: () => {
        frame.root.dataset.code = this.code;
        frame.copy(this.code, "What is tried, as code");
      },
    });
    this.said = el("span", { class: "mx-trials-said", role: "status" });
    this.node.append(this.back, this.copy, this.said);
    frame.picture.append(this.node);
  }

  add(knob, signal) {
    const made = control(knob, signal, (text) => {
      this.frame.setNote("");
      this.model.send({ kind: "set", name: knob.name, text });
    });
    const node = el(
      "div",
      {
        class: "mx-trial",
        title: `${knob.name}: ${knob.meaning.replaceAll("`", "")}`,
        data: { trial: knob.name },
      },
      el("span", { class: "mx-trial-name", text: SHORT[knob.name] ?? knob.name }),
      made.node,
    );
    this.controls.set(knob.name, { ...made, root: node });
    this.node.append(node);
  }

  reset() {
    this.model.send({ kind: "reset" });
  }

  /** Show the values of a state. @param {any} state */
  show(state) {
    this.node.hidden = state.live === false || this.controls.size === 0;
    for (const [name, { show, busy, root }] of this.controls) {
      const text = state.values[name];
      if (text !== undefined && !busy()) show(text);
      root.dataset.tried = String(state.tried.includes(name));
      root.dataset.value = text;
    }
    this.back.disabled = state.tried.length === 0;
    const words = state.tried.length
      ? "what if · no knob is turned"
      : (state.said ?? "the knobs in force");
    this.said.textContent = words;
    this.code = state.code;
    this.copy.disabled = state.tried.length === 0;
  }

  /** What the kernel says to a wish. @param {any} message */
  hear(message) {
    if (!message.ok) this.frame.setNote(message.text, "error");
    else if (message.text !== undefined) this.frame.setNote("");
  }
}
