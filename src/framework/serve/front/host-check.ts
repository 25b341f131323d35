// Which host names a server on this machine's own address answers to. A page on the internet can point its own name at
// 127.0.0.1; its browser then takes this server for the page's own, but still says the name in `Host`. Pure.

/** Different names that are logged, each once; above the limit refusals are silent. */
const LOGGED_HOSTS = 20;
const LOGGED_HOST_CHARACTERS = 200;

/** `known`: names in lower case, as URLs spell them; "*" for all. */
export function isKnownHost(hostname: string, known: readonly string[]): boolean {
  return known.includes(hostname) || known.includes("*");
}

export class HostLog {
  readonly #logged = new Set<string>();

  /** What to say about a refused name; undefined when it was said before. */
  line(hostname: string): string | undefined {
    const shown = hostname.slice(0, LOGGED_HOST_CHARACTERS);
    if (this.#logged.has(shown) || this.#logged.size >= LOGGED_HOSTS) return undefined;
    this.#logged.add(shown);
    return (
      `Refused a request for the host ${JSON.stringify(shown)}: this server answers for this machine only. ` +
      `If a proxy brings requests here, start with --allow-host ${shown}.`
    );
  }
}
