// What simulated caches do with the program's accesses: tables of source lines, of lines of memory, and of cores.

const simulation = report.simulate ?? null;

const codePlace = (path) => path.map((frame) => place(frame)).find(Boolean) ?? path[0]?.function ?? path[0]?.address ?? "not known";
const takenTimes = (sharing) => sharing.true + sharing.false;
const falsePart = (sharing) => (takenTimes(sharing) > 0 ? percent(sharing.false / takenTimes(sharing)) : "");
const ofAccesses = (misses, counts) => percent(counts.accesses > 0 ? misses / counts.accesses : 0);

function simulatedTable(label, note, heads, rows) {
  return el("section", { "aria-label": label },
    el("div", { class: "head" }, el("h2", {}, label), el("p", {}, note)),
    el("div", { class: "card scroll" }, el("table", {},
      el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))),
      el("tbody", {}, rows.map((row) => el("tr", {}, row.map((content) => el("td", {}, content))))))));
}

function simulatedReferences() {
  const rows = simulation.references.filter((one) => one.counts.cycles > 0).map((one) => {
    const { counts } = one;
    return [name(codePlace(one.call_path), "code"), one.function ?? "", one.object?.name ?? "", percent(one.share), thousands(counts.accesses),
      ofAccesses(counts.l1.total, counts), ofAccesses(counts.l2.total, counts), ofAccesses(counts.l1.coherence, counts),
      thousands(takenTimes(counts.caused)), falsePart(counts.caused), thousands(takenTimes(counts.received))];
  });
  return simulatedTable("Source lines by what their misses cost", "Cycles are a model: usual latencies, without overlap.",
    ["Source line", "Function", "Data", "Cycles", "Accesses", "Miss L1", "Miss L2", "Coherence misses", "Invalidations caused", "By false sharing", "Received"], rows);
}

function simulatedLines() {
  if (simulation.lines.length === 0) return null;
  const bytesOf = (part) => `${part.field ? `${part.field}, ` : ""}bytes ${part.offset_bytes}-${part.offset_bytes + Math.max(part.width_bytes, 1) - 1}`;
  const rows = simulation.lines.flatMap((line) => line.pairs.map((pair, index) => [
    index === 0 ? name(line.object.name, "code") : "", index === 0 ? line.address : "", thousands(takenTimes(pair.invalidations)), falsePart(pair.invalidations),
    name(codePlace(pair.by), "code"), bytesOf(pair.stored), name(codePlace(pair.of), "code"), bytesOf(pair.accessed)]));
  return simulatedTable("Lines that cores take from each other", "A store on one core takes the line from another that has it.",
    ["Data", "Line", "Times", "False sharing", "Stored by", "Stored to", "Lost by", "Had accessed"], rows);
}

function simulatedCores() {
  if (simulation.cores.length < 2) return null;
  const { invalidations: taken, cores } = simulation;
  const label = (core) => threadList(core.threads);
  const rows = cores.map((from, row) => [label(from), ...cores.map((_, column) => (row === column ? "·" : thousands(taken.true[row][column] + taken.false[row][column])))]);
  return simulatedTable("Who takes lines from whom", "Rows store, columns lose their copy.", ["", ...cores.map(label)], rows);
}

questions.push({
  name: "simulate",
  title: "Simulation",
  facts: () => [fact("Accesses", thousands(simulation.total.accesses), "all simulated"),
    fact("Miss L1", ofAccesses(simulation.total.l1.total, simulation.total), ""),
    fact("Lines taken", thousands(takenTimes(simulation.total.caused)), "by other cores' stores"),
    fact("Machine", simulation.machine?.name ?? "none", simulation.machine?.protocol ?? "")],
  sections: () => [simulatedReferences(), simulatedLines(), simulatedCores()].filter(Boolean),
  measured: (term) => term("Accesses", thousands(simulation.total.accesses), ", all simulated"),
});
