// What simulated caches do with the program's accesses: tables of source lines, of lines of memory, and of cores.

const simulation = report.simulate ?? null;

const codePlace = (path) => path.map((frame) => place(frame)).find(Boolean) ?? path[0]?.function ?? path[0]?.address ?? "not known";
const takenTimes = (sharing) => sharing.true + sharing.false;
const falsePart = (sharing) => (takenTimes(sharing) > 0 ? percent(sharing.false / takenTimes(sharing)) : "");
/** At most all of them: an access that spans lines may miss each. */
const ofAccesses = (misses, counts) => percent(counts.accesses > 0 ? Math.min(1, misses / counts.accesses) : 0);

function simulatedTable(label, note, heads, rows) {
  return el("section", { "aria-label": label },
    el("div", { class: "head" }, el("h2", {}, label), el("p", {}, note)),
    el("div", { class: "card scroll" }, el("table", { class: "stacked dense" },
      el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))),
      el("tbody", {}, rows.map((row) => titled(el("tr", {}, row.map((content) => el("td", {}, content))), heads))))));
}

function simulatedReferences() {
  const rows = simulation.references.filter((one) => one.counts.cycles > 0).map((one) => {
    const { counts } = one;
    return [[name(codePlace(one.call_path), "code"), one.function && el("div", { class: "where name" }, one.function)], name(one.object?.name ?? ""), percent(one.share), thousands(counts.accesses),
      ofAccesses(counts.l1.total, counts), ofAccesses(counts.l2.total, counts), ofAccesses(counts.l1.coherence, counts),
      thousands(takenTimes(counts.caused)), falsePart(counts.caused), thousands(takenTimes(counts.received))];
  });
  return simulatedTable("Source lines by what their misses cost", "Cycles are a model: usual latencies, without overlap.",
    ["Source line", "Data", "Cycles", "Accesses", "Miss L1", "Miss L2", "Coherence misses", "Invalidations caused", "By false sharing", "Received"], rows);
}

function simulatedComparison() {
  const compared = simulation.compare;
  if (!compared) return null;
  const labels = { coherence_load_misses: "Coherence misses of loads", invalidations: "Invalidations", true_sharing: "Invalidations by true sharing", false_sharing: "Invalidations by false sharing" };
  const placeOf = (one) => (one.file ? `${one.file.split("/").pop()}:${one.line}` : one.address ?? "");
  const rows = [
    ["Loads", thousands(compared.full.loads), thousands(compared.reduced.loads), "", "", ""],
    ["Stores", thousands(compared.full.stores), thousands(compared.reduced.stores), "", "", ""],
    ...compared.metrics.flatMap((metric) => [
      [labels[metric.name], thousands(metric.full), thousands(metric.reduced), thousands(metric.selected.length),
        metric.coverage === null ? "-" : percent(metric.coverage), thousands(metric.false_positives)],
      ...metric.selected.map((one) => [name(placeOf(one), "code"), thousands(one.full), thousands(one.reduced), "", "", one.full === 0 ? "false positive" : ""]),
    ]),
  ];
  const { split } = compared;
  return simulatedTable("The reduced trace beside the full one",
    `Of all invalidations, the lines selected for false sharing make ${percent(split.reduced)} by it in the reduced trace, and ${percent(split.full)} in the full one.`,
    ["", "Full", "Reduced", "Selected", "Coverage", "False positives"], rows);
}

function simulatedWhatIf() {
  const changed = simulation.what_if;
  if (!changed) return null;
  const { total } = simulation;
  const change = (before, after) => (before > 0 ? `${after > before ? "+" : ""}${percent(after / before - 1)}` : "");
  const row = (label, before, after) => [label, thousands(Math.round(before)), thousands(Math.round(after)), change(before, after)];
  const rows = [
    row("Lines taken by false sharing", total.caused.false, changed.total.caused.false),
    row("Lines taken by true sharing", total.caused.true, changed.total.caused.true),
    row("Coherence misses", total.l1.coherence, changed.total.l1.coherence),
    row("Misses of L1", total.l1.total, changed.total.l1.total),
    row("Misses of L2", total.l2.total, changed.total.l2.total),
    row("Cycles (model)", total.cycles, changed.total.cycles),
    ...changed.changes.map((one) => row(`Lines taken of ${thousands(one.objects)} object${one.objects === 1 ? "" : "s"}: ${one.change}`, takenTimes(one.before), takenTimes(one.after))),
    ...simulation.references.flatMap((one, index) => {
      const after = changed.references[index];
      return takenTimes(one.counts.caused) !== takenTimes(after.caused) ? [row(`Lines taken by ${codePlace(one.call_path)}`, takenTimes(one.counts.caused), takenTimes(after.caused))] : [];
    }),
  ];
  return simulatedTable("What the changed layout would do", "The same accesses, with the data of these objects elsewhere; all other data stays where it is.",
    ["", "Before", "After", "Change"], rows);
}

function simulatedObjects() {
  if (simulation.objects.every((taken) => taken.lines === 1)) return null;
  const rows = simulation.objects.slice(0, 20).map((taken) => [name(taken.object.name, "code"), thousands(takenTimes(taken.invalidations)),
    thousands(taken.lines), falsePart(taken.invalidations)]);
  const rest = simulation.unnamed_lines > 0 ? ` Of ${thousands(simulation.unnamed_lines)} lines the data was not looked up.` : "";
  return simulatedTable("Data that cores take from each other", `All lines of an object together.${rest}`, ["Data", "Times", "Lines", "False sharing"], rows);
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
  sections: () => [simulatedComparison(), simulatedWhatIf(), simulatedReferences(), simulatedObjects(), simulatedLines(), simulatedCores()].filter(Boolean),
  measured: (term) => term("Accesses", thousands(simulation.total.accesses), ", all simulated"),
});
