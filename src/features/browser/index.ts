// `everthink/browser`
export { browserConnector } from "./connector.ts";
export {
  cdpBrowser,
  cloudflareBrowser,
  type BrowserBinding,
  type BrowserLink,
  type CdpBrowserOptions,
  type CdpSocket,
  type CloudflareBrowserOptions
} from "./endpoints.ts";
export type { Browser, BrowserOptions } from "./options.ts";
