import { openai } from "@ai-sdk/openai";
import type { LanguageModel } from "ai";
import { Think } from "everthink";

export class Operator extends Think {
  override waitForMcpConnections = true;

  override getModel(): LanguageModel {
    return openai("gpt-5");
  }

  override onStart() {
    this.mcp.registerServer("code", { name: "GitHub", url: "https://code.example.com/mcp" });
    this.mcp.registerServer("shop", { name: "Shop", url: "https://shop.example.com/mcp" });
    this.mcp.registerServer("mail", { name: "Mail", url: "https://mail.example.com/mcp" });
  }
}
