// Files over HTTP:
//   GET, HEAD …/workspace/<path>   a file, whole or a range of it; of a directory its entries as JSON
//   PUT       …/workspace/<path>   writes a file
// Whatever is stored is sent as a download that no browser runs in the agent's origin. Who may ask is the class's to say.
import { readErrorCode, readFileFailure } from "./tools/failure.ts";
import { nameOf, normalizePath } from "./paths.ts";
import { readCount } from "../../util/counts.ts";
import { DEFAULT_BYTES_TYPE } from "../../util/media-type.ts";
import { jsonResponse } from "../../util/json.ts";
import type { WorkspaceMembers } from "./capability.ts";
import { MAX_FILE_BYTES } from "./store/contents.ts";
import type { FileStat } from "./store/entries.ts";
import { Workspace } from "./workspace.ts";
import type { WorkspaceLike } from "./workspace-like.ts";

/** Entries of a directory in one answer. */
const MAX_PAGE = 1_000;

/** What a request wants to do. For a path with links the class is asked twice: about the path, and where it leads. */
export interface WorkspaceAccess {
  readonly action: "read" | "write";
  /** The path in its normalised form. */
  readonly path: string;
  readonly request: Request;
}

const STATUS_OF: Readonly<Record<string, number>> = {
  ENOENT: 404,
  EISDIR: 409,
  ENOTDIR: 409,
  EEXIST: 409,
  EFBIG: 413,
  EINVAL: 400,
  ELOOP: 400,
  ENAMETOOLONG: 414
};

/** Answers a request for a file. `rest` is what follows "/workspace" in the address. */
export async function workspaceResponse(
  request: Request,
  rest: string,
  agent: Pick<WorkspaceMembers, "workspace" | "authorizeWorkspace">
): Promise<Response> {
  const { workspace } = agent;
  const action = request.method === "PUT" ? "write" : "read";
  if (!["GET", "HEAD", "PUT"].includes(request.method))
    return refuse(405, "Method not allowed", { allow: "GET, HEAD, PUT" });
  let path: string;
  try {
    path = normalizePath(decodeURIComponent(rest));
  } catch (error) {
    return refuse(STATUS_OF[readErrorCode(error) ?? ""] ?? 400, readFileFailure(error) ?? "The address is not a path.");
  }
  const mayGoTo = async (place: string) => (await agent.authorizeWorkspace({ action, path: place, request })) === true;
  if (!(await mayGoTo(path))) return refuse(403, "Not allowed.");
  try {
    // A link in a directory that is open would otherwise open any file, and the model can make links.
    const leadsTo = workspace instanceof Workspace ? await workspace.realPath(path) : path;
    if (leadsTo !== path && !(await mayGoTo(leadsTo))) return refuse(403, "Not allowed.");
    return action === "write" ? await put(request, path, workspace) : await get(request, path, workspace);
  } catch (error) {
    const message = readFileFailure(error);
    if (message === undefined) throw error;
    return refuse(STATUS_OF[readErrorCode(error) ?? ""] ?? 500, message);
  }
}

async function put(request: Request, path: string, workspace: WorkspaceLike): Promise<Response> {
  const length = Number(request.headers.get("content-length") ?? 0);
  if (length > MAX_FILE_BYTES) return refuse(413, `A file has at most ${MAX_FILE_BYTES} bytes.`);
  const existed = (await workspace.stat(path)) !== null;
  const type = request.headers.get("content-type")?.split(";", 1)[0]?.trim();
  const stated = type && type !== DEFAULT_BYTES_TYPE ? type : undefined;
  const body = request.body ?? new Blob([]).stream();
  if (workspace instanceof Workspace) await workspace.writeFileStream(path, body, stated);
  else if (workspace.writeFileBytes)
    await workspace.writeFileBytes(path, new Uint8Array(await new Response(body).arrayBuffer()), stated);
  else return refuse(501, "These files cannot be written over HTTP.");
  const stat = await workspace.stat(path);
  const headers: Record<string, string> = stat?.etag ? { etag: quoted(stat.etag) } : {};
  return respond({ path, size: stat?.size ?? 0 }, existed ? 200 : 201, headers);
}

