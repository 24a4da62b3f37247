// A table to search and to sort by its columns.

const ROWS_AT_FIRST = 100;

/**
 * The table, and the field that searches it. `columns`: [title, an entry's value, direction at first]. `entries` have a
 * `rank`, by which they come at first. `words`: what of an entry is searched, in lower case. `rows`: its rows. `texts`: what
 * the field asks for (`wanted`) and is (`search`), and what stands where no entry matches (`none`).
 */
function sortedTable(columns, entries, words, rows, texts) {
  let [sorted, direction, wanted, limit] = [0, "ascending", "", ROWS_AT_FIRST];
  const heads = columns.map(([text, , first], index) => {
    const button = el("button", { type: "button" }, text);
    button.addEventListener("click", () => {
      direction = sorted === index ? (direction === "ascending" ? "descending" : "ascending") : first;
      sorted = index;
      fill();
    });
    return el("th", { scope: "col" }, button);
  });
  const table = el("table", { class: "stacked" }, el("thead", {}, el("tr", {}, heads)));
  const note = (content) => el("tr", {}, el("td", { colspan: columns.length, class: "empty" }, content));

  function fill() {
    heads.forEach((head, index) => (index === sorted ? head.setAttribute("aria-sort", direction) : head.removeAttribute("aria-sort")));
    const value = columns[sorted][1];
    const sign = direction === "ascending" ? 1 : -1;
    const kept = entries.filter((entry) => wanted === "" || words(entry).includes(wanted));
    kept.sort((a, b) => sign * (value(a) > value(b) ? 1 : value(a) < value(b) ? -1 : 0) || a.rank - b.rank);
    const body = el("tbody", {}, kept.slice(0, limit).flatMap((entry) => {
      const [row, ...others] = rows(entry);
      return [titled(row, columns.map(([title]) => title)), ...others];
    }));
    if (kept.length === 0) body.append(note(texts.none));
    if (kept.length > limit) {
      const more = el("button", { type: "button", class: "quiet" }, `Show ${thousands(kept.length - limit)} more`);
      more.addEventListener("click", () => { limit = Infinity; fill(); });
      body.append(note(more));
    }
    for (const old of table.querySelectorAll(":scope > tbody")) old.remove();
    table.append(body);
  }
  const search = el("input", { type: "search", class: "search", placeholder: texts.wanted, "aria-label": texts.search });
  search.addEventListener("input", () => { wanted = search.value.trim().toLowerCase(); fill(); });
  fill();
  return { table, search: entries.length > 1 && search };
}
