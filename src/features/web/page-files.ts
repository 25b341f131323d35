// Where what the web sent is kept: a file of the workspace for each address, so that the model can read on, and a call that is
// made again writes the same file.
import type { ChatServices } from "../../feature/services.ts";
import { encodeText } from "../../util/bytes.ts";
import { sha256Hex } from "../../util/hex.ts";
import type { WorkspaceMembers } from "../workspace/capability.ts";
import type { WorkspaceFeature } from "../workspace/feature.ts";
import type { WorkspaceLike } from "../workspace/workspace-like.ts";

/** Below it is nothing but what the web sent. The class or the model deletes it; the workspace bounds it. */
export const WEB_FOLDER = "/web";
const MAX_NAME_CHARS = 60;

const ENDINGS: Readonly<Record<string, string>> = {
  "application/pdf": "pdf",
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/gif": "gif",
  "image/webp": "webp",
  "application/zip": "zip",
  "application/json": "json"
};

/** The files of the turn, or undefined where the model has none. */
export type PageFiles = () => WorkspaceLike | undefined;

/** The files of an agent's turns. */
export function filesOfTurn({ features, agent }: ChatServices): PageFiles {
  return () => {
    // Only the workspace has a feature of this name, and its members.
    const workspace = features.named("workspace") as WorkspaceFeature | undefined;
    return workspace && (agent as WorkspaceMembers).workspaceTools ? workspace.ops : undefined;
  };
}

/** The path of the file, which depends on the address alone; undefined where there are no files. */
export async function saveText(files: PageFiles, url: URL, text: string): Promise<string | undefined> {
  const workspace = files();
  if (!workspace) return undefined;
  const path = await pathOf(url, "md");
  await workspace.writeFile(path, text, "text/markdown");
  return path;
}

export async function saveBytes(
  files: PageFiles,
  url: URL,
  { bytes, mediaType }: { readonly bytes: Uint8Array; readonly mediaType: string }
): Promise<string | undefined> {
  const workspace = files();
  if (!workspace?.writeFileBytes) return undefined;
  const path = await pathOf(url, ENDINGS[mediaType] ?? "bin");
  await workspace.writeFileBytes(path, bytes, mediaType);
  return path;
}

async function pathOf({ hostname, pathname, href }: URL, ending: string): Promise<string> {
  const hash = (await sha256Hex(encodeText(href))).slice(0, 8);
  const host = hostname.replaceAll(/[^a-z0-9.-]/g, "_").slice(0, MAX_NAME_CHARS);
  const name = pathname
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "")
    .slice(0, MAX_NAME_CHARS);
  return `${WEB_FOLDER}/${host}/${name === "" ? "index" : name}-${hash}.${ending}`;
}
