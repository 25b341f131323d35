// Markdown may write a character by its HTML name, such as &copy;. The browser knows all the names; it is asked for one
// at a time, as text, so nothing of it becomes an element.

const ENTITY = /&(?:#\d{1,7}|#x[\da-f]{1,6}|[a-z][\da-z]{1,31});/gi;
let parser: DOMParser | undefined;

export function decodeEntities(text: string): string {
  // A server that renders the page has no parser: the browser's first render decodes.
  if (!text.includes("&") || typeof DOMParser === "undefined") return text;
  const { parseFromString } = (parser ??= new DOMParser());
  const decode = (entity: string) => parseFromString.call(parser, entity, "text/html").body.textContent;
  return text.replace(ENTITY, (entity) => decode(entity) ?? entity);
}
