import { errorTable, ThinkError } from "../util/errors.ts";

export const hostErrors = errorTable(ThinkError, {
  AttachmentTooLargeError: (limitBytes: number, cause: unknown) => ({
    code: "connection-state-too-large",
    message: "The connection's state is too large to keep.",
    hint: `State, tags and URL of one connection together must stay below ${limitBytes} bytes; keep larger values in SQL and refer to them.`,
    cause
  }),
  BlobTooLargeError: (sizeBytes: number, limitBytes: number) => ({
    code: "blob-too-large",
    message: `A value of ${sizeBytes} bytes is too large to store.`,
    hint: `The limit is ${limitBytes} bytes for one value; split it, or keep it outside and store its address.`
  }),
  NewerSchemaError: (found: number, known: number) => ({
    code: "newer-schema",
    message: "This object was written by a newer version and cannot be opened.",
    hint: `Its schema is version ${found}, this build knows up to ${known}. Deploy a build at least as new; nothing was changed.`
  }),
  ClassNotExportedError: (className: string) => ({
    code: "class-not-exported",
    message: `The class "${className}" was not found in worker exports.`,
    hint: `Export it from the Worker's main module under exactly this name.${minifiedHint(className)}`
  })
});

export class FacetsUnsupportedError extends ThinkError {
  constructor() {
    super({
      code: "sub-agents-unsupported",
      message: "Sub-agents are not supported in this runtime.",
      hint: "They need Durable Object facets and ctx.exports: set the compatibility date to 2025-11-17 or later."
    });
  }
}

/** One lowercase letter and at most two more characters is what minifiers leave of a class name. */
export function minifiedHint(className: string): string {
  return /^_*[a-z][a-z0-9]{0,2}$/.test(className)
    ? " The name looks minified: class names are identity here, so tell the bundler to keep them (keepNames)."
    : "";
}
