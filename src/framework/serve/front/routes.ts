// Which file answers a path, and which paths the Worker sees first. Decisions only: whether a file exists is asked
// through `exists`, so that no list of files has to be kept.
import type { AssetSettings, HtmlHandling } from "./settings.ts";
import { decodePercent } from "../../../util/decode-percent.ts";

export type AssetAnswer = { do: "serve"; file: string } | { do: "redirect"; to: string };

export type Exists = (file: string) => Promise<boolean>;

/** `path` is a URL's path name, still encoded. Undefined: no asset answers it. */
export async function findAsset(
  path: string,
  handling: HtmlHandling,
  exists: Exists
): Promise<AssetAnswer | undefined> {
  if (!isServable(path)) return undefined;
  const isFolder = path.endsWith("/");
  if (!isFolder && (handling === "none" || !path.endsWith(".html")) && (await exists(path))) {
    return { do: "serve", file: path };
  }
  if (handling === "none") return undefined;
  const base = isFolder ? path.slice(0, -1) : path.replace(/\.html$/, "").replace(/\/index$/, "");
  const page = `${base}.html`;
  const index = `${base}/index.html`;
  const candidates = isFolder || /\/index(\.html)?$/.test(path) ? [index, page] : [page, index];
  for (const file of candidates) {
    // An index page has the address of its folder and no other.
    const hasAddress = file === index || !/(^|\/|\/index)$/.test(base);
    if (!hasAddress || !(await exists(file))) continue;
    const address = canonicalPath(base, file === index, handling);
    return address === path ? { do: "serve", file } : { do: "redirect", to: address };
  }
  return undefined;
}

/** The one address of a page; every other way to write it is redirected there. */
function canonicalPath(base: string, isIndex: boolean, handling: HtmlHandling): string {
  if (base === "") return "/";
  if (handling === "force-trailing-slash") return `${base}/`;
  return handling === "auto-trailing-slash" && isIndex ? `${base}/` : base;
}

/** Settings of the build, not assets. */
const HIDDEN_FILES = new Set(["/_headers", "/_redirects", "/.assetsignore"]);

/**
 * No hidden files but those of /.well-known, no empty segments (a redirect to "//host" would leave the site), no
 * encoded slashes, nothing that cannot be decoded.
 */
export function isServable(path: string): boolean {
  if (HIDDEN_FILES.has(path)) return false;
  const segments = path.slice(1).split("/");
  return segments.every((segment, index) => {
    if (segment === "") return index === segments.length - 1;
    const plain = decodePercent(segment);
    if (plain === undefined || /[/\\\0]/.test(plain)) return false;
    return !plain.startsWith(".") || (index === 0 && plain === ".well-known");
  });
}

/** Where to look for the page that says "not found", nearest first. */
export function notFoundPages(path: string): string[] {
  const folders = path.split("/").slice(0, -1);
  return folders.map((_folder, index) => `${folders.slice(0, folders.length - index).join("/")}/404.html`);
}

/** Whether the Worker sees a request before any asset does. */
export function isWorkerFirst(path: string, workerFirst: AssetSettings["workerFirst"]): boolean {
  if (workerFirst === true) return true;
  const fits = (pattern: string) => patternExpression(pattern).test(path);
  if (workerFirst.some((pattern) => pattern.startsWith("!") && fits(pattern.slice(1)))) return false;
  return workerFirst.some((pattern) => !pattern.startsWith("!") && fits(pattern));
}

function patternExpression(pattern: string): RegExp {
  const parts = pattern.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`);
}
