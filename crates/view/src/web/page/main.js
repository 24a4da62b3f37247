// The page from top to bottom.

/** The question that was asked comes first, then those of the findings, the worst first. */
const rank = ({ name }) => {
  const found = (report.findings ?? []).findIndex((finding) => finding.question === name);
  return name === report.command ? -1 : found < 0 ? Infinity : found;
};
questions.sort((a, b) => (rank(a) < rank(b) ? -1 : rank(a) > rank(b) ? 1 : 0));
const together = report.command === "profile";
const parts = questions
  .map((question) => ({ ...question, first: question.findings?.(), rest: question.sections().filter(Boolean) }))
  .filter(({ name, first, rest, facts }) => name === report.command || (together && facts) || first || rest.length > 0)
  .map(({ first, rest, ...question }) => {
    // Where one question was asked, the figures of others that the report answers as well would be too many.
    const facts = (together || question.name === report.command) && question.facts;
    return { ...question, sections: [first, facts && el("div", { class: "facts" }, facts()), ...rest].filter(Boolean) };
  });
const main = framed(report.command, commandLine(report.program.argv), report.verdict);
if (together && parts.length > 1) {
  const { list, panels, open } = tabbed(parts);
  openTab = (name) => open(name, true);
  main.append(list, ...panels);
  // A link may ask for a tab: report.html#reuse.
  open(location.hash.slice(1), false) || open(parts[0].name, false);
} else {
  for (const part of parts.flatMap(({ sections }) => sections)) {
    main.append(part.section ?? part);
    part.update?.();
  }
}
main.append(trustSection(), footer(report.carom));
