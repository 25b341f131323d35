// How assets are served; the values and their defaults are those of wrangler's `assets`.

export const HTML_HANDLINGS = ["auto-trailing-slash", "drop-trailing-slash", "force-trailing-slash", "none"] as const;
export const NOT_FOUND_HANDLINGS = ["none", "single-page-application", "404-page"] as const;

export type HtmlHandling = (typeof HTML_HANDLINGS)[number];
export type NotFoundHandling = (typeof NOT_FOUND_HANDLINGS)[number];

export interface AssetSettings {
  htmlHandling: HtmlHandling;
  notFoundHandling: NotFoundHandling;
  /** Requests the Worker sees before any asset: all, or those that fit a pattern ("/api/*", "!/api/docs/*"). */
  workerFirst: true | readonly string[];
}

export const DEFAULT_ASSET_SETTINGS: AssetSettings = {
  htmlHandling: "auto-trailing-slash",
  notFoundHandling: "none",
  workerFirst: []
};
