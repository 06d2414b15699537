// Python beside the page: policies of minimx answer what the page asks.
"use strict";

/* global importScripts, loadPyodide */

const START = `
import json, sys
sys.path.insert(0, "/minimx.zip")
import turning
`;
const ASK = `
def ask(page, data, turned):
    try:
        found = turning.answer(page, json.loads(data), json.loads(turned))
        return json.dumps({"answer": found})
    except Exception as error:
        return json.dumps({"error": f"{type(error).__name__}: {error}"})
ask
`;
let ask;
let page;
let data;

const start = async (base) => {
  importScripts(`${base}pyodide/pyodide.js`);
  const python = await loadPyodide({ indexURL: `${base}pyodide/` });
  const found = await fetch(`${base}minimx.zip`);
  if (!found.ok) throw new Error(`minimx.zip: ${found.status} ${found.statusText}`);
  python.FS.writeFile("/minimx.zip", new Uint8Array(await found.arrayBuffer()));
  python.runPython(START);
  ask = python.runPython(ASK);
};

onmessage = async ({ data: wanted }) => {
  if (wanted.base) {
    try {
      ({ page } = wanted);
      data = JSON.stringify(wanted.data);
      await start(wanted.base);
      postMessage({ ready: true });
    } catch (error) {
      postMessage({ failed: String(error.message ?? error) });
    }
    return;
  }
  const text = ask(page, data, JSON.stringify(wanted.turned));
  postMessage({ number: wanted.number, ...JSON.parse(text) });
};
