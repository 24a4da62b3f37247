// The communication matrices: sparse cells, seen as all, true or false sharing, directed or symmetric.

/** One matrix. `entries`: [row, column, true, false]; `label`: index to text. */
function makeMatrix(labels, entries, label) {
  const size = labels.length;
  const directed = new Map();
  for (const [row, column, isTrue, isFalse] of entries) directed.set(row * size + column, [isTrue ?? 0, isFalse ?? 0]);
  const symmetric = new Map();
  for (const [key, [isTrue, isFalse]] of directed) {
    const [row, column] = [Math.floor(key / size), key % size];
    for (const each of row === column ? [key] : [key, column * size + row]) {
      const [t, f] = symmetric.get(each) ?? [0, 0];
      symmetric.set(each, [t + isTrue, f + isFalse]);
    }
  }
  return { size, directed, symmetric, label: (index) => label(labels[index]) };
}

const amount = ([isTrue, isFalse], kind) => (kind === "true" ? isTrue : kind === "false" ? isFalse : isTrue + isFalse);

/** The view's cells as [row, column, value], and their largest value and sum (each pair once). */
function viewCells(matrix, kind, isDirected) {
  const found = [];
  let [largest, total] = [0, 0];
  for (const [key, parts] of isDirected ? matrix.directed : matrix.symmetric) {
    const value = amount(parts, kind);
    if (!(value > 0)) continue;
    const [row, column] = [Math.floor(key / matrix.size), key % matrix.size];
    found.push([row, column, value]);
    largest = Math.max(largest, value);
    if (isDirected || row <= column) total += value;
  }
  return { found, largest, total };
}

function describePattern(pattern) {
  switch (pattern?.name) {
    case "master-worker": return `Master and workers: ${threadName(pattern.master)} is at one end of nearly all of it.`;
    case "nearest-neighbour": return "Nearest neighbour: nearly all of it is between threads with neighbouring numbers.";
    case "groups": return `${plural(pattern.groups.length, "group")} of threads that keep to themselves: ${pattern.groups.slice(0, 6).map((group) => threadList(group, 4)).join("; ")}.`;
    case "all-to-all": return "All to all: every thread with every other, about equally.";
    default: return null;
  }
}
