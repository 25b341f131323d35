// `@modelcontextprotocol/client`, loaded when the first server is connected: an agent without MCP servers neither pays
// for it nor needs it installed.
import type * as ClientPackage from "@modelcontextprotocol/client";
import type { CfWorkerJsonSchemaValidator } from "@modelcontextprotocol/client/validators/cf-worker";
import { McpPackageMissingError } from "./errors.ts";

export type ClientSdk = typeof ClientPackage & {
  /** Checks values by interpreting the schema. The package's other validator generates code, which workerd refuses. */
  readonly SchemaValidator: typeof CfWorkerJsonSchemaValidator;
};

/** Throws McpPackageMissingError. */
export async function loadSdk(): Promise<ClientSdk> {
  try {
    // Each awaited by itself: bundlers take a missing package for an error unless the import itself is awaited in a try.
    const client = await import("@modelcontextprotocol/client");
    const validators = await import("@modelcontextprotocol/client/validators/cf-worker");
    return { ...client, SchemaValidator: validators.CfWorkerJsonSchemaValidator };
  } catch (cause) {
    throw new McpPackageMissingError(cause);
  }
}
