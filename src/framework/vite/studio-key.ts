// Key `s` of the development server: Studio, on the agents that are being developed. Kept by project, because Vite makes
// the plugin anew with each restart of the server.
import { resolve } from "node:path";
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
  server.bindCLIShortcuts({
    customShortcuts: [{ key: "s", description: "open Studio", action: (running) => openStudio(running, options) }]
  });
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
