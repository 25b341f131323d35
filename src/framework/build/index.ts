export { fastStreams, fastStreamsForEsbuild } from "./streams/plugin.ts";
export type { BundlerPlugin, EsbuildPlugin } from "./plugins.ts";
export { zodLocales, zodLocalesForEsbuild } from "./zod-locales.ts";
