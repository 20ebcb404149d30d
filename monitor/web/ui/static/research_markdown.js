// A report that is still being written, as nodes: the same few marks as research/document.py reads, and nothing else.
// What the report says only ever becomes text; it is never read as HTML.

const CITATION = /\[(\d{1,4})\]/g;
const RULE = /^\|(?: --- \|)+$/;

function kindOf(line) {
  if (line.startsWith("|")) return "table";
  return line.startsWith("- ") ? "point" : "line";
}

/** Lines that belong together; those of a table or a list make one group, every other line is alone. */
function grouped(markdown, end) {
  const groups = [];
  for (const line of markdown.split("\n").filter((one) => one.trim())) {
    if (end.includes(line)) break;
    const kind = kindOf(line);
    const last = groups[groups.length - 1];
    if (last && last.kind === kind && kind !== "line") last.lines.push(line);
    else groups.push({ kind, lines: [line] });
  }
  return groups;
}

function element(name, attributes = {}) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

/** The text with its citations, into an element; `cite` gives the node for a source's number. */
function fill(place, text, cite) {
  let done = 0;
  for (const match of text.matchAll(CITATION)) {
    place.append(text.slice(done, match.index), cite(Number(match[1])));
    done = match.index + match[0].length;
  }
  place.append(text.slice(done));
  return place;
}

const cells = (row) => row.replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());

function table(lines, cite) {
  const [head, ...body] = lines.filter((line) => !RULE.test(line)).map(cells);
  const made = element("table", { class: "list" });
  const top = made.appendChild(element("thead")).appendChild(element("tr"));
  for (const cell of head) fill(top.appendChild(element("th", { scope: "col" })), cell, cite);
  const rest = made.appendChild(element("tbody"));
  for (const row of body) {
    const line = rest.appendChild(element("tr"));
    row.forEach((cell, place) => fill(line.appendChild(element("td", { "data-label": head[place] || "" })), cell, cite));
  }
  const scroll = element("div", { class: "scroll" });
  scroll.append(made);
  return scroll;
}

function list(lines, cite) {
  const made = element("ul");
  for (const line of lines) fill(made.appendChild(element("li")), line.slice(2), cite);
  return made;
}

function node({ kind, lines }, cite) {
  if (kind === "table") return table(lines, cite);
  if (kind === "point") return list(lines, cite);
  const [line] = lines;
  const marks = /^(#+)\s+/.exec(line);
  // The page has its first heading already: each of the report's stands one level deeper.
  if (marks) return fill(element(`h${Math.min(marks[1].length + 1, 4)}`), line.slice(marks[0].length), cite);
  if (line.startsWith("> ")) return fill(element("p", { class: "hintbox" }), line.slice(2), cite);
  return fill(element("p"), line, cite);
}

/** Draws a report into a place, again and again as it grows, up to a line of `end`; what stands there is left alone. */
export class Reader {
  constructor(place, cite, end) {
    this.place = place;
    this.cite = cite;
    this.end = end;
    this.shown = [];
  }

  show(markdown) {
    const groups = grouped(markdown, this.end);
    const marks = groups.map(({ lines }) => lines.join("\n"));
    let same = 0;
    while (same < marks.length && same < this.shown.length && marks[same] === this.shown[same]) same += 1;
    while (this.place.children.length > same) this.place.lastElementChild.remove();
    for (const group of groups.slice(same)) this.place.append(node(group, this.cite));
    this.shown = marks;
  }

  /** Draw all of it anew: links are known now that were not before. */
  again(markdown) {
    this.shown = [];
    this.place.replaceChildren();
    this.show(markdown);
  }
}
