// The report and how its numbers and names are put into words (the same words as in the terminal).

const report = JSON.parse(document.getElementById("report").textContent);
const cells = JSON.parse(document.getElementById("cells").textContent);
const share = report.share ?? null;
const counts = report.count ?? null;
const reuse = report.reuse ?? null;

/**
 * What the report answers. Each question's script adds itself: `name`, as in `report.command`; `title`, of its tab; `facts()`,
 * for the head of the page or of its tab, where it has any; `sections()`, each an element, or nothing, or
 * `{ section, update }`: an element and a function to call when it is first seen; `measured(term)` and `known(term)`, rows of
 * how it was measured, in front of what is never seen and behind it.
 */
const questions = [];

/** Opens the tab of a question, where there are tabs. */
let openTab = () => {};

const threadName = (() => {
  const uses = new Map();
  for (const thread of report.threads) uses.set(thread.name, (uses.get(thread.name) ?? 0) + 1);
  const names = new Map(report.threads.map(({ id, name }) =>
    [id, name === "" ? `thread ${id}` : uses.get(name) > 1 ? `${name} #${id}` : name]));
  return (id) => names.get(id) ?? `thread ${id}`;
})();

const sentenceList = (items) =>
  items.length < 2 ? items.join("") : `${items.slice(0, -1).join(", ")} and ${items[items.length - 1]}`;

/** A few names, or how many there are. */
const threadList = (ids, most = 3) => (ids.length > most ? `${ids.length} threads` : sentenceList(ids.map(threadName)));

function points(fraction) {
  if (fraction === null || !Number.isFinite(fraction)) return "?";
  const value = fraction * 100;
  if (value > 0 && value < 0.05) return "<0.1";
  return Math.abs(value) < 9.95 ? value.toFixed(1).replace(/\.0$/, "") : value.toFixed(0);
}
const percent = (fraction) => `${points(fraction)}%`;
const error = ({ estimate, low, high }) => `±${points(Math.max(high - estimate, estimate - low))}`;
const thousands = (number) => Math.round(number).toLocaleString("en-US");
const plural = (number, noun) => `${thousands(number)} ${noun}${number === 1 ? "" : "s"}`;
const seconds = (value) => `${value === null ? "?" : value.toFixed(value < 1 ? 2 : value < 100 ? 1 : 0)} s`;

/** An estimate of a number, to three digits, with its error. */
const about = ({ estimate, low, high }) => `${compact(estimate)} (±${points((high - low) / 2 / estimate)}%)`;

function compact(value) {
  for (const [unit, suffix] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (value >= 0.9995 * unit) return (value / unit).toFixed(value / unit < 9.95 ? 1 : 0) + suffix;
  }
  return value > 0 && value < 10 ? String(Math.round(value * 10) / 10) : value.toFixed(0);
}

/** A command as one would type it in a shell. */
const commandLine = (argv) => argv.map((word) => (/^[\p{L}\p{N}%+,\-./:=@_]+$/u.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(" ");

const byteRange = (offset, width) => (width <= 1 ? `${offset}` : `${offset}-${offset + width - 1}`);
const basename = (path) => path.slice(path.lastIndexOf("/") + 1);
const place = (frame) => (frame?.file ? basename(frame.file) + (frame.line ? `:${frame.line}` : "") : null);
