// `everthink/core/browser`: a real browser.
export { browser, type BrowserMembers } from "../features/browser/capability.ts";
