// How a test tells the page what to connect to: the query of the page's own address.
export interface PageSettings {
  /** The worker's host and port. */
  host: string;
  /** The conversation. */
  name: string;
  /** Whether tools are answered as soon as they are called, or by the buttons. */
  answers: "at-once" | "by-button";
  /** The whole path of the agent, where it is not the usual one. */
  basePath?: string;
}

export function pageQuery(settings: PageSettings): string {
  return new URLSearchParams({ ...settings }).toString();
}

export function readPageSettings(query: string): PageSettings {
  const parameters = new URLSearchParams(query);
  const read = (key: keyof PageSettings): string => parameters.get(key) ?? "";
  const basePath = read("basePath");
  return {
    host: read("host"),
    name: read("name"),
    answers: read("answers") === "at-once" ? "at-once" : "by-button",
    ...(basePath !== "" && { basePath })
  };
}
