// Paths of the workspace: absolute, normalised, at most 4,096 characters. Every operation uses the normalised form, so
// two spellings of one place never become two entries. Pure.
import { FileError } from "./errors.ts";

export const MAX_PATH_CHARS = 4_096;
export const ROOT = "/";

/**
 * Brings a path to its normalised form; `..` at the root stays there. Throws EINVAL for NUL and for text that is no Unicode,
 * ENAMETOOLONG past the limit.
 */
export function normalizePath(path: string): string {
  if (typeof path !== "string") throw new TypeError("A path must be a string.");
  checkCharacters(path);
  return checkLength(isNormal(path) ? path : resolveDots(path));
}

/** Leaves out empty segments and `.`, and follows `..`. */
export function resolveDots(path: string): string {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue;
    if (part === "..") parts.pop();
    else parts.push(part);
  }
  return `/${parts.join("/")}`;
}

/** Whether a path is in its normalised form, as most are. A path with a name that begins with a dot counts as another one. */
function isNormal(path: string): boolean {
  return path.startsWith("/") && path.length > 1 && !/\/(?:[./]|$)/.test(path);
}

export function checkCharacters(text: string): void {
  if (text.includes("\0")) throw new FileError("EINVAL", "a path cannot contain NUL");
  // SQLite stores UTF-8: a lone surrogate would come back as another name, and two such names as one.
  if (!text.isWellFormed()) throw new FileError("EINVAL", "a path must be valid Unicode");
}

/** Returns the path. Throws ENAMETOOLONG past the limit. */
export function checkLength(path: string): string {
  if (path.length <= MAX_PATH_CHARS) return path;
  throw new FileError("ENAMETOOLONG", `a path has at most ${MAX_PATH_CHARS} characters: ${path.slice(0, 80)}…`);
}

export function parentOf(path: string): string {
  const slash = path.lastIndexOf("/");
  return slash <= 0 ? ROOT : path.slice(0, slash);
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

export function joinPath(directory: string, name: string): string {
  return directory === ROOT ? `/${name}` : `${directory}/${name}`;
}

/** Lists every directory above a path, the nearest first, without the root. */
export function ancestorsOf(path: string): string[] {
  const ancestors: string[] = [];
  for (let slash = path.lastIndexOf("/"); slash > 0; slash = path.lastIndexOf("/", slash - 1))
    ancestors.push(path.slice(0, slash));
  return ancestors;
}

/** Whether `path` is `directory` or below it. */
export function isWithin(directory: string, path: string): boolean {
  return directory === ROOT || path === directory || path.startsWith(`${directory}/`);
}

/**
 * Gives the bounds of everything below a directory, both exclusive: `path > from AND path < to`. A range compares bytes, so
 * that `%`, `_` and quotes in names are only characters.
 */
export function rangeBelow(directory: string): { readonly from: string; readonly to: string } {
  // "0" is the character after "/".
  return directory === ROOT ? { from: "/", to: "0" } : { from: `${directory}/`, to: `${directory}0` };
}

/** Finds where a link leads; its target is absolute, or relative to the directory that holds the link. */
export function resolveLink(link: string, target: string): string {
  return normalizePath(target.startsWith("/") ? target : `${parentOf(link)}/${target}`);
}
