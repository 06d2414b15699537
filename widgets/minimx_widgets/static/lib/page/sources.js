// Where a figure comes from, in one word that is the same in all views.

/** word → what it means. @type {Record<string, string>} */
export const SOURCES = {
  measured: "measured: read off while it ran",
  "virtual time":
    "virtual time: computed from the costs of the operations, not measured, as the clock of " +
    "this record is virtual (MINIMX_CLOCK). Bytes and counts are those of the real run",
  planned: "planned: computed from the graph before it runs",
  modelled: "modelled: computed by replaying what was recorded under other settings",
  predicted:
    "predicted: what the same policies decide for this record under other knobs; nothing ran",
};

/** What times of a record are. @param {{clock?: string}} header of a frame, or any state */
export function sourceOf({ clock }) {
  return clock === "virtual" ? "virtual time" : "measured";
}
