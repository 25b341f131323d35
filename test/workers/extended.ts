// An agent with an extension of its class and those that tests load, for tests inside workerd.
import { Think } from "../../src/index.ts";
import type { ExtensionPermissions } from "../../src/features/extensions/index.ts";
import { createScript, reply, scriptedModel, text } from "../../src/testing/model/index.ts";

const NOTES = `({
  tools: { note: { execute: async (args, host) => {
    const before = await host.readFile("/note");
    await host.writeFile("/note", "written");
    return before;
  } } },
  hooks: {
    beforeTurn: (snapshot) => ({ system: snapshot.system + " And be brief." }),
    onStepFinish: async (snapshot, host) => { await host.writeFile("/step", snapshot.text); }
  }
})`;

export class Extended extends Think<{ LOADER: WorkerLoader }> {
  override extensionLoader = this.env.LOADER;
  override workspaceBash = false;
  override hookTimeout = 4_000;
  prompts: string[] = [];

  override getModel() {
    return scriptedModel(
      createScript(({ prompt }) => {
        this.prompts.push(JSON.stringify(prompt[0]));
        return reply(text("Brief."));
      })
    );
  }
  override getExtensions() {
    return [
      { manifest: { name: "notes", version: "1", permissions: { workspace: "read-write" as const } }, source: NOTES }
    ];
  }
  /** What is wrong with it, or nothing. */
  async load(name: string, source: string, permissions: ExtensionPermissions = {}): Promise<string> {
    try {
      await this.extensionManager?.load({ name, version: "1", permissions }, source);
      return "";
    } catch (error) {
      return String(error);
    }
  }
  async run(toolName: string, input: object = {}): Promise<string> {
    const options = { toolCallId: "c", messages: [], context: {} } as never;
    try {
      const value: unknown = await this.extensionManager?.getTools()[toolName]?.execute?.(input as never, options);
      return JSON.stringify(value) ?? "undefined";
    } catch (error) {
      return String(error);
    }
  }
  async inChild(toolName: string): Promise<string> {
    return (await this.subAgent(ExtendedChild, "child")).run(toolName);
  }
  async seen() {
    return { prompts: this.prompts, step: await this.workspace.readFile("/step") };
  }
}

export class ExtendedChild extends Extended {}
