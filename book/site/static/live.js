// Views of recorded runs on the book's pages: each is loaded when its button is pressed.
"use strict";

(() => {
  const scripts = new URL("views/", document.currentScript.src);
  const places = new Map();

  /** @param {string} text base64 */
  const viewOf = (text) =>
    new DataView(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);

  // Views look for JupyterLab's mark of the theme; the book has its own.
  const follow = () => {
    document.body.dataset.jpThemeLight = String(
      document.documentElement.dataset.theme !== "dark",
    );
  };

  /** A model that no kernel is behind. */
  const modelOf = (traits) => {
    const listeners = new Set();
    const call = (name, ...values) => {
      for (const [known, heard] of [...listeners]) if (known === name) heard(...values);
    };
    return {
      get: (name) => traits[name],
      set: (name, value) => {
        traits[name] = value;
        call(`change:${name}`);
      },
      save_changes: () => {},
      on: (name, heard) => listeners.add([name, heard]),
      off: (name, heard) => {
        for (const one of [...listeners]) {
          if (one[0] === name && (!heard || one[1] === heard)) listeners.delete(one);
        }
      },
      send: () => {},
    };
  };

  const show = async (name, { esm, css, traits, frozen }) => {
    const place = places.get(name);
    const style = document.createElement("style");
    style.textContent = css;
    const host = document.createElement("div");
    place.replaceChildren(style, host);
    const still = place.previousElementSibling;
    if (still?.querySelector("img")) still.hidden = true;
    if (frozen) traits.frozen = [frozen[0], frozen[1].map(viewOf)];
    const model = modelOf(traits);
    const url = URL.createObjectURL(new Blob([esm], { type: "text/javascript" }));
    const module = await import(url);
    URL.revokeObjectURL(url);
    const made = typeof module.default === "function" ? module.default() : module.default;
    made.initialize?.({ model });
    made.render({ model, el: host });
    place.dataset.state = "shown";
  };

  window.minimxBook = { show };

  document.addEventListener("DOMContentLoaded", () => {
    follow();
    new MutationObserver(follow).observe(document.documentElement, {
      attributeFilter: ["data-theme"],
    });
    for (const place of document.querySelectorAll(".mx-live")) {
      const { name } = place.dataset;
      places.set(name, place);
      const button = document.createElement("button");
      button.textContent = `Open ${name} here, with a recorded run`;
      button.addEventListener("click", () => {
        button.disabled = true;
        const script = document.createElement("script");
        script.src = new URL(`${name}.js`, scripts).href;
        script.onerror = () => {
          button.textContent = `${name} could not be loaded`;
        };
        document.head.append(script);
      });
      place.append(button);
    }
  });
})();
