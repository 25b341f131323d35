// A real browser for the model, as a capability. Its code comes with the value of the setting: a class without one bundles
// this file alone.
import { chatCapability } from "../../feature/capability.ts";
import { browserErrors } from "./errors.ts";
import type { Browser } from "./options.ts";

export class BrowserMembers {
  /**
   * The browser in which the model may open pages, read them, click and type: `cloudflareBrowser()` or `cdpBrowser()` of
   * `everthink/browser`. Without it the model has none.
   *
   * @example
   * browser = cloudflareBrowser();
   */
  browser: Browser | undefined = undefined;
}

export const browser = chatCapability({
  name: "browser",
  members: BrowserMembers,
  // Only agents with these members are asked.
  isUsed: (agent) => (agent as BrowserMembers).browser !== undefined,
  carried: {
    method: "browser",
    read: (agent) => ({ browser: (agent as BrowserMembers).browser }),
    refuse: () =>
      browserErrors.BrowserSetupError(
        "browser has a value that is no browser.",
        "Give what cloudflareBrowser() or cdpBrowser() of everthink/browser returns."
      )
  }
});
