// How sharing is put into words.

const wholeName = share?.matrix.unit === "samples" ? "thread time" : "memory accesses";

function sharingClass(isTrue, isFalse) {
  if (!(isTrue + isFalse > 0)) return "class not known";
  if (!(isTrue > 0)) return "false sharing";
  if (!(isFalse > 0)) return "true sharing";
  return `${percent(isFalse / (isTrue + isFalse))} false sharing`;
}

/** What threads use to take turns, in the words of the terminal. */
const primitiveName = (primitive) =>
  ({ "rw-lock": "reader-writer lock", "own-lock": "lock", critical: "critical section", condition: "condition variable", once: "once-flag" })[primitive] ?? primitive.replaceAll("-", " ");

/** Threads that touch a line, in natural order. */
function threadsOf(line) {
  const ids = new Set(line.sites.map((site) => site.thread));
  for (const range of line.layout) for (const id of [...range.readers, ...range.writers]) ids.add(id);
  return [...ids].sort((a, b) => a - b);
}

/** A bar split into false and true sharing. */
function splitBar(isTrue, isFalse) {
  return el("div", { class: "split", role: "img", "aria-label": sharingClass(isTrue, isFalse) },
    isFalse > 0 && el("i", { style: { flexGrow: isFalse } }),
    isTrue > 0 && el("b", { style: { flexGrow: isTrue } }));
}
