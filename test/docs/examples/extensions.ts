import { openai } from "@ai-sdk/openai";
import type { LanguageModel } from "ai";
import { Think, type ExtensionConfig } from "everthink";
import { createExtensionTools } from "everthink/tools/extensions";

const AUDIT = `({
  hooks: {
    afterToolCall: async ({ toolName, success }, host) => {
      const log = (await host.readFile("/audit.log")) ?? "";
      await host.writeFile("/audit.log", log + toolName + (success ? " done" : " failed") + "\\n");
    }
  }
})`;

export class Tinkerer extends Think<{ LOADER: WorkerLoader }> {
  override extensionLoader = this.env.LOADER;

  override getModel(): LanguageModel {
    return openai("gpt-5");
  }

  override getExtensions(): ExtensionConfig[] {
    return [{ manifest: { name: "audit", version: "1.0.0", permissions: { workspace: "read-write" } }, source: AUDIT }];
  }

  override getTools() {
    const { extensionManager: manager } = this;
    return manager ? createExtensionTools({ manager, approval: true }) : {};
  }

  async addExtension({ manifest, source }: ExtensionConfig) {
    await this.extensionManager?.load(manifest, source);
  }
}
