// How wide the program's accesses are: a table.

questions.push({
  name: "widths",
  title: "Widths",
  sections: () => [el("section", { "aria-label": "Accesses by width" },
    el("div", { class: "head" }, el("h2", {}, "Accesses by width")),
    el("div", { class: "card scroll" }, el("table", {},
      el("thead", {}, el("tr", {}, ["Bytes", "Samples", "Share"].map((head) => el("th", { scope: "col" }, head)))),
      el("tbody", {}, report.widths.by_width.map((width) => el("tr", {},
        [String(width.bytes), thousands(width.samples), percent(width.share)].map((content) => el("td", {}, content))))))))],
  measured: (term) => term("Samples", thousands(report.widths.samples), " accesses"),
});
