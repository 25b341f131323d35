// An agent that works with its files, for tests inside workerd.
import { Think, Workspace } from "../../src/index.ts";
import { createBashTool } from "../../src/features/workspace/tools/index.ts";
import { reply, scriptedModel, text } from "../../src/testing/model/index.ts";

export class Librarian extends Think {
  override workspace: Workspace = new Workspace({ sql: this.ctx.storage.sql, name: () => this.name });

  override getModel() {
    return scriptedModel([reply(text("hello"))]);
  }

  /** One of each operation, so that every statement meets the platform's own rules. */
  async tour(): Promise<unknown> {
    const files = this.workspace;
    await files.writeFile("/d/é/a.txt", "one\n");
    await files.appendFile("/d/é/a.txt", "two\n");
    await files.writeFileBytes("/big", new Uint8Array(3_000_000).fill(7));
    await files.appendFile("/big", "end");
    await files.cp("/big", "/copy");
    await files.symlink("/d/é", "/link");
    await files.writeFile("/link/b.txt", "through");
    await files.mv("/d", "/moved");
    await files.rm("/big");
    await files.mkdir("/x/y/z", { recursive: true });
    for (let count = 0; count <= 22; count += 1) await files.writeFile("/many", `${count}`);
    await files.rm("/many");
    await files.writeFile("/gone/f", "x");
    await files.rm("/gone", { recursive: true });
    const [version] = await files.history("/big");
    await files.restore("/big", version?.version ?? 0);
    return {
      paths: (await files.glob("**/*")).map(({ path }) => path),
      text: await files.readFile("/moved/é/a.txt"),
      size: (await files.readFileBytes("/big"))?.byteLength,
      copy: (await files.readFileBytes("/copy"))?.byteLength,
      versions: [(await files.history("/many")).length, (await files.history("/gone/f")).length],
      info: await files.getWorkspaceInfo()
    };
  }

  /** The second step fails: what does that leave of the first? */
  async half(): Promise<string[]> {
    const refused = this.workspace.applyChanges([
      { kind: "file", path: "/first", bytes: new Uint8Array(1) },
      { kind: "file", path: "/second", bytes: "not bytes" as never }
    ]);
    await refused.catch(() => undefined);
    return (await this.workspace.glob("*")).map(({ path }) => path);
  }

  async script(script: string, timeout = 20_000): Promise<unknown> {
    const bash = createBashTool({ ops: this.workspace, timeout });
    return await bash.execute?.({ script }, { toolCallId: "call", messages: [] } as never);
  }
}
