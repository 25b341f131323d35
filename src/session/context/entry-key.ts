// Under which key a model's entry is kept in a collection. The same title is the same entry; texts without a title never
// share one by accident, however alike they begin and whatever alphabet they use. Pure.

const SLUG_CHARS = 60;

export function entryKey(content: string, title?: string): string {
  if (title !== undefined && title.trim() !== "") return slug(title) || `entry-${hash(title)}`;
  return `${slug(content) || "entry"}-${hash(content)}`;
}

function slug(text: string): string {
  return text
    .slice(0, SLUG_CHARS)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
}

/** FNV-1a over UTF-16 units, 32 bits. */
function hash(text: string): string {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  }
  return (value >>> 0).toString(36);
}