async function get(request: Request, path: string, workspace: WorkspaceLike): Promise<Response> {
  const stat = await workspace.stat(path);
  if (!stat) return refuse(404, `File not found: ${path}`);
  if (stat.type === "directory") return await list(request, path, workspace);
  const headers = fileHeaders(stat, path);
  const etag = headers.get("etag");
  if (etag !== null && request.headers.get("if-none-match") === etag)
    return new Response(null, { status: 304, headers });
  const range = readRange(request, stat, etag);
  if (range === "unsatisfiable") {
    headers.set("content-range", `bytes */${stat.size}`);
    return new Response(null, { status: 416, headers });
  }
  const { start, end } = range ?? { start: 0, end: stat.size };
  if (range) headers.set("content-range", `bytes ${start}-${end - 1}/${stat.size}`);
  headers.set("content-length", String(end - start));
  const status = range ? 206 : 200;
  if (request.method === "HEAD") return new Response(null, { status, headers });
  return new Response(await openContent(workspace, path, { start, end }), { status, headers });
}

/** Makes a file a download and never a page: no browser guesses its type, and one that shows it all the same sandboxes it. */
function fileHeaders(stat: FileStat, path: string): Headers {
  const headers = new Headers({
    "content-type": stat.mimeType || DEFAULT_BYTES_TYPE,
    "content-disposition": `attachment; filename*=UTF-8''${encodeName(nameOf(path))}`,
    "content-security-policy": "sandbox; default-src 'none'",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "private, no-cache",
    "accept-ranges": "bytes"
  });
  if (stat.etag !== undefined) headers.set("etag", quoted(stat.etag));
  return headers;
}

function encodeName(name: string): string {
  return encodeURIComponent(name).replace(/['()*!]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** Reads one range. Several, or one for another version of the file, get the whole file, as HTTP allows. */
function readRange(request: Request, { size }: FileStat, etag: string | null): ByteRange | "unsatisfiable" | undefined {
  const match = /^bytes=(\d*)-(\d*)$/.exec(request.headers.get("range") ?? "");
  if (!match || (match[1] === "" && match[2] === "")) return undefined;
  const condition = request.headers.get("if-range");
  if (condition !== null && condition !== etag) return undefined;
  const [from, to] = [match[1] ?? "", match[2] ?? ""];
  const start = from === "" ? Math.max(0, size - Number(to)) : Number(from);
  const end = from === "" || to === "" ? size : Math.min(size, Number(to) + 1);
  return start >= size || start >= end ? "unsatisfiable" : { start, end };
}

async function openContent(
  workspace: WorkspaceLike,
  path: string,
  range: ByteRange
): Promise<ReadableStream<Uint8Array> | Uint8Array<ArrayBuffer> | null> {
  if (workspace instanceof Workspace) return await workspace.readFileStream(path, range);
  const bytes = await workspace.readFileBytes(path);
  return bytes === null ? null : new Uint8Array(bytes.subarray(range.start, range.end));
}

async function list(request: Request, path: string, workspace: WorkspaceLike): Promise<Response> {
  const { searchParams } = new URL(request.url);
  const offset = readCount(searchParams.get("offset"), 0);
  const limit = Math.min(MAX_PAGE, readCount(searchParams.get("limit"), MAX_PAGE));
  const entries = await workspace.readDir(path, { limit, offset });
  return respond({
    path,
    entries: entries.map(({ name, type, size, mimeType, updatedAt, target }) => ({
      name,
      type,
      size,
      mimeType,
      updatedAt,
      target
    }))
  });
}

function quoted(etag: string): string {
  return `"${etag}"`;
}

function refuse(status: number, error: string, headers: Record<string, string> = {}): Response {
  return respond({ error }, status, headers);
}

function respond(value: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return jsonResponse(value, status, { "x-content-type-options": "nosniff", ...headers });
}
