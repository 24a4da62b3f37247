// Numbers, places and lists in words: the same words as in the terminal.

const sentenceList = (items) =>
  items.length < 2 ? items.join("") : `${items.slice(0, -1).join(", ")} and ${items[items.length - 1]}`;

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
  if (value === null) return "?";
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

/** Sizes in binary units, as in the terminal. */
function byteSize(bytes) {
  if (bytes < 1024) return `${Math.round(bytes)} B`;
  let [value, unit] = [bytes / 1024, 0];
  while (value >= 1024 && unit < 4) [value, unit] = [value / 1024, unit + 1];
  return `${value < 9.95 && Math.abs(value - Math.round(value)) > 0.05 ? value.toFixed(1) : value.toFixed(0)} ${["KiB", "MiB", "GiB", "TiB", "PiB"][unit]}`;
}
