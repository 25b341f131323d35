import { openai } from "@ai-sdk/openai";
import type { LanguageModel } from "ai";
import { Think } from "everthink";

export class Researcher extends Think {
  override waitForMcpConnections = true;

  override getModel(): LanguageModel {
    return openai("gpt-5");
  }

  override onStart() {
    this.mcp.registerServer("docs", { name: "docs", url: "https://docs.example.com/mcp" });
  }
}

export class Redirecting extends Researcher {
  override onStart() {
    this.mcp.configureOAuthCallback({ successRedirect: "/connected", errorRedirect: "/settings?tab=mcp" });
  }
}
