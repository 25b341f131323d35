// Which addresses an entry of a list of allowed or refused ones means. Pure.

/** Whether an entry (`api.example.com`, or `*.example.com` for every name below it) means a host. */
export function isHostIn(entry: string, host: string): boolean {
  if (entry === host) return true;
  return entry.startsWith("*.") && host.length > entry.length - 1 && host.endsWith(entry.slice(1));
}

/** Whether a prefix means an address: `https://host/v1` means `/v1` and `/v1/x`, not `/v10`, nor what could be read as another path. */
export function isBelow(prefix: string, url: URL): boolean {
  const allowed = new URL(prefix);
  if (allowed.origin !== url.origin || /%2f|%5c|\\|;|%25/i.test(url.pathname)) return false;
  const base = allowed.pathname.replace(/\/$/, "");
  return url.pathname === base || url.pathname.startsWith(`${base}/`);
}
