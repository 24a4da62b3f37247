// How far to trust the numbers, and what ran.

const ending = (exit) => (exit === null ? "end not seen" : "signal" in exit ? `ended by signal ${exit.signal}` : exit.code === 0 ? "ended normally" : `exit status ${exit.code}`);

/** Samples or watchpoints that the budget did not allow, where there are any. */
function leftOut() {
  const what = share && report.engine.period_unit === "accesses" ? "watchpoint" : "sample";
  return report.quality.budget_skipped > 0 && `${plural(report.quality.budget_skipped, what)} left out to keep to the budget`;
}

/** Whether anything in the program saw its threads: from outside nobody knows them. */
const seenInside = () => report.threads.length + report.processes.length > 0;

function trustSection() {
  const { engine, quality, machine, program } = report;
  const term = (title, ...content) => [el("dt", {}, title), el("dd", {}, ...content)];
  const rows = (which) => questions.flatMap((question) => question[which]?.(term) ?? []);
  const period = engine.period_unit === "ns" ? `, one every ${(engine.period / 1e6).toFixed(2)} ms of thread CPU time` : "";
  const budget = engine.budget_percent === null ? "" : `; budget ${engine.budget_percent}%`;
  const how = !seenInside() ? ""
    : engine.period === 0 ? "everything is counted, nothing sampled"
    : !share ? `${report.reuse?.quality.in_episodes ? "in an episode " : ""}a sample stands for ${engine.sample_means}${period}${budget}`
    : `a sample stands for ${engine.sample_means}${period}${budget}; delivery: ${engine.delivery}; ${plural(engine.watchpoints, "watchpoint")}; ${plural(engine.board_slots, "slot")} of the bulletin board`;
  return el("section", { "aria-label": "How this was measured" },
    el("div", { class: "head" }, el("h2", {}, "How this was measured")),
    ...quality.warnings.filter((warning) => !report.verdict.includes(warning.text)).map((warning) => el("p", { class: "warning" }, el("strong", {}, "Note "), name(warning.text))),
    el("dl", { class: "card trust" },
      ...term("Program", name(commandLine(program.argv), "code"), el("div", { class: "muted" }, `${program.runs > 1 ? `${program.runs} runs, the longest of ${seconds(program.wall_s)}; the first ${ending(program.exit)}` : `${ending(program.exit)} after ${seconds(program.wall_s)}`}${!seenInside() ? "" : `; ${plural(report.threads.length, "thread")} in ${report.processes.length === 1 ? "1 process" : `${report.processes.length} processes`}`}`),
        program.cut_short && el("div", { class: "is-false name" }, `The recording was cut short: ${program.cut_short}.`),
        !program.cut_short && !program.complete && el("div", { class: "is-false" }, "The recording is incomplete.")),
      ...term("Engine", el("b", {}, engine.name), name(` (${engine.reason})`), el("div", { class: "muted" }, how)),
      ...rows("measured"),
      ...(quality.not_covered.length === 0 ? [] : term("Not seen", quality.not_covered.map((part) => part.text).join("; "))),
      ...rows("known"),
      ...term("Machine", `${machine.cpu_model}, ${plural(machine.logical_cpus, "processor")}`, el("div", { class: "muted" }, `Linux ${machine.kernel}${machine.hypervisor ? `, ${machine.hypervisor} guest` : ""}`))),
    seenInside() && folded(`Threads (${report.threads.length})`, ["Id", "Name", "Tid", "Process", "CPU time"],
      report.threads.map((thread) => [thread.id, name(threadName(thread.id)), thread.tid, thread.process, seconds(thread.cpu_ns / 1e9)])),
    seenInside() && folded(`Processes (${report.processes.length})`, ["Id", "Pid", "Parent", "Command", "End", "Observed"],
      report.processes.map((each) => [each.id, each.pid, each.parent ?? "", name(commandLine(each.argv), "code"), ending(each.exit), name(each.coverage.profiled ? "yes" : `no: ${each.coverage.reason ?? "reason not known"}`)])));
}

/** A table that is made when it is first opened. */
const folded = (title, heads, rows) => unfolding(title, () => el("div", { class: "card scroll" }, el("table", {},
  el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))),
  el("tbody", {}, rows.map((row) => el("tr", {}, row.map((content) => el("td", {}, typeof content === "number" ? String(content) : content))))))));
