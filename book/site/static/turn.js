// Pages on which a reader turns knobs. Policies of minimx answer, in Python in the
// browser; where that cannot be, frames that were computed when the book was built.
"use strict";

(() => {
  const base = new URL("turn/", document.currentScript.src).href;
  const worker = new URL("turn-worker.js", document.currentScript.src).href;
  const SVG = "http://www.w3.org/2000/svg";
  const WIDTH = 720;
  const UNITS = ["B", "KiB", "MiB", "GiB"];
  let numbers = 0;

  /** An element with attributes and children. */
  const made = (name, attributes = {}, ...children) => {
    const found = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) found.setAttribute(key, value);
    found.append(...children);
    return found;
  };
  const drawn = (name, attributes = {}, text = "") => {
    const found = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) found.setAttribute(key, value);
    if (text) found.textContent = text;
    return found;
  };

  const bytes = (value) => {
    let power = 0;
    while (value >= 1024 && power < UNITS.length - 1) {
      value /= 1024;
      power += 1;
    }
    return `${Number(value.toFixed(1))} ${UNITS[power]}`;
  };
  const shown = ({ unit }, value) => {
    if (unit === "bytes") return bytes(value);
    if (unit === "power of two") return `2**${value}`;
    return unit ? `${value} ${unit}` : String(value);
  };

  // -- controls --------------------------------------------------------------------

  /** The control of a knob: a switch, a choice or a slider over some values. */
  class Knob {
    constructor(setting, turn) {
      this.setting = setting;
      this.values = setting.framed;
      this.value = setting.start;
      const id = `mx-turn-${setting.knob}`;
      const { knob } = setting;
      const isSwitch = setting.values.every((value) => typeof value === "boolean");
      const isText = setting.values.some((value) => typeof value === "string");
      if (isSwitch) this.input = made("input", { id, type: "checkbox", role: "switch" });
      else if (isText) this.input = made("select", { id });
      else this.input = made("input", { id, type: "range", min: 0, step: 1 });
      this.input.dataset.knob = knob;
      this.said = made("output", { for: id });
      const label = made("label", { for: id }, setting.label);
      const place = `knobs.html#${knob.toLowerCase().replaceAll("_", "-")}`;
      const link = made("a", { href: new URL(`../${place}`, location.href).href }, knob);
      this.row = made("div", { class: "mx-turn-knob" }, label, this.input, this.said, link);
      this.input.addEventListener("input", () => {
        this.value = this.read();
        this.show();
        turn();
      });
      this.offer(this.values);
    }

    read() {
      if (this.input.type === "checkbox") return this.input.checked;
      if (this.input.type === "range") return this.values[Number(this.input.value)];
      return this.values[this.input.selectedIndex];
    }

    /** Other values, of which the one that is set stays. */
    offer(values) {
      this.values = values;
      const place = Math.max(values.indexOf(this.value), 0);
      this.value = values[place];
      if (this.input.type === "range") {
        this.input.max = values.length - 1;
        this.input.value = place;
      } else if (this.input.type === "checkbox") this.input.checked = this.value;
      else {
        this.input.replaceChildren(...values.map((v) => made("option", {}, String(v))));
        this.input.selectedIndex = place;
      }
      this.show();
    }

    show() {
      const isSelect = this.input.tagName === "SELECT";
      const text = this.input.type === "checkbox" ? (this.value ? "on" : "off") : "";
      this.said.textContent = isSelect ? "" : text || shown(this.setting, this.value);
      if (this.input.type === "range") {
        this.input.setAttribute("aria-valuetext", this.said.textContent);
      }
    }
  }

  // -- pictures --------------------------------------------------------------------

  /** Curves over the steps of a program, in bytes. */
  const curves = (found, most) => {
    const height = 200;
    const names = Object.keys(found);
    const top = Math.max(1, ...names.flatMap((name) => found[name])) * 1.1;
    const svg = drawn("svg", { viewBox: `0 -14 ${WIDTH} ${height + 38}`, role: "img" });
    const title = names
      .map((name) => `${name}: at most ${bytes(Math.max(...found[name]))}`)
      .join("; ");
    svg.append(drawn("title", {}, title));
    const y = (value) => height - (value / top) * height;
    names.forEach((name, which) => {
      const step = WIDTH / found[name].length;
      let path = "";
      found[name].forEach((value, at) => {
        path += `${at ? "V" : "M0 "}${y(value).toFixed(1)}H${((at + 1) * step).toFixed(1)}`;
      });
      svg.append(drawn("path", { d: path, class: `mx-turn-line mx-turn-${which}` }));
      const x = 4 + which * 180;
      svg.append(drawn("rect", { x, y: height + 9, width: 18, height: 4, class: `mx-turn-box mx-turn-${which}` }));
      svg.append(drawn("text", { x: x + 24, y: height + 16 }, name));
    });
    if (most <= top) {
      svg.append(drawn("path", { d: `M0 ${y(most)}H${WIDTH}`, class: "mx-turn-limit" }));
      const text = `memory of the GPU: ${bytes(most)}`;
      svg.append(drawn("text", { x: WIDTH - 4, y: y(most) - 4, "text-anchor": "end" }, text));
    }
    svg.append(drawn("path", { d: `M0 ${height}H${WIDTH}`, class: "mx-turn-axis" }));
    const end = { x: WIDTH - 4, y: height + 16, "text-anchor": "end" };
    svg.append(drawn("text", end, "steps of the program →"));
    return svg;
  };

  /** A lane for each worker, with what ran when. */
  const lanes = (found, longest) => {
    const [height, left] = [22, 92];
    const box = `0 0 ${WIDTH} ${found.length * height + 22}`;
    const svg = drawn("svg", { viewBox: box, role: "img" });
    svg.append(drawn("title", {}, `What ran when, on ${found.length} workers`));
    const scale = (WIDTH - left) / longest;
    const kinds = new Map();
    found.forEach(([name, ran], lane) => {
      svg.append(drawn("text", { x: 0, y: lane * height + 15 }, name));
      for (const [operation, start, end] of ran) {
        if (!kinds.has(operation)) kinds.set(operation, kinds.size % 3);
        const mark = drawn("rect", {
          x: left + start * scale,
          y: lane * height + 3,
          width: Math.max((end - start) * scale, 0.6),
          height: height - 6,
          class: `mx-turn-box mx-turn-${kinds.get(operation)}`,
        });
        mark.append(drawn("title", {}, `${operation}: ${(end - start) / 1e3} µs`));
        svg.append(mark);
      }
    });
    const y = found.length * height;
    svg.append(drawn("path", { d: `M${left} ${y}H${WIDTH}`, class: "mx-turn-axis" }));
    const end = { x: WIDTH - 4, y: y + 16, "text-anchor": "end" };
    svg.append(drawn("text", end, `${(longest / 1e6).toFixed(1)} ms`));
    return svg;
  };

  /** Bars of bytes, each with its name and its number. */
  const bars = (title, found) => {
    const [height, left] = [20, 60];
    const box = `0 0 ${WIDTH} ${found.length * height + 4}`;
    const svg = drawn("svg", { viewBox: box, role: "img" });
    svg.append(drawn("title", {}, title));
    const scale = (WIDTH - left - 90) / Math.max(1, ...found.map(([, value]) => value));
    found.forEach(([name, value], row) => {
      const y = row * height;
      const width = Math.max(value * scale, 1);
      svg.append(drawn("text", { x: left - 10, y: y + 14, "text-anchor": "end" }, name));
      svg.append(drawn("rect", { x: left, y: y + 3, width, height: height - 6, class: "mx-turn-box mx-turn-0" }));
      svg.append(drawn("text", { x: left + width + 8, y: y + 14 }, bytes(value)));
    });
    return made("figure", {}, made("figcaption", {}, title), svg);
  };

  const picture = (answer) => {
    const found = made("div", { class: "mx-turn-picture" });
    if (answer.curves) found.append(curves(answer.curves, answer.most));
    if (answer.lanes) found.append(lanes(answer.lanes, answer.longest));
    for (const [title, rows] of Object.entries(answer.bars ?? {})) {
      found.append(bars(title, rows));
    }
    return found;
  };

  // -- a page ----------------------------------------------------------------------

  class Page {
    constructor(place, name, setting) {
      Object.assign(this, { place, name, setting });
      this.knobs = setting.controls.map((one) => new Knob(one, () => this.turn()));
      this.note = made("p", { class: "mx-turn-note", role: "status" });
      this.error = made("p", { class: "mx-turn-error", role: "alert" });
      this.error.hidden = true;
      this.figures = made("dl", { class: "mx-turn-figures" });
      this.picture = made("div");
      const form = made("form", {}, ...this.knobs.map((knob) => knob.row));
      form.addEventListener("submit", (event) => event.preventDefault());
      place.replaceChildren(this.note, form, this.error, this.figures, this.picture);
      this.load();
      this.turn();
    }

    /** What a page does with the time until Python is there: it shows frames. */
    load() {
      const { missing, data } = this.setting;
      if (missing) return this.frames(missing);
      if (location.protocol === "file:") {
        return this.frames("this page was opened from a file; a browser loads Python from a server only, such as python -m http.server");
      }
      if (typeof WebAssembly !== "object" || typeof Worker !== "function") {
        return this.frames("this browser has no WebAssembly or no workers");
      }
      this.say("loading", "Loading Python, 12 MB. Until it is here, the numbers are those of frames, computed when the book was built.");
      this.worker = new Worker(worker);
      this.worker.onerror = (event) => this.frames(event.message || "the worker did not start");
      this.worker.onmessage = ({ data: said }) => {
        if (said.ready) this.live();
        else if (said.failed) this.frames(said.failed);
        else if (said.number === this.number) this.answered(said);
      };
      this.worker.postMessage({ base, page: this.name, data });
      return undefined;
    }

    say(state, text) {
      this.place.dataset.state = state;
      this.note.textContent = text;
    }

    live() {
      for (const knob of this.knobs) knob.offer(knob.setting.values);
      this.say("live", "Computed in this page, by the code of minimx, at every turn.");
      this.turn();
    }

    frames(why) {
      this.worker?.terminate();
      for (const knob of this.knobs) knob.offer(knob.setting.framed);
      this.say("frames", `Frames, computed when the book was built, for some values of each knob. Python does not run here: ${why}.`);
      this.turn();
    }

    turn() {
      this.number = numbers += 1;
      this.place.dataset.asked = this.number;
      if (this.place.dataset.state === "live") {
        const turned = {};
        for (const knob of this.knobs) turned[knob.setting.knob] = knob.value;
        this.worker.postMessage({ number: this.number, turned });
        return;
      }
      const places = this.knobs.map((knob) => knob.setting.framed.indexOf(knob.value));
      const found = this.setting.frames[places.join("")];
      this.answered({ answer: this.setting.answers[found] });
    }

    answered({ answer, error }) {
      this.error.hidden = !error;
      this.error.textContent = error ?? "";
      this.figures.classList.toggle("mx-turn-old", Boolean(error));
      this.picture.classList.toggle("mx-turn-old", Boolean(error));
      if (answer) {
        const names = Object.entries(this.setting.figures);
        this.figures.replaceChildren(
          ...names.map(([name, text]) => {
            const [value, said] = answer.figures[name];
            const attributes = { "data-figure": name, "data-value": value };
            return made("div", {}, made("dt", {}, text), made("dd", attributes, said));
          }),
        );
        this.picture.replaceChildren(picture(answer));
      }
      this.place.dataset.answered = this.number;
    }
  }

  window.minimxTurn = {
    page: (name, setting) => {
      const place = document.querySelector(`.mx-turn[data-page=${name}]`);
      new Page(place, name, setting);
    },
  };

  document.addEventListener("DOMContentLoaded", () => {
    for (const place of document.querySelectorAll(".mx-turn")) {
      const script = document.createElement("script");
      script.src = `${base}${place.dataset.page}.js`;
      script.onerror = () => {
        place.textContent = `${script.src} could not be loaded.`;
      };
      document.head.append(script);
    }
  });
})();
