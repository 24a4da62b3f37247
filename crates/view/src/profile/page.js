// What limits the use of memory, the worst first.

const concerned = ({ share_of_accesses: part }) => (part === undefined ? "?" : percent(part));

function findingsSection() {
  const titles = new Map(questions.map((question) => [question.name, question.title]));
  const item = (finding) => {
    const more = el("button", { type: "button", class: "quiet" }, `${titles.get(finding.question)}: details`);
    more.addEventListener("click", () => openTab(finding.question));
    return el("li", { class: "card" },
      el("div", {}, el("div", { class: "figure" }, concerned(finding)), el("div", { class: "muted label-small" }, "of the accesses")),
      el("div", {}, el("h3", {}, finding.kind, !finding.matters && finding.share_of_accesses !== undefined && el("span", { class: "chip" }, "no problem")),
        el("p", { class: "name" }, ...inlineCode(finding.text)),
        finding.remedy && el("div", { class: "remedy name" }, ...inlineCode(finding.remedy)),
        titles.has(finding.question) && more));
  };
  return el("section", { "aria-label": "Findings" },
    el("div", { class: "head" }, el("h2", {}, "Findings"), el("p", {}, "Ranked by the share of the program’s accesses that each concerns. What an access costs in time depends on the machine. An access to a bouncing line misses as well, so shares overlap.")),
    el("ol", { class: "findings" }, report.findings.map(item)));
}

questions.push({ name: "profile", title: "Findings", sections: () => [findingsSection()] });
