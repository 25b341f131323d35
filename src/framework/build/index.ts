export { fastStreams, fastStreamsForEsbuild } from "./fast-streams.ts";
export type { FastStreamsEsbuildPlugin, FastStreamsPlugin } from "./fast-streams.ts";
