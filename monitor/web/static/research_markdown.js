// A report that is still being written, as nodes: the same marks as web/markdown.py reads, and nothing else.
// What the report says only ever becomes text; it is never read as HTML.

const HEADING = /^(#{1,6})\s+(.+?)\s*#*$/;
const ITEM = /^\s*(?:[-*+]|(\d{1,4})[.)])\s+(.*)$/;
const RULE = /^\s*\|?[\s:|-]*-[\s:|-]*\|?\s*$/;
const SPAN = /\[(\d{1,4})\](?!\()|\[([^[\]]+)\]\((https?:\/\/[^\s()]+)\)|\*\*([^*]+)\*\*/g;

function kindOf(line, before) {
  if (!line.trim()) return "";
  if (HEADING.test(line)) return "heading";
  if (line.trimStart().startsWith("|")) return "table";
  const item = ITEM.exec(line);
  const isList = before === "list" || before === "numbered";
  if (item) return isList ? before : item[1] ? "numbered" : "list";
  if (line.startsWith(">")) return "quote";
  return isList || before === "quote" ? before : "paragraph";
}

function grouped(markdown) {
  const groups = [];
  let kind = "";
  for (const line of markdown.split(/\r?\n/)) {
    const found = kindOf(line, kind);
    if (found && (found !== kind || found === "heading")) groups.push({ kind: found, lines: [] });
    if (found) groups[groups.length - 1].lines.push(line);
    kind = found;
  }
  return groups;
}

function element(name, text = "", attributes = {}) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

/** The text with its links, into an element; `cite` gives the link of a source by its number, or null. */
function fill(place, text, cite) {
  let done = 0;
  for (const match of text.matchAll(SPAN)) {
    place.append(text.slice(done, match.index));
    const [whole, number, words, url, strong] = match;
    if (number) place.append(cite(Number(number)) || element("span", whole, { class: "cite" }));
    else if (url) place.append(element("a", words, { class: "outside", href: url, rel: "noopener noreferrer nofollow", target: "_blank" }));
    else place.append(element("strong", strong));
    done = match.index + whole.length;
  }
  place.append(text.slice(done));
  return place;
}

function cells(row) {
  const parts = row.trim().replace(/^\|/, "").split(/(?<!\\)\|/);
  if (parts.length && !parts[parts.length - 1].trim()) parts.pop();
  return parts.map((part) => part.replaceAll("\\|", "|").trim());
}

function table(lines, cite) {
  const rows = lines.filter((line, place) => place !== 1 || !RULE.test(line)).map(cells);
  const [head, ...body] = rows;
  const made = element("table", "", { class: "list" });
  const top = made.appendChild(element("thead")).appendChild(element("tr"));
  for (const cell of head) fill(top.appendChild(element("th", "", { scope: "col" })), cell, cite);
  const rest = made.appendChild(element("tbody"));
  for (const row of body) {
    const line = rest.appendChild(element("tr"));
    row.forEach((cell, place) => fill(line.appendChild(element("td", "", { "data-label": head[place] || "" })), cell, cite));
  }
  const scroll = element("div", "", { class: "scroll" });
  scroll.append(made);
  return scroll;
}

function list(kind, lines, cite) {
  const made = element(kind === "numbered" ? "ol" : "ul");
  const first = ITEM.exec(lines[0]);
  if (kind === "numbered" && first[1] !== "1") made.setAttribute("start", first[1]);
  const points = [];
  for (const line of lines) {
    const item = ITEM.exec(line);
    if (item) points.push(item[2]);
    else points[points.length - 1] += ` ${line.trim()}`;
  }
  for (const point of points) fill(made.appendChild(element("li")), point, cite);
  return made;
}

function node({ kind, lines }, cite) {
  if (kind === "heading") {
    const [, marks, text] = HEADING.exec(lines[0]);
    return fill(element(`h${Math.min(marks.length + 1, 6)}`), text, cite);
  }
  if (kind === "table") return table(lines, cite);
  if (kind === "list" || kind === "numbered") return list(kind, lines, cite);
  if (kind === "quote") return fill(element("blockquote"), lines.map((line) => line.replace(/^[> ]+/, "")).join(" "), cite);
  return fill(element("p"), lines.map((line) => line.trim()).join("\n"), cite);
}

/** Draws a report into a place, again and again as it grows; what stands there already is left alone. */
export class Reader {
  constructor(place, cite) {
    this.place = place;
    this.cite = cite;
    this.shown = [];
  }

  show(markdown) {
    const groups = grouped(markdown);
    const marks = groups.map(({ kind, lines }) => `${kind}\n${lines.join("\n")}`);
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
