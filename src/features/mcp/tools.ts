// Tools of MCP servers as tools of the AI SDK. A call is sent with the signal of its turn and a deadline; the result is
// the server's, as it came, and what the model reads of it are its texts, images and structured content. The SDK's form
// of a tool is made once per listing.
import type { Tool, ToolSet } from "ai";
import { TOOL_GROUP } from "../../feature/tool-discovery.ts";
import { plainJsonSchema } from "../../model/json-schema.ts";
import { isObject, type Json } from "../../util/json.ts";
import type { McpTool, McpToolAnnotations } from "./catalog.ts";
import { McpRequestError } from "./errors.ts";
import { toolKey } from "./tool-names.ts";

/** A tool of an MCP server, as an approval policy sees it. */
export interface McpToolInfo {
  readonly serverId: string;
  readonly serverName: string;
  /** As the server calls it. */
  readonly name: string;
  /** As the model calls it. */
  readonly key: string;
  readonly title?: string;
  readonly description?: string;
  readonly annotations?: McpToolAnnotations;
}

/**
 * What may happen with a tool. `false`: it runs when the model calls it. `true`: every call waits for the user's
 * approval. A function decides for each call by its input. `"hide"`: the model does not get to see the tool.
 */
export type McpApproval = boolean | "hide" | ((input: unknown) => boolean | Promise<boolean>);

export type McpApprovalPolicy = (tool: McpToolInfo) => McpApproval;

/** Calls `tool` on its server. The result is the server's, unless it reports an error: that is thrown. */
export type CallMcpTool = (tool: ListedTool, input: unknown, signal: AbortSignal | undefined) => Promise<unknown>;

export interface ListedTool {
  readonly serverId: string;
  readonly serverName: string;
  readonly tool: McpTool;
}

export interface ToolSetInit {
  readonly tools: readonly ListedTool[];
  readonly call: CallMcpTool;
  readonly approval?: McpApprovalPolicy | undefined;
  readonly warn: (warning: string) => void;
  /** Tools beyond are left out. */
  readonly limit?: number;
}

export interface McpToolSet {
  readonly tools: ToolSet;
  /** How many were left out because of the limit. */
  readonly omitted: number;
}

export function mcpToolSet({ tools, call, approval, warn, limit = Infinity }: ToolSetInit): McpToolSet {
  const set = new Map<string, Tool>();
  let omitted = 0;
  for (const listed of tools) {
    const info = toolInfo(listed);
    const decision = approval === undefined ? false : decide(approval, info, warn);
    if (decision === "hide") continue;
    if (set.has(info.key)) {
      warn(`Two tools of MCP servers are called "${info.key}"; that of "${listed.serverName}" is left out.`);
    } else if (set.size >= limit) {
      omitted += 1;
    } else {
      set.set(info.key, withApproval(converted(listed, info, call), { decision, info, warn }));
    }
  }
  return { tools: Object.fromEntries(set), omitted };
}

export function toolInfo({ serverId, serverName, tool }: ListedTool): McpToolInfo {
  const { name, title = tool.annotations?.title, description, annotations } = tool;
  return {
    serverId,
    serverName,
    name,
    key: toolKey(serverId, name),
    title,
    description,
    annotations
  };
}

type Warn = ToolSetInit["warn"];

/** A policy that fails asks the user, which is the safe side. */
function decide(approval: McpApprovalPolicy, info: McpToolInfo, warn: Warn): McpApproval {
  try {
    return approval(info);
  } catch (error) {
    return asksInstead(info, error, warn);
  }
}

interface Gate {
  readonly decision: Exclude<McpApproval, "hide">;
  readonly info: McpToolInfo;
  readonly warn: Warn;
}

function withApproval(tool: Tool, { decision, info, warn }: Gate): Tool {
  if (decision === false) return tool;
  if (decision === true) return { ...tool, needsApproval: true };
  const needsApproval = async (input: unknown) => {
    try {
      // Whatever else a function without types returns asks the user, too.
      return (await decision(input)) !== false;
    } catch (error) {
      return asksInstead(info, error, warn);
    }
  };
  return { ...tool, needsApproval };
}

function asksInstead({ key }: McpToolInfo, error: unknown, warn: Warn): true {
  warn(`mcpApproval failed for "${key}", so its calls need approval: ${String(error)}`);
  return true;
}

/** By the entry of the catalog: a new listing has new entries. */
const conversions = new WeakMap<McpTool, Tool>();

function converted(listed: ListedTool, info: McpToolInfo, call: CallMcpTool): Tool {
  const known = conversions.get(listed.tool);
  if (known !== undefined) return known;
  const { inputSchema, outputSchema } = listed.tool;
  const { title, annotations, description } = info;
  const source = { serverId: info.serverId, serverName: info.serverName, toolName: info.name };
  const made: Tool = {
    description: description ?? "",
    title,
    // Part of the tool's part in the message: what an approval card shows about it.
    metadata: { mcp: { ...source, ...(annotations !== undefined && { annotations: { ...annotations } }) } },
    ...{ [TOOL_GROUP]: info.serverName },
    // Checked by checkToolSchema.
    inputSchema: plainJsonSchema(inputSchema),
    outputSchema: outputSchema && plainJsonSchema(outputSchema),
    execute: async (input: unknown, { abortSignal }) => call(listed, input, abortSignal),
    toModelOutput: ({ output }) => modelOutput(output)
  };
  conversions.set(listed.tool, made);
  return made;
}

/** The server's result, or what it says went wrong, thrown. */
export function resultOf(result: unknown): unknown {
  if (!isObject(result) || result["isError"] !== true) return result;
  const text = contentOf(result).find(({ type }) => type === "text")?.["text"];
  throw new McpRequestError(typeof text === "string" && text.trim() !== "" ? text : "Tool call failed");
}

type ModelOutput = Awaited<ReturnType<NonNullable<Tool["toModelOutput"]>>>;
type ModelPart = Extract<ModelOutput, { type: "content" }>["value"][number];

/** Texts as text and images as images: as JSON, an image would be a megabyte of letters. */
function modelOutput(output: unknown): ModelOutput {
  const content = isObject(output) ? contentOf(output) : [];
  const structured = isObject(output) ? output["structuredContent"] : undefined;
  const hasImages = content.some(({ type }) => type === "image");
  if (structured !== undefined && !hasImages) return { type: "json", value: structured as Json };
  if (content.length === 0) return { type: "json", value: (output ?? null) as Json };
  return { type: "content", value: content.map(modelPart) };
}

function modelPart(part: Record<string, unknown>): ModelPart {
  const { type, text, data, mimeType, resource } = part;
  if (type === "text" && typeof text === "string") return { type: "text", text };
  if (type === "image" && typeof data === "string" && typeof mimeType === "string") {
    return { type: "image-data", data, mediaType: mimeType };
  }
  if (type === "resource" && isObject(resource) && typeof resource["text"] === "string") {
    return { type: "text", text: resource["text"] };
  }
  if (typeof data === "string")
    return { type: "text", text: `[${String(type)}: ${data.length} characters, not shown]` };
  if (isObject(resource)) {
    return { type: "text", text: `[resource ${String(resource["uri"])}: binary, not shown]` };
  }
  return { type: "text", text: JSON.stringify(part) };
}

function contentOf(result: Record<string, unknown>): Record<string, unknown>[] {
  return Array.isArray(result["content"]) ? result["content"].filter(isObject) : [];
}
