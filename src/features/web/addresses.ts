// Which addresses the lists of a class mean. Pure.
import { isBelow, isHostIn } from "../../util/address-list.ts";
import type { FetchSettings } from "./options.ts";

type Lists = Pick<FetchSettings, "allow" | "deny">;

/** Why the lists refuse an address; undefined: they do not. */
export function listRefusal(url: URL, { allow, deny }: Lists): string | undefined {
  const plain = withPlainHost(url);
  if (deny.some((entry) => means(entry, plain) || (isAddress(entry) && isUnclearBelow(entry, plain))))
    return "it is in the list of refused addresses";
  if (allow === undefined || allow.some((entry) => means(entry, plain))) return undefined;
  return "it is not in the list of allowed addresses";
}

/** Whether an entry is an address that means this one: only such an entry opens what is inside of a network. */
export function isNamed(url: URL, { allow = [] }: { readonly allow?: readonly string[] | undefined }): boolean {
  const plain = withPlainHost(url);
  return allow.some((entry) => isAddress(entry) && means(entry, plain));
}

function means(entry: string, url: URL): boolean {
  if (isAddress(entry)) return isBelow(entry, url);
  return entry === "*" || isHostIn(entry.toLowerCase(), url.hostname);
}

function isAddress(entry: string): boolean {
  return /^https?:\/\//i.test(entry);
}

/** A path that could be read as another one is refused where anything of its origin is. */
function isUnclearBelow(entry: string, url: URL): boolean {
  return new URL(entry).origin === url.origin && /%2f|%5c|\\|;|%25|\/\//i.test(url.pathname);
}

/** Without the dots that make a name absolute: it is the same host with and without them. */
function withPlainHost(url: URL): URL {
  const plain = new URL(url);
  plain.hostname = plain.hostname.replace(/\.+$/, "");
  return plain;
}
