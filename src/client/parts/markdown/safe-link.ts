// Where a link in a model's text may lead. Anything a browser would run instead of open stays plain text.

const ALLOWED = new Set(["http:", "https:", "mailto:"]);

export function safeLink(target: string): string | undefined {
  // Without a base: relative targets would lead into this application, which no model knows.
  if (!URL.canParse(target)) return undefined;
  const url = new URL(target);
  return ALLOWED.has(url.protocol) ? url.href : undefined;
}
