// `everthink migrate` against the declarations of the built package: what its classes have is not complained about.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { migrate } from "../../src/framework/migrate/migrate.ts";

test("members that the built classes lack are named, and those they have or inherit are not", async () => {
  const folder = mkdtempSync(join(tmpdir(), "everthink-migrate-members-"));
  try {
    writeFileSync(join(folder, "package.json"), "{}");
    const body =
      "run() { this.schedule(1, 'run'); this.setState({}); this.ctx; this.env; this.addMcpServer; this.gone(); }";
    writeFileSync(
      join(folder, "agent.ts"),
      `import { Agent } from "agents";\nexport class A extends Agent { ${body} }\n`
    );
    const more = "run() { this.saveMessages([]); this.session; this.workspace; this.lost(); }";
    writeFileSync(
      join(folder, "think.ts"),
      `import { Think } from "@cloudflare/think";\nexport class T extends Think { ${more} }\n`
    );
    const { notes } = await migrate({ folder, isWritten: false, data: [], note: () => undefined });
    expect(notes.map(({ file, line, text }) => `${file}:${line}: ${text}`)).toEqual([
      "agent.ts:2: this.gone is no member of everthink's Agent",
      "think.ts:2: this.lost is no member of everthink's Think"
    ]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
