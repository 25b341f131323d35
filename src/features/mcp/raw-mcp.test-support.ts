// An MCP server written by hand, for what the official package would not say: lists and results of any shape.
import type { Handler } from "./served-mcp.test-support.ts";

export interface RawCall {
  readonly id: number;
  readonly method: string;
  readonly params: Record<string, unknown>;
  readonly signal: AbortSignal;
}

/** The result of a request; a Response is sent as it is. */
export type RawAnswer = (call: RawCall) => unknown;

export class RawError extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** Without sessions and without a stream of notifications. `answers` by method; what is missing does not exist. */
export function rawMcp(answers: Record<string, RawAnswer>): Handler {
  const initialize: RawAnswer = ({ params }) => ({
    protocolVersion: params["protocolVersion"],
    capabilities: { tools: {}, prompts: {}, resources: {} },
    serverInfo: { name: "raw", version: "1.0.0" }
  });
  return async (request) => {
    if (request.method !== "POST") return new Response(null, { status: 405 });
    const message = (await request.json()) as Omit<RawCall, "signal">;
    if (message.id === undefined) {
      await answers[message.method]?.({ ...message, signal: request.signal });
      return new Response(null, { status: 202 });
    }
    try {
      const answer = answers[message.method] ?? (message.method === "initialize" ? initialize : undefined);
      if (answer === undefined) throw new RawError(-32601, "Method not found");
      const result = await answer({ ...message, params: message.params ?? {}, signal: request.signal });
      return result instanceof Response ? result : Response.json({ jsonrpc: "2.0", id: message.id, result });
    } catch (error) {
      const { code = -32603, message: text } = error as RawError;
      return Response.json({ jsonrpc: "2.0", id: message.id, error: { code, message: text } });
    }
  };
}

export const OBJECT = { type: "object" } as const;

/** A tool whose call is answered with a text. */
export function textResult(text: string): { content: { type: "text"; text: string }[] } {
  return { content: [{ type: "text", text }] };
}
