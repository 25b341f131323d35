// The contenders. The baseline and everthink need nothing but this repository; the originals are installed apart, in
// opponents/, one folder per major of the AI SDK, so that neither a user's install nor this repository's pulls them in.
import { join } from "node:path";

export type ContenderName =
  "baseline" | "everthink" | "everthink-plugins" | "everthink-core" | "original-10" | "original-newest";

export interface Contender {
  name: ContenderName;
  /** Heads its column. */
  label: string;
  entry: string;
  isOpponent: boolean;
  /** Built with the plugins of `everthink/build`. */
  hasPlugins?: true;
  /** What a user of it installs; a user of everthink installs the packed package. */
  installs?: readonly string[];
}

const here = import.meta.dirname;

export const CONTENDERS: readonly Contender[] = [
  { name: "baseline", label: "baseline", entry: join(here, "workers", "baseline.ts"), isOpponent: false },
  {
    name: "everthink",
    label: "everthink",
    entry: join(here, "workers", "everthink.ts"),
    isOpponent: false,
    installs: ["ai@7.0.169", "zod@4.6.7"]
  },
  {
    name: "everthink-plugins",
    label: "with its plugins",
    entry: join(here, "workers", "everthink.ts"),
    isOpponent: false,
    hasPlugins: true
  },
  { name: "everthink-core", label: "core", entry: join(here, "workers", "everthink-core.ts"), isOpponent: false },
  {
    name: "original-10",
    label: "think 0.10",
    entry: join(here, "opponents", "june", "worker.ts"),
    isOpponent: true,
    installs: ["@cloudflare/think@0.10.0", "agents@0.16.2", "ai@6.0.326", "zod@4.6.7"]
  },
  {
    name: "original-newest",
    label: "think 0.23",
    entry: join(here, "opponents", "newest", "worker.ts"),
    isOpponent: true,
    installs: ["@cloudflare/think@0.23.0", "agents@0.32.0", "ai@7.0.169", "zod@4.6.7"]
  }
];
