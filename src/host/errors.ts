import { ThinkError } from "../util/errors.ts";

export class AttachmentTooLargeError extends ThinkError {
  constructor(
    readonly limitBytes: number,
    cause: unknown
  ) {
    super({
      code: "connection-state-too-large",
      message: "The connection's state is too large to keep.",
      hint: `State, tags and URL of one connection together must stay below ${limitBytes} bytes; keep larger values in SQL and refer to them.`,
      cause
    });
  }
}

export class FacetsUnsupportedError extends ThinkError {
  constructor() {
    super({
      code: "sub-agents-unsupported",
      message: "Sub-agents are not supported in this runtime.",
      hint: "They need Durable Object facets and ctx.exports: set the compatibility date to 2025-11-17 or later."
    });
  }
}

export class ClassNotExportedError extends ThinkError {
  constructor(readonly className: string) {
    super({
      code: "class-not-exported",
      message: `The class "${className}" was not found in worker exports.`,
      hint: `Export it from the Worker's main module under exactly this name.${minifiedHint(className)}`
    });
  }
}

/** One lowercase letter and at most two more characters is what minifiers leave of a class name. */
export function minifiedHint(className: string): string {
  return /^_*[a-z][a-z0-9]{0,2}$/.test(className)
    ? " The name looks minified: class names are identity here, so tell the bundler to keep them (keepNames)."
    : "";
}
