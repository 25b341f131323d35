// Streams for the AI SDK's own pipeline, under the names its modules know them by. See inject.ts.
export { FastReadableStream as ReadableStream } from "./readable.ts";
export { FastTransformStream as TransformStream } from "./transform.ts";
