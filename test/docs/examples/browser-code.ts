import { openai } from "@ai-sdk/openai";
import { Think } from "everthink";
import { browserConnector, cdpBrowser } from "everthink/browser";
import { createExecuteTool } from "everthink/tools/execute";

export class Reader extends Think<{ LOADER: WorkerLoader }> {
  override browser = cdpBrowser({ tools: false, allow: ["*.example.com"] });

  override getModel() {
    return openai("gpt-5");
  }

  override getTools() {
    return { execute: createExecuteTool(this, { connectors: [browserConnector(this)] }) };
  }
}
