// Reads a page as a person would who opens everything: what it says, and what of it does not fit. Sends it to the page around it.

const problems = [];
addEventListener("error", (event) => problems.push(`error: ${event.message}`));
console.error = (...words) => problems.push(`console: ${words.join(" ")}`);
addEventListener("load", () => read().catch((error) => problems.push(`reader: ${error.stack}`)).finally(() =>
  parent.postMessage({ name: window.name, claims, problems }, "*")));

const claims = [];
const say = (what, shown) => claims.push([what, (shown ?? "").replace(/\s+/g, " ").trim()]);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const text = (selector, root = document) => root.querySelector(selector)?.textContent ?? "";
const section = (label) => document.querySelector(`section[aria-label="${label}"]`);
const settled = () => new Promise((done) => setTimeout(done, 30));

async function read() {
  for (let pass = 0; pass < 3; pass++) {
    for (const button of all("tr.line:not([data-open]) .open")) button.click();
    for (const details of all("details:not([open])")) details.open = true;
    await settled();
  }
  for (const [index, panel] of all('[role="tabpanel"]').entries()) {
    all('[role="tab"]')[index].click();
    await settled();
    fits(panel);
  }
  fits(document);
  say("verdict", text("h1.verdict").replaceAll("`", ""));
  facts();
  findings();
  pairsOfThreads();
  fitTable();
  reusePairs();
  counts();
  trust();
  sections();
}

/** How much there is in each section: rows, and marks of charts. */
function sections() {
  for (const part of all("section[aria-label]")) say(`section ${part.getAttribute("aria-label")}`, String(all("tbody tr, .chart polygon, .chart circle", part).length));
}

/** What stands out of the window or of its own box. */
function fits(root) {
  const wide = document.documentElement.scrollWidth;
  if (wide > innerWidth) problems.push(`the page is ${wide} wide`);
  for (const node of all("*", root === document ? document.body : root)) {
    const style = getComputedStyle(node);
    const box = node.getBoundingClientRect();
    if (box.width === 0 || style.visibility === "hidden" || node.closest("svg") !== node && node.closest("svg")) continue;
    const what = `${node.tagName}.${node.getAttribute("class") ?? ""} "${node.textContent.slice(0, 40)}"`;
    const scrolls = node.closest(".scroll, pre");
    if (box.right > innerWidth + 1 && !scrolls) problems.push(`${what} ends at ${Math.round(box.right)}`);
    const cut = style.overflowX === "hidden" || style.overflowX === "clip";
    if (cut && style.textOverflow !== "ellipsis" && node.scrollWidth > node.clientWidth + 1 && node.textContent !== "") problems.push(`${what} is cut`);
    if (node.tagName === "TD" && node.textContent.length > 12 && box.width < 80 && box.height > 4 * box.width) problems.push(`${what} is ${Math.round(box.width)} wide and ${Math.round(box.height)} high`);
    if (node.matches("svg.chart") && 12 * box.width / node.viewBox.baseVal.width < 8) problems.push(`${what} has illegible labels`);
    if (node.children.length === 0 && node.textContent.length > 12 && box.width < 22 && !scrolls) problems.push(`${what} is ${Math.round(box.width)} wide`);
  }
}

function facts() {
  for (const card of all(".fact")) {
    const [title, figure, note] = [text("h3", card), text(".figure", card), text("p", card)];
    const lines = title.match(/^On ([\d,]+) contended/);
    if (lines) say("contended lines", lines[1]);
    say(lines ? "contended" : `fact ${title}`, figure);
    const interval = note.match(/95% (?:interval|band) (\S+) to (\S+)/);
    if (interval) { say(`${lines ? "contended" : `fact ${title}`} low`, interval[1]); say(`${lines ? "contended" : `fact ${title}`} high`, interval[2]); }
  }
}

function findings() {
  const table = section("Contended data");
  if (!table) return;
  say("elsewhere", text(".elsewhere", table).match(/Elsewhere: (\S+)/)?.[1]);
  all("tr.line", table).forEach((row, index) => {
    const [at, detail] = [`finding ${index + 1}`, row.nextElementSibling];
    const [share, error] = [text("td:nth-child(3) b", row), text("td:nth-child(3) .muted", row)];
    say(`${at} share`, share);
    say(`${at} error`, `${error.replace("±", "")}%`);
    say(`${at} name`, text(".object", row));
    say(`${at} class`, text("td:nth-child(4) .label-small", row));
    say(`${at} lines`, text(".where", row).match(/([\d,]+) cache line/)?.[1]);
    say(`${at} remedy`, text(".remedy strong", detail).replaceAll("`", ""));
    say(`${at} evidence`, text(".remedy > span", detail));
    all("figure", detail).forEach((figure, number) => say(`${at} telling ${number + 1}`, text("figcaption b", figure)));
    all(":scope > td > .picture .range", detail).forEach((range, number) => say(`${at} range ${number + 1}`, range.title.replace(/: align here$/, "").split(" ").at(-1)));
    all(":scope > td > details > .scroll .sites tbody tr", detail).forEach((site, number) => say(`${at} code ${number + 1}`, text("td", site)));
    all(".lines > details", detail).forEach((line, number) => {
      say(`${at} line ${number + 1}`, text("summary b", line));
      say(`${at} line ${number + 1} error`, `${text("summary span", line).replace("±", "")}%`);
      all(".sites tbody tr", line).forEach((site, code) => say(`${at} line ${number + 1} code ${code + 1}`, text("td", site)));
    });
  });
}

function pairsOfThreads() {
  all('section[aria-label="Who communicates with whom"] .side li').forEach((pair, index) => {
    say(`pair ${index + 1} volume`, text(".volume", pair));
    say(`pair ${index + 1} part`, text(".part", pair));
  });
}

function fitTable() {
  const table = section("Misses in this machine’s caches");
  if (!table) return;
  const shown = (row) => all("td", row).slice(1).filter((cell) => cell.textContent !== "");
  const isCost = (row) => text("td", row).startsWith("Cycles");
  all("tbody tr", table).filter(isCost).forEach((row) => shown(row).forEach((cell, column) => say(`cycles ${column + 1}`, cell.textContent)));
  all("tbody tr", table).filter((row) => !isCost(row)).forEach((row, index) => all("td", row).slice(1).forEach((cell, column) => {
    say(`fit ${index + 1} ${column + 1}`, cell.firstChild?.textContent ?? "");
  }));
}

function reusePairs() {
  const table = section("Uses and their reuses");
  if (!table) return;
  all("tr.line", table).forEach((row, index) => {
    const cells = all("td", row);
    const at = `reuse ${index + 1}`;
    say(`${at} misses`, cells[3].textContent);
    say(`${at} share`, cells[4].textContent);
    say(`${at} missing`, cells[6].textContent);
    say(`${at} distance`, cells[5].firstChild.textContent);
  });
}

function counts() {
  const table = section("Counts");
  if (!table) return;
  all(":scope > .card tbody tr", table).forEach((row) => say(`count ${text("td", row)}`, text("td:nth-child(2)", row)));
  all("details", table).forEach((part, which) => all("tbody tr", part).forEach((row, index) => all("td", row).slice(1).forEach((cell, column) => {
    say(`${which === 0 ? "thread" : "process"} ${index + 1} ${column + 1}`, cell.textContent);
  })));
}

function trust() {
  for (const title of all("dl.trust dt")) if (title.textContent === "Coverage") say("coverage", title.nextElementSibling.innerText);
  else say(`row ${title.textContent.toLowerCase()}`, title.nextElementSibling.innerText);
}
