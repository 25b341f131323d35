export { fastStreams, fastStreamsForEsbuild } from "./fast-streams.ts";
export type { BundlerPlugin, EsbuildPlugin } from "./plugins.ts";
export { zodLocales, zodLocalesForEsbuild } from "./zod-locales.ts";
