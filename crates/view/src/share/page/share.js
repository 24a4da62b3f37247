// The question of sharing: its place in the page.

function shareFacts() {
  const { quality, program } = report;
  const list = [];
  if (share.lines.length > 0) {
    const { contended_share: taken, false_fraction: fraction } = share;
    list.push(fact(`On ${plural(share.findings.reduce((sum, finding) => sum + finding.other_lines, share.lines.length), "contended line")}`, percent(taken.estimate), `of ${wholeName}; 95% interval ${percent(taken.low)} to ${percent(taken.high)}`, intervalBar(taken)));
    list.push(fraction
      ? fact("False sharing", percent(fraction.estimate), `of all sharing; 95% interval ${percent(fraction.low)} to ${percent(fraction.high)}`, intervalBar(fraction, 1, "false"))
      : fact("False sharing", "not known", "too few events for a fraction"));
  }
  list.push(fact("Events of sharing", thousands(quality.events), share.not_enough ? `${share.not_enough.needed} are needed for fractions` : "pairs of accesses by two threads to one line"));
  list.push(fact("Samples", thousands(quality.samples), `in ${seconds(program.wall_s)} by the ${report.engine.name} engine`));
  return list;
}

/** What was sampled and lost. */
function shareMeasured(term) {
  const { engine, quality } = report;
  const skipped = quality.skipped.filter((each) => each.samples > 0).sort((a, b) => b.samples - a.samples);
  return [
    ...term("Samples", engine.period_unit === "ns" || quality.last_instruction > 0 ? `${thousands(quality.last_instruction)} by time, ${thousands(quality.step)} by executed instructions` : thousands(quality.step), el("div", { class: "muted" }, `${plural(quality.events, "event")} of sharing; ${plural(quality.watchpoints_armed, "watchpoint")} set, ${thousands(quality.watchpoint_traps)} hit`), leftOut() && el("div", { class: "muted" }, leftOut())),
    ...term("Lost", `${plural(quality.dropped, "record")} dropped, ${plural(quality.collisions, "collision")} on the bulletin board`, quality.unprofiled_threads > 0 && `, ${plural(quality.unprofiled_threads, "thread")} not observed`,
      ...skipped.map((each) => el("div", { class: "muted" }, `${percent(each.samples / Math.max(1, quality.samples))} without an address: ${each.text}`))),
  ];
}

/** Order, volume and distance of the sharing. */
function shareKnown(term) {
  const { distance, kinds, communication } = share;
  const where = [[distance.cross_core, "between cores"], [distance.smt_siblings, "between hardware threads of one core"], [distance.same_cpu, "while threads shared a CPU, at no cost"]];
  const total = where.reduce((sum, [volume]) => sum + (volume ?? 0), 0);
  const order = kinds.raw + kinds.waw;
  return [
    ...(order > 0 ? term("Order", `${percent(kinds.raw / order)} read after write, ${percent(kinds.waw / order)} write after write`) : []),
    ...(communication ? term("Volume", `${communication.contended_accesses ? `${about(communication.contended_accesses)} accesses to contended lines; ` : ""}${about(communication.accesses)} accesses that follow another thread's write, upper bound ${compact(communication.bytes_at_most.estimate)}B`,
      communication.transfers && el("div", { class: "muted" }, `about ${about(communication.transfers.transfers)} line transfers between cores, ${compact(communication.transfers.bytes.estimate)}B (model)`)) : []),
    ...(total > 0 ? term("Where", where.filter(([volume]) => volume > 0).map(([volume, text]) => `${percent(volume / total)} ${text}`).join(", ")) : []),
  ];
}

questions.push({ name: "share", title: "Sharing", findings: () => share.findings.length > 0 && contendedSection(), facts: shareFacts, sections: () => [cells.threads.length > 0 && !share.not_enough && heatSection()], measured: shareMeasured, known: shareKnown });
