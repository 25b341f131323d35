// What happened in a page that the model cannot see: what was refused, and what was closed. Our own words, and of a page's only
// the host of an address. Told once.
const MAX_HOSTS = 3;

export class PageNotes {
  readonly #refusals = new Map<string, Set<string>>();
  readonly #lines = new Set<string>();
  #posts = 0;
  #dialogs = 0;
  /** Why the page itself was not opened, since it was asked last. */
  #pageRefusal: string | undefined;

  refused(url: URL, reason: string, isOfPage: boolean): void {
    if (isOfPage) this.#pageRefusal = reason;
    const hosts = this.#refusals.get(reason) ?? new Set();
    hosts.add((url.host || url.protocol).slice(0, 80));
    this.#refusals.set(reason, hosts);
  }

  refusedPost(): void {
    this.#posts += 1;
  }

  file(type: string, isOfPage: boolean): void {
    const reason = `it is a file of the type ${type}, which the browser does not save`;
    if (isOfPage) this.#pageRefusal = reason;
    this.#lines.add(`A download was refused (${type}).`);
  }

  cut(): void {
    this.#lines.add("The page is longer than what is loaded of one, or did not end in time: this is its beginning.");
  }

  dialog(): void {
    this.#dialogs += 1;
  }

  stopped(): void {
    this.#lines.add("The page loaded too much and was stopped.");
  }

  takePageRefusal(): string | undefined {
    const reason = this.#pageRefusal;
    this.#pageRefusal = undefined;
    return reason;
  }

  /** What is new, a sentence each. */
  take(): string[] {
    const refusals = [...this.#refusals].map(([reason, hosts]) => {
      const shown = [...hosts].slice(0, MAX_HOSTS).join(", ");
      const more = hosts.size > MAX_HOSTS ? ` and ${hosts.size - MAX_HOSTS} more` : "";
      return `Requests to ${shown}${more} were refused: ${reason}.`;
    });
    const posts =
      this.#posts > 0 ? [`${this.#posts} request(s) of the page that would send something were refused.`] : [];
    const dialogs = this.#dialogs > 0 ? [`${this.#dialogs} dialog(s) of the page were dismissed.`] : [];
    const taken = [...refusals, ...posts, ...dialogs, ...this.#lines];
    this.#refusals.clear();
    this.#lines.clear();
    [this.#posts, this.#dialogs] = [0, 0];
    return taken;
  }
}
