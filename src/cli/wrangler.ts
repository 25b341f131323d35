// The Wrangler of a project, or the one of the machine.
import { existsSync } from "node:fs";
import { join } from "node:path";

export function wranglerProgram(root: string): string[] {
  const local = join(root, "node_modules", ".bin", "wrangler");
  return existsSync(local) ? [local] : ["wrangler"];
}
