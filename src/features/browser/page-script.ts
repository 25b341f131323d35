// What is run inside of a page, in a world of its own: the page's scripts share its elements and nothing else with it, so they
// cannot change what these functions do. Each is bounded by numbers, because a page decides how much there is. The text is
// given to the browser as it stands: it must not be changed by a bundler.

/** Elements that may be clicked or typed into have a name, such as e12, that no other element of the session gets. */
const SHARED = String.raw`
const refs = (globalThis.everthinkRefs ??= new Map());
const names = (globalThis.everthinkNames ??= new WeakMap());
`;

/** Called with the next free number, and the most characters and nodes to look at. Returns text with names of elements. */
export const READ_SCRIPT = String.raw`((first, maxChars, maxNodes) => {
${SHARED}
let next = first, nodes = 0, isCut = false, out = "";
const BLOCK = /^(?:address|article|aside|blockquote|dd|details|dialog|div|dl|dt|fieldset|figcaption|figure|footer|form|h[1-6]|header|hr|li|main|nav|ol|p|pre|section|summary|table|tbody|tfoot|thead|tr|ul)$/;
const SKIP = /^(?:script|style|noscript|template|head|svg|object|embed|canvas|audio|video)$/;
const add = (text) => {
  if (out.length + text.length > maxChars) isCut = true;
  out += text.slice(0, Math.max(0, maxChars - out.length));
};
const line = () => { if (out !== "" && !out.endsWith("\n")) add("\n"); };
const words = (text, most = 200) => String(text ?? "").replace(/\s+/g, " ").trim().slice(0, most);
const nameOf = (element) => {
  let name = names.get(element);
  if (name === undefined) { name = "e" + next; next += 1; names.set(element, name); refs.set(name, element); }
  return name;
};
const labelOf = (element) => words(
  element.getAttribute("aria-label") || element.labels?.[0]?.innerText || element.getAttribute("placeholder") ||
  element.getAttribute("title") || element.getAttribute("alt") || element.getAttribute("name"));
const field = (element, tag) => {
  const type = tag === "input" ? element.type : tag;
  if (type === "hidden") return;
  const is = ["checkbox", "radio"].includes(type) ? (element.checked ? " checked" : " not checked") : "";
  const text = ["submit", "button", "reset", "image"].includes(type) ? words(element.value) || labelOf(element) : labelOf(element);
  const kind = { submit: "button", reset: "button", image: "button", textarea: "textbox" }[type] ?? type;
  let value = "";
  if (tag === "select") value = " options: " + [...element.options].slice(0, 50).map((one) => (one.selected ? "*" : "") + words(one.text, 60)).join(" | ");
  else if (type === "password") value = element.value === "" ? "" : " (filled in)";
  else if (is === "" && kind !== "button") value = " value: " + JSON.stringify(words(element.value, 500));
  add(" [" + kind + " " + nameOf(element) + (text ? ": " + text : "") + is + value + (element.disabled ? " disabled" : "") + "] ");
};
const isShown = (element) => element.getAttribute("aria-hidden") !== "true" &&
  (getComputedStyle(element).display === "contents" || element.checkVisibility({ opacityProperty: true, visibilityProperty: true }));
const visit = (node, depth) => {
  nodes += 1;
  if (isCut || nodes > maxNodes || depth > 300) { isCut = true; return; }
  if (node.nodeType === 3) {
    const text = node.data.slice(0, maxChars).replace(/\s+/g, " ");
    if (text !== " " || !/\s$/.test(out)) add(out === "" || /\s$/.test(out) ? text.trimStart() : text);
    return;
  }
  if (node.nodeType !== 1) return;
  const tag = node.localName;
  if (SKIP.test(tag) || !isShown(node)) return;
  if (["input", "select", "textarea"].includes(tag)) return field(node, tag);
  if (tag === "br" || tag === "hr") return line();
  if (tag === "img") { const alt = words(node.alt); return alt ? add("![" + alt + "]") : undefined; }
  if (tag === "iframe") {
    let inner = null;
    try { inner = node.contentDocument; } catch {}
    line();
    if (inner?.body) visit(inner.body, depth + 1); else add("(a frame of " + words(node.src) + " that cannot be read)");
    return line();
  }
  const isBlock = BLOCK.test(tag);
  if (isBlock) line();
  const heading = /^h([1-6])$/.exec(tag);
  if (heading) add("#".repeat(Number(heading[1])) + " ");
  if (tag === "li") add("- ");
  const isLink = tag === "a" && node.href !== "";
  const isButton = tag === "button" || tag === "summary" || node.isContentEditable && !node.parentElement?.isContentEditable ||
    /^(?:button|link|menuitem|option|tab|checkbox|switch)$/.test(node.getAttribute("role") ?? "") || (!isLink && node.hasAttribute("onclick"));
  if (isLink || isButton) add("[" + (isLink ? "link" : node.isContentEditable ? "textbox" : "button") + " " + nameOf(node) + ": ");
  const label = isLink || isButton ? words(node.getAttribute("aria-label")) : "";
  if (label) add(label);
  else for (const child of (node.shadowRoot ?? node).childNodes) { visit(child, depth + 1); if (isCut) break; }
  if (isLink || isButton) add(isLink ? "](" + words(node.href, 300) + ")" : "]");
  if (tag === "td" || tag === "th") add(" | ");
  if (isBlock) line();
};
if (document.body) visit(document.body, 0);
return JSON.stringify({ text: out.replace(/[ \t]+\n/g, "\n").trim(), title: words(document.title), url: location.href.slice(0, 4000), isCut, next });
})`;

