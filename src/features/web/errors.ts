import { errorTable, ThinkError } from "../../util/errors.ts";

export const webErrors = errorTable(ThinkError, {
  /** `webFetch` or `webSearch` has a value that cannot be used. */
  WebSetupError: (problem: string, hint: string) => ({ code: "web-setup", message: problem, hint }),
  /** A page cannot be fetched. The model reads the message. */
  WebFetchError: (origin: string, reason: string, cause?: unknown) => ({
    code: "web-fetch-failed",
    message: `${origin} could not be fetched: ${reason}.`,
    hint: "The model was given this text as the result of fetch_url. What may be fetched is set with `webFetch`.",
    cause
  }),
  /** HTML is to be converted, and the package for that is missing. `cause` is why it could not be loaded. */
  WebConverterMissingError: (cause: unknown) => ({
    code: "web-converter-missing",
    message: "HTML cannot be read: the package @mdream/js is not installed.",
    hint: 'Run `npm install @mdream/js`, or set `as: "raw"` in `webFetch`.',
    cause
  }),
  /** The search has no key, or no address. */
  WebSearchKeyError: (provider: string, variable: string) => ({
    code: "web-search-key",
    message: `The web search with ${provider} is not set up.`,
    hint: `Set the variable ${variable}, or give the value to the provider.`
  }),
  /** The provider of the search refused, failed, or answered with what cannot be read. */
  WebSearchError: (provider: string, reason: string, cause?: unknown) => ({
    code: "web-search-failed",
    message: `The web search with ${provider} failed: ${reason}.`,
    hint: "The answer of the provider is not shown to the model. Check the key, the plan and the limits of the provider.",
    cause
  })
});
