import { Operator } from "./tools.ts";
import type { DeferrableTool } from "everthink";

export class Cashier extends Operator {
  override toolDiscovery = {
    keep: ["Shop"],
    defer: ({ name, group }: DeferrableTool) => group.kind === "server" && name !== "tool_mail_send",
    maxActive: 20
  };

  async promptCosts() {
    const { deferredTools } = await this.explainPrompt();
    return deferredTools && `${deferredTools.tokensOffered} tokens instead of ${deferredTools.tokensOfAll}`;
  }
}