/** Called with the name of an element: brings it into view, and says where it is. Null: there is no such element. */
export const FIND_SCRIPT = String.raw`((name) => {
${SHARED}
const element = refs.get(name);
if (!element?.isConnected) return null;
// A link or form for a window of its own stays in this one.
for (const one of [element, element.closest("a, area"), element.form, element.closest("form"), document.querySelector("base")]) {
  one?.removeAttribute("target");
  one?.removeAttribute("formtarget");
}
element.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
const { left, top, width, height } = element.getBoundingClientRect();
const x = left + width / 2, y = top + height / 2;
const hit = element.ownerDocument === document && width > 0 ? document.elementFromPoint(x, y) : null;
const isHit = hit !== null && (element.contains(hit) || hit.contains(element));
return JSON.stringify({ x, y, isHit });
})`;

/** Called with the name of an element that cannot be hit at its place. */
export const CLICK_SCRIPT = String.raw`((name) => {
${SHARED}
refs.get(name)?.click();
})`;

/** Called with the name of a field and the text: empties and focuses it. A choice is made at once. Null: there is no such field. */
export const FILL_SCRIPT = String.raw`((name, text) => {
${SHARED}
const element = refs.get(name);
if (!element?.isConnected) return null;
const tell = () => { for (const type of ["input", "change"]) element.dispatchEvent(new Event(type, { bubbles: true })); };
if (element.localName === "select") {
  const wanted = text.trim().toLowerCase();
  const option = [...element.options].find((one) => one.text.trim().toLowerCase() === wanted || one.value.toLowerCase() === wanted);
  if (!option) return "no-option";
  element.value = option.value;
  tell();
  return "chosen";
}
if (!element.isContentEditable && (!("value" in element) || ["checkbox", "radio", "file", "submit", "button"].includes(element.type))) return "no-field";
element.scrollIntoView({ block: "center", behavior: "instant" });
element.focus();
if (element.isContentEditable) document.getSelection().selectAllChildren(element);
else if (/^(?:date|time|month|week|color|range|datetime-local)$/.test(element.type)) { element.value = text; tell(); return "chosen"; }
else element.select();
return "focused";
})`;
