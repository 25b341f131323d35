// A page of docs/ as the site wants it: its title and description as fields, and its links as addresses of the site. Pure.

/** Where files of the repository are read that are no pages. Undefined: such links become plain text. */
export interface LinkTargets {
  /** Paths below docs/, without ".md". */
  readonly pages: ReadonlySet<string>;
  readonly repository: string | undefined;
}

export interface MarkdownPage {
  readonly title: string;
  readonly description: string;
  readonly body: string;
}

/** Splits a page into its title, its first paragraph as plain text, and the rest. */
export function readPage(text: string): MarkdownPage {
  const match = /^# (.+)\n+/.exec(text);
  if (!match) throw new Error("A page of docs/ begins with its title: # Title");
  const body = text.slice(match[0].length);
  const first = body.split(/\n\s*\n/, 1)[0] ?? "";
  return { title: plainText(match[1] ?? ""), description: plainText(first), body };
}

function plainText(markdown: string): string {
  return markdown
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/[*`]/g, "")
    .replaceAll(/\s+/g, " ")
    .trim();
}

/** `page`: the path of the page below docs/, without ".md". */
export function siteLinks(markdown: string, page: string, targets: LinkTargets): string {
  return outsideCode(markdown, (text) =>
    text.replaceAll(
      /(!?)\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g,
      (whole, image: string, label: string, href: string) => {
        if (/^(?:[a-z]+:|#|\/)/.test(href)) return whole;
        const [path = "", hash] = href.split("#");
        const resolved = new URL(path, `file:///docs/${page}.md`).pathname.slice(1);
        const anchor = hash === undefined ? "" : `#${hash}`;
        if (image) return `![${label}](/${resolved.replace(/^docs\//, "")})`;
        if (resolved === "README.md") return `[${label}](/${anchor})`;
        const name = /^docs\/(.+)\.md$/.exec(resolved)?.[1];
        if (name !== undefined && targets.pages.has(name)) return `[${label}](/${name}/${anchor})`;
        return targets.repository === undefined ? label : `[${label}](${targets.repository}/${resolved}${anchor})`;
      }
    )
  );
}

/** Changes text, and leaves fenced and inline code as it is. */
function outsideCode(markdown: string, change: (text: string) => string): string {
  return markdown
    .split(/(^```[\s\S]*?^```$)/m)
    .map((block, index) => (index % 2 === 1 ? block : change(block)))
    .join("");
}

export function withFrontMatter({ title, description }: Omit<MarkdownPage, "body">, body: string): string {
  return `---\ntitle: ${JSON.stringify(title)}\ndescription: ${JSON.stringify(description)}\n---\n\n${body}`;
}
