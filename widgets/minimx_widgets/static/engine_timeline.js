// Who ran what and when: a lane for the pushing thread and one for every worker.

import { EngineData } from "./lib/engine/engine_data.js";
import { EngineView } from "./lib/engine/engine_view.js";
import { liveView } from "./lib/data/live.js";

const HELP =
  "One lane per worker thread; the lane python is the thread that pushes operations, with " +
  "a tick for every push. A box is one operation. What stays grey is idle; the per cent is " +
  "the busy share of the visible stretch. Click an operation: arrows show what it waited " +
  "for and what waited for it, and the dotted line how long it lay in the queue. Lanes " +
  "that were idle for long fold away.";

class EngineTimeline extends EngineView {
  about() {
    return { title: "Engine", name: "engine", help: HELP };
  }
}

export default liveView(EngineData, EngineTimeline);
