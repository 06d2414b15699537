// A JupyterLab extension without a build step: the launcher tile that opens the course, and
// the stored picture of a view that cannot come to life.
// JupyterLab loads this file and asks the container below for the module "./extension".

(() => {
  const NAME = "minimx";
  // The start page, which `minimx lab` writes; else the first notebook.
  const NAMES = ["start.ipynb", "00-knob-board.ipynb"];
  // Where they may be, seen from the folder that JupyterLab serves.
  const FOLDERS = ["", "notebooks", "course"];
  const LOGO =
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" fill="none">' +
    '<rect x="2" y="2" width="28" height="28" rx="6" fill="#3367c9"/>' +
    '<path d="M7 12h18M7 20h18" stroke="#fff" stroke-width="2" stroke-linecap="round"/>' +
    '<circle cx="12" cy="12" r="3.4" fill="#fff"/><circle cx="20.5" cy="20" r="3.4" fill="#f39a56"/>' +
    "</svg>";

  /** @type {any} */
  let shared;

  /** A module that JupyterLab shares, in its newest version. @param {string} name */
  async function need(name) {
    const versions = shared[name];
    const newest = Object.keys(versions).sort().pop();
    return (await versions[newest].get())();
  }

  /** The path of the start page or the first notebook. @param {any} app */
  async function firstNotebook(app) {
    for (const folder of FOLDERS) {
      try {
        const { content } = await app.serviceManager.contents.get(folder);
        /** @type {string[]} */
        const there = content.map((/** @type {any} */ item) => item.name);
        const found = NAMES.find((name) => there.includes(name));
        if (found) return folder ? `${folder}/${found}` : found;
      } catch (error) {
        if (error?.response?.status !== 404) throw error;
      }
    }
    return null;
  }

  const VIEW = "application/vnd.jupyter.widget-view+json";
  const SVG = "image/svg+xml";
  const PAUSE = 100; // milliseconds between two looks at a notebook
  // What JupyterLab writes in the place of a widget that is not there.
  const FAILED = /^(Loading widget|Error displaying widget)/;

  /** Whether JupyterLab has given up on a widget, or waits for a kernel that is not there.
   * @param {any} panel @param {string} text what stands in the widget's place */
  function failed(panel, text) {
    const { isReady, session } = panel.sessionContext;
    return FAILED.test(text) && (!text.startsWith("Loading") || (isReady && !session?.kernel));
  }

  /**
   * Where an output has a widget and a picture, and no kernel or no trust brings the widget,
   * show the picture. As an image it can run nothing, so it needs no trust.
   * @param {any} panel @param {any} cell
   */
  function showStored(panel, cell) {
    const outputs = cell.outputArea?.model;
    for (let i = 0; i < (outputs?.length ?? 0); i += 1) {
      const node = cell.outputArea.widgets[i]?.widgets?.at(-1)?.node;
      // The first question is asked often, so it is the cheap one: is something shown?
      if (!node || node.querySelector(".mx-stored, .mx-view, .jupyter-widgets")) continue;
      const { data, trusted } = outputs.get(i);
      if (data[VIEW] && data[SVG] && (!trusted || failed(panel, node.textContent)))
        node.replaceChildren(stored([data[SVG]].flat().join(""), trusted));
    }
  }

  /** @param {string} svg @param {boolean} trusted */
  function stored(svg, trusted) {
    const box = document.createElement("div");
    const words = document.createElement("p");
    words.textContent = trusted
      ? "This is the stored picture: the kernel that drew it is gone. Run the cell again."
      : "This is the stored picture, as the notebook is not trusted. Run the cell, or trust " +
        "the notebook.";
    words.style.cssText =
      "margin: 4px 0; color: var(--jp-ui-font-color2); font: 12px var(--jp-ui-font-family);";
    const image = document.createElement("img");
    image.className = "mx-stored";
    image.alt = "The stored picture of a view";
    image.style.maxWidth = "100%";
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
    box.append(words, image);
    return box;
  }

  /** Look at a notebook's outputs whenever they or the kernel change. @param {any} panel */
  function watch(panel) {
    let wanted = false;
    const look = () => {
      wanted = false;
      if (panel.isDisposed || !panel.content.model) return;
      for (const cell of panel.content.widgets) showStored(panel, cell);
    };
    const soon = () => {
      if (!wanted) setTimeout(look, PAUSE);
      wanted = true;
    };
    const observer = new MutationObserver(soon);
    observer.observe(panel.content.node, { childList: true, subtree: true, characterData: true });
    panel.sessionContext.statusChanged.connect(soon);
    panel.disposed.connect(() => observer.disconnect());
    panel.context.ready.then(soon);
  }

  async function plugins() {
    const { INotebookTracker } = await need("@jupyterlab/notebook");
    const pictures = {
      id: `${NAME}:stored-pictures`,
      autoStart: true,
      requires: [INotebookTracker],
      /** @param {any} app @param {any} tracker */
      activate(app, tracker) {
        tracker.forEach(watch);
        /** @param {any} _ @param {any} panel */
        const added = (_, panel) => watch(panel);
        tracker.widgetAdded.connect(added);
      },
    };
    return [await course(), pictures];
  }

  async function course() {
    const { ILauncher } = await need("@jupyterlab/launcher");
    const { LabIcon } = await need("@jupyterlab/ui-components");
    const { showErrorMessage } = await need("@jupyterlab/apputils");
    const icon = new LabIcon({ name: `${NAME}:logo`, svgstr: LOGO });
    const command = `${NAME}:open-course`;
    return {
      id: `${NAME}:course`,
      autoStart: true,
      optional: [ILauncher],
      /** @param {any} app @param {any} launcher */
      activate(app, launcher) {
        app.commands.addCommand(command, {
          label: "Open the course",
          caption: "minimx: turn MXNet's knobs while a network trains",
          icon,
          execute: async () => {
            const path = await firstNotebook(app);
            if (path)
              return app.commands.execute("docmanager:open", { path, factory: "Notebook" });
            return showErrorMessage(
              "The course is not here",
              `Neither ${NAMES.join(" nor ")} is in the folder that JupyterLab serves. ` +
                "Start it with `minimx lab`, which puts the notebooks there.",
            );
          },
        });
        launcher?.add({ command, category: "minimx", rank: 0 });
      },
    };
  }

  const containers = (window._JUPYTERLAB ??= {});
  containers[NAME] = {
    /** @param {any} scope */
    init: (scope) => {
      shared = scope;
    },
    get: async () => {
      const extension = await plugins();
      return () => ({ default: extension, __esModule: true });
    },
  };
})();
