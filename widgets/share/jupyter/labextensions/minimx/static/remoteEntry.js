// A JupyterLab extension without a build step: the launcher tile that opens the course.
// JupyterLab loads this file and asks the container below for the module "./extension".

(() => {
  const NAME = "minimx";
  const FIRST = "00-knob-board.ipynb";
  // Where the first notebook may be, seen from the folder that JupyterLab serves.
  const PLACES = [FIRST, `notebooks/${FIRST}`, `course/${FIRST}`];
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

  /** The first of the places that exists. @param {any} app */
  async function firstNotebook(app) {
    for (const path of PLACES) {
      try {
        await app.serviceManager.contents.get(path, { content: false });
        return path;
      } catch (error) {
        if (error?.response?.status !== 404) throw error;
      }
    }
    return null;
  }

  async function plugin() {
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
              `None of ${PLACES.join(", ")} is in the folder that JupyterLab serves. ` +
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
      const extension = await plugin();
      return () => ({ default: extension, __esModule: true });
    },
  };
})();
