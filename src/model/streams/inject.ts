// Gives modules of the AI SDK the streams of this folder, and nobody else: an import at the top of the module shadows
// the two global names in its own scope. For bundlers, at build time; no global is replaced, and a program built
// without it works the same, only slower. Pure.

/** A file of the package `ai` itself, not of its providers: theirs end in bodies. */
const SDK_FILE = /[\\/]node_modules[\\/]ai[\\/]dist[\\/][^?]*\.m?js(?:\?|$)/;
const IS_MODULE = /^export\s*[{*]/m;
const MAKES_STREAMS = /\bnew (?:Readable|Transform)Stream\b/;

export interface BundledModule {
  /** Its file, as bundlers name it. */
  readonly id: string;
  readonly code: string;
}

/** The code with the streams of the module `from`; undefined for a module that stays as it is. */
export function withFastStreams({ id, code }: BundledModule, from: string): string | undefined {
  if (!SDK_FILE.test(id) || !IS_MODULE.test(code) || !MAKES_STREAMS.test(code)) return undefined;
  // On the first line, so that no line number changes.
  return `import { ReadableStream, TransformStream } from ${JSON.stringify(from)}; ${code}`;
}
