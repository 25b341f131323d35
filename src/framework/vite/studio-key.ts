// Key `s` of the development server: Studio, on the agents that are being developed. Kept by project, because Vite makes
// the plugin anew with each restart of the server.
import { resolve } from "node:path";
import { styleText } from "node:util";
import type { ViteDevServer } from "vite";
import { errorMessage } from "../../util/errors.ts";
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

async function openStudio(server: ViteDevServer, { canWrite, manifest }: StudioKeyOptions): Promise<void> {
  const { root, logger } = server.config;
  const studio = studios.get(resolve(root));
  if (!studio) return;
  const { agents, routePrefix } = manifest();
  try {
    const url = await studio.open({
      root,
      canWrite,
      prefix: routePrefix.replaceAll(/^\/+|\/+$/g, ""),
      origin: () => server.resolvedUrls?.local[0] && new URL(server.resolvedUrls.local[0]).origin,
      agents: agents.filter(({ kind }) => kind === "top-level")
    });
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
