// Lines of source, as they stood when the program was recorded.

/** The excerpt of a call path: the lines around a place in the program's own code, that place's line marked. */
function sourceOf(frames) {
  const frame = frames.find((each) => each.source);
  if (!frame) return null;
  const { first_line: first, lines } = frame.source;
  const indents = lines.filter((text) => text.trim() !== "").map((text) => text.search(/\S/));
  const indent = Math.min(...indents, Infinity);
  const row = (text, index) => el("span", { class: first + index === frame.line ? "own" : "" },
    el("i", {}, String(first + index)), text.slice(indent === Infinity ? 0 : indent), "\n");
  return el("div", { class: "source" },
    frame !== frames[0] && el("div", { class: "where name" }, [frame.function, place(frame)].filter(Boolean).join(" ")),
    el("pre", { tabIndex: 0, "aria-label": `Source at ${place(frame)}` }, lines.map(row)));
}
