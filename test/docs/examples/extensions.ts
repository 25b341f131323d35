import type { LanguageModel } from "ai";
import { Think } from "everthink";
import { ExtensionManager } from "everthink/extensions";
import { createExtensionTools } from "everthink/tools/extensions";

export class Tinkerer extends Think<{ LOADER: WorkerLoader }> {
  extensions = new ExtensionManager({ loader: this.env.LOADER, storage: this.ctx.storage, workspace: this.workspace });

  override getModel(): LanguageModel {
    return "openai/gpt-5";
  }

  override async onStart() {
    await this.extensions.restore();
  }

  override getTools() {
    return {
      ...createExtensionTools({ manager: this.extensions, approval: true }),
      ...this.extensions.getTools()
    };
  }
}
