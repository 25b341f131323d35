// The tool with which the model reads on where an action's output was cut. Only reads; nothing the model writes into
// its input can fail the turn.
import { jsonSchema, type ToolSet } from "ai";
import { MAX_PAGE_BYTES, type Results } from "./results.ts";

export const READ_RESULT = "read_result";

interface ReadInput {
  readonly id: string;
  readonly from?: number;
  readonly length?: number;
}

export function readResultTool(results: Results): ToolSet {
  return {
    [READ_RESULT]: {
      description:
        "Reads more of an action's result that was too long to show. Give its resultId; go on with `next` as `from`.",
      inputSchema: jsonSchema<ReadInput>({
        type: "object",
        properties: {
          id: { type: "string" },
          from: { type: "integer", minimum: 0, description: "Byte to start at; 0 by default." },
          length: { type: "integer", minimum: 1, maximum: MAX_PAGE_BYTES }
        },
        required: ["id"],
        additionalProperties: false
      }),
      execute: ({ id, from, length }: ReadInput) => {
        const page = results.page(String(id), wholeNumber(from, 0), wholeNumber(length, MAX_PAGE_BYTES));
        return (
          page ?? { error: { name: "ActionResultGone", message: "There is no such result, or it is no longer kept." } }
        );
      }
    }
  };
}

/** A JSON schema of ours is a request to the model, not a check. */
function wholeNumber(value: unknown, otherwise: number): number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? Math.floor(value) : otherwise;
}
