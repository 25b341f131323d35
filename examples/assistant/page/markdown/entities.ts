// Markdown may write a character by its HTML name, such as &copy;. The browser knows all the names; it is asked for one
// at a time, as text, so nothing of it becomes an element.

const ENTITY = /&(?:#\d{1,7}|#x[\da-f]{1,6}|[a-z][\da-z]{1,31});/gi;
const parser = new DOMParser();

export function decodeEntities(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(ENTITY, (entity) => parser.parseFromString(entity, "text/html").body.textContent ?? entity);
}
