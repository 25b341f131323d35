// Streams for the AI SDK's own pipeline, under the names its modules know them by. See plugin.ts.
export { FastReadableStream as ReadableStream } from "../../../model/fast-readable.ts";
export { FastTransformStream as TransformStream } from "./transform.ts";
