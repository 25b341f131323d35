// A copy of what this instance runs, in the data folder: the configuration and the modules. A restart after a crash then
// runs the same code, even if a new build is being written meanwhile, and nothing depends on a temporary folder that the
// system cleans. Written anew at every start, by the holder of the lock.
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Build } from "./build.ts";
import { OWN_FOLDER } from "./data-lock.ts";
import { serveErrors } from "./errors.ts";
import { errorMessage } from "../../util/errors.ts";
import { DEFAULT_ASSET_SETTINGS } from "./front/settings.ts";
import type { Binding } from "./worker-manifest.ts";
import { workerdConfig } from "./workerd-config.ts";

export interface RunFolderContent {
  build: Build;
  bindings: readonly Binding[];
  /** The built file of front/worker.ts. */
  frontWorker: string;
  allowsPrivateNetwork: boolean;
  /** How long the body of a request may be silent. */
  bodySilenceMs: number;
  /** Where the supervisor hears that the plug was pulled. */
  plugSocket?: string;
  /** Given: only requests for this machine's own names and for these are answered. */
  allowedHosts?: readonly string[];
}

/** The path of the configuration. */
export function writeRunFolder(dataFolder: string, content: RunFolderContent): string {
  const folder = join(dataFolder, OWN_FOLDER, "run");
  try {
    rmSync(folder, { recursive: true, force: true });
    for (const { name, file } of content.build.modules) {
      const copy = join(folder, "modules", name);
      mkdirSync(dirname(copy), { recursive: true });
      copyFileSync(file, copy);
    }
    copyFileSync(content.frontWorker, join(folder, "front.js"));
    const configFile = join(folder, "config.capnp");
    writeFileSync(configFile, configText(content), { mode: 0o600 });
    return configFile;
  } catch (error) {
    throw serveErrors.DataFolderError(dataFolder, errorMessage(error));
  }
}

function configText(content: RunFolderContent): string {
  const { build, bindings, allowsPrivateNetwork, bodySilenceMs, plugSocket, allowedHosts } = content;
  const { manifest } = build;
  const { htmlHandling, notFoundHandling, workerFirst } = manifest.assets ?? DEFAULT_ASSET_SETTINGS;
  return workerdConfig({
    modules: build.modules.map(({ name, kind }) => ({ name, kind, file: `modules/${name}` })),
    compatibilityDate: manifest.compatibilityDate,
    compatibilityFlags: manifest.compatibilityFlags,
    objects: manifest.objects,
    bindings,
    front: {
      file: "front.js",
      settings: { htmlHandling, notFoundHandling, workerFirst },
      bodySilenceMs,
      hasAssets: build.assetFolder !== undefined,
      plugSocket,
      allowedHosts
    },
    allowsPrivateNetwork
  });
}
