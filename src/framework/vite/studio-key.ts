// Key `s` of the development server, and a link of its pages: Studio, on the agents that are being developed. Kept by project,
// because Vite makes the plugin anew with each restart of the server.
import { resolve } from "node:path";
import { styleText } from "node:util";
import type { ViteDevServer } from "vite";
import { errorMessage } from "../../util/errors.ts";
import { isLoopback } from "../../util/loopback.ts";
import type { ThinkManifest } from "../manifest/manifest.ts";
import { DevStudio, openInBrowser } from "../studio/dev-studio.ts";
import { allowInspection, isConfigMerged } from "./worker-config-hook.ts";

const studios = new Map<string, DevStudio>();

/** The project's Worker will let Studio look. */
export function offerStudio(root: string): void {
  const place = resolve(root);
  const studio = studios.get(place) ?? new DevStudio(place);
  studios.set(place, studio);
  allowInspection(place, studio.key);
}

export interface StudioKeyOptions {
  readonly canWrite: boolean;
  readonly manifest: () => ThinkManifest;
}

export function bindStudioKey(server: ViteDevServer, options: StudioKeyOptions): void {
  listKey(server);
  server.bindCLIShortcuts({
    customShortcuts: [{ key: "s", description: "open Studio", action: (running) => openStudio(running, options) }]
  });
}

/** Below the addresses, where the keys of other plugins are; Vite takes keys from a terminal only. */
function listKey(server: ViteDevServer): void {
  const printUrls = server.printUrls.bind(server);
  server.printUrls = () => {
    printUrls();
    if (!process.stdin.isTTY || process.env["CI"]) return;
    const [arrow, press, key, rest] = [
      styleText(["dim", "green"], "  ➜"),
      styleText("dim", "  press "),
      styleText("bold", "s + enter"),
      styleText("dim", " to open Studio")
    ];
    server.config.logger.info(arrow + press + key + rest);
  };
}

/** What a page of the development server links to. */
const STUDIO_PATH = "/__think/studio";

/** `GET /__think/studio` starts Studio and leads there. Its address is no secret; only this machine is told it all the same. */
export function linkStudio(server: ViteDevServer, options: StudioKeyOptions): void {
  server.middlewares.use((request, response, next) => {
    if (request.method !== "GET" || request.url?.split("?")[0] !== STUDIO_PATH) return next();
    const end = (status: number, headers: Record<string, string>, text: string) => {
      response.writeHead(status, {
        "cache-control": "no-store",
        "content-type": "text/plain; charset=utf-8",
        ...headers
      });
      response.end(text);
    };
    // A name that was pointed at this machine from outside is none of its own.
    if (!isLoopback(hostnameOf(request.headers.host)) || !isOwnAddress(request.socket.remoteAddress)) {
      return end(403, {}, "Studio is for this machine.");
    }
    startStudio(server, options).then(
      (url) => (url === undefined ? next() : end(302, { location: url }, url)),
      (error: unknown) => end(503, {}, errorMessage(error))
    );
  });
}

/** As sockets spell it. */
function isOwnAddress(address = ""): boolean {
  return address === "::1" || isLoopback(address.replace(/^::ffff:/, ""));
}

function hostnameOf(host = ""): string {
  return URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : "";
}

function startStudio(server: ViteDevServer, { canWrite, manifest }: StudioKeyOptions): Promise<string | undefined> {
  const { root } = server.config;
  const { agents, routePrefix } = manifest();
  const app = {
    root,
    canWrite,
    prefix: routePrefix.replaceAll(/^\/+|\/+$/g, ""),
    origin: () => server.resolvedUrls?.local[0] && new URL(server.resolvedUrls.local[0]).origin,
    agents: agents.filter(({ kind }) => kind === "top-level")
  };
  return studios.get(resolve(root))?.open(app) ?? Promise.resolve(undefined);
}

async function openStudio(server: ViteDevServer, options: StudioKeyOptions): Promise<void> {
  const { root, logger } = server.config;
  const { canWrite } = options;
  try {
    const url = await startStudio(server, options);
    if (url === undefined) return;
    logger.info(`  Studio: ${url}${canWrite ? "" : " (read-only)"}`);
    if (!isConfigMerged(root)) {
      logger.info(
        "  It may look once EVERTHINK_INSPECTION_KEY in .dev.vars has 16 characters or more; see docs/inspection.md"
      );
    }
    openInBrowser(url);
  } catch (error) {
    logger.error(errorMessage(error));
  }
}
