// The report, and the names of its threads (the same as in the terminal).

const report = JSON.parse(document.getElementById("report").textContent);
const cells = JSON.parse(document.getElementById("cells").textContent);
const share = report.share ?? null;
const counts = report.count ?? null;
const reuse = report.reuse ?? null;

/**
 * What the report answers. Each question's script adds itself: `name`, as in `report.command`; `title`, of its tab;
 * `findings()`, the element that comes first, and `facts()`, figures to follow it, where it has them; `sections()`, each an
 * element, or nothing, or `{ section, update }`: an element and a function to call when it is first seen; `measured(term)` and
 * `known(term)`, rows of how it was measured, in front of what is never seen and behind it.
 */
const questions = [];

/** Opens the tab of a question, where there are tabs. */
let openTab = () => {};

const threadName = (() => {
  const [uses, ofProcess] = [new Map(), new Map()];
  const within = (thread) => `${thread.process} ${thread.name}`;
  for (const thread of report.threads) {
    uses.set(thread.name, (uses.get(thread.name) ?? 0) + 1);
    ofProcess.set(within(thread), (ofProcess.get(within(thread)) ?? 0) + 1);
  }
  const label = (thread) => (thread.name === "" ? `thread ${thread.id}`
    : uses.get(thread.name) === 1 ? thread.name
    : ofProcess.get(within(thread)) === 1 ? `${thread.name} of process ${thread.process}`
    : `${thread.name} #${thread.id}`);
  const names = new Map(report.threads.map((thread) => [thread.id, label(thread)]));
  return (id) => names.get(id) ?? `thread ${id}`;
})();

/** A few names, or how many there are. */
const threadList = (ids, most = 3) => (ids.length > most ? `${ids.length} threads` : sentenceList(ids.map(threadName)));
